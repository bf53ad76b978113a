// SPDX-License-Identifier: GPL-2.0

//! What a bench found: kept as JSON, and set out in tables.

use std::fmt::Write;

use serde::Serialize;

use crate::bench::arm::{Arm, ORACLE, STOCK};
use crate::bench::workload::{Metric, Workload};
use crate::report::{Check, Slot, mean, percent};

/// A figure of one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Value {
    /// From the onset of the load; null if not a single round was done.
    pub whole: Option<f64>,
    /// Once settled.
    pub settled: Option<f64>,
}

/// What one arm did once.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// A figure for each metric of the load.
    pub values: Vec<Value>,
    /// The work of a guest whose work does not count.
    pub neighbour: Option<f64>,
    /// What other processes took of the host's CPUs, in per cent.
    pub others_pct: f64,
    /// How often it ran until others disturbed it no more.
    pub attempts: usize,
    /// Guest by guest.
    pub guests: Vec<Slot>,
}

impl Outcome {
    /// What is to be said about others, if anything.
    pub fn disturbed(&self) -> Option<String> {
        let (others, attempts) = (self.others_pct, self.attempts);
        let notable = attempts > 1 || others > 1.0;
        notable.then(|| format!(", others {others:.0} % (attempt {attempts})"))
    }
}

/// One load in guests of one size, in all arms.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// CPUs of each guest.
    pub vcpus: usize,
    /// What it is called.
    pub load: String,
    /// What the guests run.
    pub about: String,
    /// The fixed number of cores that did best.
    pub oracle_cores: usize,
    /// How well each number of cores did when all were tried: work, or the inverse of latency.
    pub tried: Vec<(usize, Option<f64>)>,
    /// What each arm did, repeat by repeat.
    pub arms: Vec<(String, Vec<Outcome>)>,
    #[serde(skip)]
    metrics: &'static [Metric],
}

impl Trial {
    /// A trial in which nothing has run yet.
    pub fn new(vcpus: usize, workload: &Workload, arms: &[Arm]) -> Self {
        Self {
            vcpus,
            load: workload.name.into(),
            about: workload.about(),
            oracle_cores: vcpus,
            tried: Vec::new(),
            arms: arms
                .iter()
                .map(|arm| (arm.name.clone(), Vec::new()))
                .collect(),
            metrics: workload.metrics(),
        }
    }

    fn rows(&self) -> impl Iterator<Item = Row> {
        (0..self.metrics.len()).map(|metric| Row::new(self, metric))
    }
}

/// The middle of several values, and how far they lie apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The middle one, or what is between the middle two.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// All of them, in the order in which they were measured.
    pub values: Vec<f64>,
}

impl Spread {
    /// Of no values there is none.
    pub fn of(values: Vec<f64>) -> Option<Self> {
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Some(Self {
            median: (low + high) / 2.0,
            min,
            max,
            values,
        })
    }
}

/// Figures of one arm over one stretch of time.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// In the unit of the row.
    pub value: Option<Spread>,
    /// How much better than stock, repeat by repeat: above 1 is better, whatever the unit.
    pub to_stock: Option<Spread>,
    /// The same against the best fixed number of cores.
    pub to_oracle: Option<Spread>,
}

/// One arm in one row.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// Which.
    pub arm: String,
    /// From the onset of the load.
    pub whole: Figures,
    /// Once settled.
    pub settled: Figures,
    /// Rounds per second of a neighbour whose work does not count.
    pub neighbour: Option<Spread>,
    /// Mean steal of the first guest once settled, in per cent of active time.
    pub steal_pct: Option<f64>,
    /// Mean of cores in use of the first guest, once settled.
    pub cores: f64,
    /// How many cores the module took and gave back in a slot, on average.
    pub moves: f64,
}

