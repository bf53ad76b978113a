// SPDX-License-Identifier: GPL-2.0

//! The pure files of the corefold module, compiled for the host: what decides in the kernel can be
//! tested, fuzzed and simulated without one.

#![no_std]

#[path = "../../../drivers/virt/corefold/config.rs"]
pub mod config;
#[path = "../../../drivers/virt/corefold/events.rs"]
pub mod events;
#[path = "../../../drivers/virt/corefold/history.rs"]
pub mod history;
#[path = "../../../drivers/virt/corefold/order.rs"]
pub mod order;
#[path = "../../../drivers/virt/corefold/packing.rs"]
pub mod packing;
#[path = "../../../drivers/virt/corefold/policy.rs"]
pub mod policy;
#[path = "../../../drivers/virt/corefold/rank.rs"]
pub mod rank;
#[path = "../../../drivers/virt/corefold/sample.rs"]
pub mod sample;
