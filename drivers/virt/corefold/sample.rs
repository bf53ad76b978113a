// SPDX-License-Identifier: GPL-2.0

//! From the kernel's counters to the share of time that was stolen.
//!
//! Pure: uses `core` alone, and is compiled a second time for the host's tests.
//!
//! The counters lie at times. After live migration, a restored snapshot or a CPU that came back,
//! steal falls, leaps or holds a negative number; after suspend or a paused guest it may cover
//! hours. So a delta is trusted only between two readings of a plain period, and only within the
//! time that passed. What is not trusted is left out and counted, never acted on; the next period
//! starts afresh.

use crate::policy::{
    Usage,
    CORE, //
};

/// One hundred per cent, in basis points.
pub const FULL_BP: u32 = 10_000;

/// Nanoseconds of a millisecond.
pub const MSEC: u64 = 1_000_000;

/// How late steal may be accounted without being wrong: a few ticks of the slowest clock (HZ=100).
const LATE: u64 = 100 * MSEC;

/// Deltas that are dropped after a gap: the first holds what was carried over from before it.
const SETTLE: u8 = 1;

/// A period may be this much longer than asked for. The sampling work is itself stolen from, and to
/// drop its late samples would be to look away just when there is most to see.
const OVERDUE: u64 = 5_000 * MSEC;

/// How much clocks that do and that do not stop in suspend may drift apart between two readings.
const SUSPENDED: u64 = 10 * MSEC;

/// A reading of the clocks, in nanoseconds from one common start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Stops while the system is suspended.
    pub monotonic: u64,
    /// Does not stop.
    pub boottime: u64,
}

/// What the time between two samples was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// There is no earlier sample.
    First,
    /// The sample came much too early, or the clock ran backwards.
    Short,
    /// The sample came much too late: a frozen worker, a paused guest.
    Long,
    /// The system was suspended in between.
    Suspended,
    /// A plain period of so many nanoseconds.
    Plain(u64),
}

/// Judges the periods between samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    last: Option<Moment>,
}

impl Clock {
    /// Creates a clock that has seen no sample.
    pub const fn new() -> Self {
        Self { last: None }
    }

    /// Makes the next sample the first.
    pub fn forget(&mut self) {
        self.last = None;
    }

    /// Takes the moment of a new sample; `interval` is what was asked for, in nanoseconds.
    pub fn advance(&mut self, now: Moment, interval: u64) -> Period {
        let Some(last) = self.last.replace(now) else {
            return Period::First;
        };
        let Some(elapsed) = now.monotonic.checked_sub(last.monotonic) else {
            return Period::Short;
        };
        let walked = now.boottime.saturating_sub(last.boottime);
        let late = interval.saturating_mul(3).max(OVERDUE);

        if walked.saturating_sub(elapsed) > SUSPENDED {
            Period::Suspended
        } else if elapsed == 0 || elapsed < interval / 2 {
            Period::Short
        } else if elapsed > interval.saturating_add(late) {
            Period::Long
        } else {
            Period::Plain(elapsed)
        }
    }
}

/// The counters of one CPU, in nanoseconds since boot; or how much they grew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// The CPU had work, and the hypervisor did not run it.
    pub steal: u64,
    /// The CPU ran.
    pub busy: u64,
    /// The CPU had nothing to run.
    pub idle: u64,
}

/// Why a delta of steal was not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// The counter fell.
    Backwards,
    /// The counter grew by far more than the time that passed.
    Excess,
    /// The counter became negative, or ceased to be.
    Overflow,
}

/// What one CPU has to say about a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// First reading after a gap: the baseline for the next.
    Baseline,
    /// Too soon after a gap to be trusted.
    Settling,
    /// Not to be trusted.
    Bad(Bad),
    /// How much each counter grew, each of them at most the time that passed.
    Good(Times),
}

/// The counters of one CPU over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu {
    last: Option<Times>,
    settle: u8,
}

impl Cpu {
    /// Creates a CPU of which nothing is known.
    pub const fn new() -> Self {
        Self {
            last: None,
            settle: 0,
        }
    }

    /// Makes the next reading a baseline.
    pub fn forget(&mut self) {
        self.last = None;
    }

    /// Takes a reading, `elapsed` nanoseconds after the one before.
    pub fn update(&mut self, now: Times, elapsed: u64) -> Reading {
        let Some(last) = self.last.replace(now) else {
            self.settle = SETTLE;
            return Reading::Baseline;
        };
        let steal = match steal_delta(last.steal, now.steal, elapsed) {
            Ok(steal) => steal,
            Err(bad) => return Reading::Bad(bad),
        };

        if self.settle > 0 {
            self.settle -= 1;
            return Reading::Settling;
        }
        Reading::Good(Times {
            steal,
            busy: now.busy.saturating_sub(last.busy).min(elapsed),
            idle: now.idle.saturating_sub(last.idle).min(elapsed),
        })
    }
}

