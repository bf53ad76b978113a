// SPDX-License-Identifier: GPL-2.0

//! CPU topology.
//!
//! C header: [`include/linux/topology.h`](srctree/include/linux/topology.h)

use crate::{
    bindings,
    cpu::{
        possible,
        CpuId,
        CpusReadGuard, //
    },
    cpumask::Cpumask, //
};

/// Returns the CPUs that share a core with `cpu`, itself included.
///
/// Corresponds to `topology_sibling_cpumask()` in C. Only CPUs that are online count: the mask of a
/// CPU that is offline may be empty, and on most architectures is.
///
/// # Examples
///
/// ```
/// use kernel::cpu::cpus_read_lock;
/// use kernel::topology;
///
/// let guard = cpus_read_lock();
/// for cpu in guard.online() {
///     let core = topology::sibling_mask(cpu, &guard);
///     assert!(core.test(cpu));
///     assert!(core.subset(guard.online()));
///
///     for sibling in core {
///         assert!(topology::sibling_mask(sibling, &guard).equal(core));
///         assert_eq!(topology::node(sibling), topology::node(cpu));
///     }
/// }
/// ```
pub fn sibling_mask(cpu: CpuId, _guard: &CpusReadGuard) -> &Cpumask {
    let mask = if possible().test(cpu) {
        // SAFETY: `cpu` is a possible CPU, so that its per-CPU data exists.
        unsafe { bindings::topology_sibling_cpumask(i32::from(cpu)) }
    } else {
        // SAFETY: `cpu` is a valid CPU number.
        unsafe { bindings::cpumask_of(u32::from(cpu)) }
    };

    // SAFETY: Both functions return a valid mask that always exists. CPUs neither go online nor
    // offline while the guard exists.
    unsafe { Cpumask::from_raw(mask) }
}

/// Returns the NUMA node that `cpu` belongs to, if it is known.
///
/// Corresponds to `cpu_to_node()` in C.
pub fn node(cpu: CpuId) -> Option<u32> {
    if !possible().test(cpu) {
        return None;
    }

    // SAFETY: `cpu` is a possible CPU, so that its per-CPU data exists.
    let node = unsafe { bindings::cpu_to_node(i32::from(cpu)) };

    // `NUMA_NO_NODE` is negative.
    u32::try_from(node).ok()
}
