// SPDX-License-Identifier: GPL-2.0

//! What can be configured, and what is a valid configuration.
//!
//! Pure: uses `core` alone, and is compiled a second time for the host's tests.
//!
//! A new value is judged together with all others: it makes a whole new configuration, or an
//! explanation of what is wrong with it and what to do.

use core::fmt;

use crate::{
    packing::{
        Guard,
        Levels, //
    },
    policy::{
        Kind,
        Tuning, //
    },
    rank::CAPACITY,
    sample::FULL_BP, //
};

/// Bounds of the sampling interval in milliseconds. Steal is accounted at ticks, and late; over
/// less than the lower bound it says little. The upper one keeps sums of all CPUs' time from
/// overflowing.
pub const INTERVAL_MS: (u32, u32) = (100, 100_000);

/// Bounds of the number of samples that must agree.
pub const CONFIRM: (u32, u32) = (1, 10);

/// Bounds of the gap, in classes. Whatever puts CPUs into classes, the number of a class has been
/// at most the scheduler's full capacity so far.
pub const GUARD_GAP: (u32, u32) = (0, CAPACITY);

/// How many samples that a policy wants soon fit into an interval.
const SOON: u32 = 10;

/// The longest text that a knob takes.
pub const TEXT_MAX: usize = 32;

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    /// Whether to sample and to fold at all.
    Enabled,
    /// How the number of cores follows steal.
    Policy,
    /// Time between two samples.
    IntervalMs,
    /// Steal from which on a core is given up.
    StealHighBp,
    /// Steal down to which a core is taken back.
    StealLowBp,
    /// How many samples in a row must agree.
    Confirm,
    /// Cores that are always used.
    FloorCores,
    /// Whether to keep steal out of the capacity of CPUs.
    StealCapacity,
    /// Who wins where packing and cache-aware scheduling disagree.
    Guard,
    /// By how many classes CPUs must differ for the guard to tell them apart.
    GuardGap,
    /// Levels of the topology on which to pack.
    AsymLevels,
    /// Whether what a core gets makes a difference for its rank.
    RankSteal,
}

impl Knob {
    /// Every knob.
    pub const ALL: [Knob; 12] = [
        Knob::Enabled,
        Knob::Policy,
        Knob::IntervalMs,
        Knob::StealHighBp,
        Knob::StealLowBp,
        Knob::Confirm,
        Knob::FloorCores,
        Knob::StealCapacity,
        Knob::Guard,
        Knob::GuardGap,
        Knob::AsymLevels,
        Knob::RankSteal,
    ];

    /// Returns the name of the knob.
    pub fn name(self) -> &'static str {
        match self {
            Knob::Enabled => "enabled",
            Knob::Policy => "policy",
            Knob::IntervalMs => "interval_ms",
            Knob::StealHighBp => "steal_high_bp",
            Knob::StealLowBp => "steal_low_bp",
            Knob::Confirm => "confirm",
            Knob::FloorCores => "floor_cores",
            Knob::StealCapacity => "steal_capacity",
            Knob::Guard => "guard",
            Knob::GuardGap => "guard_gap",
            Knob::AsymLevels => "asym_levels",
            Knob::RankSteal => "rank_steal",
        }
    }
}

/// What is wrong with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It is no number.
    NotANumber,
    /// It is neither on nor off.
    NotABool,
    /// It is no policy.
    NotAPolicy,
    /// It is no choice of the guard's.
    NotAGuard,
    /// It is no list of levels.
    NotLevels,
    /// It lies outside of the bounds, both of which would do.
    Range(u32, u32),
    /// The lower threshold is not below the upper one: low, high.
    Thresholds(u32, u32),
}

/// A value that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The knob it was meant for.
    pub knob: Knob,
    /// What is wrong with it.
    pub wrong: Wrong,
}

impl Invalid {
    /// Returns whether the value is of the right kind, and merely too small or too large.
    pub fn is_range(&self) -> bool {
        matches!(self.wrong, Wrong::Range(..))
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The thresholds name both of their knobs themselves.
        if !matches!(self.wrong, Wrong::Thresholds(..)) {
            write!(f, "{}: ", self.knob.name())?;
        }
        match self.wrong {
            Wrong::NotANumber => f.write_str("not a decimal number; write digits only"),
            Wrong::NotABool => f.write_str("neither on nor off; write 1 or 0"),
            Wrong::NotAPolicy => write_names(f, "policy", &Kind::ALL.map(Kind::name)),
            Wrong::NotAGuard => write_names(f, "choice", &Guard::ALL.map(Guard::name)),
            Wrong::NotLevels => f.write_str(
                "not a list of levels; write none, or names with a comma between, as in MC,PKG",
            ),
            Wrong::Range(low, high) => write!(f, "out of range; write {low} to {high}"),
            Wrong::Thresholds(low, high) => write!(
                f,
                "steal_low_bp ({low}) must be below steal_high_bp ({high}); change either of them"
            ),
        }
    }
}

