// SPDX-License-Identifier: GPL-2.0

//! Guests on s390: logical partitions, and virtual machines above them.
//!
//! A partition under vertical polarization knows which of its CPUs are lent a real one: all the
//! time (high), for a part of it (medium), or only while some is left over (low). Hiperdispatch,
//! where it is on, lowers the capacity of the low ones while it pays. Both change at run time, and
//! are read afresh each period. corefold follows them, and sets neither.

use kernel::{
    cpu::{
        cpus_read_lock,
        CpuId, //
    },
    hypervisor::s390::{
        self,
        Polarization, //
    },
    sched::asym_priority,
    topology, //
};

use super::{
    classify_by,
    Platform, //
};
use crate::rank;

/// See the module's documentation.
pub(crate) struct S390;

/// The class of a CPU: its capacity, and among those that have the same, by what it is lent. That
/// makes the least difference that there can be.
fn class(capacity: u32, polarization: Polarization) -> u32 {
    capacity.saturating_sub(match polarization {
        Polarization::VerticalMedium => 1,
        Polarization::VerticalLow => 2,
        Polarization::VerticalHigh | Polarization::Horizontal | Polarization::Unknown => 0,
    })
}

/// Whether a CPU is lent a real one even when all others want theirs.
fn is_entitled(polarization: Polarization) -> bool {
    matches!(
        polarization,
        Polarization::VerticalHigh | Polarization::VerticalMedium
    )
}

impl Platform for S390 {
    const NAME: &'static str = "s390";

    /// Other guests know nothing of the machine's topology.
    fn packs() -> bool {
        s390::is_lpar()
    }

    const LEVELS: &'static [u8] = b"MC,BOOK,DRAWER";

    /// The cores of the partition that are high or medium, as hiperdispatch counts them.
    fn entitled_cores() -> Option<u32> {
        let guard = cpus_read_lock();
        let is_first = |cpu: &CpuId| topology::sibling_mask(*cpu, &guard).first() == Some(*cpu);
        let cores = guard
            .active()
            .iter()
            .filter(is_first)
            .filter(|cpu| is_entitled(s390::polarization(*cpu)))
            .count();

        u32::try_from(cores).ok().filter(|cores| *cores > 0)
    }

    fn classify(cpus: &mut [rank::Cpu]) {
        classify_by(cpus, |cpu| {
            class(asym_priority::capacity(cpu), s390::polarization(cpu))
        });
    }
}

#[cfg(CONFIG_COREFOLD_KUNIT_TEST)]
#[kernel::macros::kunit_tests(corefold_s390)]
mod tests {
    use super::*;
    use Polarization::*;

    #[test]
    fn s1_capacity_goes_before_polarization() {
        assert!(class(1024, VerticalLow) > class(128, VerticalHigh));
        assert!(class(1024, VerticalHigh) > class(1024, VerticalMedium));
        assert!(class(1024, VerticalMedium) > class(1024, VerticalLow));
        assert!(class(128, VerticalMedium) > class(128, VerticalLow));
        assert_eq!(class(0, VerticalLow), 0);
        assert_eq!(class(1024, Horizontal), class(1024, Unknown));
    }

    /// However many CPUs there are, their numbers do not cross a class.
    #[test]
    fn s1_numbers_decide_only_among_equals() {
        let ids = 8192;
        let mut cpus = [
            rank::Cpu::new(0),
            rank::Cpu::new(ids - 1),
            rank::Cpu::new(1),
        ];
        cpus[0].class = class(128, VerticalLow);
        cpus[1].class = class(128, VerticalMedium);
        cpus[2].class = class(128, VerticalLow);
        rank::rank(&mut cpus, ids, true);
        assert!(cpus[1].priority > cpus[0].priority);
        assert!(cpus[0].priority > cpus[2].priority);
    }

    #[test]
    fn s5_part_5_high_and_medium_are_entitled() {
        assert!(is_entitled(VerticalHigh) && is_entitled(VerticalMedium));
        for other in [VerticalLow, Horizontal, Unknown] {
            assert!(!is_entitled(other));
        }
    }

    /// Without a partition nobody is entitled to more than others, and nothing is packed.
    #[test]
    fn s1_only_a_partition_packs_and_entitles() {
        assert!(s390::is_lpar() || super::super::levels(false).is_empty());
        assert!(s390::is_lpar() || S390::entitled_cores().is_none());
    }
}