/// One figure of one load in guests of one size.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// CPUs of each guest.
    pub vcpus: usize,
    /// The load, and which figure of it.
    pub name: String,
    /// What the guests ran.
    pub about: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// Whether more is better.
    pub more_is_better: bool,
    /// The fixed number of cores that did best.
    pub oracle_cores: usize,
    /// Arm by arm.
    pub arms: Vec<Cell>,
    /// For each arm, repeat by repeat.
    #[serde(skip)]
    values: Vec<(String, Vec<Value>)>,
}

type Window = fn(&Value) -> Option<f64>;
const WHOLE: Window = |value| value.whole;
const SETTLED: Window = |value| value.settled;

impl Row {
    fn new(trial: &Trial, metric: usize) -> Self {
        let Metric { suffix, unit, more } = trial.metrics[metric];
        let value = |outcome: &Outcome| outcome.values.get(metric).copied().unwrap_or_default();
        let values = trial
            .arms
            .iter()
            .map(|(arm, outcomes)| (arm.clone(), outcomes.iter().map(value).collect()));
        let mut row = Self {
            vcpus: trial.vcpus,
            name: format!("{}{suffix}", trial.load),
            about: trial.about.clone(),
            unit,
            more_is_better: more,
            oracle_cores: trial.oracle_cores,
            arms: Vec::new(),
            values: values.collect(),
        };
        row.arms = trial
            .arms
            .iter()
            .map(|(arm, outcomes)| row.cell(arm, outcomes))
            .collect();
        row
    }

    fn cell(&self, arm: &str, outcomes: &[Outcome]) -> Cell {
        let first = |figure: fn(&Slot) -> Option<f64>| {
            let slots = outcomes.iter().filter_map(|o| o.guests.first());
            let figures: Vec<_> = slots.filter_map(figure).collect();
            (!figures.is_empty()).then(|| mean(figures.into_iter()))
        };
        Cell {
            arm: arm.into(),
            whole: self.figures(arm, WHOLE),
            settled: self.figures(arm, SETTLED),
            neighbour: Spread::of(outcomes.iter().filter_map(|o| o.neighbour).collect()),
            steal_pct: first(|slot| slot.settled_steal_pct),
            cores: first(|slot| Some(slot.settled_active_cores)).unwrap_or(0.0),
            moves: first(|slot| Some(moves(slot))).unwrap_or(0.0),
        }
    }

    fn figures(&self, arm: &str, window: Window) -> Figures {
        Figures {
            value: Spread::of(self.values(arm, window).into_iter().flatten().collect()),
            to_stock: self.compare(arm, STOCK, window),
            to_oracle: self.compare(arm, ORACLE, window),
        }
    }

    fn values(&self, arm: &str, window: Window) -> Vec<Option<f64>> {
        let found = self.values.iter().find(|(name, _)| name == arm);
        found.map_or(Vec::new(), |(_, values)| {
            values.iter().map(window).collect()
        })
    }

    /// How much better `arm` is than `base`. Only what ran in the same repeat is compared: the machine drifts.
    fn compare(&self, arm: &str, base: &str, window: Window) -> Option<Spread> {
        let (arm, base) = (self.values(arm, window), self.values(base, window));
        let ratios = arm.into_iter().zip(base).filter_map(|(arm, base)| {
            let (arm, base) = (arm?, base?);
            let (good, bad) = if self.more_is_better {
                (arm, base)
            } else {
                (base, arm)
            };
            (bad > 0.0).then_some(good / bad)
        });
        Spread::of(ratios.collect())
    }

    fn label(&self) -> String {
        format!("{} CPUs, {}", self.vcpus, self.name)
    }
}

/// How many cores the module took and gave back.
fn moves(slot: &Slot) -> f64 {
    let count = |name| *slot.events.get(name).unwrap_or(&0);
    (count("folds") + count("unfolds")) as f64
}

