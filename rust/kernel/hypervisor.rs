// SPDX-License-Identifier: GPL-2.0

//! Hypervisor.

#[cfg(CONFIG_PPC_PSERIES)]
pub mod pseries;
#[cfg(CONFIG_S390)]
pub mod s390;

/// Returns whether this kernel runs under a hypervisor, as far as that can be told.
///
/// On x86, this is what the CPU says; on pseries, what the firmware does. A kernel that serves
/// guests itself does not run under a hypervisor, unless it is a guest, too.
///
/// # Examples
///
/// ```
/// use kernel::hypervisor;
///
/// // It does not change.
/// assert_eq!(hypervisor::present(), hypervisor::present());
/// ```
pub fn present() -> Option<bool> {
    #[cfg(any(CONFIG_X86, CONFIG_PPC_PSERIES))]
    {
        // SAFETY: An FFI call with no additional requirements.
        Some(unsafe { crate::bindings::hypervisor_present() })
    }
    #[cfg(not(any(CONFIG_X86, CONFIG_PPC_PSERIES)))]
    None
}
