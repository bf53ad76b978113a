// SPDX-License-Identifier: GPL-2.0

//! What holds of priorities, for however many CPUs and classes.

use corefold_policy::rank::{self, differ, rank, Cpu, Spacing, STEPS};
use proptest::{collection::vec, prelude::*};

/// The CPUs of a logical partition that gets unequal run time, as listed with the posting of asym
/// packing for s390 (September 2026): their numbers, places and polarization.
const S390: &str = include_str!("../../testing/selftests/corefold/s390-lpar-48cpu.csv");

/// The capacity that s390 gives a CPU while only the entitled ones are to be used.
fn s390_capacity(polarization: &str) -> u32 {
    match polarization {
        "vert-high" | "vert-medium" => 1024,
        "vert-low" => 1024 >> 3,
        _ => panic!("no polarization: {polarization}"),
    }
}

fn s390() -> Vec<Cpu> {
    S390.lines()
        .skip_while(|line| !line.starts_with("cpu,"))
        .skip(1)
        .map(|line| {
            let mut columns = line.split(',');
            let number = columns.next().unwrap().parse().unwrap();
            let class = s390_capacity(columns.next_back().unwrap());
            Cpu {
                class,
                ..Cpu::new(number)
            }
        })
        .collect()
}

/// What platforms have for classes: priorities of boosts, and capacities.
const CLASSES: u32 = 1_025;

/// CPU numbers with holes between them, below a bound, and a class for each.
fn cpus(most: usize) -> impl Strategy<Value = (Vec<Cpu>, u32)> {
    let class = prop_oneof![0..3u32, Just(100), Just(236), 0..CLASSES, 0..CLASSES,];
    let cpu = (1..3u32, class, 1..=STEPS);

    (vec(cpu, 0..most), 1..100u32).prop_map(|(cpus, more)| {
        let mut number = 0;
        let cpus: Vec<Cpu> = cpus
            .into_iter()
            .map(|(step, class, steps)| {
                number += step;
                Cpu {
                    class,
                    steps,
                    ..Cpu::new(number)
                }
            })
            .collect();
        (cpus, number + more)
    })
}

/// The order is that of worth, and with ties, then of numbers.
fn check(cpus: &[Cpu], ties: bool) {
    let mut row: Vec<&Cpu> = cpus.iter().collect();
    row.sort_by_key(|cpu| (cpu.worth(), std::cmp::Reverse(cpu.number)));
    for pair in row.windows(2) {
        let (low, high) = (pair[0], pair[1]);
        if ties || low.worth() != high.worth() {
            assert!(low.priority < high.priority, "{low:?} {high:?}");
        } else {
            assert_eq!(low.priority, high.priority, "{low:?} {high:?}");
        }
    }
}

/// The gap tells how many classes CPUs are apart. Only where all get all of their time: else there
/// are parts of classes.
fn check_gap(one: &Cpu, other: &Cpu, spacing: Spacing) {
    let classes = one.class.abs_diff(other.class);
    let difference = one.priority.abs_diff(other.priority);

    assert!(difference < spacing.gap(classes + 1));
    if classes > 0 {
        assert!(difference >= spacing.gap(classes), "{one:?} {other:?}");
    }
}

#[test]
fn s390_ranks_by_capacity_then_number() {
    let mut cpus = s390();
    assert_eq!(cpus.len(), 48);
    assert!(differ(&cpus));
    rank(&mut cpus, 48, true);

    // Four CPUs that are entitled to a whole one and two that are to a part of one go first, all
    // others after them, each in the order of their numbers: as the capacity less the number.
    let mut row = cpus.clone();
    row.sort_by_key(|cpu| std::cmp::Reverse(cpu.priority));
    let numbers: Vec<u32> = row.iter().map(|cpu| cpu.number).collect();
    assert_eq!(numbers, (0..48).collect::<Vec<u32>>());
    row.sort_by_key(|cpu| std::cmp::Reverse(i64::from(cpu.class) - i64::from(cpu.number)));
    assert!(row.iter().map(|cpu| cpu.number).eq(numbers));

    let lowest_entitled = cpus[..6].iter().map(|cpu| cpu.priority).min().unwrap();
    let highest_low = cpus[6..].iter().map(|cpu| cpu.priority).max().unwrap();
    assert!(lowest_entitled > highest_low);
}

/// The sum of capacity and number crosses classes above 896 CPUs, which is where that is due.
#[test]
fn numbers_do_not_cross_classes_on_the_largest_machine() {
    let mut cpus: Vec<Cpu> = (0..8_192)
        .map(|number| Cpu {
            class: if number < 7_000 { 128 } else { 1024 },
            ..Cpu::new(number)
        })
        .collect();
    let naive = |cpu: &Cpu| i64::from(cpu.class) - i64::from(cpu.number);
    assert!(naive(&cpus[0]) > naive(&cpus[8_191]));

    let spacing = rank(&mut cpus, 8_192, true);
    check(&cpus, true);
    check_gap(&cpus[0], &cpus[8_191], spacing);
    check_gap(&cpus[6_999], &cpus[7_000], spacing);
}

