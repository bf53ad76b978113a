// SPDX-License-Identifier: GPL-2.0

//! The main job: guests that contend, in turn without and with corefold, under the same load.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::guest::{Config, Guest};
use crate::host;
use crate::lab::{EVENTS, Job, Lab, parse_event};
use crate::report::{Arm, ArmReport, Check, LoadReport, Loads, Report, Slot, percent};
use crate::sample::{CpuTimes, Sample, Span};

const MASK: &str = "/sys/devices/system/cpu/soft_offline";
/// How long each CPU is watched for being used again after the module is gone.
const USED_SECONDS: u64 = 4;

/// A load that guests run over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Hackbench { groups: usize, loops: usize },
    Cpu,
}

impl Load {
    fn name(self) -> &'static str {
        match self {
            Self::Hackbench { .. } => "hackbench",
            Self::Cpu => "cpu",
        }
    }

    /// What the guest runs.
    fn job(self, vcpus: usize) -> Job {
        Job::endless(self.arguments(vcpus))
    }

    fn arguments(self, vcpus: usize) -> String {
        match self {
            Self::Hackbench { groups, loops } => format!("hackbench -T -p -g {groups} -l {loops}"),
            Self::Cpu => format!("work compute {vcpus}"),
        }
    }

    /// What one round is, for readers.
    fn command(self, vcpus: usize) -> String {
        match self {
            Self::Hackbench { .. } => self.arguments(vcpus),
            Self::Cpu => format!("2 million steps of xorshift in one of {vcpus} processes"),
        }
    }
}

/// What must hold.
pub struct Thresholds {
    /// Least ratio of hackbench rounds, corefold to stock.
    pub hackbench: f64,
    /// Least ratio of CPU load rounds.
    pub cpu: f64,
    /// Greatest ratio of settled steal under hackbench.
    pub steal: f64,
}

/// What to run.
pub struct Plan {
    /// The guests.
    pub config: Config,
    /// How many of them.
    pub guests: usize,
    /// CPUs of the host that they contend for.
    pub host_cpus: usize,
    /// What corefold is loaded with.
    pub module_arguments: String,
    /// Groups of hackbench.
    pub groups: usize,
    /// Messages of hackbench.
    pub loops: usize,
    /// Seconds of a slot of hackbench.
    pub hackbench_seconds: u64,
    /// Seconds of a slot of the CPU load, 0 for none.
    pub cpu_seconds: u64,
    /// How many times both arms run.
    pub turns: usize,
    /// From here on a slot counts as settled.
    pub settle: f64,
    /// What must hold.
    pub thresholds: Thresholds,
    /// Where the guests' files go.
    pub dir: PathBuf,
}

/// A, B, B, A, ...: a drift of the machine hits both arms alike.
fn order(turns: usize) -> Vec<Arm> {
    (0..turns)
        .flat_map(|turn| match turn % 2 {
            0 => [Arm::Stock, Arm::Corefold],
            _ => [Arm::Corefold, Arm::Stock],
        })
        .collect()
}

/// Runs `plan`. The guests are gone when this returns, whatever it returns.
pub fn run(plan: &Plan, interrupted: &Arc<AtomicBool>) -> Result<Report> {
    plan.config.check()?;
    let busy = host::busy_pct()?;
    host::warn_if_busy(busy);
    let mut demo = Demo {
        plan,
        lab: Lab::boot(
            &plan.config,
            plan.guests,
            plan.host_cpus,
            &plan.dir,
            interrupted,
        )?,
        checks: Vec::new(),
    };
    let hackbench = demo.load(
        Load::Hackbench {
            groups: plan.groups,
            loops: plan.loops,
        },
        plan.hackbench_seconds,
    )?;
    let cpu = match plan.cpu_seconds {
        0 => None,
        seconds => Some(demo.load(Load::Cpu, seconds)?),
    };
    let Demo {
        lab, mut checks, ..
    } = demo;
    let kernel = lab.kernel.clone();
    checks.extend(lab.shut_down()?);
    let loads = Loads { hackbench, cpu };
    judge(plan, &loads, &mut checks);
    Ok(Report {
        version: 1,
        kernel,
        host_cpus: plan.host_cpus,
        host_busy_pct: busy,
        vcpus: plan.config.vcpus,
        module_arguments: plan.module_arguments.clone(),
        settle_s: plan.settle,
        loads,
        checks,
    })
}

