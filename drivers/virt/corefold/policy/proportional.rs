// SPDX-License-Identifier: GPL-2.0

//! The proportional policy: straight to what was granted.
//!
//! Pure: uses `core` alone, and is compiled a second time for the host's tests.
//!
//! Steal tells that more cores were used than the hypervisor would run; the time that was granted
//! tells how many it did run. So the number of cores goes to the granted rate in one step, and from
//! there it is a matter of small experiments, each of which is looked at soon after and kept or
//! taken back:
//!
//! - a *probe* asks for one core more, for a tenth of an interval. If it was granted, the next one
//!   follows at once and soon is larger; if it was stolen, there is a pause that grows with what
//!   the probe cost;
//! - a *fold* whose steal stays as it was, while less work gets done, is undone. Such steal is a
//!   *residue*, which is left alone from then on;
//! - a little steal that lasts makes guests drift: all are drawn to the same small excess, whatever
//!   their size, so that one that has more cores than its share gives way to one that has fewer.
//!
//! Documentation/admin-guide/corefold.rst tells users of it.

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

/// An excess from which cores are given up at once: what was granted is then nearer to fewer cores.
const ROUND: u32 = CORE / 2;

/// An excess that is more than chance. A probe was granted if less than this part of it was stolen.
const NOTICED: u32 = CORE / PART;

/// See [`NOTICED`].
const PART: u32 = 8;

/// The excess that all guests are drawn to, in the long run.
const AIM: u32 = CORE / 20;

/// An excess of up to one part in so many of the wanted time is no reason to give up a core.
const CALM: u32 = 200;

/// The part of all time that probes may bring back as steal: one in so many.
const BUDGET: u64 = 128;

/// What steal costs beside the time that it takes, in tenths of that time.
const COST: u64 = 25;

/// Steal that has always been there is tolerated without proof up to here, in basis points.
const USUAL_BP: u32 = 70;

/// Steal below this, in basis points, is not called a residue: it is tolerated anyway.
const PROOF_BP: u32 = 120;

/// Steal of which one may tell that it fell by half, in basis points.
const FREED_BP: u32 = 10;

/// Intervals for which the least steal is remembered, at least; at most twice as many.
const WINDOW: u32 = 128;

/// The same for the least steal that tells of changes.
const RECENT: u32 = 8;

/// Intervals for which a small fold does not raise a residue that is known.
const LOCK: u32 = 64;

/// Intervals after which a residue is put to the test again.
const RETRY: u32 = 256;

/// One hundred per cent, in basis points.
const FULL_BP: u32 = 10_000;

/// An experiment under way.
#[derive(Clone, Copy, Debug)]
enum Trial {
    /// More cores than `from`, when there was `before`.
    Probe { from: u32, before: Usage },
    /// Fewer cores than before.
    Fold(Fold),
}

/// A fold that is to be judged.
#[derive(Clone, Copy, Debug)]
struct Fold {
    from: u32,
    to: u32,
    before: Usage,
    /// It did not seem to do good, and a second look was asked for.
    looked: bool,
}

/// The least steal of late, in basis points of the wanted time.
///
/// Two windows, as one alone would forget everything at once.
#[derive(Clone, Copy, Debug)]
struct Least {
    windows: [u32; 2],
    age: u32,
    /// How long a window is, in intervals.
    length: u32,
}

impl Least {
    const fn new(length: u32) -> Self {
        Self {
            windows: [u32::MAX; 2],
            age: 0,
            length,
        }
    }

    /// Takes a sample. Cores that wanted little say little of steal.
    fn update(&mut self, view: &View) {
        if 2 * view.usage.wanted() < time_of(view.active) {
            return;
        }

        self.age += view.elapsed.min(INTERVAL);
        if self.age >= self.length * INTERVAL {
            self.windows = [u32::MAX, self.windows[0]];
            self.age = 0;
        }
        self.windows[0] = self.windows[0].min(view.usage.steal_bp());
    }

    /// Returns the least steal of the window before this one, if there was a sample.
    fn before(&self) -> Option<u32> {
        (self.windows[1] != u32::MAX).then_some(self.windows[1])
    }

