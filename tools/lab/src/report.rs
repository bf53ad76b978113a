// SPDX-License-Identifier: GPL-2.0

//! What a run found: kept as JSON, judged, and summed up for people.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use serde::Serialize;

use crate::sample::{Sample, Span};

/// Without or with corefold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arm {
    /// The module is not loaded.
    Stock,
    /// The module is loaded.
    Corefold,
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Stock => "stock",
            Self::Corefold => "corefold",
        })
    }
}

/// One second of one guest.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// Seconds since the load began.
    pub t: f64,
    /// Steal in per cent of active time, in that second; null if the guest was idle.
    pub steal_pct: Option<f64>,
    /// CPUs that are not soft offline.
    pub active_cores: usize,
    /// Rounds since the load began.
    pub rounds: u64,
}

/// One guest under one load, without or with corefold, once.
#[derive(Clone, Debug, Serialize)]
pub struct Slot {
    /// Which of the load's slots, in the order in which they ran.
    pub slot: usize,
    /// Its length, in guest time.
    pub seconds: f64,
    /// Rounds done.
    pub rounds: u64,
    /// Steal in per cent of active time.
    pub steal_pct: Option<f64>,
    /// The same, once settled.
    pub settled_steal_pct: Option<f64>,
    /// Rounds per second, once settled.
    pub settled_rate: f64,
    /// Mean of active cores.
    pub active_cores: f64,
    /// The same, once settled.
    pub settled_active_cores: f64,
    /// Steal that the guest saw, in CPU-seconds.
    pub steal_s: f64,
    /// Run delay of the guest's CPUs that the host saw, in CPU-seconds.
    pub run_delay_s: f64,
    /// The module's counters at the end.
    pub events: BTreeMap<String, u64>,
    /// Second by second.
    pub series: Vec<Point>,
    #[serde(skip)]
    whole: Span,
    #[serde(skip)]
    settled: Span,
}

impl Slot {
    /// From a guest's samples, the first of which is from the begin of the load. What comes `settle` seconds after it
    /// is settled.
    ///
    /// Panics if there is no sample.
    pub fn new(slot: usize, samples: &[Sample], cpus: usize, settle: f64) -> Self {
        let (first, last) = (&samples[0], &samples[samples.len() - 1]);
        let series: Vec<_> = samples
            .windows(2)
            .map(|pair| Point {
                t: pair[1].uptime - first.uptime,
                steal_pct: Span::between(&pair[0], &pair[1], cpus).steal_pct(),
                active_cores: cpus.saturating_sub(pair[1].folded),
                rounds: pair[1].rounds.saturating_sub(first.rounds),
            })
            .collect();
        let settled_from = samples
            .iter()
            .find(|s| s.uptime - first.uptime >= settle)
            .unwrap_or(last);
        let whole = Span::between(first, last, cpus);
        let settled = Span::between(settled_from, last, cpus);
        Self {
            slot,
            seconds: whole.seconds,
            rounds: whole.rounds,
            steal_pct: whole.steal_pct(),
            settled_steal_pct: settled.steal_pct(),
            settled_rate: rate(&settled),
            active_cores: mean_cores(&series, 0.0),
            settled_active_cores: mean_cores(&series, settle),
            steal_s: whole.steal,
            run_delay_s: 0.0,
            events: BTreeMap::new(),
            series,
            whole,
            settled,
        }
    }
}

fn rate(span: &Span) -> f64 {
    if span.seconds > 0.0 {
        span.rounds as f64 / span.seconds
    } else {
        0.0
    }
}

fn mean_cores(series: &[Point], from: f64) -> f64 {
    mean(
        series
            .iter()
            .filter(|point| point.t >= from)
            .map(|point| point.active_cores as f64),
    )
}

/// Of no values it is 0.
pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    if count == 0 {
        0.0
    } else {
        sum / f64::from(count)
    }
}

fn add(spans: impl Iterator<Item = Span>) -> Span {
    spans.fold(Span::default(), |a, b| Span {
        seconds: a.seconds + b.seconds,
        steal: a.steal + b.steal,
        active: a.active + b.active,
        rounds: a.rounds + b.rounds,
    })
}

/// All slots of one guest, or of all guests, of one load and arm.
#[derive(Clone, Debug, Serialize)]
pub struct Totals {
    /// Rounds done.
    pub rounds: u64,
    /// Steal in per cent of active time.
    pub steal_pct: Option<f64>,
    /// The same, once settled.
    pub settled_steal_pct: Option<f64>,
    /// Mean of active cores, once settled.
    pub settled_active_cores: f64,
    /// Steal that the guests saw, in CPU-seconds.
    pub steal_s: f64,
    /// Run delay that the host saw, in CPU-seconds.
    pub run_delay_s: f64,
}

