// SPDX-License-Identifier: GPL-2.0

//! How many cores to use.
//!
//! Pure: uses `core` alone, and is compiled a second time for the host's tests.
//!
//! A policy sees one sample after another and answers each with the number of cores that it wants
//! in use and the reason. It knows nothing of which cores those are, and has no say in the bounds.

#[path = "policy/proportional.rs"]
pub mod proportional;
#[path = "policy/step.rs"]
pub mod step;

use proportional::Proportional;
use step::Step;

/// A core in use for a whole period, in the unit of [`Usage`].
pub const CORE: u32 = 1_000;

/// A whole interval, in the unit of [`View::elapsed`].
pub const INTERVAL: u32 = 1_000;

/// What a policy may be tuned by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Steal from which on a core is given up, in basis points.
    pub steal_high_bp: u32,
    /// Steal down to which a core is taken back, in basis points.
    pub steal_low_bp: u32,
    /// How many samples in a row must agree.
    pub confirm: u32,
}

/// What became of the time of the cores over a period, in thousandths of a core ([`CORE`]).
///
/// A core is as busy as the busiest of its SMT siblings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The cores ran: what the hypervisor granted of what was wanted. Of all cores, folded ones
    /// too.
    pub granted: u32,
    /// They had work, and the hypervisor did not run them. Of all cores, folded ones too.
    pub stolen: u32,
    /// The cores in use had nothing to run.
    pub idle: u32,
}

impl Usage {
    /// Nothing at all.
    pub const NONE: Usage = Usage {
        granted: 0,
        stolen: 0,
        idle: 0,
    };
}

/// What a policy sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The share of time that was stolen, in basis points.
    pub steal_bp: u32,
    /// Cores in use.
    pub active: u32,
    /// Cores that may be used.
    pub total: u32,
    /// Cores that must be used.
    pub floor: u32,
    /// What became of the time.
    pub usage: Usage,
    /// The length of the period, in thousandths of the interval that was asked for ([`INTERVAL`]).
    pub elapsed: u32,
    /// Tasks that run or could, at the end of the period.
    pub runnable: u32,
}

impl View {
    /// Brings a number of cores into what may and must be used.
    fn bounded(&self, cores: u32) -> u32 {
        cores.max(self.floor).min(self.total)
    }
}

/// Why a policy wants what it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Too much is stolen.
    High,
    /// Next to nothing is stolen.
    Low,
    /// Too much is stolen, but not for long enough yet.
    ConfirmHigh,
    /// Next to nothing is stolen, but not for long enough yet.
    ConfirmLow,
    /// Between the thresholds.
    Band,
    /// Too much is stolen, and no more cores may be given up.
    Floor,
    /// Nothing is stolen, and all cores are in use.
    Full,
    /// There are more or fewer cores in use than may be.
    Bounds,
    /// Less was granted than the cores in use wanted.
    Rate,
    /// A little was stolen, but for long.
    Surplus,
    /// To give up cores did not lower steal.
    Residue,
    /// To see whether one more core is granted.
    Probe,
    /// It was granted.
    Granted,
    /// It was stolen.
    Refused,
    /// It is too soon to probe again.
    Wait,
    /// The counters did not move.
    Stale,
}

impl Reason {
    /// Returns the word for the reason.
    pub fn name(self) -> &'static str {
        match self {
            Reason::High => "high",
            Reason::Low => "low",
            Reason::ConfirmHigh => "confirm-high",
            Reason::ConfirmLow => "confirm-low",
            Reason::Band => "band",
            Reason::Floor => "floor",
            Reason::Full => "full",
            Reason::Bounds => "bounds",
            Reason::Rate => "rate",
            Reason::Surplus => "surplus",
            Reason::Residue => "residue",
            Reason::Probe => "probe",
            Reason::Granted => "granted",
            Reason::Refused => "stolen",
            Reason::Wait => "wait",
            Reason::Stale => "stale",
        }
    }
}

/// The answer of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Cores to use, between the floor and the total of the view.
    pub target: u32,
    /// Why.
    pub reason: Reason,
    /// The next sample should come soon, after a tenth of the interval.
    pub soon: bool,
}

/// A law by which the number of cores follows steal.
pub trait Law {
    /// Forgets the last samples: what comes next does not continue them. What was learnt of the
    /// hypervisor may stay.
    fn reset(&mut self);

    /// Takes a sample, and says how many cores to use.
    fn decide(&mut self, view: &View, tuning: &Tuning) -> Verdict;
}

/// The policies by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To what was granted.
    Proportional,
    /// One core a step.
    Step,
}

impl Kind {
    /// Every policy.
    pub const ALL: [Kind; 2] = [Kind::Proportional, Kind::Step];

    /// Returns the name of the policy.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Proportional => "proportional",
            Kind::Step => "step",
        }
    }

    /// Returns the policy of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A policy and what it remembers.
#[derive(Clone, Copy, Debug)]
pub enum Policy {
    /// See [`proportional`].
    Proportional(Proportional),
    /// See [`step`].
    Step(Step),
}

impl Policy {
    /// Creates a policy that has seen nothing.
    pub const fn new(kind: Kind) -> Self {
        match kind {
            Kind::Proportional => Policy::Proportional(Proportional::new()),
            Kind::Step => Policy::Step(Step::new()),
        }
    }

    /// Returns which policy this is.
    pub fn kind(&self) -> Kind {
        match self {
            Policy::Proportional(_) => Kind::Proportional,
            Policy::Step(_) => Kind::Step,
        }
    }
}

impl Law for Policy {
    fn reset(&mut self) {
        match self {
            Policy::Proportional(proportional) => proportional.reset(),
            Policy::Step(step) => step.reset(),
        }
    }

    fn decide(&mut self, view: &View, tuning: &Tuning) -> Verdict {
        match self {
            Policy::Proportional(proportional) => proportional.decide(view, tuning),
            Policy::Step(step) => step.decide(view, tuning),
        }
    }
}

#[cfg_attr(
    CONFIG_COREFOLD_KUNIT_TEST,
    kernel::prelude::kunit_tests(corefold_policy)
)]
#[cfg(any(test, CONFIG_COREFOLD_KUNIT_TEST))]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again() {
        for kind in Kind::ALL {
            assert!(Kind::parse(kind.name()) == Some(kind));
            assert!(Policy::new(kind).kind() == kind);
        }
        assert!(Kind::parse("").is_none());
        assert!(Kind::parse("Step").is_none());
        assert!(Kind::parse("step ").is_none());
    }

    #[test]
    fn bounds_hold_even_if_they_cross() {
        let view = View {
            active: 1,
            total: 2,
            floor: 5,
            ..View::default()
        };
        assert_eq!(view.bounded(0), 2);
        assert_eq!(view.bounded(9), 2);
    }
}
