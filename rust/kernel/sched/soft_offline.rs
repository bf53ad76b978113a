// SPDX-License-Identifier: GPL-2.0

//! Soft offline.
//!
//! A set of CPUs that stay online and active, but that tasks leave and stay away from if they may
//! run elsewhere. Affinity, cpusets and what user space sees of CPUs do not change.
//!
//! C header: [`include/linux/sched/soft_offline.h`](srctree/include/linux/sched/soft_offline.h)

use crate::{
    bindings,
    cpu::{
        possible,
        CpuId, //
    },
    cpumask::Cpumask,
    error::to_result,
    prelude::*, //
};

/// The claim to the set of soft offline CPUs.
///
/// There is at most one at a time. While there is none, and when it is dropped, no CPU is soft
/// offline.
///
/// # Invariants
///
/// The set of soft offline CPUs is claimed, by this object alone.
///
/// # Examples
///
/// ```
/// use kernel::cpumask::CpumaskVar;
/// use kernel::sched::soft_offline;
///
/// let registration = soft_offline::Registration::new()?;
/// assert_eq!(soft_offline::Registration::new().err(), Some(EBUSY));
///
/// // The empty set is always a valid one.
/// let mut mask = CpumaskVar::new_zero(GFP_KERNEL)?;
/// registration.set(&mask)?;
///
/// // The set of all CPUs never is.
/// mask.setall();
/// assert_eq!(registration.set(&mask), Err(EINVAL));
/// registration.read(&mut mask);
/// assert!(mask.empty());
///
/// // The next one gets it.
/// drop(registration);
/// drop(soft_offline::Registration::new()?);
/// # Ok::<(), Error>(())
/// ```
pub struct Registration(());

impl Registration {
    /// Claims the set of soft offline CPUs.
    ///
    /// # Errors
    ///
    /// Returns [`EBUSY`] if it is claimed already.
    pub fn new() -> Result<Self> {
        // SAFETY: An FFI call with no additional requirements.
        to_result(unsafe { bindings::sched_soft_offline_claim() })?;

        // INVARIANT: The set has just been claimed, and will be until
        // `sched_soft_offline_release()` is called, which happens in our `Drop` implementation.
        Ok(Self(()))
    }

    /// Makes the CPUs of `mask`, and no others, soft offline.
    ///
    /// Tasks that may run elsewhere begin to leave at once, but this does not wait for them. The
    /// kernel shrinks the set by itself should CPU hotplug, or a change of cpusets, make it an
    /// invalid one; see [`shrinks`].
    ///
    /// May sleep. Must not be called while the CPU hotplug lock is held, nor must the registration
    /// be dropped.
    ///
    /// # Errors
    ///
    /// Returns [`EINVAL`], and changes nothing, if `mask`
    ///
    /// - holds a CPU that is not active, or isolated from scheduling domains,
    /// - holds a part of a core, which is to say not all of its active SMT siblings, or
    /// - would leave a root domain, a cpuset partition or the CPUs that do the housekeeping without
    ///   a CPU that is not soft offline.
    pub fn set(&self, mask: &Cpumask) -> Result {
        // SAFETY: `mask` is a valid mask, that is not written to.
        to_result(unsafe { bindings::sched_soft_offline_set(mask.as_raw()) })
    }

    /// Copies the set of soft offline CPUs to `mask`.
    pub fn read(&self, mask: &mut Cpumask) {
        read(mask);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, the set is claimed by this object.
        unsafe { bindings::sched_soft_offline_release() };
    }
}

/// Copies the set of soft offline CPUs, whoever has claimed it, to `mask`. May sleep.
pub fn read(mask: &mut Cpumask) {
    // SAFETY: `mask` is a valid mask, that nobody else uses.
    unsafe { bindings::sched_soft_offline_read(mask.as_raw()) };
}

/// Copies the CPUs that can be soft offline at all to `mask`.
///
/// These are the active CPUs that tasks are balanced between. CPUs that are isolated from that are
/// not among them. Not each subset of them is a valid set; see [`Registration::set`].
///
/// May sleep. Must not be called while the CPU hotplug lock is held.
///
/// # Examples
///
/// ```
/// use kernel::cpu;
/// use kernel::cpumask::CpumaskVar;
/// use kernel::sched::soft_offline;
///
/// let mut eligible = CpumaskVar::new_zero(GFP_KERNEL)?;
/// let mut domain = CpumaskVar::new_zero(GFP_KERNEL)?;
/// soft_offline::eligible(&mut eligible);
/// assert!(eligible.subset(cpu::cpus_read_lock().active()));
///
/// for cpu in eligible.iter() {
///     soft_offline::domain(cpu, &mut domain);
///     assert!(domain.test(cpu));
/// }
/// # Ok::<(), Error>(())
/// ```
pub fn eligible(mask: &mut Cpumask) {
    // SAFETY: `mask` is a valid mask, that nobody else uses.
    unsafe { bindings::sched_soft_offline_eligible(mask.as_raw()) };
}

