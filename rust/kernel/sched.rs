// SPDX-License-Identifier: GPL-2.0

//! Scheduler.
//!
//! What the scheduler may be told from outside, and asked for.

#[cfg(CONFIG_SCHED_ASYM_PRIORITY)]
pub mod asym_priority;
#[cfg(CONFIG_SCHED_CACHE_GUARD)]
pub mod cache_guard;
#[cfg(CONFIG_SCHED_ASYM_PRIORITY)]
pub mod domain;
pub mod isolation;
#[cfg(CONFIG_SCHED_SOFT_OFFLINE)]
pub mod soft_offline;
#[cfg(CONFIG_SCHED_STEAL_CAPACITY)]
pub mod steal_capacity;
#[cfg(CONFIG_SCHED_STEAL_SOURCE)]
pub mod steal_source;
