// SPDX-License-Identifier: GPL-2.0

//! The laws that are compared.

use corefold_policy::policy::{Kind, Law as _, Policy, Tuning, View};

use crate::{SOON, TICKS};

/// The laws by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Law {
    /// All cores are always in use.
    None,
    /// One core a step, with the constants of the first posting for PowerVM: 10 and 5 %, two samples.
    #[value(name = "step-srikar")]
    Srikar,
    /// One core a step, with the constants of steal_governor: above 5 %, 2 %, one sample.
    #[value(name = "step-governor")]
    StealGovernor,
    /// All cores or the entitled ones, by a slow average and one threshold, four times a second.
    Hiperdispatch,
    /// Straight to what was granted.
    Proportional,
    /// The best numbers that never change, found by trying.
    Oracle,
}

impl Law {
    /// Every law, in the order of tables.
    pub const ALL: [Law; 6] = [
        Law::None,
        Law::Srikar,
        Law::StealGovernor,
        Law::Hiperdispatch,
        Law::Proportional,
        Law::Oracle,
    ];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Law::None => "none",
            Law::Srikar => "step-srikar",
            Law::StealGovernor => "step-governor",
            Law::Hiperdispatch => "hiperdispatch",
            Law::Proportional => "proportional",
            Law::Oracle => "oracle",
        }
    }
}

const SRIKAR: Tuning = Tuning {
    steal_high_bp: 1_000,
    steal_low_bp: 500,
    confirm: 2,
};
/// It gives up a core above 5 %, and `step` does at and above its threshold.
const STEAL_GOVERNOR: Tuning = Tuning {
    steal_high_bp: 501,
    steal_low_bp: 200,
    confirm: 1,
};

/// hiperdispatch: one threshold, in basis points, of an average that moves by a sixteenth.
const HD_THRESHOLD_BP: f64 = 1_000.0;
const HD_WEIGHT: f64 = 15.0 / 16.0;

/// What decides in a guest.
#[derive(Clone, Debug)]
pub enum Control {
    /// Nothing does.
    Fixed,
    /// A policy of the module.
    Policy(Policy, Tuning),
    /// hiperdispatch: its average, and the entitled cores.
    Hiperdispatch(f64, u32),
}

impl Control {
    /// Creates what follows `law` in a guest whose share of the pool is `share` cores.
    pub fn new(law: Law, share: u32) -> Self {
        match law {
            Law::None | Law::Oracle => Control::Fixed,
            Law::Srikar => Control::Policy(Policy::new(Kind::Step), SRIKAR),
            Law::StealGovernor => Control::Policy(Policy::new(Kind::Step), STEAL_GOVERNOR),
            Law::Hiperdispatch => Control::Hiperdispatch(0.0, share),
            Law::Proportional => Control::Policy(Policy::new(Kind::Proportional), STEAL_GOVERNOR),
        }
    }

    /// Forgets what it saw, as the governor has its policy do when a sample says nothing.
    pub fn reset(&mut self) {
        if let Control::Policy(policy, _) = self {
            policy.reset();
        }
    }

    /// Takes a sample. Returns how many cores to use.
    pub fn decide(&mut self, view: &View) -> (u32, u32) {
        match self {
            Control::Fixed => (view.active, TICKS),
            Control::Policy(policy, tuning) => {
                let verdict = policy.decide(view, tuning);
                (verdict.target, if verdict.soon { SOON } else { TICKS })
            }
            Control::Hiperdispatch(average, share) => {
                *average = *average * HD_WEIGHT + f64::from(view.steal_bp) * (1.0 - HD_WEIGHT);
                let cores = if *average < HD_THRESHOLD_BP {
                    view.total
                } else {
                    *share
                };
                (cores.clamp(view.floor, view.total), TICKS / 4)
            }
        }
    }
}