/// Returns how much was stolen, at most `elapsed`.
///
/// A CPU that the hypervisor kept waiting accounts its steal when it runs again, and then for more
/// than this period: up to twice the period that is taken for late, and cut.
fn steal_delta(last: u64, now: u64, elapsed: u64) -> Result<u64, Bad> {
    const NEGATIVE: u64 = 1 << 63;

    if (last ^ now) & NEGATIVE != 0 {
        return Err(Bad::Overflow);
    }
    let delta = now.checked_sub(last).ok_or(Bad::Backwards)?;
    if delta > elapsed.saturating_mul(2).saturating_add(LATE) {
        return Err(Bad::Excess);
    }
    Ok(delta.min(elapsed))
}

/// The share of `part` in `whole`, in basis points, at most [`FULL_BP`].
pub fn ratio_bp(part: u64, whole: u64) -> u32 {
    // The whole is divided, not the part multiplied: a sum over thousands of CPUs would overflow.
    let ratio = part / (whole / u64::from(FULL_BP)).max(1);

    ratio.min(u64::from(FULL_BP)) as u32
}

/// The share of time that was stolen from the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// Nobody can tell. This is not the same as no steal.
    Unknown,
    /// Basis points of the time of the CPUs in use.
    Steal(u32),
}

impl Sample {
    /// Returns the basis points, if they are known.
    pub fn steal_bp(self) -> Option<u32> {
        match self {
            Sample::Unknown => None,
            Sample::Steal(bp) => Some(bp),
        }
    }
}

/// What the CPUs of one core did in a period.
///
/// A core wants as much time as the one of its CPUs that wants most: the hypervisor runs all of
/// them or none, or would do well to. What it was granted of that, it was granted as its CPUs were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreTimes {
    wanted: u64,
    stolen: u64,
    total: u64,
    known: bool,
}

impl CoreTimes {
    /// Nothing yet.
    pub const NONE: CoreTimes = CoreTimes {
        wanted: 0,
        stolen: 0,
        total: 0,
        known: false,
    };

    /// Adds what one of its CPUs had to say.
    pub fn add(&mut self, reading: Reading, elapsed: u64) {
        let Reading::Good(delta) = reading else {
            return;
        };
        let total = delta.busy.saturating_add(delta.steal).min(elapsed);

        self.known = true;
        self.wanted = self.wanted.max(total);
        self.stolen = self.stolen.saturating_add(delta.steal.min(total));
        self.total = self.total.saturating_add(total);
    }

    /// Returns the times in millionths of a core; nothing if no CPU had anything to say.
    fn parts(&self, elapsed: u64) -> Option<Parts> {
        if !self.known || elapsed == 0 {
            return None;
        }

        // The whole is divided, so that nothing overflows.
        let part = |part: u64, whole: u64| (part / (whole / MILLION).max(1)).min(MILLION);
        let wanted = part(self.wanted, elapsed);
        let stolen = wanted * part(self.stolen, self.total) / MILLION;
        Some(Parts {
            granted: wanted - stolen,
            stolen,
            idle: MILLION - wanted,
        })
    }
}

/// A core for a whole period, in the unit of [`Parts`].
const MILLION: u64 = 1_000_000;

/// As [`Usage`], but in millionths of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Parts {
    granted: u64,
    stolen: u64,
    idle: u64,
}

impl Parts {
    const NONE: Parts = Parts {
        granted: 0,
        stolen: 0,
        idle: 0,
    };

    /// There are not as many cores as it would take for this to overflow.
    fn add(&mut self, other: &Parts) {
        self.granted += other.granted;
        self.stolen += other.stolen;
        self.idle += other.idle;
    }

    /// Returns what `cores` would have done, if `known` of them did this.
    fn scaled(&self, cores: u32, known: u32) -> Parts {
        let scale = |part: u64| part * u64::from(cores) / u64::from(known.max(1));

        Parts {
            granted: scale(self.granted),
            stolen: scale(self.stolen),
            idle: scale(self.idle),
        }
    }

    fn usage(&self) -> Usage {
        let round = |part: u64| {
            let unit = MILLION / u64::from(CORE);

            u32::try_from((part + unit / 2) / unit).unwrap_or(u32::MAX)
        };

        Usage {
            granted: round(self.granted),
            stolen: round(self.stolen),
            idle: round(self.idle),
        }
    }
}

