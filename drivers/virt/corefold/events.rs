// SPDX-License-Identifier: GPL-2.0

//! Counters of what happened, and a limit on how often to speak of it.
//!
//! Pure: uses `core` alone, and is compiled a second time for the host's tests.

use core::fmt;

use crate::sample::{
    Bad,
    Period, //
};

/// What happened so far. Counters only grow; they start at zero when the module is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Periods that were looked at.
    pub samples: u64,
    /// Of those, periods that said nothing of steal.
    pub samples_unknown: u64,
    /// Cores that were given up.
    pub folds: u64,
    /// Cores that were taken back.
    pub unfolds: u64,
    /// Times that cores were exchanged for others.
    pub moves: u64,
    /// Readings of a CPU whose steal fell.
    pub bad_backwards: u64,
    /// Readings of a CPU whose steal grew by far more than the time that passed.
    pub bad_excess: u64,
    /// Readings of a CPU whose steal became negative, or ceased to be.
    pub bad_overflow: u64,
    /// Periods that were too short, too long or spent in suspend.
    pub bad_gap: u64,
    /// Times that a CPU went online or offline.
    pub hotplugs: u64,
    /// Values that a knob refused.
    pub refused_writes: u64,
    /// Sets of cores that the scheduler refused.
    pub refused_masks: u64,
    /// Times that the scheduler took cores back by itself.
    pub shrinks: u64,
    /// Times that there was no steal source where there had been one.
    pub source_lost: u64,
    /// Times that all cores were taken back because steal had been unknown for long.
    pub blind: u64,
    /// Times that a BPF scheduler took over.
    pub stand_downs: u64,
    /// Priorities of CPUs that were changed.
    pub rank_changes: u64,
    /// Times that domains were rebuilt because other levels were to pack.
    pub rebuilds: u64,
    /// Times that the guard let packing win against the cache.
    pub guard_asym_wins: u64,
    /// Times that the guard let the cache win against packing.
    pub guard_llc_wins: u64,
    /// Times that the guard kept a task from a cache of lower priority.
    pub guard_kept_up: u64,
}

impl Events {
    /// Counts a reading that was not trusted.
    pub fn bad(&mut self, bad: Bad) {
        match bad {
            Bad::Backwards => self.bad_backwards += 1,
            Bad::Excess => self.bad_excess += 1,
            Bad::Overflow => self.bad_overflow += 1,
        }
    }

    /// Counts a period that was not plain.
    pub fn period(&mut self, period: Period) {
        match period {
            Period::Short | Period::Long | Period::Suspended => self.bad_gap += 1,
            Period::First | Period::Plain(_) => (),
        }
    }
}

impl fmt::Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counters = [
            ("samples", self.samples),
            ("samples_unknown", self.samples_unknown),
            ("folds", self.folds),
            ("unfolds", self.unfolds),
            ("moves", self.moves),
            ("bad_backwards", self.bad_backwards),
            ("bad_excess", self.bad_excess),
            ("bad_overflow", self.bad_overflow),
            ("bad_gap", self.bad_gap),
            ("hotplugs", self.hotplugs),
            ("refused_writes", self.refused_writes),
            ("refused_masks", self.refused_masks),
            ("shrinks", self.shrinks),
            ("source_lost", self.source_lost),
            ("blind", self.blind),
            ("stand_downs", self.stand_downs),
            ("rank_changes", self.rank_changes),
            ("rebuilds", self.rebuilds),
            ("guard_asym_wins", self.guard_asym_wins),
            ("guard_llc_wins", self.guard_llc_wins),
            ("guard_kept_up", self.guard_kept_up),
        ];

        for (name, value) in counters {
            writeln!(f, "{name} {value}")?;
        }
        Ok(())
    }
}

/// Messages per [`WINDOW_MS`].
const BURST: u32 = 10;

/// What the kernel's own limit allows ten messages in.
const WINDOW_MS: u64 = 5_000;

/// Keeps whoever writes junk in a loop from filling the log.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ratelimit {
    begin_ms: u64,
    said: u32,
}

impl Ratelimit {
    /// Creates a limit that has let nothing pass.
    pub const fn new() -> Self {
        Self {
            begin_ms: 0,
            said: 0,
        }
    }

    /// Returns whether to speak at that moment.
    pub fn pass(&mut self, now_ms: u64) -> bool {
        if now_ms.saturating_sub(self.begin_ms) >= WINDOW_MS {
            *self = Self {
                begin_ms: now_ms,
                said: 0,
            };
        }
        self.said = self.said.saturating_add(1);
        self.said <= BURST
    }
}

#[cfg_attr(
    CONFIG_COREFOLD_KUNIT_TEST,
    kernel::prelude::kunit_tests(corefold_events)
)]
#[cfg(any(test, CONFIG_COREFOLD_KUNIT_TEST))]
mod tests {
    use super::*;

    #[test]
    fn bad_readings_are_counted_by_kind() {
        let mut events = Events::default();
        events.bad(Bad::Backwards);
        events.bad(Bad::Excess);
        events.bad(Bad::Excess);
        events.bad(Bad::Overflow);
        events.period(Period::First);
        events.period(Period::Plain(1));
        events.period(Period::Suspended);
        assert_eq!(events.bad_backwards, 1);
        assert_eq!(events.bad_excess, 2);
        assert_eq!(events.bad_overflow, 1);
        assert_eq!(events.bad_gap, 1);
    }

    #[test]
    fn a_flood_is_cut() {
        let mut limit = Ratelimit::new();
        assert_eq!((0..100).filter(|_| limit.pass(1)).count(), 10);
        assert!(!limit.pass(WINDOW_MS - 1));
        assert!(limit.pass(WINDOW_MS));
    }
}
