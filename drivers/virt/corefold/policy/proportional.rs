// SPDX-License-Identifier: GPL-2.0

//! The proportional policy: straight to what was granted.
//!
//! Pure: uses `core` alone, and is compiled a second time for the host's tests.
//!
//! Steal is the mark of contention, and the time that was granted is the measured rate.
//!
//! - *Decrease.* Steal of more than half a core: a tenth of an interval later there is a second
//!   look, and if it says the same, as many cores stay in use as were granted.
//! - *Increase.* While nothing is stolen one core more is tried, then two, four, and so on. A probe
//!   that is stolen is taken back a tenth of an interval later, and there is a pause that grows
//!   with what it cost.
//! - *Fairness.* A little steal that lasts is credited or debited: all guests are drawn to the same
//!   small excess, whatever their size.
//! - *Residue.* A fold by which less steal went than work is undone. What is stolen then has
//!   another cause than the number of cores, and is left alone.
//!
//! Documentation/admin-guide/corefold.rst says why this converges, and where each constant is from.

use super::{
    Law,
    Reason,
    Tuning,
    Usage,
    Verdict,
    View,
    CORE,
    INTERVAL, //
};

/// Half a core: what was granted is nearer to another number of cores.
const HALF: u32 = CORE / 2;

/// The excess that each guest is drawn to: an increase of a core takes ten intervals of credit.
const AIM: u32 = CORE / 20;

/// No guest is drawn to an excess of more than one part in so many of its cores.
const AIM_PART: u32 = 128;

/// So much steal, in basis points, is not worth a core.
const CALM_BP: u32 = 50;

/// Probes may bring back one part in so many of all time as steal.
const PROBE_PART: u64 = 200;

/// A fold of one core is judged only if so much is stolen after it, in basis points, or so much of
/// a core. What is less is in the range of what other guests' probes bring, and proves nothing.
const PROOF_BP: u32 = 160;

/// See [`PROOF_BP`].
const PROOF: u32 = CORE / 5;

/// Intervals after which a residue is put to the test again.
const RETRY: u32 = 64;

/// The part by which the least steal of late follows a rise in an interval.
const LEAST: u32 = 256;

/// One hundred per cent, in basis points.
const FULL_BP: u32 = 10_000;

/// Fewer cores than before, which is to be judged.
#[derive(Clone, Copy, Debug)]
struct Fold {
    from: u32,
    to: u32,
    before: Usage,
}

/// More cores than before, which is to be judged.
#[derive(Clone, Copy, Debug)]
struct Probe {
    from: u32,
    to: u32,
    /// Steal beyond the residue before it.
    beyond: u32,
}

/// Steal that folding does not lower.
#[derive(Clone, Copy, Debug)]
struct Residue {
    /// In basis points of the wanted time.
    bp: u32,
    /// It is to be put to the test.
    doubt: bool,
    /// Intervals since it was.
    age: u32,
}

impl Residue {
    const NONE: Residue = Residue {
        bp: 0,
        doubt: false,
        age: 0,
    };

    /// Returns the part of the steal that is beyond it.
    fn beyond(&self, usage: &Usage) -> u32 {
        usage.stolen.saturating_sub(usage.part(self.bp))
    }

    /// Returns the part of the steal that is beyond it and what it varies by.
    fn excess(&self, usage: &Usage) -> u32 {
        let tolerated = usage.part((self.bp + self.bp / 8).max(CALM_BP));

        usage.stolen.saturating_sub(tolerated)
    }

    /// Whether steal is so low that more cores may be asked for. This is less than what is
    /// tolerated, or each increase would make room for the next.
    fn allows_more(&self, usage: &Usage, aim: u32) -> bool {
        let calm = usage.part(CALM_BP).saturating_add(aim);

        usage.stolen <= usage.part(self.bp + self.bp / 16).max(calm)
    }

    /// Follows steal downwards: at once if it fell by half, else slowly, as it may be chance.
    fn follow(&mut self, steal_bp: u32) {
        if steal_bp < self.bp / 2 {
            self.bp = steal_bp;
        } else {
            self.bp -= self.bp.saturating_sub(steal_bp).div_ceil(8);
        }
        self.age = self.age.saturating_add(1);
        self.doubt = self.bp > CALM_BP && (self.doubt || self.age >= RETRY);
    }
}

