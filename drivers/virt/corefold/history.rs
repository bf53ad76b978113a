// SPDX-License-Identifier: GPL-2.0

//! The last decisions, and why they were made.
//!
//! Pure: uses `core` alone, and is compiled a second time for the host's tests.

use core::ops::DerefMut;

/// How many decisions are kept.
pub const LENGTH: usize = 256;

/// One decision, or several in a row that were the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When the first of them was made, in milliseconds since the module was loaded.
    pub first_ms: u64,
    /// When the last of them was made.
    pub last_ms: u64,
    /// How many they are.
    pub count: u64,
    /// The steal that the last of them saw, in basis points, if it was known.
    pub steal_bp: Option<u32>,
    /// Cores in use before.
    pub from: u32,
    /// Cores in use after.
    pub to: u32,
    /// What was done: the word for an action.
    pub action: &'static str,
    /// Why: the word for a reason.
    pub reason: &'static str,
}

impl Entry {
    /// Returns whether both say the same of an unchanged number of cores.
    fn repeats(&self, earlier: &Entry) -> bool {
        self.from == self.to
            && (self.from, self.to) == (earlier.from, earlier.to)
            && (self.action, self.reason) == (earlier.action, earlier.reason)
    }
}

/// A ring of decisions in the memory that it is given.
pub struct History<B> {
    entries: B,
    next: usize,
}

impl<B: DerefMut<Target = [Option<Entry>]>> History<B> {
    /// Creates a history in `entries`, which are all empty.
    pub fn new(entries: B) -> Self {
        Self { entries, next: 0 }
    }

    /// Notes a decision. One that says the same as the one before is joined with it, so that a
    /// quiet hour does not push out what happened before.
    pub fn push(&mut self, entry: Entry) {
        let Some(newest) = self.newest() else {
            return;
        };

        if let Some(earlier) = &mut self.entries[newest] {
            if entry.repeats(earlier) {
                earlier.last_ms = entry.last_ms;
                earlier.count = earlier.count.saturating_add(entry.count);
                earlier.steal_bp = entry.steal_bp;
                return;
            }
        }
        self.entries[self.next] = Some(entry);
        self.next = (self.next + 1) % self.entries.len();
    }

    /// Returns the place of the last decision, or where it would be if there has not been any.
    fn newest(&self) -> Option<usize> {
        match self.next {
            0 => self.entries.len().checked_sub(1),
            next => Some(next - 1),
        }
    }

    /// Returns the last decision.
    pub fn last(&self) -> Option<&Entry> {
        self.entries[self.newest()?].as_ref()
    }

    /// Returns the decisions, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        let (newer, older) = self.entries.split_at(self.next);

        older.iter().chain(newer).flatten()
    }
}

#[cfg_attr(
    CONFIG_COREFOLD_KUNIT_TEST,
    kernel::prelude::kunit_tests(corefold_history)
)]
#[cfg(any(test, CONFIG_COREFOLD_KUNIT_TEST))]
mod tests {
    use super::*;

    fn entry(ms: u64, to: u32) -> Entry {
        Entry {
            first_ms: ms,
            last_ms: ms,
            count: 1,
            steal_bp: Some(0),
            from: 4,
            to,
            action: "hold",
            reason: "band",
        }
    }

    #[test]
    fn repeats_are_joined() {
        let mut entries = [None; 4];
        let mut history = History::new(&mut entries[..]);
        history.push(entry(1, 4));
        history.push(entry(2, 4));
        // What changes something is never joined.
        history.push(entry(3, 3));
        history.push(entry(4, 3));
        let mut entries = history.iter();
        assert!(entries
            .next()
            .is_some_and(|entry| (entry.count, entry.first_ms, entry.last_ms) == (2, 1, 2)));
        assert_eq!(entries.count(), 2);
    }

    #[test]
    fn oldest_are_overwritten() {
        let mut entries = [None; 4];
        let mut history = History::new(&mut entries[..]);
        assert!(history.last().is_none());
        for ms in 0..10 {
            history.push(entry(ms, 3));
            assert!(history.last().is_some_and(|entry| entry.first_ms == ms));
        }
        assert_eq!(history.iter().count(), 4);
        for (entry, ms) in history.iter().zip(6..10) {
            assert_eq!(entry.first_ms, ms);
        }
    }

    #[test]
    fn no_room_no_history() {
        let mut history = History::new(&mut [][..]);
        history.push(entry(0, 3));
        assert_eq!(history.iter().count(), 0);
        assert!(history.last().is_none());
    }
}
