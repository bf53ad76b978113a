// SPDX-License-Identifier: GPL-2.0

//! Scheduling domains.
//!
//! A CPU has a chain of domains, each of which spans the CPUs that load is balanced between on one
//! level of the topology.
//!
//! C headers: [`include/linux/sched/asym_priority.h`](srctree/include/linux/sched/asym_priority.h)
//! and [`include/linux/sched/sd_flags.h`](srctree/include/linux/sched/sd_flags.h)

use crate::{
    bindings,
    cpu::CpuId,
    cpumask::Cpumask,
    error::to_result,
    fmt,
    impl_flags,
    prelude::*, //
};

impl_flags!(
    /// What balancing does and minds in a domain.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct SdFlags(u32);

    /// One flag of a domain.
    ///
    /// Corresponds to the `SD_*` flags in C, which are documented there.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum SdFlag {
        /// Balance when about to become idle.
        BalanceNewidle = bindings::SD_BALANCE_NEWIDLE,
        /// Balance on exec.
        BalanceExec = bindings::SD_BALANCE_EXEC,
        /// Balance on fork and clone.
        BalanceFork = bindings::SD_BALANCE_FORK,
        /// Balance on wake-up.
        BalanceWake = bindings::SD_BALANCE_WAKE,
        /// Consider waking a task on the CPU that wakes it.
        WakeAffine = bindings::SD_WAKE_AFFINE,
        /// CPUs have different capacities.
        AsymCpuCapacity = bindings::SD_ASYM_CPUCAPACITY,
        /// All different capacities of the system are in the domain.
        AsymCpuCapacityFull = bindings::SD_ASYM_CPUCAPACITY_FULL,
        /// CPUs share their capacity: they are SMT siblings.
        ShareCpuCapacity = bindings::SD_SHARE_CPUCAPACITY,
        /// CPUs share a cluster.
        Cluster = bindings::SD_CLUSTER,
        /// CPUs share the last level cache.
        ShareLlc = bindings::SD_SHARE_LLC,
        /// Only one CPU balances at a time.
        Serialize = bindings::SD_SERIALIZE,
        /// CPUs of higher priority are filled first.
        AsymPacking = bindings::SD_ASYM_PACKING,
        /// Prefer to place tasks in a sibling domain.
        PreferSibling = bindings::SD_PREFER_SIBLING,
        /// The domain spans NUMA nodes.
        Numa = bindings::SD_NUMA,
    }
);

/// Each flag, and its name in C without the prefix.
const NAMES: [(SdFlag, &str); 14] = [
    (SdFlag::BalanceNewidle, "BALANCE_NEWIDLE"),
    (SdFlag::BalanceExec, "BALANCE_EXEC"),
    (SdFlag::BalanceFork, "BALANCE_FORK"),
    (SdFlag::BalanceWake, "BALANCE_WAKE"),
    (SdFlag::WakeAffine, "WAKE_AFFINE"),
    (SdFlag::AsymCpuCapacity, "ASYM_CPUCAPACITY"),
    (SdFlag::AsymCpuCapacityFull, "ASYM_CPUCAPACITY_FULL"),
    (SdFlag::ShareCpuCapacity, "SHARE_CPUCAPACITY"),
    (SdFlag::Cluster, "CLUSTER"),
    (SdFlag::ShareLlc, "SHARE_LLC"),
    (SdFlag::Serialize, "SERIALIZE"),
    (SdFlag::AsymPacking, "ASYM_PACKING"),
    (SdFlag::PreferSibling, "PREFER_SIBLING"),
    (SdFlag::Numa, "NUMA"),
];

impl SdFlags {
    /// Returns the flags that are set, with their names in C, less the `SD_` in front.
    pub fn iter(self) -> impl Iterator<Item = (SdFlag, &'static str)> {
        NAMES
            .into_iter()
            .filter(move |(flag, _)| self.contains(*flag))
    }
}

