// SPDX-License-Identifier: GPL-2.0

//! The step policy: one core at a time, between two thresholds.
//!
//! Pure: uses `core` alone, and is compiled a second time for the host's tests.
//!
//! This is the law that was published for PowerVM's shared processors: a core is given up when
//! steal is high, one is taken back when it is low, nothing happens in between, and a sample counts
//! only if those before it agreed. After that each further sample that agrees moves one more core,
//! so that the time from the first sign to the n-th core is `confirm + n - 1` intervals.
//!
//! It has no memory of what a step brought. Where steal falls to nothing once a core is given up,
//! it will try that core again, and again; the dead band is there to keep it from doing so each
//! time.

use super::{
    Law,
    Reason,
    Tuning,
    Verdict,
    View, //
};

/// Where a sample points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Fewer,
    More,
}

/// What the step policy remembers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Step {
    /// Where the last samples pointed, and how many of them in a row.
    run: Option<(Direction, u32)>,
}

impl Step {
    /// Creates a policy that has seen nothing.
    pub const fn new() -> Self {
        Self { run: None }
    }

    /// Takes where a sample points, and returns whether enough of them agree.
    fn agreed(&mut self, direction: Direction, confirm: u32) -> bool {
        let before = match self.run {
            Some((last, count)) if last == direction => count,
            _ => 0,
        };
        let count = before.saturating_add(1);

        self.run = Some((direction, count));
        count >= confirm
    }
}

impl Law for Step {
    fn reset(&mut self) {
        self.run = None;
    }

    fn decide(&mut self, view: &View, tuning: &Tuning) -> Verdict {
        let active = view.bounded(view.active);
        let (target, reason) = if active != view.active {
            self.run = None;
            (active, Reason::Bounds)
        } else if view.steal_bp >= tuning.steal_high_bp {
            let agreed = self.agreed(Direction::Fewer, tuning.confirm);
            match view.bounded(active.saturating_sub(1)) {
                fewer if fewer == active => (active, Reason::Floor),
                fewer if agreed => (fewer, Reason::High),
                _ => (active, Reason::ConfirmHigh),
            }
        } else if view.steal_bp <= tuning.steal_low_bp {
            let agreed = self.agreed(Direction::More, tuning.confirm);
            match view.bounded(active.saturating_add(1)) {
                more if more == active => (active, Reason::Full),
                more if agreed => (more, Reason::Low),
                _ => (active, Reason::ConfirmLow),
            }
        } else {
            self.run = None;
            (active, Reason::Band)
        };

        Verdict {
            target,
            reason,
            soon: false,
        }
    }
}

#[cfg_attr(
    CONFIG_COREFOLD_KUNIT_TEST,
    kernel::prelude::kunit_tests(corefold_policy_step)
)]
#[cfg(any(test, CONFIG_COREFOLD_KUNIT_TEST))]
mod tests {
    use super::*;

    const TUNING: Tuning = Tuning {
        steal_high_bp: 500,
        steal_low_bp: 200,
        confirm: 2,
    };

    fn decide(step: &mut Step, steal_bp: u32, active: u32) -> (u32, Reason) {
        let view = View {
            steal_bp,
            active,
            total: 4,
            floor: 1,
            ..View::default()
        };
        let verdict = step.decide(&view, &TUNING);
        (verdict.target, verdict.reason)
    }

    #[test]
    fn folds_one_core_a_step_once_confirmed() {
        let mut step = Step::new();
        assert!(decide(&mut step, 500, 4) == (4, Reason::ConfirmHigh));
        assert!(decide(&mut step, 10_000, 4) == (3, Reason::High));
        assert!(decide(&mut step, 600, 3) == (2, Reason::High));
        assert!(decide(&mut step, 600, 2) == (1, Reason::High));
        assert!(decide(&mut step, 600, 1) == (1, Reason::Floor));
    }

    #[test]
    fn unfolds_one_core_a_step_once_confirmed() {
        let mut step = Step::new();
        assert!(decide(&mut step, 200, 2) == (2, Reason::ConfirmLow));
        assert!(decide(&mut step, 0, 2) == (3, Reason::Low));
        assert!(decide(&mut step, 0, 3) == (4, Reason::Low));
        assert!(decide(&mut step, 0, 4) == (4, Reason::Full));
    }

    #[test]
    fn samples_that_disagree_start_over() {
        let mut step = Step::new();
        assert!(decide(&mut step, 900, 3) == (3, Reason::ConfirmHigh));
        assert!(decide(&mut step, 0, 3) == (3, Reason::ConfirmLow));
        assert!(decide(&mut step, 900, 3) == (3, Reason::ConfirmHigh));
        assert!(decide(&mut step, 300, 3) == (3, Reason::Band));
        assert!(decide(&mut step, 900, 3) == (3, Reason::ConfirmHigh));
        step.reset();
        assert!(decide(&mut step, 900, 3) == (3, Reason::ConfirmHigh));
        assert!(decide(&mut step, 900, 3) == (2, Reason::High));
    }

    #[test]
    fn dead_band_is_exclusive() {
        let mut step = Step::new();
        assert!(decide(&mut step, 201, 3) == (3, Reason::Band));
        assert!(decide(&mut step, 499, 3) == (3, Reason::Band));
    }

    #[test]
    fn returns_into_the_bounds_at_once() {
        let mut step = Step::new();
        assert!(decide(&mut step, 900, 0) == (1, Reason::Bounds));
        assert!(decide(&mut step, 0, 9) == (4, Reason::Bounds));
    }
}