/// What the proportional policy remembers.
#[derive(Clone, Copy, Debug)]
pub struct Proportional {
    fold: Option<Fold>,
    probe: Option<Probe>,
    residue: Residue,
    /// Cores that the next probe asks for.
    stride: u32,
    /// What probes brought back as steal and is not made up for yet, times [`PROBE_PART`].
    debt: u64,
    /// How much less was stolen than this guest is drawn to, summed up; from -HALF to HALF.
    credit: i32,
    /// This sample is a second look.
    looks: bool,
    /// Steal of the last whole interval, in basis points.
    last_bp: u32,
    /// The least steal of late.
    least_bp: u32,
}

/// Returns the time of so many cores.
fn time_of(cores: u32) -> u64 {
    u64::from(cores) * u64::from(CORE)
}

/// Returns the number of cores next to so much time; half a core is rounded down.
fn cores(time: u64) -> u32 {
    let cores = time.saturating_add(u64::from(HALF) - 1) / u64::from(CORE);

    u32::try_from(cores).unwrap_or(u32::MAX)
}

impl Usage {
    /// The time that the cores wanted.
    fn wanted(&self) -> u64 {
        u64::from(self.granted) + u64::from(self.stolen)
    }

    /// A part of it, given in basis points.
    fn part(&self, bp: u32) -> u32 {
        let part = self.wanted() * u64::from(bp) / u64::from(FULL_BP);

        u32::try_from(part).unwrap_or(u32::MAX)
    }

    /// The part of it that was stolen, in basis points.
    fn steal_bp(&self) -> u32 {
        // At most FULL_BP, so that it fits.
        (u64::from(self.stolen) * u64::from(FULL_BP) / self.wanted().max(1)) as u32
    }

    /// Whether the cores were kept from work more than they were out of it: it is not the load that
    /// limits what they got.
    fn is_held_back(&self) -> bool {
        self.idle < self.stolen
    }
}

impl View {
    /// Whether some of the time of the cores in use was to spare.
    fn has_idle(&self) -> bool {
        8 * u64::from(self.usage.idle) > time_of(self.active)
    }

    /// Whether work waits for a core.
    fn is_hungry(&self) -> bool {
        self.runnable > self.active || !self.has_idle()
    }

    /// The excess that a guest of this size is drawn to.
    fn aim(&self) -> u32 {
        AIM.min(self.active.saturating_mul(CORE / AIM_PART))
    }

    /// Whether so much excess is a reason to become smaller, in the long run.
    fn is_over(&self, excess: u32) -> bool {
        excess > self.aim()
    }

    /// The part of an interval that passed.
    fn passed(&self) -> u32 {
        self.elapsed.min(INTERVAL)
    }

    fn hold(&self, reason: Reason) -> Verdict {
        self.go(self.active, reason)
    }

    fn go(&self, cores: u32, reason: Reason) -> Verdict {
        Verdict {
            target: self.bounded(cores),
            reason,
            soon: false,
        }
    }
}

impl Proportional {
    /// Creates a policy that has seen nothing.
    pub const fn new() -> Self {
        Self {
            fold: None,
            probe: None,
            residue: Residue::NONE,
            stride: 0,
            debt: 0,
            credit: 0,
            looks: false,
            last_bp: 0,
            least_bp: FULL_BP,
        }
    }

    /// Asks for a second look: this one is of a whole interval, in which much may have changed.
    fn look(&mut self, view: &View) -> Verdict {
        self.looks = true;
        Verdict {
            soon: true,
            ..view.hold(Reason::ConfirmHigh)
        }
    }

    /// Decides while no probe is to be judged.
    fn calm(&mut self, view: &View) -> Verdict {
        let excess = self.residue.excess(&view.usage);

        if excess >= HALF && self.rate(view) < view.active {
            return self.fold(view, self.rate(view), Reason::Rate);
        }
        self.count(view, excess);
        if self.credit <= -(HALF as i32) {
            return self.fold(view, view.active - 1, Reason::Surplus);
        }
        self.probe(view, Reason::Probe)
    }

    /// Returns the number of cores that the granted time keeps busy, residue included.
    fn rate(&self, view: &View) -> u32 {
        let residue = self.residue.bp.min(FULL_BP - FULL_BP / 10);
        let rate =
            u64::from(view.usage.granted) * u64::from(FULL_BP) / u64::from(FULL_BP - residue);

        if view.usage.is_held_back() {
            view.bounded(cores(rate).min(view.active - 1))
        } else {
            // What there is to do fits, with room for what comes in bursts.
            view.bounded(cores(rate.saturating_add(rate / 4)))
        }
    }

