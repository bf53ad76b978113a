// SPDX-License-Identifier: GPL-2.0

//! The machine that the lab runs on.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// How long to look.
const SPAN: Duration = Duration::from_secs(1);
/// More than this, before the guests start, deserves a note.
const BUSY_PCT: f64 = 15.0;

/// Busy and all time of the first line of `/proc/stat`.
fn parse_stat(text: &str) -> Option<(u64, u64)> {
    let times = text.lines().next()?.strip_prefix("cpu ")?;
    let times: Vec<u64> = times
        .split_ascii_whitespace()
        .map_while(|t| t.parse().ok())
        .collect();
    // Guest time, behind steal, is part of user time.
    let all = times.get(..8)?.iter().sum();
    Some((all - times[3] - times[4], all))
}

/// How busy the host's CPUs are now, in per cent.
pub fn busy_pct() -> Result<f64> {
    let read = || {
        let text = fs::read_to_string("/proc/stat").context("reading /proc/stat")?;
        parse_stat(&text).context("/proc/stat has no line for all CPUs")
    };
    let (busy_before, before) = read()?;
    std::thread::sleep(SPAN);
    let (busy_after, after) = read()?;
    let all = after.saturating_sub(before).max(1);
    Ok(100.0 * busy_after.saturating_sub(busy_before) as f64 / all as f64)
}

/// Says so if the host is too busy for a fair measurement.
pub fn warn_if_busy(busy: f64) {
    if busy > BUSY_PCT {
        println!(
            "Note: other processes take {busy:.0} % of this machine's CPUs; guests cannot give that \
             back to each other, and the numbers will suffer"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_all_but_idle_and_waiting() {
        let text = "cpu  1 2 3 100 50 6 7 8 9 9\ncpu0 1 2 3\n";
        assert_eq!(parse_stat(text), Some((27, 177)));
        for text in [
            "",
            "cpu0 1 2 3 4 5 6 7 8",
            "cpu  1 2 3",
            "cpu  1 2 x 4 5 6 7 8",
        ] {
            assert_eq!(parse_stat(text), None, "{text:?}");
        }
    }

    #[test]
    fn this_host_is_measured() {
        assert!((0.0..=100.0).contains(&busy_pct().unwrap()));
    }
}
