// SPDX-License-Identifier: GPL-2.0

//! Results as a table and as JSON.

use serde::Serialize;

use crate::{law::Law, pool::Pool, run::Outcome};

/// One law in one pool.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The pool.
    pub pool: String,
    /// The law.
    pub law: &'static str,
    /// `constant` or `changing`.
    pub demand: &'static str,
    /// See [`Outcome::settle_periods`]; null if it never settles, or the demand changes.
    pub settle_periods: Option<u32>,
    /// See [`Outcome::amplitude`].
    pub amplitude: f64,
    /// See [`Outcome::jain`].
    pub jain: f64,
    /// See [`Outcome::steal`].
    pub steal: f64,
    /// See [`Outcome::wait_periods`].
    pub wait_periods: f64,
    /// Work done, where the best static choice is 1.
    pub work: f64,
    /// See [`Outcome::below_floor`].
    pub below_floor: bool,
    /// Guests of the pool.
    pub guests: u32,
    /// CPUs of the pool.
    pub cpus: u32,
    /// The seed of the run.
    pub seed: u64,
}

impl Row {
    /// Creates a row; `best` is the work of the best static choice.
    pub fn new(pool: &Pool, law: Law, outcome: &Outcome, best: f64, seed: u64) -> Self {
        let constant = pool.is_constant();
        Self {
            pool: pool.name.clone(),
            law: law.name(),
            demand: if constant { "constant" } else { "changing" },
            settle_periods: outcome.settle_periods.filter(|_| constant),
            amplitude: outcome.amplitude,
            jain: outcome.jain,
            steal: outcome.steal,
            wait_periods: outcome.wait_periods,
            work: outcome.work / best.max(f64::MIN_POSITIVE),
            below_floor: outcome.below_floor,
            guests: pool.guests.iter().map(|guest| guest.count).sum(),
            cpus: pool.cpus,
            seed,
        }
    }

    /// Returns the line of a table.
    pub fn line(&self) -> String {
        let settle = self
            .settle_periods
            .map_or("-".to_owned(), |periods| periods.to_string());
        format!(
            "{:<22} {:<20} {:>6} {:>5.2} {:>7.3} {:>7.2} {:>6.2} {:>6.3}",
            self.pool,
            self.law,
            settle,
            self.amplitude,
            self.jain,
            self.steal * 100.0,
            self.wait_periods,
            self.work
        )
    }
}

/// Returns the head of the table.
pub fn head() -> String {
    format!(
        "{:<22} {:<20} {:>6} {:>5} {:>7} {:>7} {:>6} {:>6}",
        "pool", "law", "settle", "ampl.", "jain", "steal %", "wait", "work"
    )
}