    /// Returns the least steal, if there was a sample.
    fn get(&self) -> Option<u32> {
        let least = self.windows[0].min(self.windows[1]);

        (least != u32::MAX).then_some(least)
    }
}

/// Steal that folding does not lower.
#[derive(Clone, Copy, Debug)]
struct Residue {
    /// In basis points of the wanted time.
    bp: u32,
    /// Intervals since it was found.
    age: u32,
}

impl Residue {
    const NONE: Residue = Residue { bp: 0, age: 0 };

    /// Follows steal downwards: at once if it fell by half, else slowly, as it may be chance.
    fn follow(&mut self, steal_bp: u32) {
        if steal_bp < self.bp / 2 {
            self.bp = steal_bp;
        } else {
            self.bp -= self.bp.saturating_sub(steal_bp).div_ceil(8);
        }
    }

    /// Grows older by an interval. Returns whether it is time for another test.
    fn is_due(&mut self) -> bool {
        self.age = self.age.saturating_add(1);
        if self.bp == 0 || self.age < RETRY {
            return false;
        }
        self.age = 0;
        true
    }
}

/// What the proportional policy remembers.
#[derive(Clone, Copy, Debug)]
pub struct Proportional {
    trial: Option<Trial>,
    residue: Residue,
    least: Least,
    recent: Least,
    /// Cores that the next probe asks for.
    stride: u32,
    /// The last probe was granted.
    granted: bool,
    /// Steal that probes brought and that is not made up for yet: thousandths of a core times
    /// thousandths of an interval.
    debt: u64,
    /// By how much the excess fell short of what is aimed at, summed up; negative if it was above.
    drift: i32,
    /// Cores in use before the last series of small folds.
    anchor: u32,
    /// A second look at a reason to fold was asked for.
    looked: bool,
    /// Chance: the last digits of what was measured, which no two guests share.
    chance: u32,
}

/// Returns the time of so many cores.
fn time_of(cores: u32) -> u64 {
    u64::from(cores) * u64::from(CORE)
}

/// Returns the number of cores next to so much time; half a core is rounded down.
fn cores(time: u64) -> u32 {
    let cores = time.saturating_add(u64::from(ROUND) - 1) / u64::from(CORE);

    u32::try_from(cores).unwrap_or(u32::MAX)
}

impl Usage {
    /// The time that the cores wanted.
    fn wanted(&self) -> u64 {
        u64::from(self.granted) + u64::from(self.stolen)
    }

    /// The part of it that was stolen, in basis points.
    fn steal_bp(&self) -> u32 {
        // At most FULL_BP, so that it fits.
        (u64::from(self.stolen) * u64::from(FULL_BP) / self.wanted().max(1)) as u32
    }

    /// What the granted time was worth, in millionths of a core.
    fn worth(&self) -> u64 {
        let granted = u64::from(self.granted) * u64::from(CORE);
        let cost = u64::from(self.steal_bp()) * COST / 10;

        granted * u64::from(FULL_BP) / (u64::from(FULL_BP) + cost)
    }

    /// Whether the cores were kept from work more than they were out of it: it is not the load that
    /// limits what they got.
    fn is_held_back(&self) -> bool {
        self.idle < self.stolen
    }
}

impl View {
    /// Whether this is a sample that was wanted soon.
    fn is_short(&self) -> bool {
        self.elapsed <= INTERVAL / 2
    }

    /// Whether some of the time of the cores in use was to spare.
    fn has_idle(&self) -> bool {
        8 * u64::from(self.usage.idle) > time_of(self.active)
    }

    /// Whether work waits for a core.
    fn is_hungry(&self) -> bool {
        self.runnable > self.active || !self.has_idle()
    }

    fn hold(&self, reason: Reason) -> Verdict {
        Verdict {
            target: self.active,
            reason,
            soon: false,
        }
    }

    fn look_again(&self, reason: Reason) -> Verdict {
        Verdict {
            soon: true,
            ..self.hold(reason)
        }
    }

    fn go(&self, cores: u32, reason: Reason) -> Verdict {
        Verdict {
            target: self.bounded(cores),
            reason,
            soon: false,
        }
    }
}

/// Returns the debt that an interval makes up for in which so many cores are in use.
fn allowance(cores: u32) -> u64 {
    time_of(cores) * u64::from(INTERVAL) / BUDGET
}

