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
        asym_priority,
        domain::{
            self,
            SdFlag,
            Walk, //
        },
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
    packing::Levels,
    platform::{
        Native,
        Platform, //
    },
    rank::{
        self,
        Share,
        STEPS, //
    },
    sample::{
        self,
        CoreTimes,
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

/// What is known of a CPU, and of what it is the lowest CPU of.
#[derive(Clone, Copy)]
struct Slot {
    counters: sample::Cpu,
    steal_bp: Option<u32>,
    /// The lowest CPU of its core, if it is active.
    core: Option<u32>,
    /// The lowest CPU that it shares the last-level cache with, if it is active.
    llc: Option<u32>,
    /// The lowest CPU of its root domain, if it is active.
    domain: Option<u32>,
    of_core: OfCore,
}

/// What is known of the core that a CPU is the lowest of.
#[derive(Clone, Copy)]
struct OfCore {
    /// Where it is in the row of cores.
    at: usize,
    share: Share,
    /// What it did in this period.
    times: CoreTimes,
    /// For how long its CPUs ran in this period, and did not get to run.
    got: u64,
    stolen: u64,
    worth: u64,
    fold: bool,
}

impl OfCore {
    /// Adds what one of its CPUs had to say.
    fn add(&mut self, reading: Reading, elapsed: u64) {
        self.times.add(reading, elapsed);
        if let Reading::Good(delta) = reading {
            self.got = self.got.saturating_add(delta.busy);
            self.stolen = self.stolen.saturating_add(delta.steal);
        }
    }
}

impl Slot {
    const NEW: Slot = Slot {
        counters: sample::Cpu::new(),
        steal_bp: None,
        core: None,
        llc: None,
        domain: None,
        of_core: OfCore {
            at: 0,
            share: Share::FULL,
            times: CoreTimes::NONE,
            got: 0,
            stolen: 0,
            worth: 0,
            fold: false,
        },
    };
}

/// The machine, and room to work on it.
///
/// There may be thousands of CPUs, so nothing here that is done each period takes longer than in
/// proportion to their number.
pub(crate) struct Machine {
    cores: KVec<Core>,
    /// By the number of the CPU.
    slots: KVec<Slot>,
    /// The possible CPUs, in the order of their numbers.
    cpus: KVec<rank::Cpu>,
    rank_steal: bool,
    active: CpumaskVar,
    eligible: CpumaskVar,
    folded: CpumaskVar,
    keep: [CpumaskVar; KEEP_SETS],
    scratch: CpumaskVar,
    seen: KVec<bool>,
}

impl Machine {
    /// Allocates all that is ever needed.
    pub(crate) fn new(rank_steal: bool) -> Result<Self> {
        let ids = cpu::nr_cpu_ids() as usize;
        let mask = || CpumaskVar::new_zero(GFP_KERNEL);
        let mut cpus = KVec::with_capacity(cpu::possible().weight() as usize, GFP_KERNEL)?;
        for cpu in cpu::possible().iter() {
            cpus.push(rank::Cpu::new(cpu.as_u32()), GFP_KERNEL)?;
        }

        Ok(Self {
            cores: KVec::with_capacity(ids, GFP_KERNEL)?,
            slots: KVec::from_elem(Slot::NEW, ids, GFP_KERNEL)?,
            cpus,
            rank_steal,
            active: mask()?,
            eligible: mask()?,
            folded: mask()?,
            keep: [mask()?, mask()?],
            scratch: mask()?,
            seen: KVec::from_elem(false, ids, GFP_KERNEL)?,
        })
    }

    /// Sets whether what a core gets makes a difference for its rank.
    pub(crate) fn set_rank_steal(&mut self, rank_steal: bool) {
        if core::mem::replace(&mut self.rank_steal, rank_steal) != rank_steal {
            self.rank();
        }
    }

    /// Finds out what cores there are, what they are worth, and which of them are folded.
    ///
    /// Each piece is true at some moment, but not all at the same: what is decided upon them may be
    /// refused.
    pub(crate) fn refresh(&mut self) {
        self.look();
        self.rank();
    }

    /// As [`Machine::refresh`], for who also reads the counters before [`Machine::rank`].
    pub(crate) fn look(&mut self) {
        soft_offline::eligible(&mut self.eligible);
        soft_offline::read(&mut self.folded);
        for (set, mask) in KEEP.into_iter().zip(&mut self.keep) {
            housekeeping(set, mask);
        }
        Native::classify(&mut self.cpus);
        self.find_cores(&cpus_read_lock());
        self.find_caches();
        self.find_domains();
    }

    fn find_cores(&mut self, guard: &CpusReadGuard) {
        guard.active().copy(&mut self.active);
        self.cores.clear();
        for slot in self.slots.iter_mut() {
            slot.core = None;
            slot.llc = None;
            slot.domain = None;
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
        let mut core = Core {
            number,
            rank: 0,
            steps: 0,
            llc: number,
            domain: number,
            keep: [false; KEEP_SETS],
            eligible: true,
            folded: true,
            last: false,
        };

        for sibling in topology::sibling_mask(cpu, guard).iter() {
            if !self.active.test(sibling) {
                continue;
            }
            self.slots[index(sibling)].core = Some(number);
            core.eligible &= self.eligible.test(sibling);
            core.folded &= self.folded.test(sibling);
            for (keep, mask) in core.keep.iter_mut().zip(&self.keep) {
                *keep |= mask.test(sibling);
            }
        }
        // There is room for one core for each CPU.
        let _ = self.cores.push_within_capacity(core);
    }

    /// Finds out which cores share a last-level cache.
    fn find_caches(&mut self) {
        for core in self.cores.iter_mut() {
            let Some(cpu) = CpuId::from_u32(core.number) else {
                continue;
            };
            if self.slots[index(cpu)].llc.is_none() {
                cache(cpu, &mut self.scratch);
                for sharer in self.scratch.iter() {
                    self.slots[index(sharer)].llc.get_or_insert(core.number);
                }
            }
            core.llc = self.slots[index(cpu)].llc.unwrap_or(core.number);
        }
    }

    /// Finds out which cores share a root domain.
    fn find_domains(&mut self) {
        for core in self.cores.iter_mut() {
            let Some(cpu) = CpuId::from_u32(core.number) else {
                continue;
            };
            if self.slots[index(cpu)].domain.is_none() {
                soft_offline::domain(cpu, &mut self.scratch);
                for member in self.scratch.iter() {
                    self.slots[index(member)].domain.get_or_insert(core.number);
                }
            }
            core.domain = self.slots[index(cpu)].domain.unwrap_or(core.number);
        }
    }

    /// Finds out what cores are worth, and puts them in order.
    pub(crate) fn rank(&mut self) {
        for slot in self.slots.iter_mut() {
            slot.of_core.worth = 0;
        }
        for cpu in self.cpus.iter_mut() {
            let core = self.slots[cpu.number as usize].core.unwrap_or(cpu.number);
            let of_core = &mut self.slots[core as usize].of_core;

            cpu.steps = if self.rank_steal {
                of_core.share.steps()
            } else {
                STEPS
            };
            of_core.worth = of_core.worth.max(cpu.worth());
        }
        for core in self.cores.iter_mut() {
            let of_core = &self.slots[core.number as usize].of_core;

            core.rank = of_core.worth;
            core.steps = of_core.share.steps();
        }
        order::sort(&mut self.cores, &mut self.seen);
        for (at, core) in self.cores.iter().enumerate() {
            self.slots[core.number as usize].of_core.at = at;
        }
    }

    /// Returns the possible CPUs, to be given their priorities.
    pub(crate) fn cpus(&mut self) -> &mut [rank::Cpu] {
        &mut self.cpus
    }

    /// Makes the next reading of each CPU a baseline.
    pub(crate) fn forget(&mut self) {
        for slot in self.slots.iter_mut() {
            slot.counters.forget();
            slot.steal_bp = None;
            slot.of_core.share = Share::FULL;
        }
    }

    /// Reads the counters of all CPUs, `elapsed` nanoseconds after the last time. What cores are
    /// worth may have changed then.
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
            if let Some(core) = slot.core {
                self.slots[core as usize].of_core.add(reading, elapsed);
            }
        }
        self.add_cores(&mut totals, elapsed);
        self.share(elapsed);
        totals
    }

    fn add_cores(&mut self, totals: &mut Totals, elapsed: u64) {
        for core in self.cores.iter() {
            let times = core::mem::take(&mut self.slots[core.number as usize].of_core.times);

            if core.eligible {
                totals.add_core(&times, elapsed, !core.folded);
            }
        }
    }

    /// Finds out how much of the time that it wanted each core got.
    fn share(&mut self, elapsed: u64) {
        for core in self.cores.iter() {
            let of_core = &mut self.slots[core.number as usize].of_core;
            let got = core::mem::take(&mut of_core.got);
            let stolen = core::mem::take(&mut of_core.stolen);

            of_core.share.update(got, stolen, elapsed);
        }
    }

    /// Counts the cores.
    pub(crate) fn count(&self) -> Count {
        order::count(&self.cores)
    }

    /// Returns the number of cores that stay in use when all others are folded.
    pub(crate) fn least(&self) -> u32 {
        order::least(&self.cores)
    }

    /// Plans for `target` cores in use. Returns the set of CPUs to fold, or nothing if it is as it
    /// should be, and how many cores will be in use.
    pub(crate) fn plan(&mut self, target: u32) -> (Option<&Cpumask>, u32) {
        let active = order::plan(&mut self.cores, target);

        for core in self.cores.iter_mut() {
            self.slots[core.number as usize].of_core.fold = core.folded;
            // As they are, until the plan is carried out.
            core.folded = CpuId::from_u32(core.number).is_some_and(|cpu| self.folded.test(cpu));
        }
        self.scratch.clear_all();
        for cpu in self.active.iter() {
            let core = self.slots[index(cpu)].core;
            if core.is_some_and(|core| self.slots[core as usize].of_core.fold) {
                self.scratch.set(cpu);
            }
        }
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
        let guard = cpus_read_lock();

        writeln!(f, "core cpus state steal_bp capacity rank")?;
        for cpu in cpu::present().iter() {
            match self.slots[index(cpu)].core {
                Some(core) if core == cpu.as_u32() => self.show_core(cpu, &guard, f)?,
                Some(_) => (),
                None => writeln!(f, "- {} offline - 0 -", cpu.as_u32())?,
            }
        }
        Ok(())
    }

    fn show_core(
        &mut self,
        cpu: CpuId,
        guard: &CpusReadGuard,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let of_core = &self.slots[index(cpu)].of_core;
        let core = &self.cores[of_core.at];
        let state = match core {
            Core {
                eligible: false, ..
            } => "excluded",
            Core { folded: true, .. } => "folded",
            _ => "active",
        };
        let (mut steal_bp, mut known) = (0u32, 0u32);

        topology::sibling_mask(cpu, guard).copy(&mut self.scratch);
        self.scratch.and(&self.active);
        for sibling in self.scratch.iter() {
            if let Some(bp) = self.slots[index(sibling)].steal_bp {
                steal_bp += bp;
                known += 1;
            }
        }
        let (number, cpus) = (core.number, &*self.scratch);
        f.write_fmt(fmt!("{number} {cpus} {state} "))?;
        match steal_bp.checked_div(known) {
            Some(bp) => write!(f, "{bp}")?,
            None => f.write_str("-")?,
        }
        let rank = core.rank / u64::from(STEPS);
        writeln!(f, " {} {rank}", of_core.share.capacity())
    }

    /// Prints a line for each possible CPU; priorities only if they are `claimed`.
    pub(crate) fn show_ranks(&self, claimed: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "cpu class capacity priority llc")?;
        for cpu in self.cpus.iter() {
            let slot = &self.slots[cpu.number as usize];
            let core = slot.core.unwrap_or(cpu.number);
            let capacity = self.slots[core as usize].of_core.share.capacity();

            write!(f, "{} {} {capacity} ", cpu.number, cpu.class)?;
            match claimed {
                true => write!(f, "{} ", cpu.priority)?,
                false => f.write_str("- ")?,
            }
            match slot.llc {
                Some(llc) => writeln!(f, "{llc}")?,
                None => writeln!(f, "-")?,
            }
        }
        Ok(())
    }

    /// Returns the levels on which CPUs can be packed, as far as the lowest CPU knows.
    pub(crate) fn levels(&mut self) -> Levels {
        let mut levels = Levels::NONE;
        let Some(cpu) = self.active.first() else {
            return levels;
        };

        let mut walk = Walk::new(cpu, &mut self.scratch);
        while let Some((domain, _)) = walk.up() {
            let never = SdFlag::Numa | SdFlag::ShareCpuCapacity;
            if !domain.flags().contains_any(never) {
                levels = levels.with(domain.name().as_bytes()).unwrap_or(levels);
            }
        }
        levels
    }

    /// Prints a line for each scheduling domain. Those of several CPUs that span the same are one.
    pub(crate) fn show_domains(&mut self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "level cpus first flags")?;
        for cpu in self.active.iter() {
            let mut walk = Walk::new(cpu, &mut self.scratch);
            while let Some((domain, span)) = walk.up() {
                if span.first() != Some(cpu) {
                    continue;
                }
                f.write_fmt(fmt!("{} {span} ", domain.name()))?;
                match domain.prefer().and_then(|_| first(span)) {
                    Some(cpu) => write!(f, "{} ", cpu.as_u32())?,
                    None => f.write_str("- ")?,
                }
                f.write_fmt(fmt!("{}\n", domain.flags()))?;
            }
        }
        Ok(())
    }
}

/// Returns the CPU that packing fills first.
fn first(cpus: &Cpumask) -> Option<CpuId> {
    cpus.iter()
        .max_by_key(|cpu| (asym_priority::priority(*cpu), !cpu.as_u32()))
}

/// Copies the CPUs that share the last-level cache with `cpu` to `mask`.
///
/// That is what the largest domain with that flag spans; all smaller ones have it too.
fn cache(cpu: CpuId, mask: &mut Cpumask) {
    let mut depth = 0;

    while domain::read(cpu, depth, mask)
        .is_some_and(|domain| domain.flags().contains(SdFlag::ShareLlc))
    {
        depth += 1;
    }
    mask.clear_all();
    if let Some(depth) = depth.checked_sub(1) {
        let _ = domain::read(cpu, depth, mask);
    }
    mask.set(cpu);
}

/// Returns the index of a CPU.
fn index(cpu: CpuId) -> usize {
    cpu.as_u32() as usize
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
