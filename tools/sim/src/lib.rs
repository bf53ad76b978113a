// SPDX-License-Identifier: GPL-2.0

//! Guests share a pool of CPUs, and each follows a law that knows only what a guest can see.
//!
//! Time goes in ticks, [`TICKS`] of which make one interval of the governor. In each tick the
//! hypervisor ([`host`]) gives out CPU time to what the guests ([`guest`]) want; what they want and
//! do not get is stolen. A guest whose governor is due takes a sample, with noise, and sets the
//! number of its active cores. The laws are the very files of the module.

pub mod demand;
pub mod guest;
pub mod host;
pub mod law;
pub mod picture;
pub mod pool;
pub mod report;
pub mod run;
pub mod stats;

/// Ticks of an interval. With the default interval of a second, one is 50 ms.
pub const TICKS: u32 = 20;

/// Ticks until a sample that a law wants soon: a tenth of the interval.
pub const SOON: u32 = 2;
