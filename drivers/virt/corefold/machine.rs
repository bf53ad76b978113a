// SPDX-License-Identifier: GPL-2.0

//! The machine as it is now: its cores, and the counters of its CPUs.
//!
//! Everything is read afresh each period. Housekeeping CPUs, cpuset partitions, root domains and
//! the topology itself can change at any time, and none of them tells.

use kernel::{
    cpu::{
        self,
        cpus_read_lock,
        hotplug,
        CpuId,
        CpusReadGuard, //
    },
    cpumask::{
        Cpumask,
        CpumaskVar, //
    },
    fmt,
    kernel_stat::{
        cpu_time,
        CpuTime, //
    },
    prelude::*,
    sched::{
        isolation::{
            housekeeping,
            HkType, //
        },
        soft_offline, //
    },
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    },
    topology, //
};

use crate::{
    events::Events,
    order::{
        self,
        Core,
        Count,
        KEEP_SETS, //
    },
    platform::{
        Native,
        Platform, //
    },
    sample::{
        self,
        Reading,
        Times,
        Totals, //
    },
};

/// The sets of CPUs of each of which one core is kept.
const KEEP: [HkType; KEEP_SETS] = [HkType::Domain, HkType::KernelNoise];

/// Which CPUs went online or offline since somebody looked.
///
/// That is all that the callbacks do: they run under the CPU hotplug lock, which the governor takes
/// while it holds its own.
pub(crate) struct Hotplugged {
    cpus: KVec<Atomic<bool>>,
    count: Atomic<u64>,
}

impl Hotplugged {
    /// Creates a record of nothing.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let mut cpus = KVec::with_capacity(cpu::nr_cpu_ids() as usize, GFP_KERNEL)?;
        for _ in 0..cpu::nr_cpu_ids() {
            cpus.push(Atomic::new(false), GFP_KERNEL)?;
        }

        Ok(Arc::new(
            Self {
                cpus,
                count: Atomic::new(0),
            },
            GFP_KERNEL,
        )?)
    }

    fn note(&self, cpu: CpuId) {
        if let Some(noted) = self.cpus.get(index(cpu)) {
            noted.store(true, Relaxed);
        }
        self.count.add(1, Relaxed);
    }

    fn take(&self, cpu: CpuId) -> bool {
        self.cpus
            .get(index(cpu))
            .is_some_and(|noted| noted.load(Relaxed) && noted.xchg(false, Relaxed))
    }

    /// Returns how many CPUs came and went so far.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }
}

impl hotplug::Callbacks for Hotplugged {
    fn online(&self, cpu: CpuId) {
        self.note(cpu);
    }

    fn offline(&self, cpu: CpuId) {
        self.note(cpu);
    }
}

/// What is known of a CPU.
#[derive(Clone, Copy)]
struct Slot {
    counters: sample::Cpu,
    steal_bp: Option<u32>,
    /// The lowest CPU of its core, if it is active.
    core: Option<u32>,
}

/// The machine, and room to work on it.
pub(crate) struct Machine {
    cores: KVec<Core>,
    slots: KVec<Slot>,
    active: CpumaskVar,
    eligible: CpumaskVar,
    folded: CpumaskVar,
    keep: [CpumaskVar; KEEP_SETS],
    scratch: CpumaskVar,
}

impl Machine {
    /// Allocates all that is ever needed.
    pub(crate) fn new() -> Result<Self> {
        let slot = Slot {
            counters: sample::Cpu::new(),
            steal_bp: None,
            core: None,
        };
        let cpus = cpu::nr_cpu_ids() as usize;
        let mask = || CpumaskVar::new_zero(GFP_KERNEL);

        Ok(Self {
            cores: KVec::with_capacity(cpus, GFP_KERNEL)?,
            slots: KVec::from_elem(slot, cpus, GFP_KERNEL)?,
            active: mask()?,
            eligible: mask()?,
            folded: mask()?,
            keep: [mask()?, mask()?],
            scratch: mask()?,
        })
    }

