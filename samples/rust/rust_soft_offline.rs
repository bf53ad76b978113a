// SPDX-License-Identifier: GPL-2.0

//! Soft offline sample: keeps tasks away from one core while it is loaded.

use kernel::{
    cpu::{
        cpus_read_lock,
        CpuId, //
    },
    cpumask::{
        Cpumask,
        CpumaskVar, //
    },
    prelude::*,
    sched::soft_offline,
    topology, //
};

module! {
    type: RustSoftOffline,
    name: "rust_soft_offline",
    authors: ["The corefold developers"],
    description: "Soft offline sample",
    license: "GPL",
    params: {
        cpu: i32 {
            default: -1,
            description: "A CPU of the core; -1 takes the highest CPU",
        },
    },
}

/// Dropping the registration, when the module is unloaded, lets tasks use the core again.
struct RustSoftOffline {
    _registration: soft_offline::Registration,
}

/// Returns the CPU that the module parameter names, or the highest one that may be soft offline.
fn chosen_cpu(mask: &mut Cpumask) -> Result<CpuId> {
    match *module_parameters::cpu.value_ref() {
        -1 => {
            soft_offline::eligible(mask);
            mask.last().ok_or(ENODEV)
        }
        cpu => CpuId::from_i32(cpu).ok_or(EINVAL),
    }
}

impl kernel::Module for RustSoftOffline {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let mut core = CpumaskVar::new_zero(GFP_KERNEL)?;
        let cpu = chosen_cpu(&mut core)?;
        topology::sibling_mask(cpu, &cpus_read_lock()).copy(&mut core);

        let registration = soft_offline::Registration::new()
            .inspect_err(|_| pr_err!("somebody else decides which CPUs are soft offline\n"))?;
        registration
            .set(&core)
            .inspect_err(|_| pr_err!("CPUs {} cannot be soft offline\n", *core))?;
        pr_info!("CPUs {} are soft offline\n", *core);

        Ok(Self {
            _registration: registration,
        })
    }
}
