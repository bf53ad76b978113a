// SPDX-License-Identifier: GPL-2.0

//! `corefold-lab`: real steal without a real hypervisor.
//!
//! Emulated guests contend for the host's CPUs. The host knows how long each virtual CPU's thread waited for a CPU (its
//! run delay); that is steal. The lab keeps a page in each guest's memory current with it, and the guest's steal clock
//! reads that page. The demo then shows what corefold makes of it.

mod arch;
mod bench;
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
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::arch::Arch;
use crate::bench::{Arm, Timing};
use crate::demo::{Plan, Thresholds};
use crate::guest::Config;
use crate::report::Check;

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
    /// Compares ways to decide how many cores to use, under many loads
    ///
    /// Run it in the project's top directory, inside the toolchain ('make bench' does). Two guests run the same load,
    /// and the arms take turns on them: without corefold, the step policy with each of the published sets of
    /// constants, the proportional policy, and the fixed number of cores that does best. Results go to bench.json,
    /// bench.svg and bench-onset.svg in the results folder. Exit status: 0 if the bench ran to its end and the guests' kernels had nothing to
    /// complain of, whatever the figures are; 1 if not; 130 if interrupted.
    Bench(BenchArgs),
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
    /// The architecture of the guests
    #[arg(long, env = "ARCH", value_enum, default_value = "x86_64")]
    arch: Arch,
    /// The emulator [default: that of the architecture]
    #[arg(long, value_name = "PROGRAM")]
    qemu: Option<PathBuf>,
    /// The build folder
    #[arg(long, value_name = "DIR", default_value = "build")]
    build: PathBuf,
}

#[derive(Args)]
struct BenchArgs {
    /// A selection of loads in short slots, for less than a quarter of an hour
    #[arg(long)]
    quick: bool,
    /// Which build of the kernel: build/ARCH, or with a variant build/ARCH-VARIANT
    #[arg(long, value_name = "VARIANT", default_value = "")]
    kernel: String,
    /// CPUs of the guests, size by size
    #[arg(long, value_delimiter = ',', default_values_t = [4, 8, 12], value_parser = within(1..=64))]
    vcpus: Vec<usize>,
    /// Memory of each guest, in MiB
    #[arg(long, default_value_t = 768, value_parser = clap::value_parser!(u64).range(64..=memory::MAX_MIB))]
    memory: u64,
    /// Only these loads
    #[arg(long, value_name = "LOAD", value_delimiter = ',')]
    loads: Vec<String>,
    /// A further arm: the module with these knobs, on top of its defaults
    #[arg(long, value_name = "NAME=KNOB:VALUE,...", value_parser = Arm::parse)]
    arm: Vec<Arm>,
    /// How often each arm runs in each row [default: 3; quick: 2]
    #[arg(long, value_parser = within(1..=100))]
    repeats: Option<usize>,
    /// Seconds of a slot [default: 30; quick: 4]
    #[arg(long, value_parser = clap::value_parser!(u64).range(2..=3600))]
    seconds: Option<u64>,
    /// Seconds after which a slot counts as settled [default: 15; quick: 2]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    settle: Option<u64>,
    /// Seconds for which each fixed number of cores is tried [default: 8; quick: 1]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    search: Option<u64>,
    /// The module's interval [default: 1000; quick: 150]
    #[arg(long, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(100..=100_000))]
    interval_ms: Option<u64>,
    /// The architecture of the guests
    #[arg(long, env = "ARCH", value_enum, default_value = "x86_64")]
    arch: Arch,
    /// The emulator [default: that of the architecture]
    #[arg(long, value_name = "PROGRAM")]
    qemu: Option<PathBuf>,
    /// The build folder
    #[arg(long, value_name = "DIR", default_value = "build")]
    build: PathBuf,
}

impl BenchArgs {
    fn plan(&self) -> Result<bench::Plan> {
        let pick = |long, quick| if self.quick { quick } else { long };
        let mut arms = Arm::all();
        arms.extend(self.arm.iter().cloned());
        let plan = bench::Plan {
            arch: self.arch,
            qemu: emulator(self.arch, self.qemu.as_ref()),
            kernel: kernel(&self.build, self.arch, &self.kernel),
            memory: self.memory,
            sizes: self.vcpus.clone(),
            host_cpus: host_cpus()?,
            arms,
            loads: self.loads.clone(),
            quick: self.quick,
            timing: Timing {
                interval_ms: self.interval_ms.unwrap_or(pick(1000, 150)),
                seconds: self.seconds.unwrap_or(pick(30, 4)),
                settle: self.settle.unwrap_or(pick(15, 2)),
                search: self.search.unwrap_or(pick(8, 1)),
                sample: Duration::from_millis(pick(1000, 500)),
                repeats: self.repeats.unwrap_or(pick(3, 2) as usize),
            },
            dir: self.build.join("lab"),
        };
        plan.check()?;
        Ok(plan)
    }
}

