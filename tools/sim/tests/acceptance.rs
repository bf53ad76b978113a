// SPDX-License-Identifier: GPL-2.0

//! What the proportional policy has to show in every pool of `pools/`.

use std::{fs, path::Path, sync::LazyLock};

use corefold_sim::{
    law::Law,
    pool::Pool,
    run::{Outcome, run},
};

const SEED: u64 = 1;

/// Intervals until the number of cores in use stays near what it should be.
const SETTLE: u32 = 3;

/// Cores by which a guest may swing to either side.
const AMPLITUDE: f64 = 1.0;

/// Fairness among guests of equal weight.
const JAIN: f64 = 0.95;

/// The part of the time of the cores in use that may be stolen without further ado.
const STEAL: f64 = 0.01;

/// Intervals for which a load may wait for a core that is free.
const WAIT: f64 = 2.0;

fn pools() -> Vec<Pool> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("pools");
    let mut paths: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let pools: Vec<Pool> = paths
        .iter()
        .map(|path| Pool::parse(&fs::read_to_string(path).unwrap()).unwrap())
        .collect();
    assert!(pools.len() > 20, "only {} pools", pools.len());
    pools
}

static OUTCOMES: LazyLock<Vec<(Pool, Outcome)>> = LazyLock::new(|| {
    let outcome = |pool: &Pool| run(pool, Law::Proportional, SEED);
    pools()
        .into_iter()
        .map(|pool| (pool.clone(), outcome(&pool)))
        .collect()
});

/// Fails with all the pools of which something does not hold.
fn holds(fault: impl Fn(&Pool, &Outcome) -> Option<String>) {
    let named = |(pool, outcome): &(Pool, Outcome)| {
        let fault = fault(pool, outcome)?;
        Some(format!("{}: {fault}", pool.name))
    };
    let faults: Vec<String> = OUTCOMES.iter().filter_map(named).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn constant_demand_settles() {
    holds(|pool, outcome| {
        let settled = outcome
            .settle_periods
            .is_some_and(|periods| periods <= SETTLE);
        (pool.is_constant() && !settled).then(|| format!("{:?}", outcome.settle_periods))
    });
}

#[test]
fn constant_demand_is_steady() {
    holds(|pool, outcome| {
        let bad = pool.is_constant() && outcome.amplitude > AMPLITUDE;
        bad.then(|| format!("swings by {:.2} cores", outcome.amplitude))
    });
}

#[test]
fn constant_demand_is_served_fairly() {
    holds(|pool, outcome| {
        let bad = pool.is_constant() && outcome.jain < JAIN;
        bad.then(|| format!("index {:.3}", outcome.jain))
    });
}

/// Where even the best numbers that never change meet as much, the limit is on what is beyond that.
#[test]
fn constant_demand_meets_little_steal() {
    holds(|pool, outcome| {
        if !pool.is_constant() {
            return None;
        }
        let best = run(pool, Law::Oracle, SEED).steal;
        let least = if best < STEAL { 0.0 } else { best };
        let other = run(pool, Law::StealGovernor, SEED).steal - least;
        let steal = outcome.steal - least;
        let bad = steal > STEAL && steal > other / 2.0;
        bad.then(|| format!("{:.4} of {:.4}", steal, other))
    });
}

#[test]
fn no_load_waits_for_a_free_core() {
    holds(|pool, outcome| {
        let bad = !pool.is_constant() && outcome.wait_periods > WAIT;
        bad.then(|| format!("waits for {:.2} periods", outcome.wait_periods))
    });
}

#[test]
fn the_floor_holds() {
    holds(|_, outcome| outcome.below_floor.then(|| "fell below".to_owned()));
}

#[test]
fn a_seed_gives_the_same_run_again() {
    for (pool, outcome) in OUTCOMES.iter() {
        let again = run(pool, Law::Proportional, SEED);
        assert_eq!(
            format!("{outcome:?}"),
            format!("{again:?}"),
            "{}",
            pool.name
        );
    }
}

/// A law that moves one core a step fails the same figures, so that they are worth something.
#[test]
fn steps_of_one_core_would_not_do() {
    let slow = |pool: &Pool| {
        let outcome = run(pool, Law::StealGovernor, SEED);
        outcome
            .settle_periods
            .is_none_or(|periods| periods > SETTLE)
    };
    let constant = pools().into_iter().filter(Pool::is_constant);
    assert!(constant.filter(slow).count() > 10);
}