impl Totals {
    fn of<'a>(slots: impl Iterator<Item = &'a Slot> + Clone) -> Self {
        let whole = add(slots.clone().map(|slot| slot.whole));
        Self {
            rounds: whole.rounds,
            steal_pct: whole.steal_pct(),
            settled_steal_pct: add(slots.clone().map(|slot| slot.settled)).steal_pct(),
            settled_active_cores: mean(slots.clone().map(|slot| slot.settled_active_cores)),
            steal_s: whole.steal,
            run_delay_s: slots.map(|slot| slot.run_delay_s).sum(),
        }
    }
}

/// One guest's part of an arm.
#[derive(Clone, Debug, Serialize)]
pub struct GuestReport {
    /// Which.
    pub guest: usize,
    /// Over its slots.
    #[serde(flatten)]
    pub totals: Totals,
    /// One by one.
    pub slots: Vec<Slot>,
}

/// One arm of a load.
#[derive(Clone, Debug, Serialize)]
pub struct ArmReport {
    /// Over guests and slots.
    #[serde(flatten)]
    pub totals: Totals,
    /// Guest by guest.
    pub guests: Vec<GuestReport>,
}

impl ArmReport {
    /// From the slots of each guest.
    pub fn new(guests: Vec<Vec<Slot>>) -> Self {
        Self {
            totals: Totals::of(guests.iter().flatten()),
            guests: guests
                .into_iter()
                .enumerate()
                .map(|(guest, slots)| GuestReport {
                    guest,
                    totals: Totals::of(slots.iter()),
                    slots,
                })
                .collect(),
        }
    }

    fn settled_rate(&self) -> f64 {
        rate(&add(self
            .guests
            .iter()
            .flat_map(|guest| &guest.slots)
            .map(|slot| slot.settled)))
    }
}

/// One load, both arms.
#[derive(Clone, Debug, Serialize)]
pub struct LoadReport {
    /// What each guest ran, over and over.
    pub command: String,
    /// How long a slot was.
    pub seconds: u64,
    /// Rounds in all, corefold to stock.
    pub ratio: f64,
    /// Rounds per second once settled, corefold to stock.
    pub settled_ratio: f64,
    /// Without.
    pub arms: Arms,
}

/// Both arms.
#[derive(Clone, Debug, Serialize)]
pub struct Arms {
    /// Without corefold.
    pub stock: ArmReport,
    /// With it.
    pub corefold: ArmReport,
}

impl LoadReport {
    /// Compares two arms.
    pub fn new(command: String, seconds: u64, stock: ArmReport, corefold: ArmReport) -> Self {
        Self {
            command,
            seconds,
            ratio: ratio(corefold.totals.rounds as f64, stock.totals.rounds as f64),
            settled_ratio: ratio(corefold.settled_rate(), stock.settled_rate()),
            arms: Arms { stock, corefold },
        }
    }

    /// Settled steal, corefold to stock; `None` if either guest was idle.
    pub fn steal_ratio(&self) -> Option<f64> {
        let stock = self.arms.stock.totals.settled_steal_pct?;
        Some(ratio(self.arms.corefold.totals.settled_steal_pct?, stock))
    }
}

fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

/// The loads, in the order in which they ran.
#[derive(Clone, Debug, Serialize)]
pub struct Loads {
    /// Messages over pipes between threads.
    pub hackbench: LoadReport,
    /// Computing only; not part of a quick run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<LoadReport>,
}

impl Loads {
    /// With their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &LoadReport)> {
        let cpu = self.cpu.as_ref().map(|load| ("cpu", load));
        [("hackbench", &self.hackbench)].into_iter().chain(cpu)
    }
}

/// Something that had to hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// What.
    pub name: String,
    /// Whether it held.
    pub pass: bool,
    /// The numbers.
    pub detail: String,
}

/// A whole run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Of this format.
    pub version: u32,
    /// The guests' kernel.
    pub kernel: String,
    /// CPUs of the host that the guests contend for.
    pub host_cpus: usize,
    /// How busy they were with other things before the guests started, in per cent.
    pub host_busy_pct: f64,
    /// Virtual CPUs of each guest.
    pub vcpus: usize,
    /// What corefold was loaded with.
    pub module_arguments: String,
    /// From here on a slot counts as settled, in seconds.
    pub settle_s: f64,
    /// What the guests did.
    pub loads: Loads,
    /// What had to hold.
    pub checks: Vec<Check>,
}

impl Report {
    /// Whether all that had to hold held.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.pass)
    }

    /// A table for people.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "{:<10} {:>28}   {:>28}\n{:<10} {:>8} {:>10} {:>8}   {:>8} {:>10} {:>8} {:>8}\n",
            "",
            "--------- stock ---------",
            "-------- corefold -------",
            "load",
            "rounds",
            "steal",
            "cores",
            "rounds",
            "steal",
            "cores",
            "ratio"
        );
        for (name, load) in self.loads.iter() {
            let _ = write!(text, "{name:<10}");
            for arm in [&load.arms.stock, &load.arms.corefold] {
                let totals = &arm.totals;
                let gap = if std::ptr::eq(arm, &load.arms.stock) {
                    " "
                } else {
                    "   "
                };
                let _ = write!(
                    text,
                    "{gap}{:>8} {:>10} {:>8.1}",
                    totals.rounds,
                    percent(totals.settled_steal_pct),
                    totals.settled_active_cores
                );
            }
            let _ = writeln!(text, " {:>8.2}", load.ratio);
        }
        let _ = writeln!(
            text,
            "rounds: of all guests; steal: per cent of active time; cores: mean of each guest of {};\n\
             both from {:.0} s after the load began. corefold was loaded with: {}",
            self.vcpus, self.settle_s, self.module_arguments
        );
        text
    }
}