    /// Keeps the account of small excess. In doubt of the residue that is part of it.
    fn count(&mut self, view: &View, excess: u32) {
        let counted = if self.residue.doubt {
            view.usage.stolen
        } else {
            excess
        };
        let step = view.aim() as i32 - counted.min(CORE) as i32;

        self.credit += step * view.passed() as i32 / INTERVAL as i32;
        self.credit = self.credit.clamp(-(HALF as i32), HALF as i32);
    }

    /// Gives up cores.
    fn fold(&mut self, view: &View, target: u32, why: Reason) -> Verdict {
        let target = view.bounded(target);

        self.stride = 0;
        self.credit = -(HALF as i32) * 3 / 4;
        if target >= view.active {
            return view.hold(Reason::Floor);
        }
        self.fold = Some(Fold {
            from: view.active,
            to: target,
            before: view.usage,
        });
        view.go(target, why)
    }

    /// Judges a fold an interval later, when neighbours who see what this guest sees have folded
    /// too. Returns what to do if it was of no use.
    fn judge_fold(&mut self, view: &View, fold: &Fold) -> Option<Verdict> {
        let excess = self.residue.excess(&view.usage);
        let (was_bp, is_bp) = (fold.before.steal_bp(), view.usage.steal_bp());
        let known = if self.residue.doubt {
            view.usage.stolen
        } else {
            excess
        };

        if !view.is_over(known) || (is_bp < PROOF_BP && known < PROOF) {
            return None;
        }
        let size = fold.from - fold.to;
        let fell = fold.before.stolen.saturating_sub(view.usage.stolen);
        if 2 * u64::from(fell) >= time_of(size) || 4 * is_bp <= 3 * was_bp {
            // What is left of much may be a residue, and may be what neighbours have yet to fold.
            if excess >= HALF && 6 * is_bp <= was_bp {
                self.residue = Residue {
                    bp: is_bp,
                    doubt: true,
                    age: 0,
                };
            }
            return None;
        }
        if is_bp > was_bp + was_bp / 8 {
            // It still grows.
            return None;
        }
        // In a pool of many guests a core of one of them hardly shows, contention or not. But a
        // residue is always there.
        let most = if size > 1 { FULL_BP } else { self.least_bp };
        self.residue = Residue {
            bp: is_bp.min(most).max(self.residue.bp),
            doubt: false,
            age: 0,
        };
        self.credit = 0;
        Some(view.go(fold.from, Reason::Residue))
    }

    /// Asks for more cores, if it is not too soon.
    fn probe(&mut self, view: &View, reason: Reason) -> Verdict {
        if view.active >= view.total {
            return view.hold(Reason::Full);
        }
        if !self.residue.allows_more(&view.usage, view.aim()) {
            return view.hold(Reason::Band);
        }
        if self.debt > 0 || (self.residue.doubt && reason == Reason::Granted) {
            return view.hold(Reason::Wait);
        }

        let target = view.bounded(view.active.saturating_add(self.stride.max(1)));
        self.probe = Some(Probe {
            from: view.active,
            to: target,
            beyond: self.residue.beyond(&view.usage),
        });
        Verdict {
            soon: view.is_hungry(),
            ..view.go(target, reason)
        }
    }

    /// Judges a probe, and goes on with the next if it was granted.
    fn judge_probe(&mut self, view: &View, probe: &Probe) -> Verdict {
        let excess = self.residue.excess(&view.usage);
        let rise = self
            .residue
            .beyond(&view.usage)
            .saturating_sub(probe.beyond);
        let size = probe.to - probe.from;

        if 8 * u64::from(rise) < time_of(size) && !view.is_over(excess) {
            if excess > 0 {
                // There is a core, but not many.
                self.stride = 0;
                return view.hold(Reason::Granted);
            }
            self.stride = self.stride.saturating_mul(2).max(1);
            return self.probe(view, Reason::Granted);
        }
        self.stride = 0;
        self.debt = u64::from(CORE) * u64::from(view.passed()) * PROBE_PART;
        if size == 1 && rise < HALF && self.credit >= 0 {
            // In part it was granted, and this guest has held back for long.
            self.credit = HALF as i32;
            return view.hold(Reason::Granted);
        }
        let target = if size == 1 || !view.usage.is_held_back() {
            probe.from
        } else {
            self.rate(view).max(probe.from)
        };
        Verdict {
            // Guests that probe at the same moment would refuse each other for ever; the last
            // digits of what was measured tell them apart.
            soon: (view.usage.granted ^ view.usage.idle) & 1 == 0,
            ..view.go(target, Reason::Refused)
        }
    }