struct Demo<'a> {
    plan: &'a Plan,
    lab: Lab<'a>,
    checks: Vec<Check>,
}

impl Demo<'_> {
    /// Runs one load in both arms.
    fn load(&mut self, load: Load, seconds: u64) -> Result<LoadReport> {
        let order = order(self.plan.turns);
        let mut arms =
            BTreeMap::from([Arm::Stock, Arm::Corefold].map(|arm| (arm, self.no_slots())));
        for (slot, &arm) in order.iter().enumerate() {
            println!(
                "\n{}, {arm}, turn {} of {}:",
                load.name(),
                slot + 1,
                order.len()
            );
            let results = self
                .slot(load, arm, slot, seconds)
                .with_context(|| format!("{}, {arm}, turn {}", load.name(), slot + 1))?;
            for (all, result) in arms.get_mut(&arm).into_iter().flatten().zip(results) {
                all.push(result);
            }
        }
        let mut take = |arm| ArmReport::new(arms.remove(&arm).unwrap_or_default());
        let (stock, corefold) = (take(Arm::Stock), take(Arm::Corefold));
        Ok(LoadReport::new(
            load.command(self.plan.config.vcpus),
            seconds,
            stock,
            corefold,
        ))
    }

    fn no_slots(&self) -> Vec<Vec<Slot>> {
        vec![Vec::new(); self.lab.guests.len()]
    }

    /// Runs one load in one arm, once; a result for each guest.
    fn slot(&mut self, load: Load, arm: Arm, slot: usize, seconds: u64) -> Result<Vec<Slot>> {
        if arm == Arm::Corefold {
            self.lab
                .ask(&format!("insmod corefold {}", self.plan.module_arguments))?;
        }
        let delays: Vec<_> = self.lab.guests.iter().map(Guest::run_delay).collect();
        let samples = self.watch(load, seconds)?;
        let settle = self.plan.settle;
        let mut results = Vec::new();
        for ((guest, samples), delay) in self.lab.guests.iter().zip(&samples).zip(delays) {
            let mut result = Slot::new(slot, samples, guest.vcpus, settle);
            result.run_delay_s = guest.run_delay() - delay;
            results.push(result);
        }
        if arm == Arm::Corefold {
            for (result, lines) in results
                .iter_mut()
                .zip(self.lab.ask(&format!("show {EVENTS}"))?)
            {
                result.events = lines.iter().filter_map(|line| parse_event(line)).collect();
            }
            self.withdraw(load, slot)?;
        }
        Ok(results)
    }

    /// Runs the load everywhere and shows each second of it; the samples of each guest.
    fn watch(&mut self, load: Load, seconds: u64) -> Result<Vec<Vec<Sample>>> {
        let vcpus = self.plan.config.vcpus;
        let jobs = vec![Some(load.job(vcpus)); self.plan.guests];
        self.lab.watch(
            &jobs,
            Duration::from_secs(1),
            seconds,
            &mut |second, samples| {
                println!("{}", row(second, vcpus, samples));
            },
        )
    }

    /// Unloads the module while it is folded, and checks that nothing of it stays.
    fn withdraw(&mut self, load: Load, slot: usize) -> Result<()> {
        self.lab.ask("rmmod corefold")?;
        let masks = self.lab.ask(&format!("show {MASK}"))?;
        let folded: Vec<_> = masks
            .iter()
            .map(|lines| lines.join(" ").trim().to_string())
            .collect();
        let used = self.least_used()?;
        let pass = folded.iter().all(String::is_empty) && used > 0.5;
        println!(
            "  unloaded; soft_offline is {folded:?}; the least used CPU is busy {:.0} %",
            used * 100.0
        );
        self.checks.push(Check {
            name: format!(
                "{} turn {}: rmmod gives all CPUs back",
                load.name(),
                slot + 1
            ),
            pass,
            detail: format!(
                "soft_offline {folded:?}, least used CPU busy {:.0} %",
                used * 100.0
            ),
        });
        Ok(())
    }

    /// How busy the least busy CPU of all guests is under a load for each of its CPUs.
    fn least_used(&mut self) -> Result<f64> {
        let start = Load::Cpu.job(self.plan.config.vcpus).start();
        self.lab.ask(&start)?;
        let before = self.lab.ask("cpus")?;
        self.lab
            .sleep_until(Instant::now() + Duration::from_secs(USED_SECONDS))?;
        let after = self.lab.ask("cpus")?;
        self.lab.ask("stop")?;
        let mut least = 1.0f64;
        for (before, after) in before.iter().zip(&after) {
            ensure!(
                before.len() == self.plan.config.vcpus && after.len() == before.len(),
                "CPUs went away"
            );
            for (before, after) in before.iter().zip(after) {
                least = least.min(busy_share(&parse_cpu(before)?, &parse_cpu(after)?));
            }
        }
        Ok(least)
    }
}

