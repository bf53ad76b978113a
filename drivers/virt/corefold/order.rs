// SPDX-License-Identifier: GPL-2.0

//! Which cores to use.
//!
//! Pure: uses `core` alone, and is compiled a second time for the host's tests.
//!
//! All cores stand in one row: those that can deliver least first; among those that can deliver the
//! same, the ones that got least of the time that they wanted; among equals one last-level cache
//! after the other, and among those the highest number first. Folding takes cores from the front of
//! that row, so unfolding gives them back in the reverse order, and the same number means the same
//! cores.
//!
//! What a core gets is measured, and a folded core is not measured any more. So that cores are not
//! exchanged for each other each time that a measurement changes, those that are folded stand
//! before those that can deliver the same and are not.
//!
//! Some never go: a core that the scheduler will not fold at all, and the last core of a root
//! domain or of a housekeeping set, because work that is confined to those has nowhere else to be.

/// Sets of CPUs that do the housekeeping, of each of which one core is kept.
pub const KEEP_SETS: usize = 2;

/// One core: all active SMT siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// Its lowest CPU.
    pub number: u32,
    /// What it is worth; see [`Cpu::worth`](crate::rank::Cpu::worth).
    pub rank: u64,
    /// What it gets; see [`Share::steps`](crate::rank::Share::steps).
    pub steps: u32,
    /// The lowest CPU that it shares the last-level cache with.
    pub llc: u32,
    /// The lowest CPU of its root domain.
    pub domain: u32,
    /// Which housekeeping sets it belongs to.
    pub keep: [bool; KEEP_SETS],
    /// The scheduler may fold it. Others, those of isolated partitions, are left alone.
    pub eligible: bool,
    /// It is folded.
    pub folded: bool,
    /// It never goes: it is the last of something. Found out by [`sort`].
    pub last: bool,
}

impl Core {
    /// What cores are ordered by, the first to go first.
    fn key(&self) -> (u64, bool, u32, u32, u32) {
        (self.rank, !self.folded, self.steps, !self.llc, !self.number)
    }
}

/// How many cores there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// May be folded, or are.
    pub eligible: u32,
    /// Of those, in use.
    pub active: u32,
    /// Are left alone.
    pub excluded: u32,
}

/// Counts cores.
pub fn count(cores: &[Core]) -> Count {
    let mut count = Count::default();

    for core in cores {
        if core.eligible {
            count.eligible += 1;
            count.active += u32::from(!core.folded);
        } else {
            count.excluded += 1;
        }
    }
    count
}

/// Puts cores into the order in which they are folded, and finds out which of them never go.
///
/// `seen` is room to work in, one for each CPU. A core of a domain that it has no room for is kept.
pub fn sort(cores: &mut [Core], seen: &mut [bool]) {
    let mut kept = [false; KEEP_SETS];

    cores.sort_unstable_by_key(Core::key);
    seen.fill(false);
    // Cores behind are the better ones and fold later, so the last of each set is the one that
    // stays.
    for core in cores.iter_mut().rev() {
        if !core.eligible {
            core.last = false;
            continue;
        }
        core.last = match seen.get_mut(core.domain as usize) {
            Some(seen) => !core::mem::replace(seen, true),
            None => true,
        };
        for (kept, _) in kept.iter_mut().zip(core.keep).filter(|(_, keeps)| *keeps) {
            core.last |= !core::mem::replace(kept, true);
        }
    }
}

/// Returns how many eligible cores stay in use when all others are folded.
///
/// Expects the cores [`sort`]ed. This is what [`plan`] comes to for a target of one.
pub fn least(cores: &[Core]) -> u32 {
    cores
        .iter()
        .fold(0, |least, core| least + u32::from(core.last))
}

/// Chooses the cores to fold so that `target` eligible ones stay in use, and marks them.
///
/// Expects the cores [`sort`]ed. Returns how many eligible cores stay in use: more than `target` if
/// fewer than asked for may go, never less than one if there is any.
pub fn plan(cores: &mut [Core], target: u32) -> u32 {
    let mut active = count(cores).eligible;
    let target = target.max(1);

    for core in cores.iter_mut() {
        let fold = core.eligible && !core.last && active > target;

        core.folded = fold;
        active -= u32::from(fold);
    }
    active
}

#[cfg_attr(
    CONFIG_COREFOLD_KUNIT_TEST,
    kernel::prelude::kunit_tests(corefold_order)
)]
#[cfg(any(test, CONFIG_COREFOLD_KUNIT_TEST))]
mod tests {
    use super::*;

    const CORE: Core = Core {
        number: 0,
        rank: 0,
        steps: 8,
        llc: 0,
        domain: 0,
        keep: [true; KEEP_SETS],
        eligible: true,
        folded: false,
        last: false,
    };

    /// Sorts cores of CPUs below 16.
    fn sorted(cores: &mut [Core]) {
        sort(cores, &mut [false; 16]);
    }

