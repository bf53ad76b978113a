// SPDX-License-Identifier: GPL-2.0

//! What the platform knows: whether to run at all, and what its CPUs are worth.

use kernel::{
    cpu::CpuId,
    prelude::*,
    sched::{
        asym_priority,
        steal_source::{
            self,
            Source, //
        }, //
    }, //
};

use crate::{
    packing::Levels,
    rank, //
};

#[cfg(not(any(CONFIG_X86_64, CONFIG_S390, CONFIG_PPC_PSERIES)))]
mod generic;
#[cfg(CONFIG_PPC_PSERIES)]
mod powerpc;
#[cfg(CONFIG_S390)]
mod s390;
#[cfg(CONFIG_X86_64)]
mod x86;

#[cfg(not(any(CONFIG_X86_64, CONFIG_S390, CONFIG_PPC_PSERIES)))]
use generic::Generic as ThisOne;
#[cfg(CONFIG_PPC_PSERIES)]
use powerpc::Powerpc as ThisOne;
#[cfg(CONFIG_S390)]
use s390::S390 as ThisOne;
#[cfg(CONFIG_X86_64)]
use x86::X86 as ThisOne;

/// The platform that this kernel was built for.
pub(crate) type Native = ThisOne;

/// What differs between platforms. The provided answers are those of one that knows nothing.
pub(crate) trait Platform {
    /// The name that `status` shows.
    const NAME: &'static str;

    /// The levels on which to pack unless the administrator says otherwise, see [`levels`].
    const LEVELS: &'static [u8] = b"";

    /// Whether to pack on these levels on this machine, as it is one whose CPUs differ.
    fn packs() -> bool {
        false
    }

    /// How many cores the hypervisor guarantees, if it says so. These are never given up.
    fn entitled_cores() -> Option<u32> {
        None
    }

    /// How many cores can be had at all, if the hypervisor gives less than the guest sees.
    fn available_cores() -> Option<u32> {
        None
    }

    /// Puts CPUs into classes by what they can do, compared to others; more is better.
    ///
    /// The number of a virtual CPU says nothing. A class must come from someone who can know; the
    /// capacity that the architecture gives a CPU does.
    fn classify(cpus: &mut [rank::Cpu]) {
        classify_by(cpus, asym_priority::capacity);
    }

    /// Whether this is certainly no guest.
    fn bare_metal() -> bool {
        false
    }
}

/// Returns the levels on which to pack by default: those of the platform's that this machine has,
/// if it is one to pack on, or `pretend` says so.
pub(crate) fn levels(pretend: bool) -> Levels {
    if !pretend && !Native::packs() {
        return Levels::NONE;
    }

    let has = |levels: &Levels| asym_priority::has_levels(levels.as_c_str());
    Native::LEVELS
        .split(|byte| *byte == b',')
        .fold(Levels::NONE, |levels, name| {
            levels.with(name).filter(has).unwrap_or(levels)
        })
}

/// Gives each CPU the class that a function has for it.
fn classify_by(cpus: &mut [rank::Cpu], class: impl Fn(CpuId) -> u32) {
    for cpu in cpus {
        cpu.class = CpuId::from_u32(cpu.number).map_or(0, &class);
    }
}

/// Returns why corefold should not run here, if so.
fn objection() -> Option<&'static str> {
    if cfg!(all(CONFIG_COREFOLD_KUNIT_TEST, not(MODULE))) {
        return Some("it is built in with its KUnit tests, which find free what it would claim");
    }
    if Native::bare_metal() {
        return Some("this is bare metal, nobody steals from it");
    }
    if steal_source::privileged() {
        return Some(
            "this is Xen's initial domain, which serves the others and must not yield to them",
        );
    }
    if steal_source::source() == Source::None {
        return Some("there is no steal source, the hypervisor does not report steal");
    }
    None
}

/// Refuses to run where there is nothing to be gained, or harm to be done.
///
/// # Errors
///
/// Returns [`ENODEV`] unless `force` says that the caller knows better.
pub(crate) fn check(force: bool) -> Result {
    let Some(why) = objection() else {
        return Ok(());
    };

    if force {
        pr_warn!("{}; going on because of force=1\n", why);
        return Ok(());
    }
    // Whoever loads a module wants to know. Built in, this is what most machines are.
    if cfg!(MODULE) {
        pr_err!("not loaded: {} (force=1 overrides)\n", why);
    } else {
        pr_info!("not started: {}\n", why);
    }
    Err(ENODEV)
}