    /// Finds out what cores there are, and which of them are folded.
    ///
    /// Each piece is true at some moment, but not all at the same: what is decided upon them may be
    /// refused.
    pub(crate) fn refresh(&mut self) {
        soft_offline::eligible(&mut self.eligible);
        soft_offline::read(&mut self.folded);
        for (set, mask) in KEEP.into_iter().zip(&mut self.keep) {
            housekeeping(set, mask);
        }
        self.find_cores(&cpus_read_lock());
        self.find_domains();
        order::sort(&mut self.cores);
    }

    fn find_cores(&mut self, guard: &CpusReadGuard) {
        guard.active().copy(&mut self.active);
        self.cores.clear();
        for slot in self.slots.iter_mut() {
            slot.core = None;
        }
        let mut next = self.active.first();
        while let Some(cpu) = next {
            if self.slots[index(cpu)].core.is_none() {
                self.add_core(cpu, guard);
            }
            next = self.active.next(Some(cpu));
        }
    }

    /// Adds the core that `cpu` is the lowest of.
    fn add_core(&mut self, cpu: CpuId, guard: &CpusReadGuard) {
        let number = cpu.as_u32();
        let siblings = &mut self.scratch;

        topology::sibling_mask(cpu, guard).copy(siblings);
        siblings.and(&self.active);
        for sibling in siblings.iter() {
            self.slots[index(sibling)].core = Some(number);
        }
        let llc = self
            .cores
            .iter()
            .find(|core| core.llc == core.number && share_cache(core.number, cpu))
            .map_or(number, |core| core.number);
        let core = Core {
            number,
            rank: Native::rank(cpu),
            llc,
            domain: number,
            keep: [0, 1].map(|set| siblings.intersects(&self.keep[set])),
            eligible: siblings.subset(&self.eligible),
            folded: siblings.subset(&self.folded),
        };

        // There is room for one core for each CPU.
        let _ = self.cores.push_within_capacity(core);
    }

    /// Finds out which cores share a root domain.
    fn find_domains(&mut self) {
        for at in 0..self.cores.len() {
            let number = self.cores[at].number;
            let Some(cpu) = CpuId::from_u32(number) else {
                continue;
            };
            if self.cores[at].domain != number {
                continue;
            }

            soft_offline::domain(cpu, &mut self.scratch);
            for core in &mut self.cores[at + 1..] {
                let same = CpuId::from_u32(core.number).is_some_and(|cpu| self.scratch.test(cpu));
                if same && core.domain == core.number {
                    core.domain = number;
                }
            }
        }
    }

    /// Makes the next reading of each CPU a baseline.
    pub(crate) fn forget(&mut self) {
        for slot in self.slots.iter_mut() {
            slot.counters.forget();
            slot.steal_bp = None;
        }
    }

    /// Reads the counters of all CPUs, `elapsed` nanoseconds after the last time.
    pub(crate) fn read(
        &mut self,
        elapsed: u64,
        hotplugged: &Hotplugged,
        events: &mut Events,
    ) -> Totals {
        let mut totals = Totals::new();

        for cpu in cpu::possible().iter() {
            let slot = &mut self.slots[index(cpu)];
            if hotplugged.take(cpu) || !self.active.test(cpu) {
                slot.counters.forget();
                slot.steal_bp = None;
            }
            if !self.active.test(cpu) {
                continue;
            }

            let reading = slot.counters.update(times(cpu), elapsed);
            slot.steal_bp = match reading {
                Reading::Good(delta) => Some(sample::ratio_bp(delta.steal, elapsed)),
                _ => None,
            };
            if let Reading::Bad(bad) = reading {
                events.bad(bad);
            }
            totals.add(reading, elapsed, !self.folded.test(cpu));
        }
        totals
    }

    /// Counts the cores.
    pub(crate) fn count(&self) -> Count {
        order::count(&self.cores)
    }

    /// Returns the number of cores that stay in use when all others are folded.
    pub(crate) fn least(&mut self) -> u32 {
        let least = order::plan(&mut self.cores, 1);

        self.mark_folded();
        least
    }

