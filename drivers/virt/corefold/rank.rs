// SPDX-License-Identifier: GPL-2.0

//! What CPUs are worth, and the priorities that say so.
//!
//! Pure: uses `core` alone, and is compiled a second time for the host's tests.
//!
//! The platform puts CPUs into classes; how much of the time that it wants a core gets is measured.
//! From both comes one number for each CPU, its priority. Asym packing fills CPUs by nothing but
//! the order of these numbers, and the cache guard looks at the distance between two of them, so
//! both have to be right however many CPUs and classes there are.

/// The capacity of a core that gets all the time that it wants, as everywhere in the scheduler.
pub const CAPACITY: u32 = 1024;

/// How many steps capacity is told in. Steal is measured at ticks, and no finer than that.
pub const STEPS: u32 = 8;

const STEP: u32 = CAPACITY / STEPS;

/// What a new measurement counts for in the average, as a divisor. At one sample a second half of
/// a change is there after two to three of them. It is the time constant of s390's hiperdispatch,
/// which takes four samples a second and gives each a sixteenth.
const WEIGHT: u32 = 4;

/// Fractions of a unit of capacity that the average is kept in.
const FINE: u32 = 256;

/// A core that wanted less than this part of the time of one CPU says nothing of what it would get.
const WANTED: u64 = 16;

/// How much of the time that it wanted a core got: averaged over several periods, and told in steps
/// that do not flicker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    average: u32,
    steps: u32,
}

impl Share {
    /// A core of which nothing bad is known.
    pub const FULL: Share = Share {
        average: CAPACITY * FINE,
        steps: STEPS,
    };

    /// Takes a period of `elapsed` nanoseconds in which the CPUs of a core ran for `got`, and would
    /// have run for `stolen` more.
    ///
    /// An idle core has nothing stolen from it. So it keeps the share that it had.
    pub fn update(&mut self, got: u64, stolen: u64, elapsed: u64) {
        let wanted = got.saturating_add(stolen);
        if wanted == 0 || wanted < elapsed / WANTED {
            return;
        }

        let full = u64::from(CAPACITY);
        // At most the full capacity, so that it fits.
        let share = (got / (wanted / full).max(1)).min(full) as u32;
        self.average = self.average - self.average / WEIGHT + share * FINE / WEIGHT;
        self.settle();
    }

    /// Takes the nearest step, once the average is well beyond the middle between that and the
    /// present one.
    fn settle(&mut self) {
        let step = STEP * FINE;

        if self.average.abs_diff(self.steps * step) > step / 4 * 3 {
            self.steps = (self.average + step / 2) / step;
        }
    }

    /// Returns the share in steps, of which [`STEPS`] are all.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Returns the share of a capacity of [`CAPACITY`].
    pub fn capacity(&self) -> u32 {
        self.steps * STEP
    }
}

/// A CPU to be ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Its number.
    pub number: u32,
    /// What decides among equals, the lower going first: its number, or that of its core.
    pub place: u32,
    /// The class that the platform puts it in; more is better.
    pub class: u32,
    /// What its core gets, in steps; see [`Share::steps`]. All of them where that is not to count.
    pub steps: u32,
    /// What comes of it.
    pub priority: i32,
}

impl Cpu {
    /// Creates a CPU of which nothing is known.
    pub const fn new(number: u32) -> Self {
        Self {
            number,
            place: number,
            class: 0,
            steps: STEPS,
            priority: 0,
        }
    }

    /// Returns what it is worth.
    pub fn worth(&self) -> u64 {
        worth(self.class, self.steps)
    }
}

/// Returns what is left of a class for those that get so many steps of it.
pub fn worth(class: u32, steps: u32) -> u64 {
    u64::from(class) * u64::from(steps)
}

/// Returns whether there is more than one class.
pub fn differ(cpus: &[Cpu]) -> bool {
    cpus.windows(2).any(|pair| pair[0].class != pair[1].class)
}

/// How far apart priorities are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spacing {
    /// From one worth to the next.
    stride: u64,
    /// How many worths a class has.
    worths: u64,
    /// The most by which the number of a CPU can change its priority.
    slack: u64,
}

impl Spacing {
    /// Priorities are ranks as they are: those that somebody else gives.
    pub const PLAIN: Spacing = Spacing {
        stride: 1,
        worths: 1,
        slack: 0,
    };

    /// The largest priority.
    const MOST: u64 = i32::MAX as u64;

    /// Returns the spacing for CPUs with numbers below `ids`, which decide between equals if `ties`
    /// says so.
    ///
    /// Twice as much room as there are numbers keeps classes apart: the difference of two
    /// priorities says by how many classes CPUs differ, whatever their numbers.
    fn new(ids: u32, ties: bool) -> Self {
        let slack = u64::from(ids.saturating_sub(1)) * u64::from(ties);

        Self {
            stride: 2 * slack + 1,
            worths: u64::from(STEPS),
            slack: slack.min(Self::MOST),
        }
    }

    /// Returns the priority of a CPU: by what it is worth, and among equals by its place.
    fn priority(&self, worth: u64, place: u32) -> i32 {
        let first = self.slack.saturating_sub(u64::from(place));
        let most = (Self::MOST - self.slack) / self.stride;

        // It fits: neither part is more than what the other leaves.
        (worth.min(most) * self.stride + first) as i32
    }

    /// Returns the least difference of the priorities of CPUs that are `classes` apart. CPUs that
    /// are less far apart differ by less. Of no class apart is whoever differs at all.
    pub fn gap(&self, classes: u32) -> u32 {
        if classes == 0 {
            return 0;
        }
        let gap = u64::from(classes)
            .saturating_mul(self.worths)
            .saturating_mul(self.stride);

        // It fits, being at most the largest priority.
        gap.saturating_sub(self.slack).min(Self::MOST) as u32
    }
}