/// A percentage for people.
pub fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "idle".to_string(), |value| format!("{value:.1} %"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sample::CpuTimes;

    /// Ten seconds of two CPUs, `steal` hundredths and `rounds` a second; one CPU folds and falls idle after five.
    pub(crate) fn slot(slot: usize, steal: u64, rounds: u64) -> Slot {
        let samples: Vec<_> = (0..=10)
            .map(|s| Sample {
                uptime: 100.0 + s as f64,
                rounds: s * rounds,
                counted: 100.0 + s as f64,
                folded: usize::from(s > 5),
                times: CpuTimes {
                    idle: s.saturating_sub(5) * 100,
                    steal: s * steal,
                },
            })
            .collect();
        Slot::new(slot, &samples, 2, 6.0)
    }

    pub(crate) fn report() -> Report {
        let arm = |steal, rounds| {
            ArmReport::new(vec![
                vec![slot(0, steal, rounds)],
                vec![slot(0, steal, rounds)],
            ])
        };
        let load = LoadReport::new("true".into(), 10, arm(50, 10), arm(5, 25));
        Report {
            version: 1,
            kernel: "7.3".into(),
            host_cpus: 2,
            host_busy_pct: 0.0,
            vcpus: 2,
            module_arguments: "interval_ms=500".into(),
            settle_s: 6.0,
            loads: Loads {
                hackbench: load.clone(),
                cpu: Some(load),
            },
            checks: Vec::new(),
        }
    }

    #[test]
    fn a_slot_tells_whole_from_settled() {
        let slot = slot(0, 50, 10);
        assert_eq!(
            (slot.seconds, slot.rounds, slot.settled_rate),
            (10.0, 100, 10.0)
        );
        // 5 s of 20 - 5 active, then 2 s of 4 active.
        assert!((slot.steal_pct.unwrap() - 100.0 / 3.0).abs() < 1e-9);
        assert!((slot.settled_steal_pct.unwrap() - 50.0).abs() < 1e-9);
        assert_eq!((slot.active_cores, slot.settled_active_cores), (1.5, 1.0));
        assert_eq!(slot.series.len(), 10);
        assert_eq!(slot.series[0].steal_pct, Some(25.0));
        assert_eq!(slot.series[9].active_cores, 1);
    }

    #[test]
    fn a_slot_shorter_than_the_settling_is_no_panic() {
        let sample = Sample {
            uptime: 1.0,
            rounds: 0,
            counted: 1.0,
            folded: 0,
            times: CpuTimes::default(),
        };
        let slot = Slot::new(0, &[sample], 2, 6.0);
        assert_eq!(
            (slot.rounds, slot.steal_pct, slot.settled_active_cores),
            (0, None, 0.0)
        );
    }

    #[test]
    fn ratios_are_corefold_to_stock() {
        let report = report();
        let load = &report.loads.hackbench;
        assert_eq!(load.ratio, 2.5);
        assert_eq!(load.settled_ratio, 2.5);
        assert!((load.steal_ratio().unwrap() - 0.1).abs() < 1e-9);
        assert_eq!(load.arms.stock.totals.rounds, 200);
    }

    #[test]
    fn a_stock_arm_without_rounds_passes_nothing() {
        let arm = |rounds| ArmReport::new(vec![vec![slot(0, 50, rounds)]]);
        let load = LoadReport::new("true".into(), 10, arm(0), arm(5));
        assert_eq!((load.ratio, load.settled_ratio), (0.0, 0.0));
    }

    #[test]
    fn json_has_what_readers_look_for() {
        let json = serde_json::to_value(report()).unwrap();
        assert_eq!(json["loads"]["hackbench"]["ratio"], 2.5);
        let guest = &json["loads"]["cpu"]["arms"]["corefold"]["guests"][1];
        assert_eq!(guest["guest"], 1);
        assert_eq!(guest["rounds"], 250);
        assert!(guest["steal_pct"].is_number());
        assert_eq!(guest["slots"][0]["series"][9]["active_cores"], 1);
    }

    #[test]
    fn the_summary_shows_the_ratio() {
        let text = report().summary();
        assert!(
            text.contains("hackbench") && text.contains("2.50"),
            "{text}"
        );
    }

    #[test]
    fn one_failed_check_fails_the_run() {
        let mut report = report();
        assert!(report.passed());
        report.checks.push(Check {
            name: "x".into(),
            pass: false,
            detail: String::new(),
        });
        assert!(!report.passed());
    }
}
