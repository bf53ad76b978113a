// SPDX-License-Identifier: GPL-2.0

//! The bench: many loads, in guests of several sizes, under each way to decide how many cores to use.
//!
//! The machine under the guests drifts, by more than the arms differ. So all arms take turns on the same guests, under
//! the same load, and only what ran in the same turn is compared.

mod arm;
mod latency;
mod picture;
mod report;
mod workload;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

pub use arm::Arm;
pub use picture::draw;
pub use report::Report;

use crate::arch::Arch;
use crate::guest::Config;
use crate::host;
use crate::lab::{self, EVENTS, Lab};
use crate::report::Slot;
use crate::sample::Sample;
use latency::Histogram;
use report::{Outcome, Trial, Value};
use workload::Workload;

const GUESTS: usize = 2;
/// Where `scripts/guest/lab-load` leaves what cyclictest measured.
const LATENCIES: &str = "/tmp/lab-rounds";

/// A slot of which other processes on the host took more than this share is run again, but no more often than that.
const OTHERS_PCT: f64 = 5.0;
const ATTEMPTS: usize = 3;

/// How long everything takes.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Interval of the module.
    pub interval_ms: u64,
    /// Seconds of a slot.
    pub seconds: u64,
    /// Seconds after which a slot counts as settled.
    pub settle: u64,
    /// Seconds for which each fixed number of cores is tried.
    pub search: u64,
    /// Time between two samples.
    pub sample: Duration,
    /// How often each arm runs.
    pub repeats: usize,
}

/// What to run.
pub struct Plan {
    /// The machine.
    pub arch: Arch,
    /// The emulator.
    pub qemu: PathBuf,
    /// The kernel build.
    pub kernel: PathBuf,
    /// Memory of each guest, in MiB.
    pub memory: u64,
    /// CPUs of the guests, size by size.
    pub sizes: Vec<usize>,
    /// CPUs of the host that they contend for.
    pub host_cpus: usize,
    /// What is compared.
    pub arms: Vec<Arm>,
    /// Only these loads; all that belong to the bench if there are none.
    pub loads: Vec<String>,
    /// A selection of loads.
    pub quick: bool,
    /// How long.
    pub timing: Timing,
    /// Where the guests' files go.
    pub dir: PathBuf,
}

impl Plan {
    fn config(&self, vcpus: usize) -> Config {
        Config {
            arch: self.arch,
            qemu: self.qemu.clone(),
            kernel: self.kernel.clone(),
            vcpus,
            memory: self.memory,
        }
    }

    /// The loads for guests of one size.
    fn workloads(&self, vcpus: usize) -> Vec<Workload> {
        let mut all = Workload::all(vcpus);
        all.retain(|load| match self.loads.as_slice() {
            [] => !self.quick || load.is_quick(vcpus),
            names => names.iter().any(|name| name == load.name),
        });
        all
    }

    /// Says what is wrong with it, before anything is started.
    pub fn check(&self) -> Result<()> {
        let all = Workload::all(4);
        for name in &self.loads {
            ensure!(
                all.iter().any(|load| load.name == name),
                "no load is called {name:?}; there are: {}",
                all.iter()
                    .map(|load| load.name)
                    .collect::<Vec<_>>()
                    .join(" ")
            );
        }
        ensure!(
            self.timing.settle < self.timing.seconds,
            "--settle {} leaves nothing of a slot of {} s",
            self.timing.settle,
            self.timing.seconds
        );
        for &vcpus in &self.sizes {
            lab::check_contention(GUESTS, vcpus, self.host_cpus)?;
        }
        Ok(())
    }

    /// Numbers of cores that are tried, all of them last.
    fn candidates(&self, vcpus: usize) -> Vec<usize> {
        let mut cores = if self.quick {
            vec![1, 2, vcpus / 2]
        } else {
            vec![1, 2, 3, 4, 6, 8, 12, 16, 24, 32]
        };
        cores.retain(|&cores| (1..vcpus).contains(&cores));
        cores.push(vcpus);
        cores.dedup();
        cores
    }

