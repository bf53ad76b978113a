// SPDX-License-Identifier: GPL-2.0

//! Steal capacity.
//!
//! Time that the hypervisor has stolen from a CPU lowers the capacity that the load balancer sees
//! of it. Whoever reacts to steal by other means can have that left out.
//!
//! C header: [`include/linux/sched/steal_capacity.h`](srctree/include/linux/sched/steal_capacity.h)

use crate::{
    bindings,
    error::to_result,
    prelude::*, //
};

/// The claim that keeps steal out of the capacity of CPUs.
///
/// There is at most one at a time. While there is none, and when it is dropped, steal lowers the
/// capacity.
///
/// # Invariants
///
/// The capacity is claimed, by this object alone.
///
/// # Examples
///
/// ```
/// use kernel::sched::steal_capacity;
///
/// let registration = steal_capacity::Registration::new()?;
/// assert_eq!(steal_capacity::Registration::new().err(), Some(EBUSY));
///
/// drop(registration);
/// drop(steal_capacity::Registration::new()?);
/// # Ok::<(), Error>(())
/// ```
pub struct Registration(());

impl Registration {
    /// Keeps steal out of the capacity of CPUs. May sleep.
    ///
    /// Where the kernel does not take it into account anyway, which [`supported`] tells, this has
    /// no effect.
    ///
    /// # Errors
    ///
    /// Returns [`EBUSY`] if it is claimed already.
    pub fn new() -> Result<Self> {
        // SAFETY: An FFI call with no additional requirements.
        to_result(unsafe { bindings::sched_steal_capacity_claim() })?;

        // INVARIANT: The capacity has just been claimed, and will be until
        // `sched_steal_capacity_release()` is called, which happens in our `Drop` implementation.
        Ok(Self(()))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, the capacity is claimed by this object.
        unsafe { bindings::sched_steal_capacity_release() };
    }
}

/// Returns whether steal lowers the capacity of CPUs on this system while it is not claimed.
pub fn supported() -> bool {
    // SAFETY: An FFI call with no additional requirements.
    unsafe { bindings::sched_steal_capacity_supported() }
}
