// SPDX-License-Identifier: GPL-2.0

//! `corefold-lab`: real steal without a real hypervisor.
//!
//! Emulated guests contend for the host's CPUs. The host knows how long each virtual CPU's thread waited for a CPU (its
//! run delay); that is steal. The lab keeps a page in each guest's memory current with it, and the guest's steal clock
//! reads that page. The demo then shows what corefold makes of it.

mod control;
mod demo;
mod guest;
mod host;
mod lab;
mod memory;
mod picture;
mod publisher;
mod qmp;
mod report;
mod sample;
mod schedstat;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::demo::{Plan, Thresholds};
use crate::guest::Config;
use crate::report::Report;

/// Somebody pressed ctrl-C, or the like.
#[derive(Debug)]
struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted; all guests are ended")
    }
}

impl std::error::Error for Interrupted {}

/// Emulated guests that contend for this machine's CPUs, and see it as steal.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Runs the same load in all guests, in turn without and with corefold, and compares
    ///
    /// Run it in the project's top directory, inside the toolchain ('make demo' does). The live table has one row a
    /// second. Steal is in per cent of the time in which the guest's CPUs were not idle, from the guest's own
    /// /proc/stat; it is the run delay of the emulator's CPU threads on this machine, nothing else. Results go to
    /// demo.json and demo.svg (a quick run: lab.json and lab.svg) in the results folder. Exit status: 0 if all checks
    /// passed, 1 if not or if the run failed, 130 if interrupted.
    Demo(DemoArgs),
}

#[derive(Args)]
struct DemoArgs {
    /// A short run as a test: hackbench only, one turn, checks printed as KTAP, and the gain is not judged
    #[arg(long)]
    quick: bool,
    /// Which build of the kernel: build/ARCH, or with 'debug' build/ARCH-debug
    #[arg(long, value_name = "VARIANT", default_value = "")]
    kernel: String,
    /// Guests
    #[arg(long, default_value_t = 2, value_parser = within(1..=16))]
    guests: usize,
    /// CPUs of each guest
    #[arg(long, default_value_t = 4, value_parser = within(1..=64))]
    vcpus: usize,
    /// Memory of each guest, in MiB
    #[arg(long, default_value_t = 768, value_parser = clap::value_parser!(u64).range(64..=memory::MAX_MIB))]
    memory: u64,
    /// What corefold.ko is loaded with; the default is quicker than the module's own, to fit a short run
    #[arg(long, value_name = "ARGUMENTS", default_value = "interval_ms=500")]
    module_args: String,
    /// Groups of hackbench
    #[arg(long, default_value_t = 1, value_parser = within(1..=100))]
    groups: usize,
    /// Messages that each sender of hackbench sends in a round
    #[arg(long, default_value_t = 20, value_parser = within(1..=1_000_000))]
    loops: usize,
    /// Seconds of hackbench in each turn [default: 40; quick: 25]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(5..=3600))]
    hackbench_seconds: Option<u64>,
    /// Seconds of the pure CPU load in each turn, 0 for none [default: 30; quick: 0]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=3600))]
    cpu_seconds: Option<u64>,
    /// How often each arm runs; the arms take turns as A B B A [default: 2; quick: 1]
    #[arg(long, value_parser = within(1..=100))]
    turns: Option<usize>,
    /// Seconds after which a turn counts as settled
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    settle: u64,
    /// Least ratio of hackbench rounds, corefold to stock [default: 1.5; quick: 0]
    #[arg(long, value_name = "RATIO")]
    min_hackbench_ratio: Option<f64>,
    /// Least ratio of CPU load rounds, corefold to stock
    #[arg(long, value_name = "RATIO", default_value_t = 0.98)]
    min_cpu_ratio: f64,
    /// Greatest ratio of settled steal under hackbench, corefold to stock [default: 0.25; quick: 0.7]
    #[arg(long, value_name = "RATIO")]
    max_steal_ratio: Option<f64>,
    /// The emulator
    #[arg(long, value_name = "PROGRAM", default_value = "qemu-system-x86_64")]
    qemu: PathBuf,
    /// The build folder
    #[arg(long, value_name = "DIR", default_value = "build")]
    build: PathBuf,
}

fn within(
    range: std::ops::RangeInclusive<usize>,
) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync {
    move |text| match text.parse() {
        Ok(value) if range.contains(&value) => Ok(value),
        _ => Err(format!(
            "not a number from {} to {}",
            range.start(),
            range.end()
        )),
    }
}

impl DemoArgs {
    fn results(&self) -> (PathBuf, &'static str) {
        (
            self.build.join("results"),
            if self.quick { "lab" } else { "demo" },
        )
    }

