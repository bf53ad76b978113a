// SPDX-License-Identifier: GPL-2.0

//! How long it takes to decide, for up to as many CPUs as a kernel can be built for.
//!
//! With `--nocapture` this prints what it measures.

use corefold_policy::{
    order::{self, Core, KEEP_SETS},
    policy::{Kind, Law, Policy, Tuning, View, INTERVAL},
    rank::{self, Share},
    sample::{self, CoreTimes, Reading, Sample, Times, Totals},
};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

/// What a period may take, of the shortest interval, 100 ms, a hundredth.
const LIMIT: Duration = Duration::from_millis(1);

const SEC: u64 = 1_000_000_000;

/// SMT siblings of a core.
const SMT: u32 = 2;

/// What the module does each period with what it has read, in the same order.
struct Machine {
    counters: Vec<sample::Cpu>,
    cpus: Vec<rank::Cpu>,
    shares: Vec<Share>,
    cores: Vec<Core>,
    seen: Vec<bool>,
    now: Times,
    policy: Policy,
}

impl Machine {
    /// A machine on which each decision is as hard as can be: every core has a cache and a root
    /// domain of its own if `scattered` says so, else all share them.
    fn new(count: u32, scattered: bool) -> Self {
        let cores = (0..count / SMT).map(|core| {
            let number = core * SMT;
            let common = if scattered { number } else { 0 };

            Core {
                number,
                rank: 0,
                steps: 0,
                llc: common,
                domain: common,
                keep: [core == 0; KEEP_SETS],
                eligible: true,
                folded: false,
                last: false,
            }
        });

        Self {
            counters: vec![sample::Cpu::new(); count as usize],
            cpus: (0..count).map(rank::Cpu::new).collect(),
            shares: vec![Share::FULL; (count / SMT) as usize],
            cores: cores.collect(),
            seen: vec![false; count as usize],
            now: Times::default(),
            policy: Policy::new(Kind::Proportional),
        }
    }

    /// Asks the policy how many cores to use.
    fn decide(&mut self, totals: &Totals) -> u32 {
        let view = View {
            steal_bp: totals.sample().steal_bp().unwrap_or(0),
            active: order::count(&self.cores).active,
            total: self.cores.len() as u32,
            floor: order::least(&self.cores),
            usage: totals.usage(),
            elapsed: INTERVAL,
            runnable: 2 * self.cores.len() as u32,
        };
        let tuning = Tuning {
            steal_high_bp: 500,
            steal_low_bp: 200,
            confirm: 2,
        };
        self.policy.decide(&view, &tuning).target
    }

    fn period(&mut self) -> (Sample, u32) {
        let mut totals = Totals::new();
        let mut core = Times::default();
        let mut times = CoreTimes::NONE;

        for (number, cpu) in self.counters.iter_mut().enumerate() {
            // Each CPU fares differently.
            let steal = SEC / 16 * (number as u64 * 7 % 16);
            let now = Times {
                steal: self.now.steal + steal,
                busy: self.now.busy + SEC - steal,
                idle: 0,
            };
            let reading = cpu.update(now, SEC);
            if let Reading::Good(delta) = reading {
                core.busy += delta.busy;
                core.steal += delta.steal;
            }
            totals.add(reading, SEC, true);
            times.add(reading, SEC);
            if (number + 1) % SMT as usize == 0 {
                let core = std::mem::take(&mut core);
                totals.add_core(&std::mem::take(&mut times), SEC, true);
                self.shares[number / SMT as usize].update(core.busy, core.steal, SEC);
            }
        }
        self.now.steal += SEC;
        self.now.busy += SEC;

        for cpu in &mut self.cpus {
            cpu.class = 1024 - cpu.number % 7;
            cpu.steps = self.shares[(cpu.number / SMT) as usize].steps();
        }
        rank::rank(&mut self.cpus, self.counters.len() as u32, true);
        // The order is found out twice, before and after the sample.
        self.cores.sort_unstable_by_key(|core| core.number);
        self.sort();
        self.sort();
        let target = self.decide(&totals);
        (totals.sample(), order::plan(&mut self.cores, target))
    }

    fn sort(&mut self) {
        for core in &mut self.cores {
            core.rank = self.cpus[core.number as usize].worth();
            core.steps = self.shares[(core.number / SMT) as usize].steps();
        }
        order::sort(&mut self.cores, &mut self.seen);
    }
}

/// The shortest of many periods: what it takes if nobody else wants the CPU.
fn shortest(count: u32, scattered: bool) -> Duration {
    let mut machine = Machine::new(count, scattered);

    (0..200)
        .map(|_| {
            let start = Instant::now();
            black_box(machine.period());
            start.elapsed()
        })
        .min()
        .unwrap_or(LIMIT)
}

#[test]
fn a_period_takes_little_on_the_largest_machine() {
    for scattered in [false, true] {
        for count in [64, 512, 2_048, 8_192] {
            let time = shortest(count, scattered);
            println!(
                "{count} CPUs, {}: {} us",
                if scattered {
                    "each core by itself"
                } else {
                    "all in one"
                },
                time.as_micros()
            );
            assert!(time < LIMIT);
        }
    }
}
