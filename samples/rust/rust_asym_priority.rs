// SPDX-License-Identifier: GPL-2.0

//! Asym priority sample: has some CPUs filled before the others while it is loaded.

use kernel::{
    cpu::{
        possible,
        CpuId, //
    },
    prelude::*,
    sched::asym_priority, //
};

module! {
    type: RustAsymPriority,
    name: "rust_asym_priority",
    authors: ["The corefold developers"],
    description: "Asym priority sample",
    license: "GPL",
    params: {
        high_cpus: u64 {
            default: 1,
            description: "The CPUs that go first, as a mask of the first 64 CPUs",
        },
        high: i32 {
            default: 236,
            description: "The priority of those CPUs",
        },
        low: i32 {
            default: 100,
            description: "The priority of all others",
        },
        mc: bool {
            default: true,
            description: "Whether to pack between the cores of a cache (level MC)",
        },
        pkg: bool {
            default: true,
            description: "Whether to pack between the caches of a node (level PKG)",
        },
    },
}

/// Dropping the registration, when the module is unloaded, brings back the priorities and levels
/// of the architecture.
struct RustAsymPriority {
    _registration: asym_priority::Registration,
}

/// Returns the priority that the module parameters give a CPU.
fn priority(cpu: CpuId) -> i32 {
    let mask = *module_parameters::high_cpus.value_ref();
    let goes_first = mask
        .checked_shr(cpu.as_u32())
        .is_some_and(|mask| mask & 1 != 0);

    if goes_first {
        *module_parameters::high.value_ref()
    } else {
        *module_parameters::low.value_ref()
    }
}

/// Returns the levels that the module parameters name.
fn levels() -> &'static CStr {
    let mc = *module_parameters::mc.value_ref();
    let pkg = *module_parameters::pkg.value_ref();

    match (mc, pkg) {
        (true, true) => c"MC,PKG",
        (true, false) => c"MC",
        (false, true) => c"PKG",
        (false, false) => c"",
    }
}

impl kernel::Module for RustAsymPriority {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let registration = asym_priority::Registration::new()
            .inspect_err(|_| pr_err!("somebody else decides which CPUs go first\n"))?;

        // Priorities first: domains that are rebuilt for the levels know them at once.
        for cpu in possible() {
            registration.set(cpu, priority(cpu))?;
        }
        registration
            .set_levels(levels())
            .inspect_err(|_| pr_err!("this machine has no levels {}\n", levels()))?;
        pr_info!("packing on the levels {}\n", levels());

        Ok(Self {
            _registration: registration,
        })
    }
}
