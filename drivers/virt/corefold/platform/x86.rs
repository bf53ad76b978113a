// SPDX-License-Identifier: GPL-2.0

//! Guests on x86: KVM, Xen, VMware and others.
//!
//! None of them says how much a guest is entitled to, or which of its virtual CPUs fare better. So
//! all cores are equal, and the floor is what the administrator sets.

use kernel::hypervisor;

use super::Platform;

/// See the module's documentation.
pub(crate) struct X86;

impl Platform for X86 {
    const NAME: &'static str = "x86";

    fn bare_metal() -> bool {
        hypervisor::present() == Some(false)
    }
}
