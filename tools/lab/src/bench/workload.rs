// SPDX-License-Identifier: GPL-2.0

//! What the guests run while the arms are compared.

use crate::lab::Job;

/// A load of one guest.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Load {
    /// Hackbench with these options, again and again.
    Hackbench(&'static str),
    /// One kind of the lab's own work, so many workers, and what that kind needs to know.
    Work(&'static str, usize, &'static str),
    /// A stressor of stress-ng, its workers, and options by which its operations are short and all alike.
    Stress(&'static str, usize, &'static str),
    /// How late so many threads wake up, beside workers that compute: workers, threads.
    Latency(usize, usize),
}

impl Load {
    /// The load for the guest. Where it has to be told how long to run, it is in parts of so many seconds.
    fn job(&self, parts: &[u64]) -> Job {
        let parts: Vec<_> = parts.iter().map(u64::to_string).collect();
        let parts = parts.join(",");
        match self {
            Self::Hackbench(options) => Job::endless(format!("hackbench {options}")),
            Self::Work(kind, workers, argument) => {
                Job::endless(format!("work {kind} {workers} {argument}").trim_end())
            }
            Self::Stress(stressor, workers, options) => {
                Job::timed(format!("stress {parts} {stressor} {workers} {options}").trim_end())
            }
            Self::Latency(workers, threads) => {
                Job::timed(format!("latency {parts} {workers} {threads}"))
            }
        }
    }

    /// What it is, for readers.
    fn about(&self) -> String {
        match self {
            Self::Hackbench(options) => format!("hackbench {options}"),
            Self::Work(kind, workers, _) => format!("{kind}, {workers} processes"),
            Self::Stress(stressor, workers, options) => {
                format!("stress-ng --{stressor} {workers} {options}")
                    .trim_end()
                    .into()
            }
            Self::Latency(workers, threads) => {
                format!("cyclictest, {threads} threads beside {workers} that compute")
            }
        }
    }
}

/// What the second guest does.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Neighbour {
    /// The same as the first, in the same arm; the work of both counts.
    Same,
    /// Nothing; it is in the same arm.
    Idle,
    /// Something else, in the same arm.
    Other(Load),
    /// The same as the first, but it never folds.
    Stock,
}

/// What a figure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Added to the name of the load, if there is more than one.
    pub suffix: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Whether more is better.
    pub more: bool,
}

/// A row of the bench, or as many as it has metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// What it is called.
    pub name: &'static str,
    own: Load,
    neighbour: Neighbour,
    /// Guests of so many CPUs run it in a quick bench.
    quick: &'static [usize],
}

impl Workload {
    /// All of them for guests of `vcpus` CPUs.
    pub fn all(vcpus: usize) -> Vec<Self> {
        use Load::{Hackbench, Latency, Stress, Work};
        use Neighbour::{Idle, Other, Same, Stock};
        let half = (vcpus / 2).max(1);
        let few = (vcpus / 4).max(1);
        let row = |name, own, neighbour, quick| Self {
            name,
            own,
            neighbour,
            quick,
        };
        let pipes = Hackbench("-T -p -g 1 -l 20");
        vec![
            row("threads-pipes", pipes.clone(), Same, &[4, 12]),
            row("threads-sockets", Hackbench("-T -g 1 -l 20"), Same, &[]),
            row("procs-pipes", Hackbench("-P -p -g 1 -l 20"), Same, &[]),
            row("procs-sockets", Hackbench("-P -g 1 -l 20"), Same, &[8]),
            row("g1-fd2", Hackbench("-P -g 1 -f 2 -l 2000"), Same, &[]),
            row("g2-fd1", Hackbench("-T -p -g 2 -f 1 -l 2000"), Same, &[]),
            row("g4-fd2", Hackbench("-P -p -g 4 -f 2 -l 500"), Same, &[]),
            row("g8-fd1", Hackbench("-T -g 8 -f 1 -l 500"), Same, &[]),
            row("lock", Work("lock", vcpus, ""), Same, &[4]),
            row("memory", Work("memory", vcpus, ""), Same, &[8]),
            row("latency", Latency(half, half), Same, &[4]),
            row("exec", Work("exec", vcpus, ""), Same, &[4]),
            row(
                "matrix-3d",
                Stress(
                    "matrix-3d",
                    vcpus,
                    "--matrix-3d-size 32 --matrix-3d-method add",
                ),
                Same,
                &[4],
            ),
            row(
                "vm",
                Stress("vm", vcpus, "--vm-bytes 16M --vm-method zero-one"),
                Same,
                &[4],
            ),
            row(
                "mmapfork",
                Stress("mmapfork", half, "--mmapfork-bytes 1M"),
                Same,
                &[4],
            ),
            row("compute", Work("compute", vcpus, ""), Same, &[4]),
            row("few-threads", Work("compute", few, ""), Same, &[4]),
            row("many-threads", Work("compute", 4 * vcpus, ""), Same, &[8]),
            row("idle-neighbour", pipes.clone(), Idle, &[4]),
            row(
                "bursty-neighbour",
                pipes.clone(),
                Other(Work("burst", vcpus, "1000")),
                &[4],
            ),
            row("stock-neighbour", pipes, Stock, &[4]),
        ]
    }