impl Proportional {
    /// Creates a policy that has seen nothing.
    pub const fn new() -> Self {
        Self {
            trial: None,
            residue: Residue::NONE,
            least: Least::new(WINDOW),
            recent: Least::new(RECENT),
            stride: 1,
            granted: false,
            debt: 0,
            drift: 0,
            anchor: 0,
            looked: false,
            chance: 0,
        }
    }

    /// Returns the steal beyond what is tolerated.
    fn excess(&self, usage: &Usage) -> u32 {
        let usual = self.least.get().map_or(0, |least| least.min(USUAL_BP));
        let tolerated_bp = usual.max(self.residue.bp + self.residue.bp / 8);
        let tolerated = usage.wanted() * u64::from(tolerated_bp) / u64::from(FULL_BP);

        usage
            .stolen
            .saturating_sub(u32::try_from(tolerated).unwrap_or(u32::MAX))
    }

    /// Whether so much excess is a reason to become smaller, in the long run.
    fn is_over(usage: &Usage, excess: u32) -> bool {
        u64::from(excess) > u64::from(AIM).max(usage.wanted() / u64::from(CALM))
    }

    /// Returns the time of the cores that the granted time keeps busy, residue included.
    fn rate(&self, usage: &Usage) -> u64 {
        let residue = self.residue.bp.min(FULL_BP - FULL_BP / 10);

        u64::from(usage.granted) * u64::from(FULL_BP) / u64::from(FULL_BP - residue)
    }

    /// Decides while no experiment is under way.
    fn calm(&mut self, view: &View) -> Verdict {
        if !view.is_short() && self.whole_interval(view) {
            return self.fold(view, Reason::Surplus);
        }

        let excess = self.excess(&view.usage);
        let over = Self::is_over(&view.usage, excess);
        if excess >= ROUND && self.target(view, Reason::Rate) < view.active {
            return self.fold(view, Reason::Rate);
        }
        if !view.usage.is_held_back() && excess >= ROUND {
            // What there is to do fits. The steal does not come from the number of cores.
            return self.probe(view, Reason::Probe);
        }
        self.drift_by(view, excess, over);
        // Guests that see the same steal should not all do the same about it.
        if over && self.drift <= -(ROUND as i32) && (self.looked || self.chance >> 30 == 0) {
            return self.fold(view, Reason::Surplus);
        }
        self.looked = false;
        if over && view.active > view.floor {
            // It may be over by now.
            return if view.is_short() {
                view.hold(Reason::Band)
            } else {
                view.look_again(Reason::Band)
            };
        }
        self.probe(view, Reason::Probe)
    }

    /// Learns from a calm interval. Returns whether the residue is to be tested.
    fn whole_interval(&mut self, view: &View) -> bool {
        let steal_bp = view.usage.steal_bp();

        let recent = self.recent.before();
        // What used to be stolen no longer is: the pool has changed. Or there was less to do than
        // the cores in use could: what comes next is something else than what was refused.
        let freed = recent.is_some_and(|least| least >= FREED_BP && steal_bp <= least / 2);
        if freed || (view.has_idle() && !view.usage.is_held_back()) {
            self.debt = 0;
        }
        self.residue.follow(steal_bp);
        self.residue.is_due()
    }

    fn drift_by(&mut self, view: &View, excess: u32, over: bool) {
        // Both are below a core, and so is their difference.
        let short = AIM as i32 - excess.min(CORE) as i32;
        let step = if over { short } else { short.max(0) };

        self.drift += step * view.elapsed.min(INTERVAL) as i32 / INTERVAL as i32;
        self.drift = self.drift.clamp(-(CORE as i32), ROUND as i32);
    }

    /// Returns how many cores there should be, given the steal of a period.
    fn target(&self, view: &View, why: Reason) -> u32 {
        let mut rate = self.rate(&view.usage);

        if view.runnable > view.active && !view.has_idle() {
            // The load began within the period: leave out the time before that.
            let in_use = time_of(view.active).saturating_sub(u64::from(view.usage.idle));
            rate = rate.saturating_mul(u64::from(view.active)) / (in_use / u64::from(CORE)).max(1);
        }
        view.bounded(if !view.usage.is_held_back() {
            // What there is to do fits, with room for what comes in bursts.
            cores(rate.saturating_add(rate / 4))
        } else if why == Reason::Surplus {
            view.active - 1
        } else {
            cores(rate).min(view.active - 1)
        })
    }

