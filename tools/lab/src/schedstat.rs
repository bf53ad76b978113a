// SPDX-License-Identifier: GPL-2.0

//! The run delay of a host thread: how long it was runnable but did not run.
//!
//! For the thread of a virtual CPU that is steal, the very figure that KVM reports.

use std::fs::File;
use std::os::unix::fs::FileExt;

use anyhow::{Context, Result, bail};

/// Takes the second field of a `schedstat` line: nanoseconds spent waiting on a run queue.
pub fn parse_run_delay(text: &str) -> Option<u64> {
    let mut fields = text.split_ascii_whitespace();
    let _on_cpu = fields.next()?.parse::<u64>().ok()?;
    let delay = fields.next()?.parse().ok()?;
    let _slices = fields.next()?.parse::<u64>().ok()?;
    Some(delay)
}

/// One thread's `schedstat`, held open.
pub struct RunDelay(File);

impl RunDelay {
    /// Opens that of thread `tid` of process `pid`.
    pub fn open(pid: u32, tid: u32) -> Result<Self> {
        let path = format!("/proc/{pid}/task/{tid}/schedstat");
        let file = File::open(&path)
            .with_context(|| format!("{path}: needs a host kernel with CONFIG_SCHED_INFO"))?;
        Ok(Self(file))
    }

    /// Reads the run delay up to now, in nanoseconds.
    pub fn read(&self) -> Result<u64> {
        let mut buffer = [0; 96];
        let length = self
            .0
            .read_at(&mut buffer, 0)
            .context("the thread is gone")?;
        let text = String::from_utf8_lossy(&buffer[..length]);
        match parse_run_delay(&text) {
            Some(delay) => Ok(delay),
            None => bail!("schedstat holds {text:?}, not three numbers"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_second_field() {
        assert_eq!(parse_run_delay("31656960 52203208 79\n"), Some(52_203_208));
        assert_eq!(parse_run_delay("0 18446744073709551615 1"), Some(u64::MAX));
    }

    #[test]
    fn refuses_what_is_no_schedstat() {
        for text in [
            "",
            "1",
            "1 2",
            "1 x 3",
            "a 2 3",
            "1 -2 3",
            "1 18446744073709551616 3",
        ] {
            assert_eq!(parse_run_delay(text), None, "{text:?}");
        }
    }

    #[test]
    fn reads_this_thread() {
        let pid = std::process::id();
        let delay = RunDelay::open(pid, pid).unwrap();
        let first = delay.read().unwrap();
        assert!(delay.read().unwrap() >= first);
    }

    #[test]
    fn says_which_file_is_missing() {
        let error = RunDelay::open(u32::MAX, 1).err().unwrap();
        assert!(error.to_string().contains("schedstat"), "{error}");
    }
}