    /// Learns from a whole interval.
    fn learn(&mut self, view: &View) {
        let steal_bp = view.usage.steal_bp();

        // What used to be stolen no longer is: the pool has changed. Or there was less to do than
        // the cores in use could: what comes next is something else than what was refused.
        let freed = self.last_bp > 10 && steal_bp <= self.last_bp / 2;
        if freed || (view.has_idle() && !view.usage.is_held_back()) {
            self.debt = 0;
        }
        self.last_bp = steal_bp;
        if 2 * view.usage.wanted() >= time_of(view.active) {
            let up = steal_bp.saturating_sub(self.least_bp).div_ceil(LEAST);
            self.least_bp = steal_bp.min(self.least_bp + up);
        }
        self.residue.follow(steal_bp);
    }
}

impl Default for Proportional {
    fn default() -> Self {
        Self::new()
    }
}

impl Law for Proportional {
    /// What was learnt of the steal here stays: it is followed, should it no longer hold.
    fn reset(&mut self) {
        *self = Self {
            residue: self.residue,
            debt: self.debt,
            least_bp: self.least_bp,
            ..Self::new()
        };
    }

    fn decide(&mut self, view: &View, _tuning: &Tuning) -> Verdict {
        let active = view.bounded(view.active);
        if active != view.active {
            self.reset();
            return view.go(active, Reason::Bounds);
        }
        if active == 0 {
            return view.hold(Reason::Full);
        }
        // Cores either run, wait or idle.
        let accounted = view.usage.wanted() + u64::from(view.usage.idle);
        if 2 * accounted < time_of(active) {
            return view.hold(Reason::Stale);
        }

        let paid = time_of(active) * u64::from(view.passed());
        self.debt = self.debt.saturating_sub(paid);
        let looks = core::mem::take(&mut self.looks);
        if let Some(probe) = self.probe.take() {
            if probe.to == active {
                return self.judge_probe(view, &probe);
            }
        }
        if view.elapsed > INTERVAL / 2 {
            self.learn(view);
        }
        let can_fold = self.fold.is_some() || view.bounded(active - 1) < active;
        if self.residue.excess(&view.usage) >= HALF && can_fold && !looks {
            return self.look(view);
        }
        if let Some(fold) = self.fold.take() {
            if fold.to == active {
                if let Some(verdict) = self.judge_fold(view, &fold) {
                    return verdict;
                }
            }
        }
        self.calm(view)
    }
}

#[cfg_attr(
    CONFIG_COREFOLD_KUNIT_TEST,
    kernel::prelude::kunit_tests(corefold_policy_proportional)
)]
#[cfg(any(test, CONFIG_COREFOLD_KUNIT_TEST))]
mod tests {
    use super::*;

    const TUNING: Tuning = Tuning {
        steal_high_bp: 500,
        steal_low_bp: 200,
        confirm: 2,
    };
    const TOTAL: u32 = 16;

    /// A guest of [`TOTAL`] cores in a world that grants it so many thousandths of a core, and
    /// keeps back a part of what is wanted, in basis points.
    struct Guest {
        law: Proportional,
        active: u32,
        tasks: u32,
        granted: u32,
        residue_bp: u32,
        elapsed: u32,
    }

    impl Guest {
        fn new(granted: u32) -> Self {
            Self {
                law: Proportional::new(),
                active: TOTAL,
                tasks: 4 * TOTAL,
                granted,
                residue_bp: 0,
                elapsed: INTERVAL,
            }
        }

        /// Lets a period pass. Returns the reason of what was decided.
        fn period(&mut self) -> Reason {
            let wanted = self.active.min(self.tasks) * CORE;
            let granted = (wanted - wanted * self.residue_bp / 10_000).min(self.granted);
            let view = View {
                steal_bp: 0,
                active: self.active,
                total: TOTAL,
                floor: 1,
                usage: Usage {
                    granted,
                    stolen: wanted - granted,
                    idle: self.active * CORE - wanted,
                },
                elapsed: self.elapsed,
                runnable: self.tasks,
            };
            let verdict = self.law.decide(&view, &TUNING);

            self.active = verdict.target;
            self.elapsed = if verdict.soon {
                INTERVAL / 10
            } else {
                INTERVAL
            };
            verdict.reason
        }

        /// Lets so many whole intervals pass. Returns the least and the most cores in use.
        fn intervals(&mut self, intervals: u32) -> (u32, u32) {
            let (mut least, mut most, mut passed) = (self.active, self.active, 0);
            while passed < intervals * INTERVAL {
                passed += self.elapsed;
                self.period();
                least = least.min(self.active);
                most = most.max(self.active);
            }
            (least, most)
        }
    }

