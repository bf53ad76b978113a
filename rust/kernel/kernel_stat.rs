// SPDX-License-Identifier: GPL-2.0

//! Kernel statistics.
//!
//! C headers: [`include/linux/kernel_stat.h`](srctree/include/linux/kernel_stat.h),
//! [`include/linux/sched/stat.h`](srctree/include/linux/sched/stat.h)

use crate::{
    bindings,
    cpu::{
        possible,
        CpuId, //
    }, //
};

/// What a CPU spends its time on.
///
/// Corresponds to `enum cpu_usage_stat` in C, and to the fields of a `cpu` line of `/proc/stat`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum CpuTime {
    /// User space, [`Guest`](Self::Guest) included.
    User = bindings::cpu_usage_stat_CPUTIME_USER,
    /// User space of lowered priority, [`GuestNice`](Self::GuestNice) included.
    Nice = bindings::cpu_usage_stat_CPUTIME_NICE,
    /// The kernel, less what is listed here.
    System = bindings::cpu_usage_stat_CPUTIME_SYSTEM,
    /// Softirqs.
    SoftIrq = bindings::cpu_usage_stat_CPUTIME_SOFTIRQ,
    /// Interrupts.
    Irq = bindings::cpu_usage_stat_CPUTIME_IRQ,
    /// Idle, less [`IoWait`](Self::IoWait).
    Idle = bindings::cpu_usage_stat_CPUTIME_IDLE,
    /// Idle while a task waits for I/O.
    IoWait = bindings::cpu_usage_stat_CPUTIME_IOWAIT,
    /// Runnable, but the hypervisor ran something else.
    Steal = bindings::cpu_usage_stat_CPUTIME_STEAL,
    /// A virtual machine.
    Guest = bindings::cpu_usage_stat_CPUTIME_GUEST,
    /// A virtual machine of lowered priority.
    GuestNice = bindings::cpu_usage_stat_CPUTIME_GUEST_NICE,
}

/// Returns how much time `cpu` has spent on `what` since boot, in nanoseconds.
///
/// Corresponds to `kcpustat_field()` in C. [`Idle`](CpuTime::Idle) and [`IoWait`](CpuTime::IoWait)
/// go on while the tick is stopped. The others are brought up to date by the tick, or when the CPU
/// enters or leaves the idle state; [`Steal`](CpuTime::Steal) stays zero where nothing reports it.
/// Successive values may go backwards, so compute differences with care.
///
/// Returns 0 for a CPU that is not possible.
///
/// # Examples
///
/// ```
/// use kernel::cpu::CpuId;
/// use kernel::kernel_stat::{cpu_time, CpuTime};
/// use kernel::time::{delay::fsleep, Delta, Instant, Monotonic};
///
/// const PARTS: [CpuTime; 8] = [
///     CpuTime::User,
///     CpuTime::Nice,
///     CpuTime::System,
///     CpuTime::SoftIrq,
///     CpuTime::Irq,
///     CpuTime::Idle,
///     CpuTime::IoWait,
///     CpuTime::Steal,
/// ];
///
/// let cpu = CpuId::from_u32(0).ok_or(EINVAL)?;
/// let total = || PARTS.iter().map(|what| cpu_time(cpu, *what)).sum::<u64>();
///
/// let start = Instant::<Monotonic>::now();
/// let before = total();
///
/// // Time passes, though it may do so without a tick.
/// let passes = (0..100).any(|_| {
///     fsleep(Delta::from_millis(50));
///     total() > before
/// });
/// assert!(passes);
///
/// // No more of it than there was, other than what had not been accounted for yet.
/// let passed = total().saturating_sub(before);
/// let slack = Delta::from_millis(100).as_nanos();
/// assert!(passed as i64 <= start.elapsed().as_nanos() + slack);
/// # Ok::<(), Error>(())
/// ```
pub fn cpu_time(cpu: CpuId, what: CpuTime) -> u64 {
    if !possible().test(cpu) {
        return 0;
    }

    // CAST: `CpuTime` has the representation and the values of the C enum.
    let usage = what as bindings::cpu_usage_stat;

    // SAFETY: `cpu` is a possible CPU, so that its per-CPU data exists.
    unsafe { bindings::kcpustat_field(usage, i32::from(cpu)) }
}

/// Returns how many tasks run or are ready to run on the CPUs that are online.
///
/// Corresponds to `nr_running()` in C, and to `procs_running` of `/proc/stat`. The caller is one of
/// them. The CPUs are looked at one after the other, so the sum may never have been true at any one
/// moment.
///
/// # Examples
///
/// ```
/// use kernel::kernel_stat::nr_running;
///
/// // Whoever asks does run.
/// assert!(nr_running() >= 1);
/// # Ok::<(), Error>(())
/// ```
pub fn nr_running() -> u32 {
    // SAFETY: Always safe to call.
    unsafe { bindings::nr_running() }
}