    /// Whether a quick bench has it for guests of `vcpus` CPUs. There, each load runs in guests of one size, but
    /// some kind of hackbench in all.
    pub fn is_quick(&self, vcpus: usize) -> bool {
        self.quick.contains(&vcpus)
    }

    /// What the guests run, for readers.
    pub fn about(&self) -> String {
        let own = self.own.about();
        match &self.neighbour {
            Neighbour::Same => own,
            Neighbour::Idle => format!("{own}; the other guest is idle"),
            Neighbour::Other(load) => format!("{own}; the other guest: {}", load.about()),
            Neighbour::Stock => format!("{own}; the other guest never folds"),
        }
    }

    /// What the first of two guests runs, and the second.
    pub fn jobs(&self, parts: &[u64]) -> Vec<Option<Job>> {
        let own = self.own.job(parts);
        let other = match &self.neighbour {
            Neighbour::Same | Neighbour::Stock => Some(own.clone()),
            Neighbour::Idle => None,
            Neighbour::Other(load) => Some(load.job(parts)),
        };
        vec![Some(own), other]
    }

    /// Whether a guest takes part in the arm.
    pub fn folds(&self, guest: usize) -> bool {
        guest == 0 || self.neighbour != Neighbour::Stock
    }

    /// Whether the work of a guest counts.
    pub fn counts(&self, guest: usize) -> bool {
        guest == 0 || self.neighbour == Neighbour::Same
    }

    /// Whether its figures are latencies, not rates.
    pub fn is_latency(&self) -> bool {
        matches!(self.own, Load::Latency(..))
    }

    /// What its figures mean.
    pub fn metrics(&self) -> &'static [Metric] {
        const LATENCY: [Metric; 2] = [
            Metric {
                suffix: "-p50",
                unit: "us",
                more: false,
            },
            Metric {
                suffix: "-p99",
                unit: "us",
                more: false,
            },
        ];
        const RATE: [Metric; 1] = [Metric {
            suffix: "",
            unit: "/s",
            more: true,
        }];
        if self.is_latency() { &LATENCY } else { &RATE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_name(name: &str) -> Workload {
        let found = Workload::all(4).into_iter().find(|load| load.name == name);
        found.unwrap()
    }

    #[test]
    fn a_quick_bench_has_each_kind_of_load() {
        for load in Workload::all(4) {
            let hackbench = matches!(load.own, Load::Hackbench(_));
            assert!(hackbench || !load.quick.is_empty(), "{}", load.name);
        }
    }

    #[test]
    fn jobs_are_what_the_guest_understands() {
        let jobs = |name: &str| by_name(name).jobs(&[2, 3]);
        let start = |job: &Option<Job>| job.as_ref().unwrap().start();
        assert_eq!(
            start(&jobs("vm")[1]),
            "start stress 2,3 vm 4 --vm-bytes 16M --vm-method zero-one"
        );
        assert_eq!(start(&jobs("latency")[0]), "start latency 2,3 2 2");
        assert_eq!(start(&jobs("lock")[0]), "start work lock 4");
        assert_eq!(
            start(&jobs("bursty-neighbour")[1]),
            "start work burst 4 1000"
        );
        assert_eq!(jobs("idle-neighbour")[1], None);
    }

    #[test]
    fn neighbours_take_part_as_they_should() {
        let parts = |name: &str| {
            let load = by_name(name);
            (load.folds(1), load.counts(1))
        };
        assert_eq!(parts("lock"), (true, true));
        assert_eq!(parts("idle-neighbour"), (true, false));
        assert_eq!(parts("bursty-neighbour"), (true, false));
        assert_eq!(parts("stock-neighbour"), (false, false));
        assert!(by_name("stock-neighbour").folds(0) && by_name("stock-neighbour").counts(0));
    }

    #[test]
    fn latency_is_better_when_it_is_less() {
        assert_eq!(by_name("latency").metrics().len(), 2);
        assert!(
            by_name("latency")
                .metrics()
                .iter()
                .all(|metric| !metric.more)
        );
        assert!(by_name("vm").metrics()[0].more);
    }
}