/// One line of the live table.
fn row(second: u64, vcpus: usize, samples: &[Vec<Sample>]) -> String {
    let mut text = format!("  {second:>3} s");
    for (index, samples) in samples.iter().enumerate() {
        let [first, .., previous, last] = samples.as_slice() else {
            let [previous, last] = samples.as_slice() else {
                continue;
            };
            text += &cell(index, vcpus, previous, previous, last);
            continue;
        };
        text += &cell(index, vcpus, first, previous, last);
    }
    text
}

fn cell(index: usize, vcpus: usize, first: &Sample, previous: &Sample, last: &Sample) -> String {
    format!(
        " | guest {index}: steal {:>6}, cores {}/{vcpus}, rounds {:>5}",
        percent(Span::between(previous, last, vcpus).steal_pct()),
        vcpus.saturating_sub(last.folded),
        last.rounds.saturating_sub(first.rounds)
    )
}

/// A line of `cpus`: `UPTIME cpuN TIME...`.
fn parse_cpu(line: &str) -> Result<(f64, CpuTimes)> {
    let mut fields = line.split_ascii_whitespace();
    let uptime = fields.next().and_then(|text| text.parse().ok());
    let uptime = uptime.with_context(|| format!("{line:?} has no uptime"))?;
    let _name = fields.next();
    Ok((uptime, CpuTimes::parse(fields)?))
}

/// The share of the time between two of them in which the CPU was not idle.
fn busy_share(before: &(f64, CpuTimes), after: &(f64, CpuTimes)) -> f64 {
    let seconds = after.0 - before.0;
    if seconds <= 0.0 {
        return 0.0;
    }
    (1.0 - after.1.idle.saturating_sub(before.1.idle) as f64 / 100.0 / seconds).max(0.0)
}

