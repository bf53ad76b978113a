// SPDX-License-Identifier: GPL-2.0

//! Keeps a guest's steal counters current.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::memory::Counters;
use crate::schedstat::RunDelay;

/// How often: a guest tick is 4 ms, the shortest interval of the module 100 ms.
const PERIOD: Duration = Duration::from_millis(5);

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    failed: AtomicBool,
    total: AtomicU64,
}

/// A thread that copies the run delay of each virtual CPU into the guest, until dropped.
pub struct Publisher {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Publisher {
    /// Starts one. `threads` are the host threads of the guest's CPUs, in the order of the CPUs; their counters
    /// start at zero.
    pub fn start(pid: u32, threads: &[u32], counters: Counters) -> Result<Self> {
        let delays = threads
            .iter()
            .map(|&tid| RunDelay::open(pid, tid))
            .collect::<Result<Vec<_>>>()?;
        let bases = delays
            .iter()
            .map(RunDelay::read)
            .collect::<Result<Vec<_>>>()?;
        let shared = Arc::new(Shared::default());
        let thread = std::thread::Builder::new()
            .name("publisher".into())
            .spawn({
                let shared = shared.clone();
                move || publish(&delays, &bases, &counters, &shared)
            })
            .context("starting the publisher")?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// All that was published, in nanoseconds, summed over the CPUs.
    pub fn total_ns(&self) -> u64 {
        self.shared.total.load(Ordering::Relaxed)
    }

    /// Whether a thread of the guest went away.
    pub fn failed(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed)
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn publish(delays: &[RunDelay], bases: &[u64], counters: &Counters, shared: &Shared) {
    while !shared.stop.load(Ordering::Relaxed) {
        let mut total = 0;
        for (cpu, (delay, base)) in delays.iter().zip(bases).enumerate() {
            let Ok(now) = delay.read() else {
                shared.failed.store(true, Ordering::Relaxed);
                return;
            };
            let ns = now.saturating_sub(*base);
            counters.set(cpu, ns);
            total += ns;
        }
        shared.total.store(total, Ordering::Relaxed);
        std::thread::sleep(PERIOD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Arch;
    use crate::memory::GuestMemory;

    #[test]
    fn publishes_and_stops() {
        let memory = GuestMemory::new(c"test", 64, Arch::X86_64).unwrap();
        let pid = std::process::id();
        let publisher = Publisher::start(pid, &[pid], memory.counters(0x1000, 1).unwrap()).unwrap();
        std::thread::sleep(Duration::from_millis(30));
        assert!(!publisher.failed());
        let _ = publisher.total_ns();
    }

    #[test]
    fn a_thread_that_is_not_there_is_an_error() {
        let memory = GuestMemory::new(c"test", 64, Arch::X86_64).unwrap();
        let counters = memory.counters(0x1000, 1).unwrap();
        assert!(Publisher::start(std::process::id(), &[u32::MAX], counters).is_err());
    }
}
