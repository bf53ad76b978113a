// SPDX-License-Identifier: GPL-2.0

//! What holds of the pure files whatever they are fed.

use corefold_policy::{
    config::{Config, Knob, TEXT_MAX},
    history::{Entry, History},
    order::{self, Core, KEEP_SETS},
    policy::{Kind, Law, Policy, Reason, Tuning, Usage, View},
    rank::{Share, CAPACITY, STEPS},
    sample::{ratio_bp, Clock, Cpu, Moment, Period, Reading, Sample, Times, Totals, FULL_BP},
};
use proptest::{array::uniform2, collection::vec, prelude::*};

/// Any counter, with a liking for those that go wrong.
fn counter() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..10_000_000_000u64,
        Just(0),
        Just(u64::MAX),
        (1u64 << 63) - 2..(1 << 63) + 2,
    ]
}

fn times() -> impl Strategy<Value = Times> {
    (counter(), counter(), counter()).prop_map(|(steal, busy, idle)| Times { steal, busy, idle })
}

fn reading() -> impl Strategy<Value = Reading> {
    prop_oneof![
        Just(Reading::Baseline),
        Just(Reading::Settling),
        times().prop_map(Reading::Good),
    ]
}

fn tuning() -> impl Strategy<Value = Tuning> {
    (0..FULL_BP, 1..=10u32)
        .prop_flat_map(|(low, confirm)| (Just(low), low + 1..=FULL_BP, Just(confirm)))
        .prop_map(|(steal_low_bp, steal_high_bp, confirm)| Tuning {
            steal_high_bp,
            steal_low_bp,
            confirm,
        })
}

/// Any time, in thousandths of a core, with a liking for what cores can have.
fn time() -> impl Strategy<Value = u32> {
    prop_oneof![any::<u32>(), 0..64_000u32, Just(0)]
}

fn view() -> impl Strategy<Value = View> {
    let cores = || prop_oneof![any::<u32>(), 0..64u32];
    let usage = (time(), time(), time());
    let usage = usage.prop_map(|(granted, stolen, idle)| Usage {
        granted,
        stolen,
        idle,
    });

    (
        (0..=FULL_BP, cores(), cores(), cores()),
        usage,
        any::<u32>(),
        any::<u32>(),
    )
        .prop_map(
            |((steal_bp, active, total, floor), usage, elapsed, runnable)| View {
                steal_bp,
                active,
                total,
                floor,
                usage,
                elapsed,
                runnable,
            },
        )
}

/// A machine of some cores; root domains and caches are named by their lowest CPU.
fn machine() -> impl Strategy<Value = Vec<Core>> {
    let core = (
        0..3u64,
        6..=STEPS,
        0..4u32,
        0..4u32,
        uniform2(any::<bool>()),
        any::<bool>(),
    );

    vec(core, 0..40).prop_map(|cores| {
        let mut cores: Vec<Core> = (0u32..)
            .zip(cores)
            .map(|(at, (rank, steps, llc, domain, keep, eligible))| Core {
                number: 2 * at,
                rank,
                steps,
                llc,
                domain,
                keep,
                eligible,
                folded: false,
                last: false,
            })
            .collect();
        sort(&mut cores);
        cores
    })
}

fn sort(cores: &mut [Core]) {
    order::sort(cores, &mut [false; 80]);
}

