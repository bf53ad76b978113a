// SPDX-License-Identifier: GPL-2.0

//! Asym priority.
//!
//! Asym packing fills the CPUs of highest priority first. The priorities, and the levels of the
//! topology on which packing is done, can be claimed from the architecture.
//!
//! C header: [`include/linux/sched/asym_priority.h`](srctree/include/linux/sched/asym_priority.h)

use crate::{
    bindings,
    cpu::CpuId,
    error::to_result,
    prelude::*, //
};

/// The claim to the priorities of CPUs.
///
/// There is at most one at a time. While there is none, and when it is dropped, priorities and
/// levels are those of the architecture.
///
/// # Invariants
///
/// The priorities are claimed, by this object alone.
///
/// # Examples
///
/// ```
/// use kernel::cpu::CpuId;
/// use kernel::sched::asym_priority;
///
/// let cpu = CpuId::from_u32(0).ok_or(EINVAL)?;
/// let registration = asym_priority::Registration::new()?;
/// assert_eq!(asym_priority::Registration::new().err(), Some(EBUSY));
///
/// registration.set(cpu, 236)?;
/// assert_eq!(asym_priority::priority(cpu), 236);
///
/// // No level has this name, so that nothing changes.
/// assert_eq!(registration.set_levels(c"NONE SUCH"), Err(EINVAL));
///
/// // The architecture decides again.
/// drop(registration);
/// assert_eq!(asym_priority::priority(cpu), asym_priority::arch_priority(cpu));
/// # Ok::<(), Error>(())
/// ```
pub struct Registration(());

impl Registration {
    /// Claims the priorities. At first they are those of the architecture. May sleep.
    ///
    /// # Errors
    ///
    /// Returns [`EBUSY`] if they are claimed already.
    pub fn new() -> Result<Self> {
        // SAFETY: An FFI call with no additional requirements.
        to_result(unsafe { bindings::sched_asym_priority_claim() })?;

        // INVARIANT: The priorities have just been claimed, and will be until
        // `sched_asym_priority_release()` is called, which happens in our `Drop` implementation.
        Ok(Self(()))
    }

    /// Sets the priority of a CPU, online or not. Of two CPUs the one with more goes first.
    ///
    /// This takes effect with the next balancing, and does not rebuild scheduling domains. May
    /// sleep.
    ///
    /// # Errors
    ///
    /// Returns [`EINVAL`] if `cpu` is not a possible CPU.
    pub fn set(&self, cpu: CpuId, priority: i32) -> Result {
        // SAFETY: An FFI call with no additional requirements: the CPU is checked.
        to_result(unsafe { bindings::sched_asym_priority_set(i32::from(cpu), priority) })
    }

    /// Sets the levels of the topology on which packing is done, beside those on which the
    /// architecture does it.
    ///
    /// `levels` has their names, separated by commas, such as `MC,PKG`; it is empty for none. If
    /// they are others than before, scheduling domains are rebuilt, once.
    ///
    /// May sleep. Must not be called while the CPU hotplug lock is held, nor must the registration
    /// be dropped.
    ///
    /// # Errors
    ///
    /// Returns [`EINVAL`], and changes nothing, if there is no such level, or it is one of SMT
    /// siblings or of NUMA nodes, on which packing is never done.
    pub fn set_levels(&self, levels: &CStr) -> Result {
        // SAFETY: `levels` is a valid string, that is not kept.
        to_result(unsafe { bindings::sched_asym_priority_set_levels(levels.as_char_ptr()) })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, the priorities are claimed by this object.
        unsafe { bindings::sched_asym_priority_release() };
    }
}

/// Returns the priority that a CPU has now, or 0 if it is not a possible CPU.
pub fn priority(cpu: CpuId) -> i32 {
    // SAFETY: An FFI call with no additional requirements: the CPU is checked.
    unsafe { bindings::sched_asym_priority(i32::from(cpu)) }
}

/// Returns the priority that the architecture gives a CPU, or 0 if it is not a possible CPU.
///
/// An architecture that knows nothing of its CPUs gives all the same, or each one less than the
/// one before.
pub fn arch_priority(cpu: CpuId) -> i32 {
    // SAFETY: An FFI call with no additional requirements: the CPU is checked.
    unsafe { bindings::sched_asym_priority_arch(i32::from(cpu)) }
}

/// Returns whether [`Registration::set_levels`] would take these levels.
///
/// # Examples
///
/// ```
/// use kernel::sched::asym_priority;
///
/// assert!(asym_priority::has_levels(c""));
/// assert!(!asym_priority::has_levels(c"SMT"));
/// assert!(!asym_priority::has_levels(c"NONE SUCH"));
/// ```
pub fn has_levels(levels: &CStr) -> bool {
    // SAFETY: `levels` is a valid string, that is not kept.
    unsafe { bindings::sched_asym_priority_has_levels(levels.as_char_ptr()) }
}

