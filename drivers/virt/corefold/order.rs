// SPDX-License-Identifier: GPL-2.0

//! Which cores to use.
//!
//! Pure: uses `core` alone, and is compiled a second time for the host's tests.
//!
//! All cores stand in one row: those that can deliver least first, among equals one last-level
//! cache after the other, among those the highest number first. Folding takes cores from the front
//! of that row, so unfolding gives them back in the reverse order, and the same number always means
//! the same cores.
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
    /// How well it is served by the hypervisor; more is better.
    pub rank: u32,
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
}

impl Core {
    /// What cores are ordered by, the first to go first.
    fn key(&self) -> (u32, u32, u32) {
        (self.rank, !self.llc, !self.number)
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

/// Puts cores into the order in which they are folded.
pub fn sort(cores: &mut [Core]) {
    cores.sort_unstable_by_key(Core::key);
}

/// Returns whether some core after `cores[at]` can stand in for it in all that it must be kept for.
///
/// Cores behind are the better ones and fold later, so the last of each set is the one that stays.
fn replaceable(cores: &[Core], at: usize) -> bool {
    let core = &cores[at];
    let rest = || cores[at + 1..].iter().filter(|other| other.eligible);

    rest().any(|other| other.domain == core.domain)
        && (0..KEEP_SETS).all(|set| !core.keep[set] || rest().any(|other| other.keep[set]))
}

/// Chooses the cores to fold so that `target` eligible ones stay in use, and marks them.
///
/// Expects the cores [`sort`]ed. Returns how many eligible cores stay in use: more than `target` if
/// fewer than asked for may go, never less than one if there is any.
pub fn plan(cores: &mut [Core], target: u32) -> u32 {
    let mut active = count(cores).eligible;
    let target = target.max(1);

    for at in 0..cores.len() {
        let fold = cores[at].eligible && active > target && replaceable(cores, at);

        cores[at].folded = fold;
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
        llc: 0,
        domain: 0,
        keep: [true; KEEP_SETS],
        eligible: true,
        folded: false,
    };

    /// Eight cores of two CPUs; caches are shared by every other core, as an emulator might have
    /// it.
    fn machine() -> [Core; 8] {
        let mut cores = [CORE; 8];
        for (at, core) in cores.iter_mut().enumerate() {
            core.number = 2 * at as u32;
            core.llc = 2 * (at as u32 % 2);
        }
        sort(&mut cores);
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
            core.rank = u32::from(core.number != 0);
            core.keep = [core.number == 4; KEEP_SETS];
        }
        sort(&mut cores);
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
        assert_eq!(plan(&mut cores, 1), 2);
        assert_eq!(folded(&cores), 0x5554 & !(1 << 12));
    }

    #[test]
    fn each_housekeeping_set_keeps_a_core() {
        let mut cores = machine();
        for core in &mut cores {
            core.keep = [core.number >= 12, core.number == 6];
        }
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
        assert_eq!(plan(&mut cores, 1), 1);
        assert_eq!(folded(&cores), 1 << 2);
        let count = count(&cores);
        assert_eq!(count.eligible, 2);
        assert_eq!(count.active, 1);
        assert_eq!(count.excluded, 6);
    }

    #[test]
    fn no_cores_no_harm() {
        assert_eq!(plan(&mut [], 3), 0);
        assert_eq!(count(&[]), Count::default());
    }
}
