// SPDX-License-Identifier: GPL-2.0

//! CPU isolation.
//!
//! C header: [`include/linux/sched/isolation.h`](srctree/include/linux/sched/isolation.h)

use crate::{
    bindings,
    cpumask::Cpumask,
    sync::rcu, //
};

/// What CPUs can be isolated from.
///
/// Corresponds to `enum hk_type` in C.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum HkType {
    /// Scheduling domains, as asked for on the kernel command line.
    DomainBoot = bindings::hk_type_HK_TYPE_DOMAIN_BOOT,
    /// Scheduling domains, as asked for on the command line and by isolated cpuset partitions.
    Domain = bindings::hk_type_HK_TYPE_DOMAIN,
    /// Managed interrupts.
    ManagedIrq = bindings::hk_type_HK_TYPE_MANAGED_IRQ,
    /// The tick, timers, unbound work, and what else the kernel does by itself.
    KernelNoise = bindings::hk_type_HK_TYPE_KERNEL_NOISE,
}

/// Copies the CPUs that do the housekeeping of a kind, which are those that are not isolated from
/// it, to `mask`.
///
/// Corresponds to `housekeeping_cpumask()` in C. All possible CPUs do if none is isolated. The set
/// of [`HkType::Domain`] changes when isolated cpuset partitions do, so the copy gets out of date.
///
/// # Examples
///
/// ```
/// use kernel::cpu;
/// use kernel::cpumask::CpumaskVar;
/// use kernel::sched::isolation::{housekeeping, HkType};
///
/// let mut boot = CpumaskVar::new_zero(GFP_KERNEL)?;
/// let mut now = CpumaskVar::new_zero(GFP_KERNEL)?;
/// housekeeping(HkType::DomainBoot, &mut boot);
/// housekeeping(HkType::Domain, &mut now);
///
/// assert!(!now.empty());
/// assert!(now.subset(&boot));
/// assert!(boot.subset(cpu::possible()));
///
/// // There always is a CPU that does the housekeeping.
/// housekeeping(HkType::KernelNoise, &mut now);
/// assert!(now.intersects(cpu::cpus_read_lock().online()));
/// # Ok::<(), Error>(())
/// ```
pub fn housekeeping(kind: HkType, mask: &mut Cpumask) {
    let _guard = rcu::read_lock();

    // CAST: `HkType` has the representation and the values of the C enum.
    let kind = kind as bindings::hk_type;

    // SAFETY: `kind` is a valid housekeeping type. The mask that is returned is valid for as long
    // as the RCU read lock is held, which is until the end of this function.
    let current = unsafe { Cpumask::from_raw(bindings::housekeeping_cpumask(kind)) };

    current.copy(mask);
}