    /// Marks the cores as they are.
    fn mark_folded(&mut self) {
        for core in self.cores.iter_mut() {
            core.folded = CpuId::from_u32(core.number).is_some_and(|cpu| self.folded.test(cpu));
        }
    }

    /// Plans for `target` cores in use. Returns the set of CPUs to fold, or nothing if it is as it
    /// should be, and how many cores will be in use.
    pub(crate) fn plan(&mut self, target: u32) -> (Option<&Cpumask>, u32) {
        let active = order::plan(&mut self.cores, target);

        self.scratch.clear_all();
        for core in self.cores.iter().filter(|core| core.folded) {
            for cpu in self.active.iter() {
                if self.slots[index(cpu)].core == Some(core.number) {
                    self.scratch.set(cpu);
                }
            }
        }
        self.mark_folded();
        let changed = !self.scratch.equal(&self.folded);
        (changed.then_some(&*self.scratch), active)
    }

    /// Returns the folded CPUs.
    pub(crate) fn folded(&self) -> &Cpumask {
        &self.folded
    }

    /// Prints a line for each core, in the order of their numbers, and one for each CPU that is
    /// offline.
    pub(crate) fn show(&mut self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "core cpus state steal_bp capacity rank")?;
        for cpu in cpu::present().iter() {
            match self.slots[index(cpu)].core {
                Some(core) if core == cpu.as_u32() => self.show_core(cpu, f)?,
                Some(_) => (),
                None => writeln!(f, "- {} offline - 0 -", cpu.as_u32())?,
            }
        }
        Ok(())
    }

    fn show_core(&mut self, cpu: CpuId, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = cpu.as_u32();
        let Some(core) = self.cores.iter().find(|core| core.number == number) else {
            return Ok(());
        };
        let state = match core {
            Core {
                eligible: false, ..
            } => "excluded",
            Core { folded: true, .. } => "folded",
            _ => "active",
        };
        let (mut steal_bp, mut known) = (0u32, 0u32);

        self.scratch.clear_all();
        for sibling in self.active.iter() {
            let slot = &self.slots[index(sibling)];
            if slot.core != Some(number) {
                continue;
            }
            self.scratch.set(sibling);
            if let Some(bp) = slot.steal_bp {
                steal_bp += bp;
                known += 1;
            }
        }
        let cpus = &*self.scratch;
        f.write_fmt(fmt!("{number} {cpus} {state} "))?;
        match steal_bp.checked_div(known) {
            Some(bp) => write!(f, "{bp} {}", capacity(bp))?,
            None => write!(f, "- {CAPACITY}")?,
        }
        writeln!(f, " {}", core.rank)
    }
}

/// What the scheduler takes for the capacity of a CPU that nothing is stolen from.
const CAPACITY: u32 = 1024;

/// What is left of the capacity of a CPU.
fn capacity(steal_bp: u32) -> u32 {
    CAPACITY * sample::FULL_BP.saturating_sub(steal_bp) / sample::FULL_BP
}

/// Returns the index of a CPU.
fn index(cpu: CpuId) -> usize {
    cpu.as_u32() as usize
}

fn share_cache(one: u32, other: CpuId) -> bool {
    CpuId::from_u32(one).is_some_and(|one| topology::share_cache(one, other))
}

/// Reads the counters of a CPU.
fn times(cpu: CpuId) -> Times {
    const BUSY: [CpuTime; 5] = [
        CpuTime::User,
        CpuTime::Nice,
        CpuTime::System,
        CpuTime::Irq,
        CpuTime::SoftIrq,
    ];
    let sum = |kinds: &[CpuTime]| {
        kinds
            .iter()
            .fold(0u64, |sum, kind| sum.wrapping_add(cpu_time(cpu, *kind)))
    };

    Times {
        steal: cpu_time(cpu, CpuTime::Steal),
        busy: sum(&BUSY),
        idle: sum(&[CpuTime::Idle, CpuTime::IoWait]),
    }
}
