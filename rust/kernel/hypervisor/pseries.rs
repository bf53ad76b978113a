// SPDX-License-Identifier: GPL-2.0

//! Logical partitions of POWER machines.
//!
//! C headers: [`arch/powerpc/include/asm/hvcall.h`](srctree/arch/powerpc/include/asm/hvcall.h),
//! [`arch/powerpc/include/asm/lppaca.h`](srctree/arch/powerpc/include/asm/lppaca.h)

use crate::{
    bindings,
    cpu::CpuId, //
};

/// Returns whether the partition shares its processors with others.
pub fn is_shared() -> bool {
    // SAFETY: An FFI call with no additional requirements.
    unsafe { bindings::is_shared_processor() }
}

/// What the hypervisor grants a partition.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Grant {
    /// What the partition gets for sure, in hundredths of a processor.
    pub entitlement: u64,
    /// Whether it gets no more than that.
    pub capped: bool,
    /// Processors that it shares with others.
    pub pool: u16,
}

impl Grant {
    /// Reads what `H_GET_PPP` returns.
    fn from_words(words: &[usize; bindings::PLPAR_HCALL9_BUFSIZE as usize]) -> Self {
        Self {
            entitlement: words[0] as u64,
            capped: words[3] >> 48 & 1 != 0,
            pool: (words[3] >> 16) as u16,
        }
    }
}

/// Asks the hypervisor what it grants. It may be told otherwise at any time.
///
/// Returns nothing if it does not say, or if there is none: its calls would not come back then.
///
/// # Examples
///
/// ```
/// use kernel::hypervisor::pseries;
///
/// if let Some(grant) = pseries::grant() {
///     assert!(grant.entitlement > 0);
/// }
/// ```
pub fn grant() -> Option<Grant> {
    // SAFETY: An FFI call with no additional requirements.
    if !unsafe { bindings::hypervisor_has_splpar() } {
        return None;
    }

    let mut words = [0; bindings::PLPAR_HCALL9_BUFSIZE as usize];

    // SAFETY: There is a hypervisor to call. The buffer is as large as this function fills. The
    // call takes no arguments.
    let err = unsafe { bindings::plpar_hcall9(bindings::H_GET_PPP as usize, words.as_mut_ptr()) };
    (err == bindings::H_SUCCESS as isize).then(|| Grant::from_words(&words))
}

/// Returns the lowest CPU number of the core of `cpu`, with all its groups of threads.
///
/// Corresponds to `cpu_first_thread_sibling()` in C.
pub fn first_of_core(cpu: CpuId) -> u32 {
    // SAFETY: An FFI call with no additional requirements.
    unsafe { bindings::cpu_first_thread_sibling(i32::from(cpu)) as u32 }
}

#[cfg(CONFIG_RUST_SCHED_KUNIT_TEST)]
#[macros::kunit_tests(rust_hypervisor_pseries)]
mod tests {
    use super::*;

    #[test]
    fn words_are_taken_apart() {
        let mut words = [0; bindings::PLPAR_HCALL9_BUFSIZE as usize];
        words[0] = 2450;
        words[3] = 1 << 48 | 64 << 16 | 80;

        let grant = Grant::from_words(&words);
        assert_eq!(grant.entitlement, 2450);
        assert!(grant.capped);
        assert_eq!(grant.pool, 64);
        words[3] = 0;
        assert!(!Grant::from_words(&words).capped);
    }
}
