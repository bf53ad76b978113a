// SPDX-License-Identifier: GPL-2.0

//! Guest memory that the host shares: an anonymous file, so that nothing is left behind whatever happens.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};
use memmap2::MmapRaw;
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::arch::Arch;

/// Up to here guest physical addresses are file offsets on all machines that the lab uses.
pub const MAX_MIB: u64 = 2048;

/// The memory of one guest.
pub struct GuestMemory {
    file: File,
    size: u64,
    arch: Arch,
}

impl GuestMemory {
    /// Makes a file of `mib` MiB for a machine.
    pub fn new(name: &CStr, mib: u64, arch: Arch) -> Result<Self> {
        ensure!(
            (64..=MAX_MIB).contains(&mib),
            "guest memory is 64..={MAX_MIB} MiB, not {mib}"
        );
        let file = File::from(memfd_create(name, MFdFlags::MFD_CLOEXEC).context("memfd_create")?);
        let size = mib << 20;
        file.set_len(size)
            .with_context(|| format!("making a file of {mib} MiB"))?;
        Ok(Self { file, size, arch })
    }

    /// A path at which the emulator can open the file while this process lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Maps the guest's array of `cpus` counters at the guest physical address `phys`.
    pub fn counters(&self, phys: u64, cpus: usize) -> Result<Counters> {
        let bytes = cpus.checked_mul(8).context("too many CPUs")?;
        ensure!(
            phys.is_multiple_of(4096) && phys != 0,
            "the guest's steal page at {phys:#x} is not a page"
        );
        ensure!(
            phys.checked_add(bytes as u64)
                .is_some_and(|end| end <= self.size),
            "the guest's steal page at {phys:#x} lies outside its memory"
        );
        let map = memmap2::MmapOptions::new()
            .offset(phys)
            .len(bytes)
            .map_raw(&self.file)
            .context("mapping the guest's steal page")?;
        Ok(Counters {
            map,
            cpus,
            arch: self.arch,
        })
    }
}

/// The guest's per-CPU counters of stolen nanoseconds.
pub struct Counters {
    map: MmapRaw,
    cpus: usize,
    arch: Arch,
}

impl Counters {
    /// Sets the counter of `cpu`; the guest sees the old value or the new one.
    ///
    /// Panics if there is no such CPU.
    pub fn set(&self, cpu: usize, ns: u64) {
        self.slot(cpu).store(self.arch.word(ns), Ordering::Relaxed);
    }

    fn slot(&self, cpu: usize) -> &AtomicU64 {
        assert!(cpu < self.cpus);
        // SAFETY: The mapping is page aligned, at least `cpus` words long, writable, and lives as long as `self`.
        // All accesses of this process go through this function. The guest's are single aligned loads.
        unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().cast::<u64>().add(cpu)) }
    }

    #[cfg(test)]
    fn get(&self, cpu: usize) -> u64 {
        self.arch.word(self.slot(cpu).load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_mappings_see_a_counter() {
        let memory = GuestMemory::new(c"test", 64, Arch::X86_64).unwrap();
        let (one, two) = (
            memory.counters(0x5000, 4).unwrap(),
            memory.counters(0x5000, 4).unwrap(),
        );
        one.set(3, 0x0123_4567_89ab_cdef);
        assert_eq!(two.get(3), 0x0123_4567_89ab_cdef);
        assert_eq!(two.get(2), 0);
        let mut bytes = [0; 8];
        std::os::unix::fs::FileExt::read_exact_at(&memory.file, &mut bytes, 0x5018).unwrap();
        assert_eq!(u64::from_le_bytes(bytes), 0x0123_4567_89ab_cdef);
    }

    #[test]
    fn a_word_is_in_the_order_of_the_guest() {
        let memory = GuestMemory::new(c"test", 64, Arch::S390).unwrap();
        memory.counters(0x5000, 1).unwrap().set(0, 1);
        let mut bytes = [0; 8];
        std::os::unix::fs::FileExt::read_exact_at(&memory.file, &mut bytes, 0x5000).unwrap();
        assert_eq!(u64::from_be_bytes(bytes), 1);
    }

    #[test]
    fn a_page_outside_the_guest_is_refused() {
        let memory = GuestMemory::new(c"test", 64, Arch::X86_64).unwrap();
        for phys in [0, 12, 64 << 20, !4095] {
            assert!(memory.counters(phys, 4).is_err(), "{phys:#x}");
        }
    }

    #[test]
    fn a_wrong_size_is_refused() {
        assert!(GuestMemory::new(c"test", 16, Arch::X86_64).is_err());
        assert!(GuestMemory::new(c"test", MAX_MIB + 1, Arch::X86_64).is_err());
    }

    #[test]
    #[should_panic]
    fn a_cpu_too_many_panics() {
        GuestMemory::new(c"test", 64, Arch::X86_64)
            .unwrap()
            .counters(0x1000, 2)
            .unwrap()
            .set(2, 1);
    }
}
