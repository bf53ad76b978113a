// SPDX-License-Identifier: GPL-2.0

//! Publishes priorities, and the levels on which to pack.

use kernel::{
    cpu::{
        self,
        CpuId, //
    },
    prelude::*,
    sched::asym_priority, //
};

use crate::{
    config::Config,
    packing::Levels,
    rank::{
        self,
        Cpu,
        Spacing, //
    },
};

/// The claim to the priorities, and what has been published.
///
/// Nothing is claimed unless there is something to say that the architecture does not: levels on
/// which to pack, or ranks that follow steal. Where it packs by itself, it goes by the same
/// classes.
pub(crate) struct Pack {
    claim: Option<asym_priority::Registration>,
    levels: Levels,
    spacing: Spacing,
    /// By the place of the CPU among the possible ones.
    published: KVec<i32>,
    changes: u64,
    rebuilds: usize,
}

impl Pack {
    /// Allocates all that is ever needed, and claims nothing yet.
    pub(crate) fn new() -> Result<Self> {
        let cpus = cpu::possible().weight() as usize;

        Ok(Self {
            claim: None,
            levels: Levels::NONE,
            spacing: Spacing::PLAIN,
            published: KVec::from_elem(0, cpus, GFP_KERNEL)?,
            changes: 0,
            rebuilds: asym_priority::rebuilds(),
        })
    }

    /// Ranks CPUs, and publishes what has changed.
    ///
    /// Between CPUs that are worth the same their numbers decide only where the administrator wants
    /// packing. On levels where the architecture packs, equal CPUs stay equal.
    ///
    /// # Errors
    ///
    /// Returns [`EBUSY`] if somebody else ranks CPUs, or [`EINVAL`] if there are no such levels.
    /// Nothing is claimed then that was not before.
    pub(crate) fn update(&mut self, config: &Config, cpus: &mut [Cpu]) -> Result {
        let levels = config.asym_levels;
        if !config.enabled || (levels.is_empty() && !config.rank_steal) {
            self.release();
            return Ok(());
        }

        let first = self.claim.is_none();
        let result = self.publish(levels, cpus);
        if first && result.is_err() {
            self.release();
        }
        result
    }

    fn publish(&mut self, levels: Levels, cpus: &mut [Cpu]) -> Result {
        let first = self.claim.is_none();
        let claim = match self.claim.take() {
            Some(claim) => claim,
            None => asym_priority::Registration::new()?,
        };
        let claim = self.claim.insert(claim);

        // Priorities first: domains that are rebuilt for the levels know them at once.
        self.spacing = rank::rank(cpus, cpu::nr_cpu_ids(), !levels.is_empty());
        for (cpu, published) in cpus.iter().zip(self.published.iter_mut()) {
            if !first && *published == cpu.priority {
                continue;
            }
            if let Some(id) = CpuId::from_u32(cpu.number) {
                claim.set(id, cpu.priority)?;
            }
            *published = cpu.priority;
            self.changes += u64::from(!first);
        }
        if levels != self.levels {
            claim.set_levels(levels.as_c_str())?;
            self.levels = levels;
        }
        Ok(())
    }

    /// Leaves the ranking to the architecture.
    fn release(&mut self) {
        self.claim = None;
        self.levels = Levels::NONE;
        self.spacing = Spacing::PLAIN;
    }

    /// Returns whether the priorities are those of corefold.
    pub(crate) fn is_claimed(&self) -> bool {
        self.claim.is_some()
    }

    /// Returns how far apart priorities are.
    pub(crate) fn spacing(&self) -> Spacing {
        self.spacing
    }

    /// Returns the levels on which to pack.
    pub(crate) fn levels(&self) -> Levels {
        self.levels
    }

    /// Returns how many priorities have been changed while they were claimed.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns how often domains have been rebuilt for levels since this was created.
    pub(crate) fn rebuilds(&self) -> u64 {
        asym_priority::rebuilds().wrapping_sub(self.rebuilds) as u64
    }
}