    /// The slots of the whole bench.
    fn slots(&self) -> usize {
        let slots = |&vcpus: &usize| {
            let each = self.candidates(vcpus).len() + self.arms.len() * self.timing.repeats;
            each * self.workloads(vcpus).len()
        };
        self.sizes.iter().map(slots).sum()
    }
}

/// Runs `plan`. The guests are gone when this returns, whatever it returns.
pub fn run(plan: &Plan, interrupted: &Arc<AtomicBool>) -> Result<Report> {
    let start = Instant::now();
    plan.config(1).check()?;
    let busy = host::busy_pct()?;
    host::warn_if_busy(busy);
    let mut report = Report {
        version: 1,
        kernel: String::new(),
        host_cpus: plan.host_cpus,
        host_busy_pct: busy,
        quick: plan.quick,
        interval_ms: plan.timing.interval_ms,
        seconds: plan.timing.seconds,
        settle_s: plan.timing.settle,
        repeats: plan.timing.repeats,
        took_s: 0.0,
        rows: Vec::new(),
        summary: Vec::new(),
        checks: Vec::new(),
        trials: Vec::new(),
    };
    let mut progress = Progress {
        done: 0,
        all: plan.slots(),
        start,
    };
    for &vcpus in &plan.sizes {
        let workloads = plan.workloads(vcpus);
        if workloads.is_empty() {
            continue;
        }
        let config = plan.config(vcpus);
        let lab = Lab::boot(&config, GUESTS, plan.host_cpus, &plan.dir, interrupted)?;
        report.kernel = lab.kernel.clone();
        let mut bench = Bench {
            plan,
            vcpus,
            lab,
            progress: &mut progress,
        };
        for workload in &workloads {
            let trial = bench.trial(workload);
            let trial = trial.with_context(|| format!("{}, {vcpus} CPUs", workload.name))?;
            report.trials.push(trial);
        }
        report.checks.extend(bench.lab.shut_down()?);
    }
    report.took_s = start.elapsed().as_secs_f64();
    report.sum_up(&plan.arms);
    Ok(report)
}

/// Where the bench is.
struct Progress {
    done: usize,
    all: usize,
    start: Instant,
}

impl Progress {
    fn show(&mut self, vcpus: usize, workload: &Workload, arm: &str, outcome: &Outcome) {
        self.done += 1;
        let value = outcome.values.last().copied().unwrap_or_default();
        let metric = workload.metrics().last();
        let unit = metric.map_or("", |metric| metric.unit);
        let shown = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.1}"));
        let (cores, steal) = outcome.guests.first().map_or((0.0, None), |slot| {
            (slot.settled_active_cores, slot.settled_steal_pct)
        });
        println!(
            "{:>5.0} s {:>4}/{} | {vcpus:>2} CPUs {:<17} {arm:<14} | {:>9} {unit}, settled {:>9} {unit}, {cores:>4.1} cores, steal {:>6}{}",
            self.start.elapsed().as_secs_f64(),
            self.done,
            self.all,
            workload.name,
            shown(value.whole),
            shown(value.settled),
            crate::report::percent(steal),
            outcome.disturbed().unwrap_or_default(),
        );
    }
}

struct Bench<'a> {
    plan: &'a Plan,
    vcpus: usize,
    lab: Lab<'a>,
    progress: &'a mut Progress,
}