/// Sums up the readings of one period.
///
/// Steal of every CPU counts, also of the folded ones: what is pinned there still competes. The
/// time that it is held against is that of the CPUs in use, active and not folded, or folding would
/// dilute the very figure that it is judged by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    steal: u64,
    time: u64,
    trusted: u32,
    expected: u32,
    in_use: Parts,
    folded: Parts,
    known: u32,
    cores: u32,
}

impl Totals {
    /// Creates an empty sum.
    pub const fn new() -> Self {
        Self {
            steal: 0,
            time: 0,
            trusted: 0,
            expected: 0,
            in_use: Parts::NONE,
            folded: Parts::NONE,
            known: 0,
            cores: 0,
        }
    }

    /// Adds what one CPU had to say; `in_use` if it is active and not folded.
    pub fn add(&mut self, reading: Reading, elapsed: u64, in_use: bool) {
        self.expected = self.expected.saturating_add(u32::from(in_use));
        if let Reading::Good(delta) = reading {
            self.steal = self.steal.saturating_add(delta.steal);
            if in_use {
                self.time = self.time.saturating_add(elapsed);
                self.trusted = self.trusted.saturating_add(1);
            }
        }
    }

    /// Adds one core; `in_use` if it is not folded.
    pub fn add_core(&mut self, times: &CoreTimes, elapsed: u64, in_use: bool) {
        let parts = times.parts(elapsed);

        self.cores += u32::from(in_use);
        match parts {
            Some(parts) if in_use => {
                self.known += 1;
                self.in_use.add(&parts);
            }
            // A folded core that idles has nothing to spare: it is not used.
            Some(parts) => self.folded.add(&Parts { idle: 0, ..parts }),
            None => (),
        }
    }

    /// Returns what became of the time of the cores. Cores in use of which nothing is known are
    /// taken to have done what the others did.
    pub fn usage(&self) -> Usage {
        let mut parts = self.in_use.scaled(self.cores, self.known);

        parts.add(&self.folded);
        parts.usage()
    }

    /// Returns the share that was stolen; unknown if fewer than half of the CPUs in use gave a good
    /// reading.
    pub fn sample(&self) -> Sample {
        if self.trusted == 0 || self.trusted < self.expected.div_ceil(2) {
            return Sample::Unknown;
        }
        Sample::Steal(ratio_bp(self.steal, self.time))
    }
}

#[cfg_attr(
    CONFIG_COREFOLD_KUNIT_TEST,
    kernel::prelude::kunit_tests(corefold_sample)
)]
#[cfg(any(test, CONFIG_COREFOLD_KUNIT_TEST))]
mod tests {
    use super::*;

    const SEC: u64 = 1_000 * MSEC;

    fn steal(ns: u64) -> Times {
        Times {
            steal: ns,
            busy: 0,
            idle: 0,
        }
    }

    /// A CPU that has settled with its steal at `ns`.
    fn settled(ns: u64) -> Cpu {
        let mut cpu = Cpu::new();
        cpu.update(steal(ns), SEC);
        cpu.update(steal(ns), SEC);
        cpu
    }

    fn at(ns: u64) -> Moment {
        Moment {
            monotonic: ns,
            boottime: ns,
        }
    }

    #[test]
    fn first_readings_are_dropped() {
        let mut cpu = Cpu::new();
        assert_eq!(cpu.update(steal(SEC), SEC), Reading::Baseline);
        assert_eq!(cpu.update(steal(2 * SEC), SEC), Reading::Settling);
        assert_eq!(cpu.update(steal(2 * SEC + 5), SEC), Reading::Good(steal(5)));
        cpu.forget();
        assert_eq!(cpu.update(steal(0), SEC), Reading::Baseline);
    }

    #[test]
    fn wild_readings_are_told_apart() {
        let mut cpu = settled(50 * SEC);
        assert_eq!(cpu.update(steal(SEC), SEC), Reading::Bad(Bad::Backwards));
        assert_eq!(cpu.update(steal(9 * SEC), SEC), Reading::Bad(Bad::Excess));
        assert_eq!(
            cpu.update(steal(u64::MAX - 3), SEC),
            Reading::Bad(Bad::Overflow)
        );
        assert_eq!(cpu.update(steal(3), SEC), Reading::Bad(Bad::Overflow));
        // One bad reading costs one period, no more.
        assert_eq!(cpu.update(steal(4), SEC), Reading::Good(steal(1)));
    }

    #[test]
    fn late_steal_is_cut() {
        let mut cpu = settled(0);
        assert_eq!(cpu.update(steal(2 * SEC), SEC), Reading::Good(steal(SEC)));
    }