/// Returns how often scheduling domains have been rebuilt because levels changed.
pub fn rebuilds() -> usize {
    // SAFETY: An FFI call with no additional requirements.
    unsafe { bindings::sched_asym_priority_rebuilds() }
}

/// Returns what a CPU can do at its best, compared to others, or 0 if it is not a possible CPU.
///
/// The most capable ones have 1024. Time that they spend on other things than tasks does not count.
///
/// # Examples
///
/// ```
/// use kernel::cpu;
/// use kernel::sched::asym_priority;
///
/// for cpu in cpu::possible() {
///     assert!((1..=1024).contains(&asym_priority::capacity(cpu)));
/// }
/// ```
pub fn capacity(cpu: CpuId) -> u32 {
    // SAFETY: An FFI call with no additional requirements: the CPU is checked.
    unsafe { bindings::sched_cpu_capacity(i32::from(cpu)) }
}

#[cfg(CONFIG_RUST_SCHED_KUNIT_TEST)]
#[macros::kunit_tests(rust_sched_asym_priority)]
mod tests {
    use super::*;
    use crate::{
        cpu::{
            cpus_read_lock,
            possible, //
        },
        cpumask::{
            Cpumask,
            CpumaskVar, //
        },
        sched::domain::{
            Domain,
            SdFlag,
            Walk, //
        },
        str::CString, //
    };

    /// Returns the largest domain of `cpu` on which packing may be claimed and is not done yet.
    fn packable(cpu: CpuId, span: &mut Cpumask) -> Option<Domain> {
        let mut largest = None;
        let mut walk = Walk::new(cpu, span);

        while let Some((domain, _)) = walk.up() {
            let flags = domain.flags();
            if !flags.contains_any(SdFlag::Numa | SdFlag::ShareCpuCapacity)
                && !flags.contains(SdFlag::AsymPacking)
            {
                largest = Some(domain);
            }
        }
        largest
    }

    /// Returns the domain of `cpu` of that name, and leaves its span in `span`.
    fn named(cpu: CpuId, name: &str, span: &mut Cpumask) -> Option<Domain> {
        let mut walk = Walk::new(cpu, span);

        while let Some((domain, _)) = walk.up() {
            if domain.name() == name {
                return Some(domain);
            }
        }
        None
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
    fn priorities_last_as_long_as_the_claim() -> Result {
        let registration = Registration::new()?;
        for cpu in possible() {
            assert_eq!(priority(cpu), arch_priority(cpu));
            assert_eq!(registration.set(cpu, i32::MIN), Ok(()));
            assert_eq!(priority(cpu), i32::MIN);
            assert_eq!(registration.set(cpu, i32::MAX), Ok(()));
            assert_eq!(priority(cpu), i32::MAX);
        }

        drop(registration);
        for cpu in possible() {
            assert_eq!(priority(cpu), arch_priority(cpu));
        }
        Ok(())
    }

    #[test]
    fn bad_levels_change_nothing() -> Result {
        let before = rebuilds();
        let registration = Registration::new()?;
        for levels in [c"SMT", c"NUMA", c"mc", c"MC;PKG", c"MC,NONE", c"MC "] {
            assert_eq!(registration.set_levels(levels), Err(EINVAL));
        }
        assert_eq!(registration.set_levels(c""), Ok(()));

        drop(registration);
        assert_eq!(rebuilds(), before);
        Ok(())
    }

    #[test]
    fn levels_pack_while_claimed() -> Result {
        let mut span = CpumaskVar::new_zero(GFP_KERNEL)?;
        let Some(cpu) = cpus_read_lock().active().first() else {
            return Ok(());
        };
        // A single CPU has no domain.
        let Some(before) = packable(cpu, &mut span) else {
            return Ok(());
        };
        let name = CString::try_from_fmt(fmt!("{}", before.name()))?;

        let count = rebuilds();
        let registration = Registration::new()?;
        assert_eq!(registration.set_levels(&name), Ok(()));
        assert_eq!(registration.set_levels(&name), Ok(()));
        assert_eq!(rebuilds(), count + 1);

        let packs = named(cpu, before.name(), &mut span)
            .is_some_and(|domain| domain.flags() == (before.flags() | SdFlag::AsymPacking));
        assert!(packs);

        // The group of the CPU is the CPU or its core, in which it is preferred now.
        assert_eq!(registration.set(cpu, i32::MAX), Ok(()));
        let prefers =
            named(cpu, before.name(), &mut span).is_some_and(|domain| domain.prefer() == Some(cpu));
        assert!(prefers);

        drop(registration);
        let restored = named(cpu, before.name(), &mut span)
            .is_some_and(|domain| domain.flags() == before.flags() && domain.prefer().is_none());
        assert!(restored);
        Ok(())
    }
}