fn folded(cores: &[Core]) -> Vec<u32> {
    cores
        .iter()
        .filter(|core| core.folded)
        .map(|core| core.number)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn good_deltas_stay_within_the_period(
        readings in vec((times(), counter()), 1..20),
    ) {
        let mut cpu = Cpu::new();
        for (at, (now, elapsed)) in readings.into_iter().enumerate() {
            if let Reading::Good(delta) = cpu.update(now, elapsed) {
                prop_assert!(at >= 2);
                prop_assert!(delta.steal <= elapsed && delta.busy <= elapsed && delta.idle <= elapsed);
            }
        }
    }

    #[test]
    fn plain_counters_are_passed_on_unchanged(
        start in 0..1u64 << 62,
        deltas in vec((0..1_000_000_000u64, 0..=100u64), 3..20),
    ) {
        let mut cpu = Cpu::new();
        let mut now = Times { steal: start, busy: start, idle: start };
        cpu.update(now, 0);
        for (at, (elapsed, share)) in deltas.into_iter().enumerate() {
            let steal = elapsed / 100 * share;
            now.steal += steal;
            now.busy += elapsed - steal;
            let reading = cpu.update(now, elapsed);
            if at == 0 {
                prop_assert_eq!(reading, Reading::Settling);
            } else {
                let delta = Times { steal, busy: elapsed - steal, idle: 0 };
                prop_assert_eq!(reading, Reading::Good(delta));
            }
        }
    }

    #[test]
    fn a_wild_reading_costs_no_more_than_its_neighbours(wild in counter(), elapsed in 1..1u64 << 40) {
        let mut cpu = Cpu::new();
        let calm = |steal| Times { steal, busy: 0, idle: 0 };
        cpu.update(calm(0), elapsed);
        cpu.update(calm(0), elapsed);
        cpu.update(calm(wild), elapsed);
        cpu.update(calm(7), elapsed);
        prop_assert_eq!(cpu.update(calm(7), elapsed), Reading::Good(calm(0)));
    }

    #[test]
    fn periods_are_plain_only_near_the_interval(
        moments in vec((counter(), counter()), 1..20),
        interval in 100_000_000..=100_000_000_000u64,
    ) {
        let mut clock = Clock::new();
        for (monotonic, boottime) in moments {
            if let Period::Plain(elapsed) = clock.advance(Moment { monotonic, boottime }, interval) {
                prop_assert!(elapsed >= interval / 2);
                prop_assert!(elapsed <= interval + (3 * interval).max(5_000_000_000));
            }
        }
    }

    #[test]
    fn a_share_is_a_share(part in any::<u64>(), whole in any::<u64>(), more in any::<u64>()) {
        let ratio = ratio_bp(part, whole);
        prop_assert!(ratio <= FULL_BP);
        prop_assert!(ratio_bp(part.saturating_add(more), whole) >= ratio);
        prop_assert!(ratio_bp(part, whole.saturating_add(more)) <= ratio);
    }

    #[test]
    fn sums_stay_in_bounds(readings in vec((reading(), any::<bool>()), 0..50), elapsed in any::<u64>()) {
        let mut totals = Totals::new();
        let mut good = 0;
        let mut in_use = 0;
        for (reading, active) in readings {
            totals.add(reading, elapsed, active);
            in_use += u32::from(active);
            good += u32::from(active && matches!(reading, Reading::Good(_)));
        }
        match totals.sample() {
            Sample::Steal(bp) => prop_assert!(bp <= FULL_BP && 2 * good >= in_use),
            Sample::Unknown => prop_assert!(good == 0 || 2 * good < in_use),
        }
    }

    #[test]
    fn verdicts_stay_between_floor_and_total(
        tuning in tuning(),
        kind in proptest::sample::select(&Kind::ALL[..]),
        views in vec((view(), any::<bool>()), 1..60),
    ) {
        let mut policy = Policy::new(kind);
        let mut active = None;
        for (view, follow) in views {
            // What the policy asked for is often what it gets.
            let view = View { active: active.filter(|_| follow).unwrap_or(view.active), ..view };
            let verdict = policy.decide(&view, &tuning);
            prop_assert!(verdict.target <= view.total);
            prop_assert!(verdict.target >= view.floor.min(view.total));
            active = Some(verdict.target);
        }
    }

    #[test]
    fn steps_are_of_one_core_and_follow_steal(
        tuning in tuning(),
        samples in vec(0..=FULL_BP, 1..100),
        total in 1..64u32,
    ) {
        let mut policy = Policy::new(Kind::Step);
        let mut active = total;
        for steal_bp in samples {
            let verdict = policy.decide(&View { steal_bp, active, total, floor: 1, ..View::default() }, &tuning);
            match verdict.reason {
                Reason::High => {
                    prop_assert_eq!(verdict.target, active - 1);
                    prop_assert!(steal_bp >= tuning.steal_high_bp);
                }
                Reason::Low => {
                    prop_assert_eq!(verdict.target, active + 1);
                    prop_assert!(steal_bp <= tuning.steal_low_bp);
                }
                _ => prop_assert_eq!(verdict.target, active),
            }
            active = verdict.target;
        }
    }

    #[test]
    fn steady_steal_ends_at_a_bound(tuning in tuning(), total in 1..64u32, floor in 1..64u32) {
        let floor = floor.min(total);
        for (steal_bp, from, end) in [(FULL_BP, total, floor), (0, floor, total)] {
            let mut policy = Policy::new(Kind::Step);
            let mut active = from;
            for _ in 0..total + tuning.confirm {
                active = policy.decide(&View { steal_bp, active, total, floor, ..View::default() }, &tuning).target;
            }
            prop_assert_eq!(active, end);
        }
    }

    #[test]
    fn no_step_without_enough_samples_that_agree(
        tuning in tuning(),
        samples in vec(0..=FULL_BP, 1..100),
    ) {
        let mut policy = Policy::new(Kind::Step);
        let (mut high, mut low) = (0, 0);
        for steal_bp in samples {
            high = if steal_bp >= tuning.steal_high_bp { high + 1 } else { 0 };
            low = if steal_bp <= tuning.steal_low_bp { low + 1 } else { 0 };
            let view = View { steal_bp, active: 1_000, total: 2_000, floor: 1, ..View::default() };
            let target = policy.decide(&view, &tuning).target;
            prop_assert_eq!(target < 1_000, high >= tuning.confirm);
            prop_assert_eq!(target > 1_000, low >= tuning.confirm);
        }
    }

    #[test]
    fn a_plan_keeps_what_it_must(mut cores in machine(), target in any::<u32>()) {
        let before = order::count(&cores);
        let active = order::plan(&mut cores, target);
        let after = order::count(&cores);

        // Conservation: no core comes or goes, and the answer is what is marked.
        prop_assert_eq!(before.eligible, after.eligible);
        prop_assert_eq!(before.excluded, after.excluded);
        prop_assert_eq!(active, after.active);
        // The floor holds.
        prop_assert!(active >= target.max(1).min(before.eligible));
        prop_assert!(active >= order::least(&cores));
        prop_assert!(active == order::least(&cores) || active == target.max(1).min(before.eligible));
        for core in &cores {
            if !core.folded {
                continue;
            }
            prop_assert!(core.eligible);
            let kept = |test: &dyn Fn(&Core) -> bool| {
                cores.iter().any(|other| other.eligible && !other.folded && test(other))
            };
            prop_assert!(kept(&|other| other.domain == core.domain));
            for set in 0..KEEP_SETS {
                prop_assert!(!core.keep[set] || kept(&|other| other.keep[set]));
            }
        }
    }

    #[test]
    fn a_plan_gives_up_no_less_than_it_may(mut cores in machine(), target in any::<u32>()) {
        let active = order::plan(&mut cores, target);
        if active > target.max(1) {
            // Each core that stays is the only one left of something.
            for core in cores.iter().filter(|core| core.eligible && !core.folded) {
                let alone = |test: &dyn Fn(&Core) -> bool| {
                    cores.iter().filter(|other| other.eligible && !other.folded && test(other)).count() == 1
                };
                prop_assert!(
                    alone(&|other| other.domain == core.domain)
                        || (0..KEEP_SETS).any(|set| core.keep[set] && alone(&|other| other.keep[set]))
                );
            }
        }
    }

    #[test]
    fn plans_are_nested_and_repeatable(mut cores in machine(), one in 0..50u32, other in 0..50u32) {
        let (few, many) = (one.min(other), one.max(other));
        order::plan(&mut cores, many);
        let small = folded(&cores);
        order::plan(&mut cores, few);
        let large = folded(&cores);
        // The cores that come back are the last that went.
        prop_assert_eq!(&large[..small.len()], &small[..]);
        order::plan(&mut cores, many);
        prop_assert_eq!(folded(&cores), small);
    }

    #[test]
    fn lower_ranks_go_first(mut cores in machine(), target in 0..50u32) {
        for core in &mut cores {
            core.domain = 0;
            core.keep = [true; KEEP_SETS];
            core.eligible = true;
        }
        sort(&mut cores);
        order::plan(&mut cores, target);
        let worst_kept = cores.iter().filter(|core| !core.folded).map(|core| core.rank).min();
        let best_folded = cores.iter().filter(|core| core.folded).map(|core| core.rank).max();
        if let (Some(kept), Some(folded)) = (worst_kept, best_folded) {
            prop_assert!(folded <= kept);
        }
    }

    #[test]
    fn one_cache_after_the_other(mut cores in machine(), target in 0..50u32) {
        for core in &mut cores {
            *core = Core { rank: 0, steps: STEPS, domain: 0, keep: [true; KEEP_SETS], eligible: true, ..*core };
        }
        sort(&mut cores);
        order::plan(&mut cores, target);
        let split = (0..4)
            .filter(|&llc| {
                let of = |folded| cores.iter().any(|core| core.llc == llc && core.folded == folded);
                of(true) && of(false)
            })
            .count();
        prop_assert!(split <= 1);
    }

    #[test]
    fn cores_are_exchanged_only_for_a_difference_in_rank(
        mut cores in machine(),
        target in 0..50u32,
        steps in vec(0..=STEPS, 40),
    ) {
        for core in &mut cores {
            core.rank = 0;
        }
        sort(&mut cores);
        let active = order::plan(&mut cores, target);
        let before = folded(&cores);
        for (core, steps) in cores.iter_mut().zip(steps) {
            core.steps = steps;
        }
        sort(&mut cores);
        let same = order::plan(&mut cores, target);
        let after = folded(&cores);
        prop_assert!(before.iter().all(|core| after.contains(core)));
        // Which cores are the last of something may have changed, so that one more can go.
        prop_assert!(before.len() == after.len() || (active > target && same < active));
    }

    #[test]
    fn the_worst_served_of_those_in_use_goes_next(mut cores in machine(), target in 1..50u32) {
        for core in &mut cores {
            *core = Core { rank: 0, domain: 0, keep: [true; KEEP_SETS], eligible: true, ..*core };
        }
        sort(&mut cores);
        let active = order::plan(&mut cores, target + 1);
        sort(&mut cores);
        let in_use = |cores: &[Core]| -> Vec<(u32, u32)> {
            let active = cores.iter().filter(|core| !core.folded);
            active.map(|core| (core.steps, core.number)).collect()
        };
        let before = in_use(&cores);
        if order::plan(&mut cores, target) < active {
            let after = in_use(&cores);
            let gone = before.iter().find(|core| !after.contains(core)).unwrap();
            prop_assert_eq!(gone.0, before.iter().map(|core| core.0).min().unwrap());
        }
    }

    #[test]
    fn shares_stay_in_bounds_and_between_what_was_seen(
        periods in vec((counter(), counter(), counter()), 1..50),
    ) {
        let mut share = Share::FULL;
        for (got, stolen, elapsed) in periods {
            share.update(got, stolen, elapsed);
            prop_assert!(share.steps() <= STEPS);
            prop_assert_eq!(share.capacity(), share.steps() * (CAPACITY / STEPS));
        }
    }

    #[test]
    fn a_steady_share_is_found_and_does_not_flicker(
        percent in 0..=100u64,
        noise in vec(0..=4u64, 100),
    ) {
        let mut share = Share::FULL;
        let mut changes = 0;
        for (at, noise) in noise.into_iter().enumerate() {
            let before = share.steps();
            let got = (percent + noise).saturating_sub(2).min(100) * 10_000_000;
            share.update(got, 1_000_000_000 - got, 1_000_000_000);
            // It comes down, and then stays.
            prop_assert!(share.steps() <= before || at > 20);
            changes += u32::from(at > 40 && share.steps() != before);
        }
        prop_assert!(changes <= 1);
        let error = (share.capacity() as i64 * 100 - percent as i64 * 1_024).abs() / 100;
        // Three quarters of a step, and the noise.
        prop_assert!(error <= 96 + 21, "{} for {} %", share.capacity(), percent);
    }

    #[test]
    fn any_text_is_taken_whole_or_refused(
        knob in proptest::sample::select(&Knob::ALL[..]),
        text in prop_oneof![
            vec(any::<u8>(), 0..TEXT_MAX),
            "-?[0-9]{0,12}\n?".prop_map(String::into_bytes),
            "(kernel|asym|strict|llc|none|[A-Z]{1,3}(,[A-Z0-9]{1,3}){0,4})\n?"
                .prop_map(String::into_bytes),
        ],
        cores_max in 1..5_000u32,
    ) {
        match Config::DEFAULT.with(knob, &text, cores_max) {
            Ok(config) => {
                prop_assert!(config.check(knob, cores_max).is_ok());
                let mut shown = String::new();
                config.show(knob, &mut shown).unwrap();
                prop_assert_eq!(Config::DEFAULT.with(knob, shown.as_bytes(), cores_max), Ok(config));
            }
            Err(invalid) => {
                prop_assert_eq!(invalid.knob, knob);
                prop_assert!(invalid.to_string().contains(knob.name()));
            }
        }
    }

    #[test]
    fn numbers_are_read_as_they_are_written(value in any::<u32>()) {
        let config = Config::DEFAULT.with(Knob::IntervalMs, value.to_string().as_bytes(), 1);
        match config {
            Ok(config) => prop_assert_eq!(config.interval_ms, value),
            Err(invalid) => {
                prop_assert!(invalid.is_range());
                prop_assert!(!(100..=100_000).contains(&value));
            }
        }
    }

    #[test]
    fn history_keeps_the_last(changes in vec(any::<bool>(), 0..200), length in 1..20usize) {
        let mut history = History::new(vec![None; length]);
        let mut ms = 0;
        for change in &changes {
            ms += 1;
            history.push(Entry {
                first_ms: ms,
                last_ms: ms,
                count: 1,
                steal_bp: None,
                from: 2,
                to: 2 - u32::from(*change),
                action: "",
                reason: "",
            });
        }
        let entries: Vec<_> = history.iter().collect();
        prop_assert!(entries.len() <= length);
        prop_assert_eq!(entries.last().map(|entry| entry.last_ms), (ms > 0).then_some(ms));
        // The ring is full before it forgets: nothing in it is missing.
        for pair in entries.windows(2) {
            prop_assert_eq!(pair[0].first_ms + pair[0].count, pair[1].first_ms);
        }
    }
}