/// One arm against another, over all rows.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// How much better this arm is ...
    pub arm: String,
    /// ... than this one.
    pub base: String,
    /// The geometric mean of the rows' medians, from the onset of the load.
    pub whole: Option<f64>,
    /// Once settled.
    pub settled: Option<f64>,
    /// The least of the rows' medians, from the onset of the load.
    pub least: Option<f64>,
    /// Which row that is.
    pub least_row: String,
    /// How many rows there are, and how many of them could not be compared.
    pub rows: usize,
    /// An arm did not finish a single round in those.
    pub rows_without: usize,
}

impl Comparison {
    fn new(rows: &[Row], arm: &str, base: &str) -> Self {
        let medians = |window: Window| -> Vec<_> {
            let of = |row: &Row| Some((row.compare(arm, base, window)?.median, row.label()));
            rows.iter().filter_map(of).collect()
        };
        let whole = medians(WHOLE);
        let least = whole.iter().min_by(|a, b| a.0.total_cmp(&b.0)).cloned();
        let (least, least_row) = least.unzip();
        Self {
            arm: arm.into(),
            base: base.into(),
            whole: geometric_mean(&whole),
            settled: geometric_mean(&medians(SETTLED)),
            least,
            least_row: least_row.unwrap_or_default(),
            rows: rows.len(),
            rows_without: rows.len() - whole.len(),
        }
    }
}

fn geometric_mean(values: &[(f64, String)]) -> Option<f64> {
    (!values.is_empty()).then(|| mean(values.iter().map(|(value, _)| value.ln())).exp())
}

/// A whole bench.
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
    /// Whether it was a quick one.
    pub quick: bool,
    /// Interval of the module in all arms that have it.
    pub interval_ms: u64,
    /// Length of a slot.
    pub seconds: u64,
    /// From here on a slot counts as settled, in seconds.
    pub settle_s: u64,
    /// How often each arm ran in each row.
    pub repeats: usize,
    /// How long it all took, in seconds.
    pub took_s: f64,
    /// Row by row.
    pub rows: Vec<Row>,
    /// Each arm against each other.
    pub summary: Vec<Comparison>,
    /// What had to hold for the figures to mean something.
    pub checks: Vec<Check>,
    /// Everything that was measured.
    pub trials: Vec<Trial>,
}

impl Report {
    /// Makes rows and summary of all trials.
    pub fn sum_up(&mut self, arms: &[Arm]) {
        self.rows = self.trials.iter().flat_map(Trial::rows).collect();
        self.summary = arms
            .iter()
            .flat_map(|arm| arms.iter().map(move |base| (arm, base)))
            .filter(|(arm, base)| arm != base)
            .map(|(arm, base)| Comparison::new(&self.rows, &arm.name, &base.name))
            .collect();
    }

    /// Tables for people.
    pub fn tables(&self) -> String {
        let mut text = String::new();
        for (title, figures) in [
            ("from the onset of the load", Cell::whole as PickFigures),
            ("once settled", Cell::settled),
        ] {
            let _ = writeln!(
                text,
                "How much better than stock, {title}: median (least to greatest) of {} repeats",
                self.repeats
            );
            self.table(&mut text, |row, cell| match cell.arm.as_str() {
                // Against itself it is always 1: show what the others are a ratio to.
                STOCK => row.amount(figures(cell).value.as_ref()),
                _ => ratio(figures(cell).to_stock.as_ref()),
            });
        }
        let _ = writeln!(
            text,
            "Cores in use and steal of the first guest, once settled; cores moved in a slot"
        );
        self.table(&mut text, |_, cell| {
            format!(
                "{:.1}  {}  {:.0}",
                cell.cores,
                percent(cell.steal_pct),
                cell.moves
            )
        });
        if self.rows.iter().any(Row::has_neighbour) {
            let _ = writeln!(
                text,
                "Rounds per second of the other guest, where they do not count"
            );
            self.neighbours(&mut text);
        }
        text += &self.summary_table();
        text
    }

    /// The names of the arms, in their order.
    pub fn arms(&self) -> impl Iterator<Item = &str> {
        let first = self.rows.first();
        first
            .into_iter()
            .flat_map(|row| row.arms.iter().map(|cell| cell.arm.as_str()))
    }