/// Gives CPUs, all of whose numbers and places are below `ids`, their priorities. Returns how far
/// apart these are.
///
/// A CPU that is worth more has the higher priority. Of those worth the same, the one with the
/// lower place has if `ties` says so, else they have the same. The priority of a CPU follows from
/// what it is itself, so that a change of one changes no other.
///
/// Priorities being of 32 bits, classes above 16384 are one on the largest machine that a kernel
/// can be built for, of 8192 CPUs. Platforms have some hundreds of them, and for 1024 there is room
/// on a machine of 131072 CPUs.
pub fn rank(cpus: &mut [Cpu], ids: u32, ties: bool) -> Spacing {
    let spacing = Spacing::new(ids, ties);

    for cpu in cpus {
        cpu.priority = spacing.priority(cpu.worth(), cpu.place);
    }
    spacing
}

#[cfg_attr(
    CONFIG_COREFOLD_KUNIT_TEST,
    kernel::prelude::kunit_tests(corefold_rank)
)]
#[cfg(any(test, CONFIG_COREFOLD_KUNIT_TEST))]
mod tests {
    use super::*;

    const SEC: u64 = 1_000_000_000;

    #[test]
    fn share_follows_slowly() {
        let mut share = Share::FULL;
        assert_eq!(share.capacity(), 1024);
        // One bad second is not much.
        share.update(0, SEC / 2, SEC);
        assert_eq!(share.capacity(), 768);
        for _ in 0..20 {
            share.update(SEC / 4, SEC / 4, SEC);
        }
        assert_eq!(share.capacity(), 512);
        for _ in 0..60 {
            share.update(SEC, 0, SEC);
        }
        assert_eq!(share, Share::FULL);
    }

    #[test]
    fn an_idle_core_keeps_its_share() {
        let mut share = Share::FULL;
        for _ in 0..40 {
            share.update(SEC / 4, 3 * SEC / 4, SEC);
        }
        let low = share;
        assert_eq!(low.capacity(), 256);
        share.update(0, 0, SEC);
        share.update(SEC / 17, 0, SEC);
        assert_eq!(share, low);
    }

    #[test]
    fn steps_do_not_flicker() {
        let mut share = Share::FULL;
        // Between two steps: 960 of 1024, give or take a few per cent.
        for period in 0..100 {
            let stolen = if period % 2 == 0 { SEC / 10 } else { SEC / 50 };
            share.update(SEC - stolen, stolen, SEC);
            assert_eq!(share.steps(), STEPS);
        }
    }

    #[test]
    fn wild_times_do_no_harm() {
        let mut share = Share::FULL;
        share.update(u64::MAX, u64::MAX, u64::MAX);
        share.update(1, u64::MAX, 0);
        share.update(u64::MAX, 1, 1);
        share.update(0, 0, 0);
        assert!(share.steps() <= STEPS);
    }

    #[test]
    fn class_goes_before_number() {
        let mut cpus = [0, 1, 2, 3].map(Cpu::new);
        for (cpu, class) in cpus.iter_mut().zip([100, 236, 100, 236]) {
            cpu.class = class;
        }
        assert!(differ(&cpus));
        rank(&mut cpus, 4, true);
        assert!(cpus[1].priority > cpus[3].priority);
        assert!(cpus[3].priority > cpus[0].priority);
        assert!(cpus[0].priority > cpus[2].priority);
        rank(&mut cpus, 4, false);
        assert!(cpus[1].priority == cpus[3].priority);
        assert!(cpus[3].priority > cpus[0].priority);
        assert!(cpus[0].priority == cpus[2].priority);
    }

    #[test]
    fn equal_classes_do_not_differ() {
        assert!(!differ(&[]));
        assert!(!differ(&[0, 1, 2].map(Cpu::new)));
    }

    #[test]
    fn a_change_changes_one_priority() {
        let mut cpus = [0, 1, 2, 3].map(|number| Cpu {
            class: 1024,
            ..Cpu::new(number)
        });
        rank(&mut cpus, 4, true);
        let before = cpus;
        cpus[1].steps = 5;
        rank(&mut cpus, 4, true);
        assert!(cpus[1].priority < before[3].priority);
        assert!(cpus[0] == before[0] && cpus[2] == before[2] && cpus[3] == before[3]);
    }

    #[test]
    fn priorities_end_before_they_wrap() {
        let mut cpus = [0, 1, 8_190, 8_191].map(Cpu::new);
        for (cpu, class) in cpus.iter_mut().zip([u32::MAX, 16_384, 16_383, 0]) {
            cpu.class = class;
        }
        rank(&mut cpus, 8_192, true);
        assert!(cpus[0].priority > cpus[1].priority);
        assert!(cpus[1].priority > cpus[2].priority);
        assert!(cpus[2].priority > 0);
        assert_eq!(cpus[3].priority, 0);
        rank(&mut cpus, u32::MAX, true);
        assert!(cpus[0].priority > cpus[1].priority);
    }

    #[test]
    fn gap_is_in_classes() {
        let mut cpus = [0, 63].map(Cpu::new);
        cpus[0].class = 100;
        cpus[1].class = 103;
        let spacing = rank(&mut cpus, 64, true);
        let difference = cpus[1].priority.abs_diff(cpus[0].priority);
        assert!(difference >= spacing.gap(3));
        assert!(difference < spacing.gap(4));
        assert_eq!(spacing.gap(0), 0);
        assert_eq!(spacing.gap(u32::MAX), i32::MAX as u32);
        assert_eq!(Spacing::PLAIN.gap(136), 136);
    }
}
