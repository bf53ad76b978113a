// SPDX-License-Identifier: GPL-2.0

//! Steal source.
//!
//! C header: [`include/linux/sched/steal_source.h`](srctree/include/linux/sched/steal_source.h)

use crate::bindings;

/// Where the kernel learns of stolen time.
///
/// Corresponds to `enum sched_steal_source` in C.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// Nowhere: the steal of each CPU stays zero, which does not mean that none was stolen.
    None,
    /// The hypervisor's steal clock.
    Paravirt,
    /// Native accounting, from a timer that runs with the CPU or a log of when it was dispatched.
    Vtime,
}

/// Returns where the kernel learns of stolen time.
///
/// # Examples
///
/// ```
/// use kernel::cpu;
/// use kernel::kernel_stat::{cpu_time, CpuTime};
/// use kernel::sched::steal_source::{source, Source};
///
/// // Without a source, there is no steal.
/// if source() == Source::None {
///     for cpu in cpu::cpus_read_lock().online() {
///         assert_eq!(cpu_time(cpu, CpuTime::Steal), 0);
///     }
/// }
/// ```
pub fn source() -> Source {
    // SAFETY: An FFI call with no additional requirements.
    match unsafe { bindings::sched_steal_source() } {
        bindings::sched_steal_source_STEAL_SOURCE_PARAVIRT => Source::Paravirt,
        bindings::sched_steal_source_STEAL_SOURCE_VTIME => Source::Vtime,
        _ => Source::None,
    }
}

/// Returns whether this is the guest that the hypervisor has entrusted with running the machine.
///
/// That is the initial domain of Xen. What is stolen from it went to the guests that it serves.
pub fn privileged() -> bool {
    // SAFETY: An FFI call with no additional requirements.
    unsafe { bindings::sched_steal_privileged() }
}