    /// Gives up cores, if that can be done and a second look says the same.
    fn fold(&mut self, view: &View, why: Reason) -> Verdict {
        let target = self.target(view, why);
        let looked = core::mem::take(&mut self.looked);
        if target >= view.active {
            return view.hold(Reason::Floor);
        }
        // A period in which the load began says little of the rate, and one core is soon misjudged.
        let began = view.has_idle() && time_of(view.runnable) > 2 * view.usage.wanted();
        if !looked && (began || target + 1 == view.active) {
            self.looked = true;
            return view.look_again(Reason::ConfirmHigh);
        }

        self.stop_probing();
        if why == Reason::Rate {
            self.anchor = target;
            self.debt = self.debt.max(allowance(target));
        }
        self.anchor = self.anchor.max(view.active);
        self.drift = 0;
        self.trial = Some(Trial::Fold(Fold {
            from: view.active,
            to: target,
            before: view.usage,
            looked: false,
        }));
        view.go(target, why)
    }

    fn judge_fold(&mut self, view: &View, fold: &Fold) -> Verdict {
        let Fold { from, before, .. } = *fold;
        let usage = &view.usage;
        let (was, is) = (before.steal_bp(), usage.steal_bp());
        let lowered = is + was / 8 < was;
        let small = from - view.active == 1 && self.excess(&before) < ROUND;

        if lowered {
            self.anchor = view.active;
        }
        let start = if small { self.anchor.max(from) } else { from };
        let good = if before.is_held_back() {
            // Less than half of what the cores were worth is lost.
            let both = u64::from(from) + u64::from(view.active);
            let worth = usage.worth().saturating_mul(2 * u64::from(from));
            worth >= before.worth().saturating_mul(both)
        } else {
            is + was / 4 < was
        };
        if good
            || self.excess(usage) < NOTICED
            || self.is_contention(was, is)
            || self.is_known(from - view.active)
            || (small && u64::from(view.active) * 4 > u64::from(start) * 3)
        {
            return self.calm(view);
        }
        // Give the neighbours, who see what this guest sees, the time to fold as well.
        if !fold.looked {
            self.trial = Some(Trial::Fold(Fold {
                looked: true,
                ..*fold
            }));
            return view.look_again(Reason::ConfirmHigh);
        }
        self.undo(view, start, &before, small)
    }

    /// Whether steal must come from contention, as it was much lower of late, or still grows.
    fn is_contention(&self, was: u32, is: u32) -> bool {
        is < PROOF_BP || is > was + was / 8 || self.least.get().is_some_and(|least| least <= is / 2)
    }

    /// Whether there is a residue that such a fold cannot question.
    fn is_known(&self, folded: u32) -> bool {
        folded == 1 && self.residue.bp > 0 && self.residue.age < LOCK
    }

    /// Takes back cores whose folding did no good, and tolerates the steal that is left.
    fn undo(&mut self, view: &View, start: u32, before: &Usage, small: bool) -> Verdict {
        let is = view.usage.steal_bp();
        let least = self.least.get().unwrap_or(is);

        self.residue = Residue {
            bp: is.min(least + least / 4),
            age: 0,
        };
        let target = if before.is_held_back() && !small {
            cores(self.rate(before)).clamp(view.active, start)
        } else {
            start
        };
        self.debt = self.debt.max(allowance(target));
        view.go(target, Reason::Residue)
    }

    /// Asks for more cores, if it is not too soon.
    fn probe(&mut self, view: &View, reason: Reason) -> Verdict {
        if view.active >= view.total {
            return view.hold(Reason::Full);
        }
        if self.debt > allowance(view.active) / 2 || self.is_polite(view) {
            return view.hold(Reason::Wait);
        }

        self.trial = Some(Trial::Probe {
            from: view.active,
            before: view.usage,
        });
        Verdict {
            soon: view.is_hungry(),
            ..view.go(view.active.saturating_add(self.stride), reason)
        }
    }