    /// Eight cores of two CPUs; caches are shared by every other core, as an emulator might have
    /// it.
    fn machine() -> [Core; 8] {
        let mut cores = [CORE; 8];
        for (at, core) in cores.iter_mut().enumerate() {
            core.number = 2 * at as u32;
            core.llc = 2 * (at as u32 % 2);
        }
        sorted(&mut cores);
        cores
    }

    /// The lowest CPUs of the folded cores, as bits.
    fn folded(cores: &[Core]) -> u32 {
        cores
            .iter()
            .filter(|core| core.folded)
            .fold(0, |bits, core| bits | 1 << core.number)
    }

    #[test]
    fn whole_caches_go_first() {
        let mut cores = machine();
        assert_eq!(plan(&mut cores, 7), 7);
        assert_eq!(folded(&cores), 1 << 14);
        assert_eq!(plan(&mut cores, 4), 4);
        assert_eq!(folded(&cores), 1 << 14 | 1 << 10 | 1 << 6 | 1 << 2);
        assert_eq!(plan(&mut cores, 3), 3);
        assert_eq!(
            folded(&cores),
            1 << 14 | 1 << 10 | 1 << 6 | 1 << 2 | 1 << 12
        );
    }

    #[test]
    fn low_rank_goes_before_anything_else() {
        let mut cores = machine();
        for core in &mut cores {
            core.rank = u64::from(core.number != 0);
            core.keep = [core.number == 4; KEEP_SETS];
        }
        sorted(&mut cores);
        assert_eq!(plan(&mut cores, 7), 7);
        assert_eq!(folded(&cores), 1);
    }

    #[test]
    fn unfolding_is_folding_in_reverse() {
        let mut cores = machine();
        let mut sets = [0; 9];
        for target in (1..=8).rev() {
            plan(&mut cores, target);
            sets[target as usize] = folded(&cores);
        }
        for target in 1..=8 {
            plan(&mut cores, target);
            assert_eq!(folded(&cores), sets[target as usize]);
        }
        assert_eq!(sets[8], 0);
    }

    #[test]
    fn one_core_stays() {
        let mut cores = machine();
        assert_eq!(plan(&mut cores, 0), 1);
        assert_eq!(folded(&cores), 0x5554);
    }

    #[test]
    fn each_root_domain_keeps_a_core() {
        let mut cores = machine();
        for core in &mut cores {
            core.domain = if core.number < 10 { 0 } else { 10 };
        }
        sorted(&mut cores);
        assert_eq!(plan(&mut cores, 1), 2);
        assert_eq!(folded(&cores), 0x5554 & !(1 << 12));
    }

    #[test]
    fn each_housekeeping_set_keeps_a_core() {
        let mut cores = machine();
        for core in &mut cores {
            core.keep = [core.number >= 12, core.number == 6];
        }
        sorted(&mut cores);
        // CPU 12 stays for the first set, CPU 6 for the second, CPU 0 for its domain.
        assert_eq!(plan(&mut cores, 1), 3);
        assert_eq!(folded(&cores), 0x5554 & !(1 << 12) & !(1 << 6));
        assert_eq!(plan(&mut cores, 3), 3);
    }

    #[test]
    fn excluded_cores_are_left_alone() {
        let mut cores = machine();
        for core in &mut cores {
            core.eligible = core.number < 4;
        }
        sorted(&mut cores);
        assert_eq!(plan(&mut cores, 1), 1);
        assert_eq!(folded(&cores), 1 << 2);
        let count = count(&cores);
        assert_eq!(count.eligible, 2);
        assert_eq!(count.active, 1);
        assert_eq!(count.excluded, 6);
    }

    #[test]
    fn least_served_goes_first_among_equals() {
        let mut cores = machine();
        for core in &mut cores {
            core.steps = if core.number == 4 { 3 } else { 8 };
            core.rank = u64::from(core.number > 2);
        }
        sorted(&mut cores);
        assert_eq!(plan(&mut cores, 5), 5);
        assert_eq!(folded(&cores), 1 << 2 | 1 << 0 | 1 << 4);
    }

    #[test]
    fn folded_cores_are_not_exchanged_for_their_like() {
        let mut cores = machine();
        plan(&mut cores, 6);
        let before = folded(&cores);
        for core in &mut cores {
            core.steps = if core.folded { 8 } else { 1 };
        }
        sorted(&mut cores);
        plan(&mut cores, 6);
        assert_eq!(folded(&cores), before);
        // The next to go is the worst of those in use.
        for core in &mut cores {
            core.steps = if core.number == 4 { 0 } else { 8 };
        }
        sorted(&mut cores);
        plan(&mut cores, 5);
        assert_eq!(folded(&cores), before | 1 << 4);
    }

    #[test]
    fn without_room_all_are_kept() {
        let mut cores = machine();
        sort(&mut cores, &mut []);
        assert_eq!(least(&cores), 8);
        assert_eq!(plan(&mut cores, 1), 8);
    }

    #[test]
    fn no_cores_no_harm() {
        assert_eq!(least(&[]), 0);
        assert_eq!(plan(&mut [], 3), 0);
        assert_eq!(count(&[]), Count::default());
    }
}