    fn header(&self, text: &mut String, first: &str) {
        let _ = write!(text, "{first:<32}");
        for arm in self.arms() {
            let _ = write!(text, " {arm:>18}");
        }
        text.push('\n');
    }

    fn table(&self, text: &mut String, show: impl Fn(&Row, &Cell) -> String) {
        self.header(text, "  CPUs load");
        for row in &self.rows {
            row.line(text, |cell| show(row, cell));
            let _ = writeln!(text, "  ({} of {})", row.oracle_cores, row.vcpus);
        }
        text.push('\n');
    }

    fn neighbours(&self, text: &mut String) {
        self.header(text, "  CPUs load");
        for row in self.rows.iter().filter(|row| row.has_neighbour()) {
            row.line(text, |cell| {
                let rate = cell.neighbour.as_ref().map(|spread| spread.median);
                rate.map_or("-".into(), |r| format!("{r:.1}"))
            });
            text.push('\n');
        }
        text.push('\n');
    }

    fn summary_table(&self) -> String {
        let mut text = "Geometric mean over all rows: how much better the arm on the left is than the one above, \
                        from the onset / once settled\n"
            .to_string();
        self.header(&mut text, "");
        let arms: Vec<_> = self.arms().collect();
        for arm in &arms {
            let _ = write!(text, "  {arm:<30}");
            for base in &arms {
                let found = self
                    .summary
                    .iter()
                    .find(|c| &c.arm == arm && &c.base == base);
                let shown = found.map_or("-".into(), |c| {
                    format!("{} / {}", number(c.whole), number(c.settled))
                });
                let _ = write!(text, " {shown:>18}");
            }
            text.push('\n');
        }
        text.push('\n');
        for found in self.summary.iter().filter(|c| c.base == STOCK) {
            let _ = writeln!(
                text,
                "  {}: at least {} of stock ({}); {} of {} rows compared",
                found.arm,
                number(found.least),
                found.least_row,
                found.rows - found.rows_without,
                found.rows
            );
        }
        text
    }
}

type PickFigures = fn(&Cell) -> &Figures;

impl Cell {
    fn whole(&self) -> &Figures {
        &self.whole
    }

    fn settled(&self) -> &Figures {
        &self.settled
    }
}

impl Row {
    /// What each table shows of it: a cell for each arm.
    fn line(&self, text: &mut String, show: impl Fn(&Cell) -> String) {
        let _ = write!(text, "  {:>4} {:<25}", self.vcpus, self.name);
        for cell in &self.arms {
            let _ = write!(text, " {:>18}", show(cell));
        }
    }

    fn has_neighbour(&self) -> bool {
        self.arms.iter().any(|cell| cell.neighbour.is_some())
    }

    fn amount(&self, spread: Option<&Spread>) -> String {
        spread.map_or("-".into(), |s| format!("{:.1} {}", s.median, self.unit))
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.3}"))
}