/// Formats the flags by their names, separated by `|`; `-` if there are none.
///
/// # Examples
///
/// ```
/// use kernel::sched::domain::{SdFlag, SdFlags};
/// use kernel::str::CString;
///
/// let flags = SdFlag::ShareLlc | SdFlag::AsymPacking;
/// assert_eq!(CString::try_from_fmt(fmt!("{flags}"))?.to_bytes(), b"SHARE_LLC|ASYM_PACKING");
///
/// let none = SdFlags::empty();
/// assert_eq!(CString::try_from_fmt(fmt!("{none}"))?.to_bytes(), b"-");
/// # Ok::<(), Error>(())
/// ```
impl fmt::Display for SdFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";

        for (_, name) in self.iter() {
            write!(f, "{separator}{name}")?;
            separator = "|";
        }
        if separator.is_empty() {
            f.write_str("-")?;
        }
        Ok(())
    }
}

/// What is known of a domain.
#[derive(Clone, Copy)]
pub struct Domain {
    name: [u8; bindings::SCHED_DOMAIN_NAME_LEN as usize],
    flags: SdFlags,
    prefer: Option<CpuId>,
}

impl Domain {
    fn new(info: &bindings::sched_domain_info) -> Self {
        Self {
            name: info.name,
            flags: SdFlags(info.flags),
            prefer: CpuId::from_i32(info.prefer_cpu),
        }
    }

    /// Returns the name of its level of the topology, for instance `MC`.
    pub fn name(&self) -> &str {
        CStr::from_bytes_until_nul(&self.name)
            .ok()
            .and_then(|name| name.to_str().ok())
            .unwrap_or("?")
    }

    /// Returns its flags.
    pub fn flags(&self) -> SdFlags {
        self.flags
    }

    /// Returns the CPU that asym packing prefers in the group that the CPU asked for is in, if
    /// packing is done in this domain.
    pub fn prefer(&self) -> Option<CpuId> {
        self.prefer
    }
}

/// A walk through the domains of a CPU, the smallest first.
///
/// A CPU that is offline, that is isolated, or that is alone, has no domains. Domains may be
/// rebuilt between two steps, so that a walk may see some of the old and some of the new ones.
///
/// # Examples
///
/// ```
/// use kernel::cpu::CpuId;
/// use kernel::cpumask::CpumaskVar;
/// use kernel::sched::domain::{SdFlag, Walk};
///
/// let cpu = CpuId::from_u32(0).ok_or(EINVAL)?;
/// let mut span = CpumaskVar::new_zero(GFP_KERNEL)?;
/// let mut smaller = 1;
/// let mut walk = Walk::new(cpu, &mut span);
///
/// while let Some((domain, span)) = walk.up() {
///     assert!(span.test(cpu));
///     assert!(span.weight() >= smaller);
///     smaller = span.weight();
///
///     assert!(!domain.name().is_empty());
///     assert_eq!(domain.prefer().is_some(), domain.flags().contains(SdFlag::AsymPacking));
/// }
/// # Ok::<(), Error>(())
/// ```
pub struct Walk<'a> {
    cpu: CpuId,
    depth: u32,
    span: &'a mut Cpumask,
}

impl<'a> Walk<'a> {
    /// Begins a walk, which leaves the span of each domain in `span`.
    pub fn new(cpu: CpuId, span: &'a mut Cpumask) -> Self {
        Self {
            cpu,
            depth: 0,
            span,
        }
    }

    /// Goes one domain up. Returns it and its span, or nothing at the top.
    pub fn up(&mut self) -> Option<(Domain, &Cpumask)> {
        let domain = read(self.cpu, self.depth, self.span)?;

        self.depth += 1;
        Some((domain, self.span))
    }
}

/// Returns the domain of a CPU that has `depth` smaller ones, if there is one. Copies its span to
/// `span`, which is left as it is otherwise.
pub fn read(cpu: CpuId, depth: u32, span: &mut Cpumask) -> Option<Domain> {
    let mut info = bindings::sched_domain_info::default();

    // SAFETY: `info` and `span` are valid, and nobody else uses them. The CPU is checked.
    to_result(unsafe {
        bindings::sched_domain_read(i32::from(cpu), depth, &mut info, span.as_raw())
    })
    .ok()?;
    Some(Domain::new(&info))
}