fn write_names(f: &mut fmt::Formatter<'_>, what: &str, names: &[&str]) -> fmt::Result {
    write!(f, "no such {what}; write one of:")?;
    names.iter().try_for_each(|name| write!(f, " {name}"))
}

/// A configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// See [`Knob::Enabled`].
    pub enabled: bool,
    /// See [`Knob::Policy`].
    pub policy: Kind,
    /// See [`Knob::IntervalMs`].
    pub interval_ms: u32,
    /// See [`Knob::StealHighBp`].
    pub steal_high_bp: u32,
    /// See [`Knob::StealLowBp`].
    pub steal_low_bp: u32,
    /// See [`Knob::Confirm`].
    pub confirm: u32,
    /// See [`Knob::FloorCores`].
    pub floor_cores: u32,
    /// See [`Knob::StealCapacity`].
    pub steal_capacity: bool,
    /// See [`Knob::Guard`].
    pub guard: Guard,
    /// See [`Knob::GuardGap`].
    pub guard_gap: u32,
    /// See [`Knob::AsymLevels`].
    pub asym_levels: Levels,
    /// See [`Knob::RankSteal`].
    pub rank_steal: bool,
}

impl Config {
    /// What holds unless something else is asked for. Interval and thresholds are those on which
    /// the published work on steal settled: five and two per cent, once a second. Its first form
    /// asked for two samples that agree; that is kept, as one may be a fluke. The thresholds, and
    /// how many samples must agree, are for the policies that heed them.
    ///
    /// Nothing is packed and nothing guarded, as long as nobody says where CPUs are that should go
    /// first.
    pub const DEFAULT: Config = Config {
        enabled: true,
        policy: Kind::Step,
        interval_ms: 1_000,
        steal_high_bp: 500,
        steal_low_bp: 200,
        confirm: 2,
        floor_cores: 1,
        steal_capacity: true,
        guard: Guard::Kernel,
        guard_gap: 1,
        asym_levels: Levels::NONE,
        rank_steal: false,
    };

    /// Checks the whole; `changed` is the knob that gets the blame for values that do not fit each
    /// other,
    /// `cores_max` the number of cores that the machine may have.
    ///
    /// # Errors
    ///
    /// Returns the first fault found.
    pub fn check(&self, changed: Knob, cores_max: u32) -> Result<(), Invalid> {
        let bounds = [
            (Knob::IntervalMs, self.interval_ms, INTERVAL_MS),
            (Knob::StealHighBp, self.steal_high_bp, (1, FULL_BP)),
            (Knob::StealLowBp, self.steal_low_bp, (0, FULL_BP - 1)),
            (Knob::Confirm, self.confirm, CONFIRM),
            (Knob::FloorCores, self.floor_cores, (1, cores_max.max(1))),
            (Knob::GuardGap, self.guard_gap, GUARD_GAP),
        ];

        for (knob, value, (low, high)) in bounds {
            if value < low || value > high {
                return Err(Invalid {
                    knob,
                    wrong: Wrong::Range(low, high),
                });
            }
        }
        if self.steal_low_bp >= self.steal_high_bp {
            return Err(Invalid {
                knob: changed,
                wrong: Wrong::Thresholds(self.steal_low_bp, self.steal_high_bp),
            });
        }
        Ok(())
    }

    /// Returns the configuration that has `text` as the value of `knob`.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the value, alone or next to the others.
    pub fn with(&self, knob: Knob, text: &[u8], cores_max: u32) -> Result<Config, Invalid> {
        let mut config = *self;
        let text = trim(text);

        config
            .assign(knob, text)
            .map_err(|wrong| Invalid { knob, wrong })?;
        config.check(knob, cores_max)?;
        Ok(config)
    }