/// As many classes as CPUs, and far more CPUs than a kernel can have.
#[test]
fn many_classes_and_cpus() {
    for (count, classes) in [(8_192, 8_192), (8_192, 16_384), (131_072, CLASSES)] {
        for ties in [false, true] {
            let mut cpus: Vec<Cpu> = (0..count)
                .map(|number: u32| Cpu {
                    class: number.wrapping_mul(7_919) % classes,
                    ..Cpu::new(number)
                })
                .collect();
            rank(&mut cpus, count, ties);
            check(&cpus, ties);
        }
    }
}

#[test]
fn a_core_that_gets_half_of_a_fast_cpu_ranks_below_a_whole_slow_one() {
    let mut cpus = [0, 1, 2, 3].map(Cpu::new);
    for (cpu, (class, steps)) in
        cpus.iter_mut()
            .zip([(236, STEPS / 2), (236, STEPS), (200, STEPS), (118, STEPS)])
    {
        (cpu.class, cpu.steps) = (class, steps);
    }
    rank(&mut cpus, 4, true);
    assert!(cpus[1].priority > cpus[2].priority);
    assert!(cpus[2].priority > cpus[0].priority);
    // The same worth: the number decides.
    assert!(cpus[0].priority > cpus[3].priority);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn order_is_that_of_worth_then_of_number((mut cpus, ids) in cpus(2_000), ties in any::<bool>()) {
        let before = cpus.clone();
        rank(&mut cpus, ids, ties);
        check(&cpus, ties);
        // Nothing but the priorities has changed.
        for (cpu, before) in cpus.iter().zip(&before) {
            prop_assert_eq!(Cpu { priority: before.priority, ..*cpu }, *before);
        }
    }

    #[test]
    fn the_gap_tells_classes_apart((mut cpus, ids) in cpus(60), ties in any::<bool>()) {
        for cpu in &mut cpus {
            cpu.steps = STEPS;
        }
        let spacing = rank(&mut cpus, ids, ties);
        for one in &cpus {
            for other in &cpus {
                check_gap(one, other, spacing);
            }
        }
    }

    #[test]
    fn a_change_of_one_cpu_changes_one_priority(
        (mut cpus, ids) in cpus(500),
        at in any::<proptest::sample::Index>(),
        class in 0..CLASSES,
        steps in 0..=STEPS,
    ) {
        if cpus.is_empty() {
            return Ok(());
        }
        rank(&mut cpus, ids, true);
        let before = cpus.clone();
        let at = at.index(cpus.len());
        cpus[at] = Cpu { class, steps, ..cpus[at] };
        rank(&mut cpus, ids, true);
        for (index, (cpu, before)) in cpus.iter().zip(&before).enumerate() {
            prop_assert!(index == at || cpu == before);
        }
    }

    #[test]
    fn ranking_twice_is_ranking_once((mut cpus, ids) in cpus(500), ties in any::<bool>()) {
        let spacing = rank(&mut cpus, ids, ties);
        let once = cpus.clone();
        prop_assert_eq!(rank(&mut cpus, ids, ties), spacing);
        prop_assert_eq!(once, cpus);
    }

    #[test]
    fn more_is_never_less_whatever_there_is(
        one in (any::<u32>(), 0..=STEPS, any::<u32>()),
        other in (any::<u32>(), 0..=STEPS, any::<u32>()),
        ids in any::<u32>(),
        ties in any::<bool>(),
    ) {
        let mut cpus = [one, other].map(|(class, steps, number)| Cpu {
            class,
            steps,
            ..Cpu::new(number % ids.max(1))
        });
        rank(&mut cpus, ids, ties);
        cpus.sort_by_key(|cpu| (cpu.worth(), std::cmp::Reverse(cpu.number)));
        prop_assert!(cpus[0].priority <= cpus[1].priority || cpus[0].worth() != cpus[1].worth());
        prop_assert!(cpus.iter().all(|cpu| cpu.priority >= 0));
        if ids <= 8_192 && cpus[0].class < cpus[1].class.min(16_384) && cpus[1].steps == STEPS {
            prop_assert!(cpus[0].priority < cpus[1].priority);
        }
    }

    #[test]
    fn more_classes_are_a_larger_gap(ids in 1..10_000u32, ties in any::<bool>(), classes in 0..2_000u32) {
        let spacing = rank(&mut [], ids, ties);
        prop_assert!(spacing.gap(classes) <= spacing.gap(classes + 1));
        prop_assert_eq!(spacing.gap(0), 0);
        prop_assert_eq!(rank::Spacing::PLAIN.gap(classes), classes);
    }
}

/// Cores of eight threads: between threads of one there is nothing to choose, and the lower core goes first.
#[test]
fn s5_part_1_threads_of_a_core_rank_alike() {
    let mut cpus: Vec<Cpu> = (0..576)
        .map(|number| Cpu {
            place: number / 8 * 8,
            class: 1024,
            ..Cpu::new(number)
        })
        .collect();
    rank(&mut cpus, 576, true);
    for pair in cpus.windows(2) {
        let (one, other) = (pair[0].priority, pair[1].priority);
        assert_eq!(one == other, pair[0].place == pair[1].place);
        assert!(one >= other);
    }
}
