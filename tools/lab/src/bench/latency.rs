// SPDX-License-Identifier: GPL-2.0

//! What cyclictest measured.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

/// How often each latency occurred, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram(BTreeMap<u64, u64>);

impl Histogram {
    /// Takes lines of `LATENCY COUNT`.
    pub fn parse(lines: &[String]) -> Result<Self> {
        let line = |line: &String| {
            let (latency, count) = line.split_once(' ')?;
            Some((latency.parse().ok()?, count.parse().ok()?))
        };
        lines
            .iter()
            .map(|text| line(text).with_context(|| format!("{text:?} is no latency and count")))
            .collect::<Result<_>>()
            .map(Self)
    }

    /// Adds another.
    pub fn add(&mut self, other: &Self) {
        for (&latency, &count) in &other.0 {
            *self.0.entry(latency).or_default() += count;
        }
    }

    /// The latency that `per_mille` of all do not exceed, if there are any.
    pub fn percentile(&self, per_mille: u64) -> Option<f64> {
        let total: u64 = self.0.values().sum();
        let wanted = (total * per_mille).div_ceil(1000).max(1);
        let mut seen = 0;
        self.0.iter().find_map(|(&latency, &count)| {
            seen += count;
            // Zero is a resolution, not a latency.
            (seen >= wanted).then_some((latency as f64).max(0.5))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram() -> Histogram {
        let lines = ["7 100", "40 2", "5 97", "900 1"];
        Histogram::parse(&lines.map(String::from)).unwrap()
    }

    #[test]
    fn percentiles_are_of_all() {
        let histogram = histogram();
        assert_eq!(histogram.percentile(500), Some(7.0));
        assert_eq!(histogram.percentile(990), Some(40.0));
        assert_eq!(histogram.percentile(1000), Some(900.0));
    }

    #[test]
    fn histograms_add_up() {
        let mut sum = histogram();
        sum.add(&histogram());
        assert_eq!(sum.0[&5], 194);
        assert_eq!(sum.0[&900], 2);
        assert_eq!(Histogram::default().percentile(500), None);
    }

    #[test]
    fn other_lines_are_refused() {
        for line in ["", "7", "7 x", "-7 1", "7 1 1"] {
            assert!(Histogram::parse(&[line.into()]).is_err(), "{line:?}");
        }
    }
}