    fn assign(&mut self, knob: Knob, text: &[u8]) -> Result<(), Wrong> {
        match knob {
            Knob::Enabled => self.enabled = parse_bool(text)?,
            Knob::Policy => self.policy = parse_policy(text)?,
            Knob::IntervalMs => self.interval_ms = parse_number(text)?,
            Knob::StealHighBp => self.steal_high_bp = parse_number(text)?,
            Knob::StealLowBp => self.steal_low_bp = parse_number(text)?,
            Knob::Confirm => self.confirm = parse_number(text)?,
            Knob::FloorCores => self.floor_cores = parse_number(text)?,
            Knob::StealCapacity => self.steal_capacity = parse_bool(text)?,
            Knob::Guard => self.guard = Guard::parse(text).ok_or(Wrong::NotAGuard)?,
            Knob::GuardGap => self.guard_gap = parse_number(text)?,
            Knob::AsymLevels => self.asym_levels = Levels::parse(text).ok_or(Wrong::NotLevels)?,
            Knob::RankSteal => self.rank_steal = parse_bool(text)?,
        }
        Ok(())
    }

    /// Writes the value of a knob.
    ///
    /// # Errors
    ///
    /// Passes on what the writer says.
    pub fn show(&self, knob: Knob, f: &mut dyn fmt::Write) -> fmt::Result {
        let number = match knob {
            Knob::Policy => return f.write_str(self.policy.name()),
            Knob::Guard => return f.write_str(self.guard.name()),
            Knob::AsymLevels => return write!(f, "{}", self.asym_levels),
            Knob::Enabled => u32::from(self.enabled),
            Knob::IntervalMs => self.interval_ms,
            Knob::StealHighBp => self.steal_high_bp,
            Knob::StealLowBp => self.steal_low_bp,
            Knob::Confirm => self.confirm,
            Knob::FloorCores => self.floor_cores,
            Knob::StealCapacity => u32::from(self.steal_capacity),
            Knob::GuardGap => self.guard_gap,
            Knob::RankSteal => u32::from(self.rank_steal),
        };

        write!(f, "{number}")
    }

    /// Returns what the policies are tuned by.
    pub fn tuning(&self) -> Tuning {
        Tuning {
            steal_high_bp: self.steal_high_bp,
            steal_low_bp: self.steal_low_bp,
            confirm: self.confirm,
        }
    }

    /// Returns the time to the next sample in milliseconds: an interval, or a tenth of one if the
    /// policy wants it `soon`. Samples never come faster than the shortest interval.
    pub fn delay_ms(&self, soon: bool) -> u32 {
        if soon {
            (self.interval_ms / SOON).max(INTERVAL_MS.0)
        } else {
            self.interval_ms
        }
    }
}

/// Cuts one newline off the end, as `echo` leaves it. All else has to be the value.
fn trim(text: &[u8]) -> &[u8] {
    text.strip_suffix(b"\n").unwrap_or(text)
}

/// Reads decimal digits. What does not fit the type, too large or negative, is out of each knob's
/// range too: it becomes the largest number, so that the range gets the blame.
fn parse_number(text: &[u8]) -> Result<u32, Wrong> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Wrong::NotANumber);
    }

    let number = digits.iter().fold(0u32, |number, digit| {
        number
            .saturating_mul(10)
            .saturating_add(u32::from(digit - b'0'))
    });
    // No knob takes the largest number.
    Ok(if negative { u32::MAX } else { number })
}

fn parse_bool(text: &[u8]) -> Result<bool, Wrong> {
    match text {
        b"1" | b"y" | b"Y" | b"on" => Ok(true),
        b"0" | b"n" | b"N" | b"off" => Ok(false),
        _ => Err(Wrong::NotABool),
    }
}

fn parse_policy(text: &[u8]) -> Result<Kind, Wrong> {
    core::str::from_utf8(text)
        .ok()
        .and_then(Kind::parse)
        .ok_or(Wrong::NotAPolicy)
}

#[cfg_attr(
    CONFIG_COREFOLD_KUNIT_TEST,
    kernel::prelude::kunit_tests(corefold_config)
)]
#[cfg(any(test, CONFIG_COREFOLD_KUNIT_TEST))]
mod tests {
    use super::*;

    const CORES: u32 = 8;

    fn set(knob: Knob, text: &[u8]) -> Result<Config, Wrong> {
        Config::DEFAULT
            .with(knob, text, CORES)
            .map_err(|invalid| invalid.wrong)
    }

    #[test]
    fn default_is_valid() {
        assert!(Config::DEFAULT.check(Knob::Enabled, 1).is_ok());
    }

