// SPDX-License-Identifier: GPL-2.0

//! Logical partitions of s390.
//!
//! C headers: [`arch/s390/include/asm/machine.h`](srctree/arch/s390/include/asm/machine.h),
//! [`arch/s390/include/asm/smp.h`](srctree/arch/s390/include/asm/smp.h)

use crate::{
    bindings,
    cpu::{
        possible,
        CpuId, //
    }, //
};

/// Returns whether this kernel runs in a logical partition, and in no virtual machine above one.
pub fn is_lpar() -> bool {
    // SAFETY: An FFI call with no additional requirements.
    unsafe { bindings::machine_is_lpar() }
}

/// How much of a real CPU the hypervisor lends to a CPU.
///
/// Corresponds to the `POLARIZATION_*` constants in C.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Polarization {
    /// It is not known.
    Unknown,
    /// As much as to any other.
    Horizontal,
    /// Nothing, unless some is left over.
    VerticalLow,
    /// A part of one, and more if some is left over.
    VerticalMedium,
    /// All of one.
    VerticalHigh,
}

/// Returns the polarization of a CPU. It changes when the hypervisor says so.
///
/// # Examples
///
/// ```
/// use kernel::cpu::possible;
/// use kernel::hypervisor::s390::{is_lpar, polarization, Polarization};
///
/// // Only a logical partition has CPUs that are lent more or less.
/// for cpu in possible() {
///     let known = polarization(cpu);
///     assert!(is_lpar() || matches!(known, Polarization::Unknown | Polarization::Horizontal));
/// }
/// ```
pub fn polarization(cpu: CpuId) -> Polarization {
    if !possible().test(cpu) {
        return Polarization::Unknown;
    }

    // SAFETY: `cpu` is a possible CPU, so that its per-CPU data exists.
    match unsafe { bindings::smp_cpu_get_polarization(i32::from(cpu)) } {
        0 => Polarization::Horizontal,
        1 => Polarization::VerticalLow,
        2 => Polarization::VerticalMedium,
        3 => Polarization::VerticalHigh,
        _ => Polarization::Unknown,
    }
}