/// Adds what must hold for the loads.
fn judge(plan: &Plan, loads: &Loads, checks: &mut Vec<Check>) {
    let mut check = |name: String, pass, detail| checks.push(Check { name, pass, detail });
    let thresholds = &plan.thresholds;
    for (name, load) in loads.iter() {
        let least = if name == "cpu" {
            thresholds.cpu
        } else {
            thresholds.hackbench
        };
        check(
            format!("{name}: work done is at least {least} of stock"),
            load.ratio >= least,
            format!("{:.3} (once settled {:.3})", load.ratio, load.settled_ratio),
        );
    }
    let load = &loads.hackbench;
    let (stock, corefold) = (&load.arms.stock.totals, &load.arms.corefold.totals);
    let detail = format!(
        "{} to {}",
        percent(stock.settled_steal_pct),
        percent(corefold.settled_steal_pct)
    );
    check(
        format!(
            "hackbench: steal falls to at most {} of stock and stays there",
            thresholds.steal
        ),
        load.steal_ratio()
            .is_some_and(|ratio| ratio <= thresholds.steal),
        detail,
    );
    let vcpus = plan.config.vcpus as f64;
    let cores = corefold.settled_active_cores;
    check(
        "hackbench: cores are folded".into(),
        cores > 0.0 && cores < vcpus - 0.5,
        format!("{cores:.1} of {vcpus} in use"),
    );
    let seen = if stock.run_delay_s > 0.0 {
        stock.steal_s / stock.run_delay_s
    } else {
        0.0
    };
    check(
        "hackbench: the guests' steal is the host's run delay".into(),
        (0.9..=1.1).contains(&seen),
        format!(
            "{:.1} CPU-seconds of {:.1}",
            stock.steal_s, stock.run_delay_s
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Arch;

    #[test]
    fn arms_take_turns() {
        use Arm::{Corefold, Stock};
        assert_eq!(order(1), [Stock, Corefold]);
        assert_eq!(order(2), [Stock, Corefold, Corefold, Stock]);
        assert_eq!(
            order(3),
            [Stock, Corefold, Corefold, Stock, Stock, Corefold]
        );
    }

    #[test]
    fn a_row_shows_the_last_second() {
        let sample = |uptime, rounds, steal| Sample {
            uptime,
            rounds,
            counted: uptime,
            folded: 3,
            times: CpuTimes { idle: 0, steal },
        };
        let samples = vec![vec![sample(1.0, 5, 0), sample(2.0, 8, 100), sample(3.0, 20, 300)]; 2];
        let text = row(2, 4, &samples);
        assert!(
            text.contains("guest 1: steal 50.0 %, cores 1/4, rounds    15"),
            "{text}"
        );
        let text = row(1, 4, &[samples[0][..2].to_vec()]);
        assert!(
            text.contains("steal 25.0 %, cores 1/4, rounds     3"),
            "{text}"
        );
    }

    #[test]
    fn busy_is_what_is_not_idle() {
        let before = parse_cpu("10.00 cpu3 0 0 0 100 0 0 0 0 0 0").unwrap();
        let after = parse_cpu("12.00 cpu3 0 0 0 150 0 0 0 9 0 0").unwrap();
        assert!((busy_share(&before, &after) - 0.75).abs() < 1e-9);
        assert_eq!(busy_share(&after, &before), 0.0);
        assert!(parse_cpu("").is_err());
        assert!(parse_cpu("1.0 cpu3 1 2").is_err());
    }

    fn plan() -> Plan {
        Plan {
            config: Config {
                arch: Arch::X86_64,
                qemu: "true".into(),
                kernel: "/nonexistent".into(),
                vcpus: 2,
                memory: 64,
            },
            guests: 2,
            host_cpus: 2,
            module_arguments: String::new(),
            groups: 1,
            loops: 1,
            hackbench_seconds: 10,
            cpu_seconds: 10,
            turns: 1,
            settle: 6.0,
            thresholds: Thresholds {
                hackbench: 1.5,
                cpu: 0.98,
                steal: 0.25,
            },
            dir: "/nonexistent".into(),
        }
    }

    #[test]
    fn a_good_run_passes_and_a_bad_one_says_why() {
        let mut report = crate::report::tests::report();
        for load in [Some(&mut report.loads.hackbench), report.loads.cpu.as_mut()]
            .into_iter()
            .flatten()
        {
            load.arms.stock.totals.run_delay_s = load.arms.stock.totals.steal_s;
        }
        let mut checks = Vec::new();
        judge(&plan(), &report.loads, &mut checks);
        assert!(checks.iter().all(|check| check.pass), "{checks:?}");

        report.loads.hackbench.ratio = 1.49;
        report.loads.hackbench.arms.stock.totals.run_delay_s *= 2.0;
        let mut checks = Vec::new();
        judge(&plan(), &report.loads, &mut checks);
        let failed: Vec<_> = checks
            .iter()
            .filter(|check| !check.pass)
            .map(|c| &c.name)
            .collect();
        assert_eq!(failed.len(), 2, "{failed:?}");
    }

    #[test]
    fn a_run_without_a_kernel_says_so() {
        let error = run(&plan(), &Arc::default()).unwrap_err().to_string();
        assert!(error.contains("make kernel"), "{error}");
    }
}
