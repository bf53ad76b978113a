// SPDX-License-Identifier: GPL-2.0

//! Cache guard.
//!
//! Asym packing wants tasks on the CPUs of highest priority, cache-aware scheduling wants those of
//! a process on one last level cache. Who wins where the two disagree can be chosen.
//!
//! C header: [`include/linux/sched/cache_guard.h`](srctree/include/linux/sched/cache_guard.h)

use crate::{
    bindings,
    error::to_result,
    prelude::*, //
};

/// Who wins where asym packing and cache-aware scheduling disagree.
///
/// Corresponds to `enum sched_cache_guard` in C.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Policy {
    /// Whoever does in this kernel without the guard.
    Kernel = bindings::sched_cache_guard_SCHED_CACHE_GUARD_KERNEL,
    /// Asym packing, also where the kernel alone would let the cache win.
    Asym = bindings::sched_cache_guard_SCHED_CACHE_GUARD_ASYM,
    /// Asym packing, and no task is pulled to its cache if the best CPU there has a lower priority
    /// than the best CPU where it is.
    Strict = bindings::sched_cache_guard_SCHED_CACHE_GUARD_STRICT,
    /// Cache-aware scheduling.
    Llc = bindings::sched_cache_guard_SCHED_CACHE_GUARD_LLC,
}

/// How often the guard had the last word.
///
/// Counted while a policy other than [`Policy::Kernel`] is in force, from zero on when the guard is
/// claimed. One pass of the load balancer may count several times.
#[derive(Copy, Clone, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Asym packing wanted to move a task to another cache, and the preference of the task was not
    /// asked.
    pub asym_wins: usize,
    /// Asym packing wanted to move a task to another cache, and the preference of the task decided.
    pub llc_wins: usize,
    /// A task was not pulled to a cache of lower priority.
    pub kept_up: usize,
}

/// The claim to the guard.
///
/// There is at most one at a time. While there is none, and when it is dropped, the policy is
/// [`Policy::Kernel`].
///
/// # Invariants
///
/// The guard is claimed, by this object alone.
///
/// # Examples
///
/// ```
/// use kernel::sched::cache_guard::{self, Policy};
///
/// let registration = cache_guard::Registration::new()?;
/// assert_eq!(cache_guard::Registration::new().err(), Some(EBUSY));
///
/// registration.set(Policy::Strict, 1)?;
/// registration.set(Policy::Kernel, 0)?;
///
/// drop(registration);
/// drop(cache_guard::Registration::new()?);
/// # Ok::<(), Error>(())
/// ```
pub struct Registration(());

impl Registration {
    /// Claims the guard. May sleep.
    ///
    /// # Errors
    ///
    /// Returns [`EBUSY`] if it is claimed already.
    pub fn new() -> Result<Self> {
        // SAFETY: An FFI call with no additional requirements.
        to_result(unsafe { bindings::sched_cache_guard_claim() })?;

        // INVARIANT: The guard has just been claimed, and will be until
        // `sched_cache_guard_release()` is called, which happens in our `Drop` implementation.
        Ok(Self(()))
    }

    /// Sets the policy, which takes effect with the next balancing. May sleep.
    ///
    /// With a difference of priorities below `gap`, the cache decides; 0 and 1 both mean any
    /// difference. Where cache-aware scheduling has nothing to choose from, which [`present`]
    /// tells, the policy has no effect.
    ///
    /// Must not be called while the CPU hotplug lock is held, nor must the registration be dropped.
    ///
    /// # Errors
    ///
    /// Returns [`EINVAL`], and changes nothing, if `gap` is more than [`i32::MAX`].
    pub fn set(&self, policy: Policy, gap: u32) -> Result {
        // CAST: `Policy` has the representation and the values of the C enum.
        let policy = policy as bindings::sched_cache_guard;

        // SAFETY: `policy` is one of the values of the C enum.
        to_result(unsafe { bindings::sched_cache_guard_set(policy, gap) })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, the guard is claimed by this object.
        unsafe { bindings::sched_cache_guard_release() };
    }
}

/// Returns whether there is anything to decide: cache-aware scheduling is present, and some NUMA
/// node has more than one last level cache that tasks can be balanced between.
///
/// This may change whenever scheduling domains are rebuilt.
pub fn present() -> bool {
    // SAFETY: An FFI call with no additional requirements.
    unsafe { bindings::sched_cache_guard_present() }
}

/// Returns how often the guard had the last word since it was last claimed.
pub fn counts() -> Counts {
    let mut counts = bindings::sched_cache_guard_counts::default();

    // SAFETY: `counts` is valid, and nobody else uses it.
    unsafe { bindings::sched_cache_guard_read(&mut counts) };
    Counts {
        asym_wins: counts.asym_wins,
        llc_wins: counts.llc_wins,
        kept_up: counts.kept_up,
    }
}

#[cfg(CONFIG_RUST_SCHED_KUNIT_TEST)]
#[macros::kunit_tests(rust_sched_cache_guard)]
mod tests {
    use super::*;

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
    fn any_policy_may_follow_any_other() -> Result {
        const POLICIES: [Policy; 4] = [Policy::Kernel, Policy::Asym, Policy::Strict, Policy::Llc];

        let registration = Registration::new()?;
        for one in POLICIES {
            for other in POLICIES {
                assert_eq!(registration.set(one, 0), Ok(()));
                assert_eq!(registration.set(other, 1), Ok(()));
            }
        }
        assert_eq!(registration.set(Policy::Llc, u32::MAX), Err(EINVAL));
        Ok(())
    }

    #[test]
    fn counts_begin_with_the_claim() -> Result {
        let registration = Registration::new()?;
        assert_eq!(registration.set(Policy::Kernel, 0), Ok(()));
        assert_eq!(counts(), Counts::default());

        drop(registration);
        assert!(counts() == Counts::default());
        Ok(())
    }
}
