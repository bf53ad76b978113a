// SPDX-License-Identifier: GPL-2.0

//! Publishes who wins where packing and cache-aware scheduling disagree.

use kernel::{
    prelude::*,
    sched::cache_guard::{
        self,
        Counts,
        Policy, //
    }, //
};

use crate::{
    config::Config,
    packing,
    rank::Spacing, //
};

/// The claim to the cache guard, and what has been published.
///
/// As long as the kernel is to do as it does by itself, nothing is claimed.
pub(crate) struct Guard {
    claim: Option<cache_guard::Registration>,
    published: (packing::Guard, u32),
    /// What earlier claims counted.
    before: Counts,
}

impl Guard {
    /// Claims nothing yet.
    pub(crate) fn new() -> Self {
        Self {
            claim: None,
            published: (packing::Guard::Kernel, 0),
            before: Counts::default(),
        }
    }

    /// Publishes the choice, and the gap in units of the priorities that are `spacing` apart.
    ///
    /// # Errors
    ///
    /// Returns [`EBUSY`], and publishes nothing, if somebody else has the guard.
    pub(crate) fn update(&mut self, config: &Config, spacing: Spacing) -> Result {
        let wanted = (config.guard, spacing.gap(config.guard_gap));
        if !config.enabled || config.guard == packing::Guard::Kernel {
            self.release();
            return Ok(());
        }

        let claim = match self.claim.take() {
            Some(claim) if wanted == self.published => {
                self.claim = Some(claim);
                return Ok(());
            }
            Some(claim) => claim,
            None => cache_guard::Registration::new()?,
        };
        let (guard, gap) = wanted;
        self.claim.insert(claim).set(policy(guard), gap)?;
        self.published = wanted;
        Ok(())
    }

    /// Leaves the decision to the kernel.
    fn release(&mut self) {
        self.before = self.counts();
        self.claim = None;
    }

    /// Returns what the guard does now, and if nothing, why.
    pub(crate) fn state(&self) -> &'static str {
        match (&self.claim, cache_guard::present()) {
            (None, _) => "off",
            (Some(_), true) => "on",
            (Some(_), false) => "inert: no node has more than one last-level cache",
        }
    }

    /// Returns how often the guard had the last word since this was created.
    pub(crate) fn counts(&self) -> Counts {
        if self.claim.is_none() {
            return self.before;
        }

        let now = cache_guard::counts();
        Counts {
            asym_wins: now.asym_wins.wrapping_add(self.before.asym_wins),
            llc_wins: now.llc_wins.wrapping_add(self.before.llc_wins),
            kept_up: now.kept_up.wrapping_add(self.before.kept_up),
        }
    }
}

/// Returns the kernel's word for a choice.
fn policy(guard: packing::Guard) -> Policy {
    match guard {
        packing::Guard::Kernel => Policy::Kernel,
        packing::Guard::Asym => Policy::Asym,
        packing::Guard::Strict => Policy::Strict,
        packing::Guard::Llc => Policy::Llc,
    }
}