    /// Whether to leave a free core to others: every other time if this guest has had more than its
    /// share, but once.
    fn is_polite(&mut self, view: &View) -> bool {
        const MORE: i32 = -(ROUND as i32) / 4;
        let polite =
            self.drift < MORE && 4 * self.excess(&view.usage) >= AIM && self.chance >> 31 == 0;

        if polite {
            self.drift = MORE;
        }
        polite
    }

    fn stop_probing(&mut self) {
        self.stride = 1;
        self.granted = false;
    }

    fn judge_probe(&mut self, view: &View, from: u32, before: &Usage) -> Verdict {
        let usage = &view.usage;
        let size = view.active - from;
        let excess = self.excess(usage);
        let rise = excess.saturating_sub(self.excess(before));

        let over = usage.is_held_back() && Self::is_over(usage, excess);
        if u64::from(PART) * u64::from(rise) < time_of(size) && !over {
            self.stride = if self.granted {
                self.stride.saturating_mul(2)
            } else {
                1
            };
            self.granted = true;
            self.drift = 0;
            return self.probe(view, Reason::Granted);
        }

        self.stop_probing();
        self.charge(view, rise);
        if size > 1 {
            let rate = cores(self.rate(usage)).clamp(from, view.active);
            let target = if usage.is_held_back() { rate } else { from };
            return view.go(target, Reason::Refused);
        }
        if rise.max(excess) < ROUND && self.drift >= ROUND as i32 {
            // In part it was granted, and this guest has held back for long.
            self.drift = 0;
            return view.hold(Reason::Granted);
        }
        // Guests that probe at the same moment would refuse each other for ever. One that looks at a
        // short period in between probes at another one the next time.
        let soon = self.chance >> 31 == 0;
        if soon {
            self.debt = self.debt.max(allowance(view.active));
        }
        Verdict {
            soon,
            ..view.go(from, Reason::Refused)
        }
    }

    /// Notes what a probe cost. A large one is charged no more than one of a core: it was large
    /// because those before it were granted.
    fn charge(&mut self, view: &View, rise: u32) {
        let elapsed = u64::from(view.elapsed.min(INTERVAL));
        let most = allowance(view.active).max(u64::from(CORE) * elapsed);

        self.debt = (self.debt + u64::from(rise) * elapsed).min(most);
    }

    fn shake(&mut self, usage: &Usage) {
        let digits = usage.granted ^ usage.stolen.rotate_left(11) ^ usage.idle.rotate_left(22);

        // The multiplier is 2^32 divided by the golden ratio.
        self.chance = (self.chance ^ digits)
            .wrapping_mul(0x9e37_79b1)
            .rotate_left(15);
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
        self.trial = None;
        self.drift = 0;
        self.looked = false;
        self.stop_probing();
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

        let elapsed = u64::from(view.elapsed.min(INTERVAL));
        let paid = allowance(view.active) / u64::from(INTERVAL) * elapsed;
        self.debt = self.debt.saturating_sub(paid);
        self.shake(&view.usage);
        let verdict = match self.trial.take() {
            Some(Trial::Probe { from, before }) if from < active => {
                self.judge_probe(view, from, &before)
            }
            Some(Trial::Fold(fold)) if fold.to == active => self.judge_fold(view, &fold),
            _ => self.calm(view),
        };
        self.least.update(view);
        if !view.is_short() {
            self.recent.update(view);
        }
        verdict
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

    /// A guest of [`TOTAL`] cores in a world that grants it so many thousandths of a core, and keeps
    /// back a part of what is wanted, in basis points.
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
        // Each is taken back after a tenth of an interval, and there is a pause before the next.
        assert!((20..=50).contains(&probes));
    }

    #[test]
    fn parts_of_a_core_are_rounded() {
        let mut guest = Guest::new(5 * CORE + CORE / 4);
        guest.period();
        assert_eq!(guest.active, 5);
        let mut guest = Guest::new(5 * CORE + CORE / 4 * 3);
        guest.period();
        assert_eq!(guest.active, 6);
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
        assert_eq!(guest.intervals(100), (TOTAL, TOTAL));
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