    #[test]
    fn good_values_are_taken() {
        assert!(set(Knob::IntervalMs, b"100\n").is_ok_and(|config| config.interval_ms == 100));
        assert!(set(Knob::IntervalMs, b"100000").is_ok_and(|config| config.interval_ms == 100_000));
        assert!(set(Knob::StealHighBp, b"9000").is_ok_and(|config| config.steal_high_bp == 9_000));
        assert!(set(Knob::StealLowBp, b"0").is_ok_and(|config| config.steal_low_bp == 0));
        assert!(set(Knob::Confirm, b"010").is_ok_and(|config| config.confirm == 10));
        assert!(set(Knob::FloorCores, b"8").is_ok_and(|config| config.floor_cores == 8));
        assert!(set(Knob::Enabled, b"0\n").is_ok_and(|config| !config.enabled));
        assert!(set(Knob::Guard, b"strict").is_ok_and(|config| config.guard == Guard::Strict));
        assert!(set(Knob::GuardGap, b"0").is_ok_and(|config| config.guard_gap == 0));
        assert!(set(Knob::GuardGap, b"1024").is_ok_and(|config| config.guard_gap == 1024));
        assert!(
            set(Knob::AsymLevels, b"MC,PKG\n").is_ok_and(|config| !config.asym_levels.is_empty())
        );
        assert!(set(Knob::AsymLevels, b"\n").is_ok_and(|config| config == Config::DEFAULT));
        assert!(set(Knob::AsymLevels, b"none").is_ok_and(|config| config == Config::DEFAULT));
        assert!(set(Knob::RankSteal, b"on").is_ok_and(|config| config.rank_steal));
        assert!(set(Knob::Policy, b"step\n").is_ok_and(|config| config == Config::DEFAULT));
        assert!(set(Knob::Policy, b"proportional")
            .is_ok_and(|config| config.policy == Kind::Proportional));
    }

    #[test]
    fn junk_is_refused() {
        let junk: [&[u8]; 12] = [
            b"", b"\n", b" 1", b"1 ", b"1\n\n", b"+1", b"-", b"--1", b"0x10", b"1e3", b"\xff",
            b"1\0",
        ];
        for text in junk {
            assert!(set(Knob::Confirm, text) == Err(Wrong::NotANumber));
            assert!(set(Knob::Enabled, text) == Err(Wrong::NotABool));
            assert!(set(Knob::Policy, text) == Err(Wrong::NotAPolicy));
            assert!(set(Knob::Guard, text) == Err(Wrong::NotAGuard));
            assert!(set(Knob::GuardGap, text) == Err(Wrong::NotANumber));
            assert!(set(Knob::RankSteal, text) == Err(Wrong::NotABool));
        }
        assert!(set(Knob::Enabled, b"2") == Err(Wrong::NotABool));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let values: [(Knob, &[u8], (u32, u32)); 10] = [
            (Knob::IntervalMs, b"99", (100, 100_000)),
            (Knob::IntervalMs, b"100001", (100, 100_000)),
            (Knob::IntervalMs, b"99999999999999999999999", (100, 100_000)),
            (Knob::IntervalMs, b"-1", (100, 100_000)),
            (Knob::StealHighBp, b"10001", (1, 10_000)),
            (Knob::Confirm, b"0", (1, 10)),
            (Knob::Confirm, b"11", (1, 10)),
            (Knob::FloorCores, b"0", (1, 8)),
            (Knob::FloorCores, b"9", (1, 8)),
            (Knob::GuardGap, b"1025", (0, 1024)),
        ];
        for (knob, text, (low, high)) in values {
            assert!(set(knob, text) == Err(Wrong::Range(low, high)));
        }
    }

    #[test]
    fn soon_is_never_faster_than_the_shortest_interval() {
        for (interval_ms, soon_ms) in [(100, 100), (500, 100), (1_000, 100), (100_000, 10_000)] {
            let config = Config {
                interval_ms,
                ..Config::DEFAULT
            };
            assert_eq!(config.delay_ms(true), soon_ms);
            assert_eq!(config.delay_ms(false), interval_ms);
        }
    }

    #[test]
    fn thresholds_must_not_cross() {
        assert!(set(Knob::StealLowBp, b"500") == Err(Wrong::Thresholds(500, 500)));
        assert!(set(Knob::StealHighBp, b"200") == Err(Wrong::Thresholds(200, 200)));
        assert!(set(Knob::StealHighBp, b"201").is_ok());
    }
}