fn ratio(spread: Option<&Spread>) -> String {
    spread.map_or("-".into(), |s| {
        format!("{:.2} ({:.2}-{:.2})", s.median, s.min, s.max)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn outcome(whole: f64, settled: f64) -> Outcome {
        Outcome {
            values: vec![Value {
                whole: (whole > 0.0).then_some(whole),
                settled: Some(settled),
            }],
            neighbour: None,
            others_pct: 0.0,
            attempts: 1,
            guests: vec![crate::report::tests::slot(0, 50, 10)],
        }
    }

    fn arms() -> Vec<Arm> {
        let mut arms = Arm::all();
        arms.retain(|arm| ["stock", "step-srikar", "oracle"].contains(&arm.name.as_str()));
        arms
    }

    fn trial(load: &str, figures: [[f64; 2]; 3]) -> Trial {
        let workload = Workload::all(4).into_iter().find(|w| w.name == load);
        let mut trial = Trial::new(4, &workload.unwrap(), &arms());
        trial.oracle_cores = 1;
        for ((_, outcomes), figures) in trial.arms.iter_mut().zip(figures) {
            outcomes.extend(figures.map(|figure| outcome(figure, 2.0 * figure)));
        }
        trial
    }

    pub(crate) fn report() -> Report {
        let mut report = Report {
            version: 1,
            kernel: "7.3".into(),
            host_cpus: 2,
            host_busy_pct: 0.0,
            quick: true,
            interval_ms: 150,
            seconds: 4,
            settle_s: 2,
            repeats: 2,
            took_s: 1.0,
            rows: Vec::new(),
            summary: Vec::new(),
            checks: Vec::new(),
            trials: vec![
                trial("lock", [[10.0, 20.0], [20.0, 60.0], [40.0, 80.0]]),
                trial("compute", [[10.0, 10.0], [5.0, 5.0], [10.0, 10.0]]),
            ],
        };
        report.sum_up(&arms());
        report
    }

    #[test]
    fn spreads_have_a_middle() {
        let spread = Spread::of(vec![3.0, 1.0, 2.0]).unwrap();
        assert_eq!((spread.median, spread.min, spread.max), (2.0, 1.0, 3.0));
        assert_eq!(spread.values, [3.0, 1.0, 2.0]);
        assert_eq!(Spread::of(vec![1.0, 4.0]).unwrap().median, 2.5);
        assert_eq!(Spread::of(Vec::new()), None);
    }

    #[test]
    fn only_what_ran_together_is_compared() {
        let report = report();
        let ratio = report.rows[0].compare("step-srikar", STOCK, WHOLE).unwrap();
        assert_eq!(ratio.values, [2.0, 3.0]);
        assert_eq!(ratio.median, 2.5);
    }

    #[test]
    fn less_latency_is_better() {
        let mut trial = trial("latency", [[10.0, 10.0], [5.0, 5.0], [2.0, 2.0]]);
        trial.metrics = &trial.metrics[1..];
        let row = trial.rows().next().unwrap();
        assert_eq!(row.name, "latency-p99");
        assert_eq!(
            row.compare("step-srikar", STOCK, WHOLE).unwrap().median,
            2.0
        );
    }

    #[test]
    fn the_summary_is_the_geometric_mean_and_the_worst_row() {
        let report = report();
        let found = report
            .summary
            .iter()
            .find(|c| c.arm == "step-srikar" && c.base == STOCK);
        let found = found.unwrap();
        assert!((found.whole.unwrap() - (2.5f64 * 0.5).sqrt()).abs() < 1e-9);
        assert_eq!(found.least, Some(0.5));
        assert_eq!(found.least_row, "4 CPUs, compute");
    }

    #[test]
    fn an_arm_without_a_round_is_not_passed_over() {
        let trial = trial("lock", [[10.0, 20.0], [0.0, 0.0], [40.0, 80.0]]);
        let rows: Vec<_> = trial.rows().collect();
        let found = Comparison::new(&rows, "step-srikar", STOCK);
        assert_eq!((found.whole, found.rows, found.rows_without), (None, 1, 1));
    }

    #[test]
    fn tables_show_every_row_and_the_summary() {
        let text = report().tables();
        assert!(text.contains("2.50 (2.00-3.00)"), "{text}");
        assert!(text.contains("0.50 (0.50-0.50)"), "{text}");
        assert!(text.contains("15.0 /s"), "{text}");
        assert!(
            text.contains("step-srikar: at least 0.500 of stock (4 CPUs, compute)"),
            "{text}"
        );
    }

    #[test]
    fn json_has_rows_and_trials() {
        let json = serde_json::to_value(report()).unwrap();
        assert_eq!(
            json["rows"][0]["arms"][1]["whole"]["to_stock"]["median"],
            2.5
        );
        assert_eq!(json["trials"][1]["load"], "compute");
        assert_eq!(
            json["trials"][1]["arms"][0][1][0]["guests"][0]["rounds"],
            100
        );
    }
}
