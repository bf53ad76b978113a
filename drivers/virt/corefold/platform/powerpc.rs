// SPDX-License-Identifier: GPL-2.0

//! Guests on POWER: logical partitions of PowerVM, and virtual machines.
//!
//! A partition that shares processors is entitled to some, by hundredths of one, and can get more
//! while others leave them. Both may change at any time, as processors are added and removed
//! (DLPAR), and are asked for afresh each period.

use kernel::{
    cpu::CpuId,
    hypervisor::{
        self,
        pseries::{
            self,
            Grant, //
        }, //
    },
    sched::asym_priority, //
};

use super::{
    classify_by,
    Platform, //
};
use crate::rank;

/// See the module's documentation.
pub(crate) struct Powerpc;

/// The cores that it takes to use all of an entitlement.
fn entitled(grant: Grant) -> Option<u32> {
    u32::try_from(grant.entitlement.div_ceil(100))
        .ok()
        .filter(|cores| *cores > 0)
}

/// The cores that can be had at the most: those of the pool, or if capped, of the entitlement.
fn available(grant: Grant) -> Option<u32> {
    if grant.capped {
        entitled(grant)
    } else {
        Some(grant.pool.into()).filter(|cores| *cores > 0)
    }
}

impl Platform for Powerpc {
    const NAME: &'static str = "powerpc";

    /// Dedicated processors are never taken away. Virtual machines of KVM look like partitions that
    /// share processors, but are granted none, and low cores are no better there than high ones.
    fn packs() -> bool {
        pseries::is_shared() && pseries::grant().is_some()
    }

    const LEVELS: &'static [u8] = b"CACHE,MC,PKG";

    fn entitled_cores() -> Option<u32> {
        pseries::grant().and_then(entitled)
    }

    fn available_cores() -> Option<u32> {
        pseries::grant().and_then(available)
    }

    /// The threads of a core are worth the same, so that packing fills low cores, and moves nothing
    /// between the groups of threads of a big one.
    fn classify(cpus: &mut [rank::Cpu]) {
        classify_by(cpus, asym_priority::capacity);
        for cpu in cpus {
            cpu.place = CpuId::from_u32(cpu.number).map_or(cpu.number, pseries::first_of_core);
        }
    }

    fn bare_metal() -> bool {
        hypervisor::present() == Some(false)
    }
}

#[cfg(CONFIG_COREFOLD_KUNIT_TEST)]
#[kernel::macros::kunit_tests(corefold_powerpc)]
mod tests {
    use super::*;
    use kernel::cpu;

    fn grant(entitlement: u64, capped: bool, pool: u16) -> Grant {
        Grant {
            entitlement,
            capped,
            pool,
        }
    }

    #[test]
    fn s5_part_5_entitlement_is_rounded_up() {
        assert_eq!(entitled(grant(2400, false, 64)), Some(24));
        assert_eq!(entitled(grant(2401, false, 64)), Some(25));
        assert_eq!(entitled(grant(5, false, 64)), Some(1));
        assert_eq!(entitled(grant(0, false, 64)), None);
        assert_eq!(entitled(grant(u64::MAX, false, 64)), None);
    }

    #[test]
    fn s5_part_4_the_pool_or_the_cap_bounds() {
        assert_eq!(available(grant(2400, false, 64)), Some(64));
        assert_eq!(available(grant(2400, true, 64)), Some(24));
        assert_eq!(available(grant(2400, false, 0)), None);
    }

    /// That processors are shared is not enough: emulated machines say so as well.
    #[test]
    fn s5_part_5_without_a_grant_nothing_is_packed() {
        assert!(pseries::grant().is_some() || super::super::levels(false).is_empty());
    }

    #[test]
    fn s5_part_1_threads_of_a_core_rank_alike() -> kernel::error::Result {
        let mut cpus = kernel::alloc::KVec::new();
        for cpu in cpu::possible().iter() {
            cpus.push(
                rank::Cpu::new(cpu.as_u32()),
                kernel::alloc::flags::GFP_KERNEL,
            )?;
        }
        Powerpc::classify(&mut cpus);
        rank::rank(&mut cpus, cpu::nr_cpu_ids(), true);
        for pair in cpus.windows(2) {
            if pair[0].place == pair[1].place {
                assert_eq!(pair[0].priority, pair[1].priority);
            } else {
                assert!(pair[0].priority > pair[1].priority);
            }
        }
        Ok(())
    }
}
