// SPDX-License-Identifier: GPL-2.0

//! corefold: use only the cores that the hypervisor really gives.
//!
//! When the hypervisor steals time, work is folded onto fewer cores, and unfolded again when it
//! does not. Data flows one way, once per interval:
//!
//! ```text
//! kcpustat -> sample -> policy (how many cores) -> order (which cores) -> governor -> scheduler
//! platform -> rank (what CPUs are worth) -> order, and pack and guard -> scheduler
//! ```
//!
//! The scheduler never calls in here. What is decided is published as plain data, and withdrawn
//! when the module goes.

use kernel::{
    cpu::{
        self,
        hotplug, //
    },
    debugfs::Scope,
    prelude::*,
    sync::Arc, //
};

pub mod config;
pub mod events;
mod governor;
mod guard;
pub mod history;
mod knobs;
mod machine;
pub mod order;
mod pack;
pub mod packing;
mod platform;
pub mod policy;
pub mod rank;
pub mod sample;
mod trace;

use config::{
    Config,
    Knob, //
};
use governor::Governor;
use knobs::Knobs;
use machine::Hotplugged;
use platform::{
    Native,
    Platform, //
};

module! {
    type: Corefold,
    name: "corefold",
    authors: ["The corefold developers"],
    description: "Fold work onto the cores that the hypervisor really gives",
    license: "GPL",
    params: {
        enabled: bool {
            default: true,
            description: "Whether to sample steal and to fold cores (default: 1)",
        },
        interval_ms: i64 {
            default: 1000,
            description: "Time between two samples, 100 to 100000 ms (default: 1000)",
        },
        steal_high_bp: i64 {
            default: 500,
            description: "Steal from which on a core is folded, in 1/100 % (default: 500)",
        },
        steal_low_bp: i64 {
            default: 200,
            description: "Steal down to which a core is unfolded, in 1/100 % (default: 200)",
        },
        confirm: i64 {
            default: 2,
            description: "How many samples in a row must agree, 1 to 10 (default: 2)",
        },
        floor_cores: i64 {
            default: 1,
            description: "How many cores are always used (default: 1)",
        },
        steal_capacity: bool {
            default: true,
            description: "Whether to keep steal out of the capacity of CPUs (default: 1)",
        },
        guard_gap: i64 {
            default: 1,
            description: "Classes that the guard must tell CPUs apart by, 0 to 1024 (default: 1)",
        },
        rank_steal: bool {
            default: false,
            description: "Whether steal of a core lowers its rank (default: 0)",
        },
        force: bool {
            default: false,
            description: "Load even without a steal source; for tests (default: 0)",
        },
        pretend: bool {
            default: false,
            description: "Pack as in a partition that shares CPUs; for tests (default: 0)",
        },
    },
}

/// Returns the configuration that the parameters ask for.
///
/// # Errors
///
/// Says what is wrong, and returns [`ERANGE`] or [`EINVAL`].
fn configuration(cores_max: u32) -> Result<Config> {
    // No knob takes a number that does not fit.
    let number = |value: i64| u32::try_from(value).unwrap_or(u32::MAX);
    let config = Config {
        enabled: module_parameters::enabled.value(),
        interval_ms: number(module_parameters::interval_ms.value()),
        steal_high_bp: number(module_parameters::steal_high_bp.value()),
        steal_low_bp: number(module_parameters::steal_low_bp.value()),
        confirm: number(module_parameters::confirm.value()),
        floor_cores: number(module_parameters::floor_cores.value()),
        steal_capacity: module_parameters::steal_capacity.value(),
        guard_gap: number(module_parameters::guard_gap.value()),
        rank_steal: module_parameters::rank_steal.value(),
        asym_levels: platform::levels(module_parameters::pretend.value()),
        ..Config::DEFAULT
    };

    match config.check(Knob::StealLowBp, cores_max) {
        Ok(()) => Ok(config),
        Err(invalid) => {
            pr_err!("not loaded: {}\n", format_args!("{invalid}"));
            Err(if invalid.is_range() { ERANGE } else { EINVAL })
        }
    }
}

/// Stops the sampling when it is dropped.
struct Running(Arc<Governor>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// The module.
///
/// The order of its fields is the order of unloading: first nothing happens any more, then nobody
/// can ask for it, and then the last reference to the governor goes, and gives the cores back.
struct Corefold {
    _running: Running,
    _knobs: Pin<KBox<Scope<Knobs>>>,
    _hotplug: Pin<KBox<hotplug::Registration<Arc<Hotplugged>>>>,
    _governor: Arc<Governor>,
}

impl kernel::Module for Corefold {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let cores_max = cpu::possible().weight();
        let config = configuration(cores_max)?;
        platform::check(module_parameters::force.value())?;

        let hotplugged = Hotplugged::new()?;
        let governor = Governor::new(config, cores_max, hotplugged.clone())?;
        let hotplug = KBox::pin_init(
            hotplug::Registration::new(c"virt/corefold:online", Ok::<_, Error>(hotplugged)),
            GFP_KERNEL,
        )?;
        let knobs = Knobs::create(&governor)?;

        governor.start();
        pr_info!(
            "loaded on {}, policy {}, {}\n",
            Native::NAME,
            config.policy.name(),
            if config.enabled {
                "enabled"
            } else {
                "not enabled"
            },
        );
        Ok(Self {
            _running: Running(governor.clone()),
            _knobs: knobs,
            _hotplug: hotplug,
            _governor: governor,
        })
    }
}