fn emulator(arch: Arch, chosen: Option<&PathBuf>) -> PathBuf {
    chosen.cloned().unwrap_or_else(|| arch.emulator().0.into())
}

/// The folder of a kernel build.
fn kernel(build: &Path, arch: Arch, variant: &str) -> PathBuf {
    build.join(match variant {
        "" => arch.name().to_string(),
        variant => format!("{}-{variant}", arch.name()),
    })
}

fn host_cpus() -> Result<usize> {
    let cpus = std::thread::available_parallelism().context("counting CPUs")?;
    Ok(cpus.get())
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
    fn results(&self) -> (PathBuf, String) {
        let name = if self.quick { "lab" } else { "demo" };
        (
            self.build.join("results"),
            format!("{name}{}", self.arch.suffix()),
        )
    }

    fn plan(&self) -> Result<Plan> {
        let pick = |long, quick| if self.quick { quick } else { long };
        let plan = Plan {
            config: Config {
                arch: self.arch,
                qemu: emulator(self.arch, self.qemu.as_ref()),
                kernel: kernel(&self.build, self.arch, &self.kernel),
                vcpus: self.vcpus,
                memory: self.memory,
            },
            guests: self.guests,
            host_cpus: host_cpus()?,
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

/// Notes that somebody wants to end this. The second time ends the lab at once, and the emulators follow.
fn interrupts() -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, interrupted.clone())?;
        signal_hook::flag::register(signal, interrupted.clone())?;
    }
    Ok(interrupted)
}

fn write_json(report: &impl Serialize, path: &Path) -> Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).with_context(|| format!("making {}", dir.display()))?;
    }
    fs::write(path, serde_json::to_string_pretty(report)? + "\n")
        .with_context(|| format!("writing {}", path.display()))
}

fn demo(args: &DemoArgs) -> Result<bool> {
    let plan = args.plan()?;
    let _lock = lock(&plan.dir)?;
    let report = demo::run(&plan, &interrupts()?)?;
    let (dir, name) = args.results();
    let (json, svg) = (
        dir.join(format!("{name}.json")),
        dir.join(format!("{name}.svg")),
    );
    write_json(&report, &json)?;
    picture::draw(&report, &svg)?;
    println!("\n{}", report.summary());
    print_checks(&report.checks, args.quick);
    println!("\nResults: {} and {}", json.display(), svg.display());
    Ok(report.passed())
}

fn bench(args: &BenchArgs) -> Result<bool> {
    let plan = args.plan()?;
    let _lock = lock(&plan.dir)?;
    let report = bench::run(&plan, &interrupts()?)?;
    let [json, ratios, onset] = bench::results(&args.build.join("results"), args.arch);
    write_json(&report, &json)?;
    bench::draw(&report, &ratios, &onset)?;
    println!("\n{}", report.tables());
    print_checks(&report.checks, false);
    println!(
        "\nResults after {:.0} s: {}, {} and {}",
        report.took_s,
        json.display(),
        ratios.display(),
        onset.display()
    );
    Ok(report.checks.iter().all(|check| check.pass))
}

fn print_checks(checks: &[Check], ktap: bool) {
    if ktap {
        println!("KTAP version 1\n1..{}", checks.len());
    }
    for (number, check) in checks.iter().enumerate() {
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
    let passed = match Cli::parse().command {
        Action::Demo(args) => demo(&args),
        Action::Bench(args) => bench(&args),
    };
    match passed {
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
        let cli = Cli::try_parse_from(
            [&["corefold-lab", "demo", "--arch", "x86_64"], arguments].concat(),
        )?;
        match cli.command {
            Action::Demo(args) => args.plan(),
            Action::Bench(_) => bail!("not a demo"),
        }
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

    fn bench_plan(arguments: &[&str]) -> Result<bench::Plan> {
        let cli = Cli::try_parse_from([&["corefold-lab", "bench"], arguments].concat())?;
        match cli.command {
            Action::Bench(args) => args.plan(),
            Action::Demo(_) => bail!("not a bench"),
        }
    }

    #[test]
    fn a_quick_bench_is_short() {
        let long = bench_plan(&["--vcpus", "32,64"]).unwrap();
        assert_eq!((long.timing.interval_ms, long.timing.repeats), (1000, 3));
        assert_eq!(long.sizes, [32, 64]);
        let quick = bench_plan(&["--vcpus", "64", "--quick", "--arm", "x=confirm:9"]).unwrap();
        assert_eq!((quick.timing.interval_ms, quick.timing.repeats), (150, 2));
        assert_eq!(quick.arms.len(), Arm::all().len() + 1);
    }

    #[test]
    fn bad_benches_are_refused() {
        for arguments in [
            &["--vcpus", "64", "--arm", "x=confirm"][..],
            &["--vcpus", "64", "--loads", "nonsense"],
            &["--vcpus", "64", "--seconds", "4", "--settle", "4"],
            &["--vcpus", "64", "--interval-ms", "50"],
        ] {
            assert!(bench_plan(arguments).is_err(), "{arguments:?}");
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
