// SPDX-License-Identifier: GPL-2.0

//! Guests on x86: KVM, Xen, VMware and others.
//!
//! None of them says how much a guest is entitled to, so the floor is what the administrator sets.
//! Which virtual CPUs fare better is known only where the hypervisor ties them to real ones and
//! passes on how these are ranked (ITMT).

use kernel::{
    hypervisor,
    sched::asym_priority, //
};

use super::{
    classify_by,
    Platform, //
};
use crate::rank;

/// See the module's documentation.
pub(crate) struct X86;

impl Platform for X86 {
    const NAME: &'static str = "x86";

    fn classify(cpus: &mut [rank::Cpu]) {
        // Where nobody ranks them, the priorities of all CPUs are zero, or fall below with their
        // numbers.
        classify_by(cpus, |cpu| {
            u32::try_from(asym_priority::arch_priority(cpu)).unwrap_or(0)
        });
        if !rank::differ(cpus) {
            classify_by(cpus, asym_priority::capacity);
        }
    }

    fn bare_metal() -> bool {
        hypervisor::present() == Some(false)
    }
}