    fn plan(&self) -> Result<Plan> {
        let pick = |long, quick| if self.quick { quick } else { long };
        let name = match self.kernel.as_str() {
            "" => "x86_64".to_string(),
            variant => format!("x86_64-{variant}"),
        };
        let plan = Plan {
            config: Config {
                qemu: self.qemu.clone(),
                kernel: self.build.join(name),
                vcpus: self.vcpus,
                memory: self.memory,
            },
            guests: self.guests,
            host_cpus: std::thread::available_parallelism()
                .context("counting CPUs")?
                .get(),
            module_arguments: self.module_args.clone(),
            groups: self.groups,
            loops: self.loops,
            hackbench_seconds: self.hackbench_seconds.unwrap_or(pick(40, 25)),
            cpu_seconds: self.cpu_seconds.unwrap_or(pick(30, 0)),
            turns: self.turns.unwrap_or(pick(2, 1) as usize),
            settle: self.settle as f64,
            thresholds: Thresholds {
                hackbench: self
                    .min_hackbench_ratio
                    .unwrap_or(if self.quick { 0.0 } else { 1.5 }),
                cpu: self.min_cpu_ratio,
                steal: self
                    .max_steal_ratio
                    .unwrap_or(if self.quick { 0.7 } else { 0.25 }),
            },
            dir: self.build.join("lab"),
        };
        let shortest = match plan.cpu_seconds {
            0 => plan.hackbench_seconds,
            seconds => seconds.min(plan.hackbench_seconds),
        };
        if self.settle + 3 > shortest {
            bail!(
                "--settle {} leaves nothing of a turn of {shortest} s",
                self.settle
            );
        }
        lab::check_contention(plan.guests, plan.config.vcpus, plan.host_cpus)?;
        Ok(plan)
    }
}

/// One lab at a time: the guests' files have fixed places.
fn lock(dir: &Path) -> Result<File> {
    fs::create_dir_all(dir).with_context(|| format!("making {}", dir.display()))?;
    let path = dir.join("lock");
    let file = File::create(&path).with_context(|| format!("making {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            bail!("another lab is running: {} is locked", path.display())
        }
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("locking {}", path.display()))
        }
    }
}

fn demo(args: &DemoArgs) -> Result<bool> {
    let plan = args.plan()?;
    let _lock = lock(&plan.dir)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The second one ends the lab at once, and the emulators follow.
        signal_hook::flag::register_conditional_shutdown(signal, 130, interrupted.clone())?;
        signal_hook::flag::register(signal, interrupted.clone())?;
    }
    let report = demo::run(&plan, &interrupted)?;
    let (dir, name) = args.results();
    fs::create_dir_all(&dir).with_context(|| format!("making {}", dir.display()))?;
    let (json, svg) = (
        dir.join(format!("{name}.json")),
        dir.join(format!("{name}.svg")),
    );
    fs::write(&json, serde_json::to_string_pretty(&report)? + "\n")
        .with_context(|| format!("writing {}", json.display()))?;
    picture::draw(&report, &svg)?;
    println!("\n{}", report.summary());
    print_checks(&report, args.quick);
    println!("\nResults: {} and {}", json.display(), svg.display());
    Ok(report.passed())
}

fn print_checks(report: &Report, ktap: bool) {
    if ktap {
        println!("KTAP version 1\n1..{}", report.checks.len());
    }
    for (number, check) in report.checks.iter().enumerate() {
        let detail = check.detail.replace('\n', "; ");
        match (ktap, check.pass) {
            (true, true) => println!("ok {} {}: {detail}", number + 1, check.name),
            (true, false) => println!("not ok {} {}: {detail}", number + 1, check.name),
            (false, true) => println!("PASS {}: {detail}", check.name),
            (false, false) => println!("FAIL {}: {detail}", check.name),
        }
    }
}

fn main() -> ExitCode {
    let Action::Demo(args) = Cli::parse().command;
    match demo(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("corefold-lab: not all that had to hold held: see the lines above");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("corefold-lab: {error:#}");
            let interrupted = error.chain().any(|cause| cause.is::<Interrupted>());
            ExitCode::from(if interrupted { 130 } else { 1 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(arguments: &[&str]) -> Result<Plan> {
        let cli = Cli::try_parse_from([&["corefold-lab", "demo"], arguments].concat())?;
        let Action::Demo(args) = cli.command;
        args.plan()
    }

    #[test]
    fn the_interface_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn defaults_make_a_plan() {
        let long = plan(&["--vcpus", "64"]).unwrap();
        assert_eq!((long.turns, long.cpu_seconds), (2, 30));
        assert_eq!(long.config.kernel, Path::new("build/x86_64"));
        let quick = plan(&["--vcpus", "64", "--quick", "--kernel", "debug"]).unwrap();
        assert_eq!((quick.turns, quick.cpu_seconds), (1, 0));
        assert_eq!(quick.config.kernel, Path::new("build/x86_64-debug"));
    }

    #[test]
    fn bad_arguments_are_refused() {
        for arguments in [
            &["--guests", "0"][..],
            &["--guests", "x"],
            &["--vcpus", "65"],
            &["--memory", "9999999"],
            &["--hackbench-seconds", "1"],
            &["--vcpus", "64", "--settle", "39"],
            &["--guests", "1", "--vcpus", "1"],
            &["--nonsense"],
        ] {
            assert!(plan(arguments).is_err(), "{arguments:?}");
        }
    }

    #[test]
    fn only_one_lab_runs() {
        let dir = tempfile::tempdir().unwrap();
        let first = lock(dir.path()).unwrap();
        assert!(
            lock(dir.path())
                .unwrap_err()
                .to_string()
                .contains("another lab")
        );
        drop(first);
        lock(dir.path()).unwrap();
    }
}
