// SPDX-License-Identifier: GPL-2.0

//! Tracepoints: one per sample, decision and action.
//!
//! C header: [`include/trace/events/corefold.h`](srctree/include/trace/events/corefold.h)

use kernel::{
    prelude::*,
    tracepoint::declare_trace, //
};

use crate::{
    policy::{
        Reason,
        Verdict, //
    },
    sample::Sample, //
};

declare_trace! {
    unsafe fn corefold_sample(steal_bp: c_int, active: c_uint, total: c_uint);
    unsafe fn corefold_decision(active: c_uint, target: c_uint, reason: c_int);
    unsafe fn corefold_action(from: c_uint, to: c_uint, ret: c_int);
}

/// The number that the trace header has for a reason.
fn reason_code(reason: Reason) -> c_int {
    match reason {
        Reason::High => 0,
        Reason::Low => 1,
        Reason::ConfirmHigh => 2,
        Reason::ConfirmLow => 3,
        Reason::Band => 4,
        Reason::Floor => 5,
        Reason::Full => 6,
        Reason::Bounds => 7,
        Reason::Rate => 8,
        Reason::Surplus => 9,
        Reason::Residue => 10,
        Reason::Probe => 11,
        Reason::Granted => 12,
        Reason::Refused => 13,
        Reason::Wait => 14,
        Reason::Stale => 15,
    }
}

/// A period was looked at.
pub(crate) fn sample(sample: Sample, active: u32, total: u32) {
    // CAST: Basis points fit.
    let steal_bp = sample.steal_bp().map_or(-1, |bp| bp as c_int);

    // SAFETY: Always safe to call.
    unsafe { corefold_sample(steal_bp, active, total) }
}

/// A policy answered.
pub(crate) fn decision(active: u32, verdict: &Verdict) {
    // SAFETY: Always safe to call.
    unsafe { corefold_decision(active, verdict.target, reason_code(verdict.reason)) }
}

/// A set of folded cores was published, or refused.
pub(crate) fn action(from: u32, to: u32, result: &Result) {
    let ret = match result {
        Ok(()) => 0,
        Err(error) => error.to_errno(),
    };

    // SAFETY: Always safe to call.
    unsafe { corefold_action(from, to, ret) }
}
