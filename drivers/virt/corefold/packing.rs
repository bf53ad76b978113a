// SPDX-License-Identifier: GPL-2.0

//! Where to pack, and what packing has to yield to.
//!
//! Pure: uses `core` alone, and is compiled a second time for the host's tests.

use core::{
    ffi::CStr,
    fmt, //
};

/// The longest list of levels.
pub const LEVELS_MAX: usize = 31;

/// What stands for a list of no levels.
const NONE: &str = "none";

/// Levels of the topology, by their names: `MC,PKG`.
///
/// # Invariants
///
/// The text is made of names of upper case letters and digits, with a comma between two of them,
/// none of them twice. What follows it is zero.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Levels([u8; LEVELS_MAX + 1]);

impl Levels {
    /// No level.
    // INVARIANT: The text is empty.
    pub const NONE: Levels = Levels([0; LEVELS_MAX + 1]);

    /// Reads a list of levels; `none` or nothing is the empty one. Whether there are such levels,
    /// the kernel has to say.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.is_empty() || text == NONE.as_bytes() {
            return Some(Self::NONE);
        }
        text.split(|byte| *byte == b',')
            .try_fold(Self::NONE, |levels, name| levels.with(name))
    }

    /// Returns the list that has one more level, if that is a name, not in it yet, and has room.
    pub fn with(&self, name: &[u8]) -> Option<Self> {
        let is_name = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        let text = self.as_c_str().to_bytes();
        let known = text.split(|byte| *byte == b',').any(|other| other == name);
        if name.is_empty() || known || !name.iter().all(is_name) {
            return None;
        }

        let mut bytes = self.0;
        let mut at = text.len();
        if at > 0 {
            *bytes.get_mut(at)? = b',';
            at += 1;
        }
        // The last byte stays zero.
        bytes
            .get_mut(at..LEVELS_MAX)?
            .get_mut(..name.len())?
            .copy_from_slice(name);
        // INVARIANT: The name was checked just above, and follows others after a comma.
        Some(Self(bytes))
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::NONE
    }

    /// Returns the text as the kernel takes it, empty if there is none.
    pub fn as_c_str(&self) -> &CStr {
        // By the type invariant, there always is a zero.
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_c_str().to_str() {
            Ok("") | Err(_) => f.write_str(NONE),
            Ok(names) => f.write_str(names),
        }
    }
}

impl fmt::Debug for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Who wins where asym packing and cache-aware scheduling disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Whoever does in this kernel by itself.
    Kernel,
    /// Packing, also where the kernel lets the cache win.
    Asym,
    /// Packing, and nothing is pulled to a cache of lower priority.
    Strict,
    /// The cache.
    Llc,
}

impl Guard {
    /// Every choice.
    pub const ALL: [Guard; 4] = [Guard::Kernel, Guard::Asym, Guard::Strict, Guard::Llc];

    /// Returns the word for the choice.
    pub fn name(self) -> &'static str {
        match self {
            Guard::Kernel => "kernel",
            Guard::Asym => "asym",
            Guard::Strict => "strict",
            Guard::Llc => "llc",
        }
    }

    /// Returns the choice of that name.
    pub fn parse(name: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|guard| guard.name().as_bytes() == name)
    }
}

#[cfg_attr(
    CONFIG_COREFOLD_KUNIT_TEST,
    kernel::prelude::kunit_tests(corefold_packing)
)]
#[cfg(any(test, CONFIG_COREFOLD_KUNIT_TEST))]
mod tests {
    use super::*;

    #[test]
    fn levels_are_kept_as_written() {
        let texts: [(&[u8], &CStr); 5] = [
            (b"", c""),
            (b"none", c""),
            (b"MC", c"MC"),
            (b"MC,BOOK,DRAWER", c"MC,BOOK,DRAWER"),
            (
                b"ABCDEFGHIJKLMNOPQRSTUVWXYZ01234",
                c"ABCDEFGHIJKLMNOPQRSTUVWXYZ01234",
            ),
        ];
        for (text, expected) in texts {
            assert!(Levels::parse(text).is_some_and(|levels| levels.as_c_str() == expected));
        }
        assert!(Levels::parse(b"none").is_some_and(|levels| levels.is_empty()));
        assert!(Levels::parse(b"MC").is_some_and(|levels| !levels.is_empty()));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        let texts: [&[u8]; 12] = [
            b",",
            b"MC,",
            b",MC",
            b"MC,,PKG",
            b"MC,MC",
            b"MC PKG",
            b"mc",
            b"MC,none",
            b"None",
            b"-1",
            b"MC\0",
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZ012345",
        ];
        for text in texts {
            assert!(Levels::parse(text).is_none());
        }
    }

    #[test]
    fn names_are_found_again() {
        for guard in Guard::ALL {
            assert!(Guard::parse(guard.name().as_bytes()) == Some(guard));
        }
        assert!(Guard::parse(b"").is_none());
        assert!(Guard::parse(b"Asym").is_none());
    }
}