/// Copies the active CPUs of the root domain that `cpu` belongs to, to `mask`.
///
/// One core at least of each root domain must not be soft offline. `mask` is empty if `cpu` is not
/// a possible CPU.
///
/// May sleep. Must not be called while the CPU hotplug lock is held.
pub fn domain(cpu: CpuId, mask: &mut Cpumask) {
    if !possible().test(cpu) {
        mask.clear_all();
        return;
    }

    // SAFETY: `cpu` is a possible CPU, and `mask` a valid mask, that nobody else uses.
    unsafe { bindings::sched_soft_offline_domain(i32::from(cpu), mask.as_raw()) };
}

/// Returns how often the kernel has shrunk the set of soft offline CPUs by itself.
pub fn shrinks() -> usize {
    // SAFETY: An FFI call with no additional requirements.
    unsafe { bindings::sched_soft_offline_shrinks() }
}

/// Returns whether sched_ext has taken over all tasks, for which being soft offline has no effect.
pub fn bypassed() -> bool {
    // SAFETY: An FFI call with no additional requirements.
    unsafe { bindings::sched_soft_offline_bypassed() }
}

#[cfg(CONFIG_RUST_SCHED_KUNIT_TEST)]
#[macros::kunit_tests(rust_sched_soft_offline)]
mod tests {
    use super::*;
    use crate::{
        cpu::cpus_read_lock,
        cpumask::CpumaskVar,
        topology::sibling_mask, //
    };

    fn mask() -> Result<CpumaskVar> {
        Ok(CpumaskVar::new_zero(GFP_KERNEL)?)
    }

    /// Copies the core of the highest CPU that can be soft offline to `mask`. Returns `false` if
    /// there is but one core, which cannot be.
    fn last_core(mask: &mut Cpumask) -> bool {
        eligible(mask);
        let Some(cpu) = mask.last() else {
            return false;
        };

        let guard = cpus_read_lock();
        sibling_mask(cpu, &guard).copy(mask);
        mask.and(guard.active());
        !guard.active().subset(mask)
    }

    #[test]
    fn only_one_claim() -> Result {
        let registration = Registration::new()?;
        assert_eq!(Registration::new().err(), Some(EBUSY));
        assert_eq!(Registration::new().err(), Some(EBUSY));

        drop(registration);
        assert!(Registration::new().is_ok());
        Ok(())
    }

    #[test]
    fn release_empties_the_set() -> Result {
        let (mut core, mut current) = (mask()?, mask()?);
        if !last_core(&mut core) {
            return Ok(());
        }

        let registration = Registration::new()?;
        assert_eq!(registration.set(&core), Ok(()));
        registration.read(&mut current);
        assert!(current.equal(&core));

        drop(registration);
        read(&mut current);
        assert!(current.empty());
        Ok(())
    }

    #[test]
    fn refusals_change_nothing() -> Result {
        let (mut core, mut bad, mut current) = (mask()?, mask()?, mask()?);
        if !last_core(&mut core) {
            return Ok(());
        }
        let registration = Registration::new()?;
        assert_eq!(registration.set(&core), Ok(()));

        // All active CPUs.
        cpus_read_lock().active().copy(&mut bad);
        assert_eq!(registration.set(&bad), Err(EINVAL));

        // All CPUs, whether active or not.
        bad.setall();
        assert_eq!(registration.set(&bad), Err(EINVAL));

        // A part of a core.
        if core.weight() > 1 {
            core.copy(&mut bad);
            if let Some(cpu) = core.first() {
                bad.clear(cpu);
            }
            assert_eq!(registration.set(&bad), Err(EINVAL));
        }

        registration.read(&mut current);
        assert!(current.equal(&core));
        Ok(())
    }

    #[test]
    fn a_domain_holds_its_cpu() -> Result {
        let (mut eligible_cpus, mut span) = (mask()?, mask()?);

        eligible(&mut eligible_cpus);
        for cpu in eligible_cpus.iter() {
            domain(cpu, &mut span);
            assert!(span.test(cpu));
        }
        Ok(())
    }
}