    #[test]
    fn goes_straight_to_what_was_granted() {
        for cores in 1..TOTAL - 1 {
            let mut guest = Guest::new(cores * CORE);
            // The second period is a look at what the first one said.
            assert!(guest.period() == Reason::ConfirmHigh);
            assert!(guest.period() == Reason::Rate);
            assert_eq!(guest.active, cores);
        }
    }

    #[test]
    fn stays_there_and_probes_by_one_core() {
        let mut guest = Guest::new(5 * CORE);
        guest.intervals(3);
        assert_eq!(guest.intervals(100), (5, 6));
        let mut probes = 0;
        for _ in 0..100 {
            probes += u32::from(guest.period() == Reason::Probe);
        }
        // Each is taken back after a tenth of an interval, and there is a pause of four before the
        // next.
        assert!((15..=20).contains(&probes));
    }

    #[test]
    fn parts_of_a_core_are_rounded() {
        for (part, cores) in [(CORE / 4, 5), (CORE / 4 * 3, 6)] {
            let mut guest = Guest::new(5 * CORE + part);
            guest.period();
            guest.period();
            assert_eq!(guest.active, cores);
        }
    }

    #[test]
    fn takes_what_becomes_free_within_two_intervals() {
        let mut guest = Guest::new(8 * CORE);
        guest.intervals(10);
        guest.granted = TOTAL * CORE;
        guest.intervals(2);
        assert_eq!(guest.active, TOTAL);
    }

    #[test]
    fn a_burst_gets_its_cores_within_two_intervals() {
        let mut guest = Guest::new(2 * CORE);
        guest.intervals(10);
        guest.tasks = 1;
        guest.granted = TOTAL * CORE;
        guest.period();
        guest.tasks = 4 * TOTAL;
        guest.intervals(2);
        assert_eq!(guest.active, TOTAL);
    }

    #[test]
    fn an_idle_guest_uses_all_cores() {
        let mut guest = Guest::new(3 * CORE);
        guest.intervals(3);
        guest.tasks = 0;
        guest.intervals(20);
        assert_eq!(guest.active, TOTAL);
        assert_eq!(guest.intervals(20), (TOTAL, TOTAL));
    }

    #[test]
    fn a_fold_that_does_not_lower_steal_is_undone() {
        let mut guest = Guest::new(TOTAL * CORE);
        guest.residue_bp = 1_000;
        let mut undone = false;
        for _ in 0..10 {
            undone |= guest.period() == Reason::Residue;
        }
        assert!(undone);
        assert_eq!(guest.active, TOTAL);
        // One core at most is ever given up to see whether that still holds.
        assert!(guest.intervals(100).0 >= TOTAL - 1);
        assert_eq!(guest.active, TOTAL);
    }

    #[test]
    fn contention_is_seen_above_a_residue() {
        let mut guest = Guest::new(TOTAL * CORE);
        guest.residue_bp = 1_000;
        guest.intervals(10);
        // What eight cores get that lose a tenth.
        guest.granted = 7_200;
        guest.intervals(3);
        assert!((8..=9).contains(&guest.active));
        guest.granted = TOTAL * CORE;
        guest.intervals(3);
        assert_eq!(guest.active, TOTAL);
    }

    #[test]
    fn a_lone_pinned_task_keeps_no_core_folded() {
        let mut guest = Guest::new(CORE / 2);
        guest.tasks = 1;
        guest.intervals(20);
        assert_eq!(guest.active, TOTAL);
    }

    #[test]
    fn counters_that_stand_still_say_nothing() {
        let mut law = Proportional::new();
        let view = View {
            active: 4,
            total: TOTAL,
            floor: 1,
            elapsed: INTERVAL,
            ..View::default()
        };
        let verdict = law.decide(&view, &TUNING);
        assert!((verdict.target, verdict.reason) == (4, Reason::Stale));
    }

    #[test]
    fn returns_into_the_bounds_at_once() {
        let mut law = Proportional::new();
        let view = View {
            active: 2,
            total: TOTAL,
            floor: 5,
            ..View::default()
        };
        let verdict = law.decide(&view, &TUNING);
        assert!((verdict.target, verdict.reason) == (5, Reason::Bounds));
        let verdict = law.decide(&View::default(), &TUNING);
        assert!((verdict.target, verdict.reason) == (0, Reason::Full));
    }
}
