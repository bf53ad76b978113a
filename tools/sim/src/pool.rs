// SPDX-License-Identifier: GPL-2.0

//! Descriptions of pools, in TOML.

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::demand::Demand;

/// How the hypervisor shares the CPUs when more is wanted than there is.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Share {
    /// By the weights of the guests, whatever the number of their virtual CPUs.
    Guest,
    /// Each virtual CPU that has work counts as its guest's weight says.
    Vcpu,
}

/// A pool of CPUs and its guests.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// CPUs (or cores, whatever the guests count in) of the host.
    pub cpus: u32,
    /// How they are shared.
    pub share: Share,
    /// How long to simulate, in intervals.
    #[serde(default = "periods")]
    pub periods: u32,
    /// The part of what a virtual CPU wants that is stolen from it even on a host with room, as the
    /// threads of an emulator do.
    #[serde(default)]
    pub residue: f64,
    /// The part that is stolen when the host has no CPU left to spare, because virtual CPUs wake up where
    /// others run. It goes with the fourth power of the host's utilisation.
    #[serde(default)]
    pub interference: f64,
    /// How much those two vary from tick to tick: the relative standard deviation.
    #[serde(default)]
    pub jitter: f64,
    /// The standard deviation of what a sample says of one core's busy and idle time, in intervals: half a
    /// tick of the guest's clock.
    #[serde(default = "noise")]
    pub noise: f64,
    /// The part of all samples that say nothing.
    #[serde(default)]
    pub missing: f64,
    /// The part of all samples whose counters did not move; the next one has it all.
    #[serde(default)]
    pub stale: f64,
    /// What steal costs: work done is granted time / (1 + cost * steal).
    #[serde(default = "cost")]
    pub cost: f64,
    /// Its guests.
    #[serde(rename = "guest")]
    pub guests: Vec<Guest>,
}

/// One guest, or several of a kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guest {
    /// How many of them.
    #[serde(default = "one")]
    pub count: u32,
    /// Cores of each.
    pub cores: u32,
    /// Its weight.
    #[serde(default = "weight")]
    pub weight: f64,
    /// Cores that it never gives up.
    #[serde(default = "one")]
    pub entitled: u32,
    /// Cores' worth of time that it gets at most.
    pub quota: Option<f64>,
    /// Whether it folds at all.
    #[serde(default = "yes")]
    pub folds: bool,
    /// Threads, of those it has, that may run on its last core only.
    #[serde(default)]
    pub pinned: u32,
    /// How much its demand varies from tick to tick: the relative standard deviation.
    #[serde(default)]
    pub spread: f64,
    /// What it has to do.
    pub demand: Demand,
}

fn periods() -> u32 {
    400
}
fn noise() -> f64 {
    0.002
}
/// Fitted to hackbench in the lab.
fn cost() -> f64 {
    2.5
}
fn one() -> u32 {
    1
}
fn weight() -> f64 {
    1.0
}
fn yes() -> bool {
    true
}

/// The most that one run takes.
const MAX: (usize, u32, u32) = (10_000, 1_000_000, 100_000);

impl Pool {
    /// Reads a description.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with it.
    pub fn parse(text: &str) -> Result<Self> {
        let pool: Pool = toml::from_str(text)?;
        pool.check()
            .with_context(|| format!("pool {:?}", pool.name))?;
        Ok(pool)
    }

    fn check(&self) -> Result<()> {
        let part = |value: f64| (0.0..1.0).contains(&value);
        ensure!(
            (1..=MAX.1).contains(&self.cpus),
            "cpus must be 1 to {}",
            MAX.1
        );
        ensure!(
            (1..=MAX.2).contains(&self.periods),
            "periods must be 1 to {}",
            MAX.2
        );
        ensure!(!self.guests.is_empty(), "there must be a [[guest]]");
        for (name, value) in [
            ("residue", self.residue),
            ("interference", self.interference),
            ("jitter", self.jitter),
            ("noise", self.noise),
            ("missing", self.missing),
            ("stale", self.stale),
        ] {
            ensure!(part(value), "{name} must be at least 0 and below 1");
        }
        ensure!(
            self.residue + self.interference < 0.9,
            "residue and interference must stay below 0.9"
        );
        ensure!(
            self.cost >= 0.0 && self.cost.is_finite(),
            "cost must be 0 or more"
        );
        let count: usize = self.guests.iter().map(|guest| guest.count as usize).sum();
        ensure!(
            (1..=MAX.0).contains(&count),
            "there must be 1 to {} guests",
            MAX.0
        );
        for (at, guest) in self.guests.iter().enumerate() {
            guest
                .check()
                .with_context(|| format!("[[guest]] number {}", at + 1))?;
        }
        Ok(())
    }

    /// Returns whether no demand ever changes.
    pub fn is_constant(&self) -> bool {
        self.guests
            .iter()
            .all(|guest| guest.demand.is_constant() && guest.spread == 0.0)
    }
}

impl Guest {
    fn check(&self) -> Result<()> {
        ensure!(
            (1..=100_000).contains(&self.cores),
            "cores must be 1 to 100000"
        );
        ensure!(
            self.weight > 0.0 && self.weight.is_finite(),
            "weight must be more than 0"
        );
        ensure!(
            (1..=self.cores).contains(&self.entitled),
            "entitled must be 1 to the number of cores, {}",
            self.cores
        );
        ensure!(
            self.quota.is_none_or(|quota| quota > 0.0),
            "quota must be more than 0"
        );
        ensure!((0.0..10.0).contains(&self.spread), "spread must be 0 to 10");
        if let Some(fault) = self.demand.fault() {
            bail!("demand: {fault}");
        }
        Ok(())
    }
}