impl Bench<'_> {
    /// Runs one load in all arms, which take turns: forth, back, forth again.
    fn trial(&mut self, workload: &Workload) -> Result<Trial> {
        let arms = &self.plan.arms;
        let mut trial = Trial::new(self.vcpus, workload, arms);
        self.search(workload, &mut trial)?;
        for repeat in 0..self.plan.timing.repeats {
            let mut order: Vec<_> = (0..arms.len()).collect();
            if repeat % 2 == 1 {
                order.reverse();
            }
            for index in order {
                let arm = &arms[index];
                let outcome = self
                    .arm(workload, arm, trial.oracle_cores)
                    .with_context(|| arm.name.clone())?;
                self.progress
                    .show(self.vcpus, workload, &arm.name, &outcome);
                trial.arms[index].1.push(outcome);
            }
        }
        Ok(trial)
    }

    /// Finds the fixed number of cores that does best.
    fn search(&mut self, workload: &Workload, trial: &mut Trial) -> Result<()> {
        let vcpus = self.vcpus;
        let parts = [self.plan.timing.search];
        for cores in self.plan.candidates(vcpus) {
            let commands = (arm::fold(vcpus, cores), arm::release(vcpus, cores));
            let outcome = self.undisturbed(workload, &parts, &commands, false)?;
            let name = format!("{cores} in use");
            self.progress.show(vcpus, workload, &name, &outcome);
            trial.tried.push((cores, goodness(workload, &outcome)));
        }
        let best = trial
            .tried
            .iter()
            .filter_map(|&(cores, goodness)| Some((cores, goodness?)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        trial.oracle_cores = best.map_or(vcpus, |(cores, _)| cores);
        Ok(())
    }

    /// Runs one load in one arm, once.
    fn arm(&mut self, workload: &Workload, arm: &Arm, oracle: usize) -> Result<Outcome> {
        let Timing {
            interval_ms,
            seconds,
            settle,
            ..
        } = self.plan.timing;
        let commands = (
            arm.set_up(self.vcpus, interval_ms, oracle),
            arm.take_down(self.vcpus, oracle),
        );
        let parts = [settle, seconds - settle];
        self.undisturbed(workload, &parts, &commands, arm.is_module())
    }

    /// Runs one load after the first and before the second list of commands, again if others disturbed it.
    fn undisturbed(
        &mut self,
        workload: &Workload,
        parts: &[u64],
        (before, after): &(Vec<String>, Vec<String>),
        events: bool,
    ) -> Result<Outcome> {
        let mut attempt = 1;
        loop {
            self.tell(workload, before)?;
            let mut outcome = self.slot(workload, parts)?;
            if events {
                self.note_events(workload, &mut outcome)?;
            }
            self.tell(workload, after)?;
            if outcome.others_pct <= OTHERS_PCT || attempt == ATTEMPTS {
                outcome.attempts = attempt;
                return Ok(outcome);
            }
            attempt += 1;
        }
    }

    /// Runs commands, one after the other, in the guests that take part.
    fn tell(&mut self, workload: &Workload, commands: &[String]) -> Result<()> {
        for command in commands {
            self.lab.ask_each(&taking_part(workload, command))?;
        }
        Ok(())
    }

    fn note_events(&mut self, workload: &Workload, outcome: &mut Outcome) -> Result<()> {
        let answers = self
            .lab
            .ask_each(&taking_part(workload, &format!("show {EVENTS}")))?;
        for (slot, lines) in outcome.guests.iter_mut().zip(answers) {
            slot.events = lines
                .iter()
                .filter_map(|line| lab::parse_event(line))
                .collect();
        }
        Ok(())
    }

    /// Runs the load once; for as many seconds as all parts have.
    fn slot(&mut self, workload: &Workload, parts: &[u64]) -> Result<Outcome> {
        let settle = parts[..parts.len() - 1].iter().sum::<u64>() as f64;
        let sample = self.plan.timing.sample;
        let count = Duration::from_secs(parts.iter().sum()).as_millis() / sample.as_millis();
        let delays: Vec<_> = self.lab.guests.iter().map(|g| g.run_delay()).collect();
        let others = host::Others::watch(self.lab.guests.iter().map(|g| g.pid()).collect())?;
        let samples = self.lab.watch(
            &workload.jobs(parts),
            sample,
            u64::try_from(count)?.max(1),
            &mut |_, _| (),
        )?;
        let others_pct = others.taken_pct()?;
        let mut guests = Vec::new();
        for ((guest, samples), delay) in self.lab.guests.iter().zip(&samples).zip(delays) {
            let mut slot = Slot::new(0, samples, self.vcpus, settle);
            slot.run_delay_s = guest.run_delay() - delay;
            guests.push(slot);
        }
        let values = if workload.is_latency() {
            self.latencies(workload, parts.len())?
        } else {
            vec![work(workload, &samples, settle)]
        };
        let neighbour = (!workload.counts(1)).then(|| rates(&samples[1], settle).whole);
        Ok(Outcome {
            values,
            neighbour: neighbour.flatten(),
            others_pct,
            attempts: 1,
            guests,
        })
    }

    /// Median and 99th percentile of what cyclictest measured in all guests.
    fn latencies(&mut self, workload: &Workload, parts: usize) -> Result<Vec<Value>> {
        let (mut whole, mut settled) = (Histogram::default(), Histogram::default());
        for part in 1..=parts {
            let answers = self.lab.ask(&format!("dump {LATENCIES}.{part}"))?;
            for (guest, lines) in answers.iter().enumerate() {
                if !workload.counts(guest) {
                    continue;
                }
                let histogram = Histogram::parse(lines)?;
                whole.add(&histogram);
                if part == parts {
                    settled.add(&histogram);
                }
            }
        }
        let value = |per_mille| Value {
            whole: whole.percentile(per_mille),
            settled: settled.percentile(per_mille),
        };
        Ok(vec![value(500), value(990)])
    }
}

/// A command for those guests that take part in an arm.
fn taking_part(workload: &Workload, command: &str) -> Vec<Option<String>> {
    (0..GUESTS)
        .map(|guest| workload.folds(guest).then(|| command.to_string()))
        .collect()
}

/// How well a slot went, in one number: the more the better.
fn goodness(workload: &Workload, outcome: &Outcome) -> Option<f64> {
    let metrics = workload.metrics().iter().zip(&outcome.values);
    metrics
        .map(|(metric, value)| {
            let value = value.whole?;
            Some(if metric.more { value } else { 1.0 / value })
        })
        .product()
}

/// The work of all guests whose work counts.
fn work(workload: &Workload, samples: &[Vec<Sample>], settle: f64) -> Value {
    let counted = samples
        .iter()
        .enumerate()
        .filter(|(guest, _)| workload.counts(*guest));
    let rates: Vec<_> = counted.map(|(_, samples)| rates(samples, settle)).collect();
    Value {
        whole: rates.iter().map(|rate| rate.whole).sum(),
        settled: rates.iter().map(|rate| rate.settled).sum(),
    }
}

/// Rounds per second of one guest, from the onset of the load and from the first round on that ended `settle` seconds
/// after it. Time is taken when rounds end, so that a round that a slot cuts off does not count, nor does its time.
fn rates(samples: &[Sample], settle: f64) -> Value {
    let (first, last) = (&samples[0], &samples[samples.len() - 1]);
    let since = |counted: f64, rounds: u64| {
        let (seconds, rounds) = (last.counted - counted, last.rounds.checked_sub(rounds)?);
        (seconds > 0.0 && rounds > 0).then(|| rounds as f64 / seconds)
    };
    let settled = samples
        .iter()
        .find(|sample| sample.counted - first.uptime >= settle);
    Value {
        whole: since(first.uptime, first.rounds),
        settled: settled.and_then(|sample| since(sample.counted, sample.rounds)),
    }
}

/// Where the results of a bench go.
pub fn results(dir: &Path, arch: Arch) -> [PathBuf; 3] {
    [".json", ".svg", "-onset.svg"].map(|end| dir.join(format!("bench{}{end}", arch.suffix())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::CpuTimes;

    fn sample(uptime: f64, rounds: u64, counted: f64) -> Sample {
        Sample {
            uptime,
            rounds,
            counted,
            folded: 0,
            times: CpuTimes::default(),
        }
    }

    #[test]
    fn rates_end_with_the_last_round() {
        let samples = [
            sample(10.0, 0, 10.0),
            sample(11.0, 2, 10.8),
            sample(12.0, 5, 12.0),
            sample(13.0, 6, 12.5),
        ];
        let value = rates(&samples, 1.5);
        assert_eq!(value.whole, Some(6.0 / 2.5));
        assert_eq!(value.settled, Some(1.0 / 0.5));
        assert_eq!(rates(&samples[..1], 0.0), Value::default());
        assert_eq!(rates(&samples, 9.0).settled, None);
    }

    fn workload(name: &str) -> Workload {
        let found = Workload::all(4).into_iter().find(|load| load.name == name);
        found.unwrap()
    }

    #[test]
    fn a_guest_that_did_nothing_spoils_the_sum() {
        let busy = vec![sample(10.0, 0, 10.0), sample(12.0, 4, 12.0)];
        let stuck = vec![sample(10.0, 0, 10.0), sample(12.0, 0, 10.0)];
        let both = [busy.clone(), busy.clone()];
        assert_eq!(work(&workload("lock"), &both, 0.0).whole, Some(4.0));
        let one = [busy, stuck];
        assert_eq!(work(&workload("lock"), &one, 0.0).whole, None);
        assert_eq!(
            work(&workload("idle-neighbour"), &one, 0.0).whole,
            Some(2.0)
        );
    }

    #[test]
    fn only_those_who_take_part_are_told() {
        let told = |name: &str| {
            let commands = taking_part(&workload(name), "x");
            commands.iter().map(Option::is_some).collect::<Vec<_>>()
        };
        assert_eq!(told("lock"), [true, true]);
        assert_eq!(told("stock-neighbour"), [true, false]);
    }

    #[test]
    fn low_latency_is_good() {
        let outcome = |values: &[f64]| Outcome {
            values: values
                .iter()
                .map(|&value| Value {
                    whole: Some(value),
                    settled: None,
                })
                .collect(),
            neighbour: None,
            others_pct: 0.0,
            attempts: 1,
            guests: Vec::new(),
        };
        assert_eq!(
            goodness(&workload("latency"), &outcome(&[2.0, 4.0])),
            Some(0.125)
        );
        assert_eq!(goodness(&workload("vm"), &outcome(&[3.0])), Some(3.0));
    }

    pub(super) fn plan() -> Plan {
        Plan {
            arch: Arch::X86_64,
            qemu: "true".into(),
            kernel: "/nonexistent".into(),
            memory: 64,
            sizes: vec![4, 8],
            host_cpus: 2,
            arms: Arm::all(),
            loads: Vec::new(),
            quick: true,
            timing: Timing {
                interval_ms: 150,
                seconds: 4,
                settle: 2,
                search: 1,
                sample: Duration::from_millis(500),
                repeats: 2,
            },
            dir: "/nonexistent".into(),
        }
    }

    #[test]
    fn bad_plans_are_refused() {
        plan().check().unwrap();
        let refused = |change: fn(&mut Plan)| {
            let mut plan = plan();
            change(&mut plan);
            plan.check().unwrap_err().to_string()
        };
        assert!(refused(|p| p.loads = vec!["lokc".into()]).contains("lock"));
        assert!(refused(|p| p.timing.settle = 4).contains("--settle"));
        assert!(refused(|p| p.sizes = vec![1]).contains("contend"));
        let error = run(&plan(), &Arc::default()).unwrap_err().to_string();
        assert!(error.contains("make kernel"), "{error}");
    }

    #[test]
    fn all_cores_are_tried_too() {
        let mut plan = plan();
        assert_eq!(plan.candidates(4), [1, 2, 4]);
        assert_eq!(plan.candidates(12), [1, 2, 6, 12]);
        plan.quick = false;
        assert_eq!(plan.candidates(4), [1, 2, 3, 4]);
        assert_eq!(plan.candidates(12), [1, 2, 3, 4, 6, 8, 12]);
        plan.loads = vec!["lock".into()];
        assert_eq!(plan.slots(), (4 + 10) + (6 + 10));
    }
}