    #[test]
    fn idle_and_busy_stay_in_the_period() {
        let mut cpu = Cpu::new();
        let start = Times {
            steal: 0,
            busy: 100,
            idle: 100,
        };
        cpu.update(start, 10);
        cpu.update(start, 10);
        let wild = Times {
            steal: 0,
            busy: 1_000,
            idle: 0,
        };
        let cut = Times {
            steal: 0,
            busy: 10,
            idle: 0,
        };
        assert_eq!(cpu.update(wild, 10), Reading::Good(cut));
    }

    #[test]
    fn periods_are_judged() {
        let mut clock = Clock::new();
        assert_eq!(clock.advance(at(0), SEC), Period::First);
        assert_eq!(clock.advance(at(SEC), SEC), Period::Plain(SEC));
        assert_eq!(clock.advance(at(SEC), SEC), Period::Short);
        assert_eq!(clock.advance(at(SEC + MSEC), SEC), Period::Short);
        assert_eq!(clock.advance(at(SEC), SEC), Period::Short);
        assert_eq!(clock.advance(at(4 * SEC), SEC), Period::Plain(3 * SEC));
        assert_eq!(clock.advance(at(20 * SEC), SEC), Period::Long);
        let woken = Moment {
            monotonic: 21 * SEC,
            boottime: 22 * SEC,
        };
        assert_eq!(clock.advance(woken, SEC), Period::Suspended);
        clock.forget();
        assert_eq!(clock.advance(woken, SEC), Period::First);
    }

    #[test]
    fn steal_is_held_against_the_cpus_in_use() {
        let half = Reading::Good(steal(SEC / 2));
        let none = Reading::Good(steal(0));
        let mut totals = Totals::new();
        totals.add(half, SEC, true);
        totals.add(none, SEC, true);
        assert_eq!(totals.sample(), Sample::Steal(2_500));
        totals.add(half, SEC, false);
        assert_eq!(totals.sample(), Sample::Steal(5_000));
    }

    #[test]
    fn a_core_is_as_busy_as_its_busiest_cpu() {
        let delta = |busy, steal| {
            Reading::Good(Times {
                steal,
                busy,
                idle: 0,
            })
        };
        let usage = |core: &CoreTimes| core.parts(SEC).map(|parts| parts.usage());
        let expect = |granted, stolen| {
            Some(Usage {
                granted,
                stolen,
                idle: 250,
            })
        };
        let mut core = CoreTimes::default();
        assert!(usage(&core).is_none());
        core.add(Reading::Bad(Bad::Excess), SEC);
        assert!(usage(&core).is_none());
        core.add(delta(SEC / 2, SEC / 4), SEC);
        core.add(delta(0, 0), SEC);
        assert_eq!(usage(&core), expect(500, 250));
        // Nothing is stolen from a second CPU with as much to do: that halves the share.
        core.add(delta(SEC / 4 * 3, 0), SEC);
        assert_eq!(usage(&core), expect(625, 125));
        assert!(core.parts(0).is_none());
    }

    #[test]
    fn usage_is_that_of_all_cores() {
        let mut busy = CoreTimes::default();
        busy.add(
            Reading::Good(Times {
                steal: SEC / 2,
                busy: SEC / 2,
                idle: 0,
            }),
            SEC,
        );
        let mut totals = Totals::new();
        totals.add_core(&busy, SEC, true);
        totals.add_core(&CoreTimes::default(), SEC, true);
        totals.add_core(&CoreTimes::default(), SEC, false);
        let usage = Usage {
            granted: 1_000,
            stolen: 1_000,
            idle: 0,
        };
        assert_eq!(totals.usage(), usage);
        totals.add_core(&busy, SEC, false);
        let usage = Usage {
            granted: 1_500,
            stolen: 1_500,
            idle: 0,
        };
        assert_eq!(totals.usage(), usage);
        assert_eq!(Totals::new().usage(), Usage::NONE);
    }

    #[test]
    fn too_few_good_readings_say_nothing() {
        let good = Reading::Good(steal(0));
        let bad = Reading::Bad(Bad::Excess);
        let mut totals = Totals::new();
        assert_eq!(totals.sample(), Sample::Unknown);
        totals.add(good, SEC, true);
        totals.add(bad, SEC, true);
        assert_eq!(totals.sample(), Sample::Steal(0));
        totals.add(Reading::Baseline, SEC, true);
        assert_eq!(totals.sample(), Sample::Unknown);
    }

    #[test]
    fn ratio_stays_in_bounds() {
        assert_eq!(ratio_bp(0, 0), 0);
        assert_eq!(ratio_bp(1, 0), 1);
        assert_eq!(ratio_bp(u64::MAX, u64::MAX), FULL_BP);
        assert_eq!(ratio_bp(u64::MAX, 1), FULL_BP);
        assert_eq!(ratio_bp(SEC / 20, SEC), 500);
    }
}
