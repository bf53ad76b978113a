// SPDX-License-Identifier: GPL-2.0

//! Cache guard sample: chooses who wins, asym packing or the cache, while it is loaded.

use kernel::{
    prelude::*,
    sched::cache_guard::{
        self,
        Policy, //
    }, //
};

module! {
    type: RustCacheGuard,
    name: "rust_cache_guard",
    authors: ["The corefold developers"],
    description: "Cache guard sample",
    license: "GPL",
    params: {
        policy: u32 {
            default: 2,
            description: "0: as the kernel does, 1: asym packing, 2: strictly so, 3: the cache",
        },
        gap: u32 {
            default: 1,
            description: "The least difference of priorities that counts",
        },
    },
}

/// Dropping the registration, when the module is unloaded, leaves the decision to the kernel.
struct RustCacheGuard {
    _registration: cache_guard::Registration,
}

/// Returns the policy that the module parameter names.
fn policy() -> Result<Policy> {
    match *module_parameters::policy.value_ref() {
        0 => Ok(Policy::Kernel),
        1 => Ok(Policy::Asym),
        2 => Ok(Policy::Strict),
        3 => Ok(Policy::Llc),
        policy => {
            pr_err!("there is no policy {policy}: 0 to 3 are\n");
            Err(EINVAL)
        }
    }
}

impl kernel::Module for RustCacheGuard {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let policy = policy()?;
        let registration = cache_guard::Registration::new()
            .inspect_err(|_| pr_err!("somebody else has the cache guard\n"))?;
        registration.set(policy, *module_parameters::gap.value_ref())?;

        if !cache_guard::present() {
            pr_info!("no node has more than one last level cache: nothing to guard\n");
        }
        Ok(Self {
            _registration: registration,
        })
    }
}

impl Drop for RustCacheGuard {
    fn drop(&mut self) {
        let counts = cache_guard::counts();

        pr_info!(
            "asym packing won {} times, the cache {}, {} pulls to a lower priority were not done\n",
            counts.asym_wins,
            counts.llc_wins,
            counts.kept_up,
        );
    }
}
