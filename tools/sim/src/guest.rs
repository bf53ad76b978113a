// SPDX-License-Identifier: GPL-2.0

//! A guest: what it wants, and what it sees.

use corefold_policy::policy::{CORE, INTERVAL, Usage, View};
use rand::{Rng, RngExt};

use crate::{TICKS, demand::Demand, law::Control, pool};

/// Times that have come together since the last sample, in core intervals.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    granted: f64,
    stolen: f64,
    idle: f64,
    elapsed: f64,
}

/// One guest.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Cores that it has.
    pub cores: u32,
    /// Cores in use.
    pub active: u32,
    /// Cores that it never gives up.
    pub floor: u32,
    /// Its weight.
    pub weight: f64,
    /// What it gets at most.
    pub quota: f64,
    /// Whether it follows a law at all.
    pub folds: bool,
    /// Threads that are ready to run.
    pub threads: f64,
    /// When its governor is next due, in ticks.
    pub due: u32,
    pinned: f64,
    spread: f64,
    demand: Demand,
    phase: f64,
    control: Control,
    seen: Seen,
}

/// A number from the standard normal distribution, nearly: the sum of twelve equal ones.
pub fn normal(rng: &mut impl Rng) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

impl Guest {
    /// Creates a guest whose governor has been running for long, with nothing to do so far.
    pub fn new(spec: &pool::Guest, control: Control, rng: &mut impl Rng) -> Self {
        let due = rng.random_range(1..=TICKS);
        let before = f64::from(TICKS - due) / f64::from(TICKS);
        Self {
            cores: spec.cores,
            active: spec.cores,
            floor: spec.entitled,
            weight: spec.weight,
            quota: spec.quota.unwrap_or(f64::INFINITY),
            folds: spec.folds,
            threads: 0.0,
            due,
            pinned: f64::from(spec.pinned),
            spread: spec.spread,
            demand: spec.demand.clone(),
            phase: if spec.demand.is_constant() {
                0.0
            } else {
                rng.random()
            },
            control: if spec.folds { control } else { Control::Fixed },
            seen: Seen {
                idle: f64::from(spec.cores) * before,
                elapsed: before,
                ..Seen::default()
            },
        }
    }

    /// Moves on to a tick.
    pub fn advance(&mut self, tick: u32, rng: &mut impl Rng) {
        let threads = self
            .demand
            .threads(f64::from(tick) / f64::from(TICKS), self.phase);
        self.threads = if self.spread > 0.0 {
            (threads * (1.0 + self.spread * normal(rng))).max(0.0)
        } else {
            threads
        };
    }

    /// Returns the cores that it could use if none were folded.
    pub fn demand(&self) -> f64 {
        self.threads.min(f64::from(self.cores))
    }

    /// Returns the cores that it wants: no more than it has threads, and uses. What is pinned to the last
    /// core runs there, folded or not.
    pub fn wanted(&self) -> f64 {
        let pinned = self.pinned.min(self.threads);
        let free = self.threads - pinned;
        let last = if self.active < self.cores {
            pinned.min(1.0)
        } else {
            0.0
        };
        if last > 0.0 {
            free.min(f64::from(self.active)) + last
        } else {
            let alone = if pinned > 0.0 { 1.0 } else { 0.0 };
            alone + free.min(f64::from(self.active) - alone)
        }
    }

    /// Takes what it was granted of what it wanted in a tick.
    pub fn take(&mut self, wanted: f64, granted: f64) {
        let tick = 1.0 / f64::from(TICKS);
        self.seen.granted += granted * tick;
        self.seen.stolen += (wanted - granted) * tick;
        self.seen.idle += (f64::from(self.active) - wanted).max(0.0) * tick;
        self.seen.elapsed += tick;
    }

    /// Takes no sample: nothing can be said.
    pub fn skip(&mut self) {
        self.control.reset();
        self.seen = Seen::default();
        self.due += TICKS;
    }

    /// Takes a sample, with noise, and follows the law. With `stale`, the counters did not move.
    pub fn sample(&mut self, noise: f64, stale: bool, rng: &mut impl Rng) {
        let seen = self.seen;
        let elapsed = seen.elapsed.min(1.0);
        let blur = noise * f64::from(self.active).sqrt();
        let most = f64::from(self.cores);
        let rate = |time: f64, blur: f64| {
            let rate = (time + blur) / elapsed;
            (rate.clamp(0.0, most) * f64::from(CORE)).round() as u32
        };
        let mut usage = Usage::default();
        if stale {
            self.seen.elapsed = 0.0;
        } else {
            let shift = blur * normal(rng);
            usage = Usage {
                granted: rate(seen.granted, shift),
                stolen: rate(seen.stolen, 0.1 * blur * normal(rng) * seen.stolen.min(1.0)),
                idle: rate(seen.idle, -shift),
            };
            self.seen = Seen::default();
        }
        let view = View {
            steal_bp: (u64::from(usage.stolen) * 10_000 / u64::from(self.active * CORE)).min(10_000)
                as u32,
            active: self.active,
            total: self.cores,
            floor: self.floor,
            usage,
            elapsed: (elapsed * f64::from(INTERVAL)).round() as u32,
            runnable: self.threads.round() as u32,
        };
        let (active, ticks) = self.control.decide(&view);
        self.active = active;
        self.due += ticks;
    }
}
