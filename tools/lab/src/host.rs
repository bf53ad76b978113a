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

/// CPU time of a process so far, of a `/proc/PID/stat`: user and system time.
fn parse_process(text: &str) -> Option<u64> {
    // The name before the bracket may hold anything.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

fn read_stat() -> Result<(u64, u64)> {
    let text = fs::read_to_string("/proc/stat").context("reading /proc/stat")?;
    parse_stat(&text).context("/proc/stat has no line for all CPUs")
}

/// Watches how much of the host others than some processes take.
pub struct Others {
    processes: Vec<u32>,
    busy: u64,
    all: u64,
    own: u64,
}

impl Others {
    /// Begins to watch; `processes` are not others, nor is this one.
    pub fn watch(mut processes: Vec<u32>) -> Result<Self> {
        processes.push(std::process::id());
        let (busy, all) = read_stat()?;
        let own = own_time(&processes)?;
        Ok(Self {
            processes,
            busy,
            all,
            own,
        })
    }

    /// What others took since then, in per cent of all CPU time.
    pub fn taken_pct(&self) -> Result<f64> {
        let own = own_time(&self.processes)?.saturating_sub(self.own);
        let (busy, all) = read_stat()?;
        let others = busy.saturating_sub(self.busy).saturating_sub(own);
        Ok(100.0 * others as f64 / all.saturating_sub(self.all).max(1) as f64)
    }
}

fn own_time(processes: &[u32]) -> Result<u64> {
    let time = |pid: &u32| {
        let path = format!("/proc/{pid}/stat");
        let text = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
        parse_process(&text).with_context(|| format!("{path} holds {text:?}"))
    };
    processes.iter().map(time).sum()
}

/// How busy the host's CPUs are now, in per cent.
pub fn busy_pct() -> Result<f64> {
    let (busy_before, before) = read_stat()?;
    std::thread::sleep(SPAN);
    let (busy_after, after) = read_stat()?;
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
    fn a_process_may_have_any_name() {
        let text = "7 (a ) b) R 1 2 3 4 5 6 7 8 9 10 100 20 0 0 20 0";
        assert_eq!(parse_process(text), Some(120));
        for text in ["", "7 (a) R 1 2", "7 a R 1 2 3 4 5 6 7 8 9 10 100 20"] {
            assert_eq!(parse_process(text), None, "{text:?}");
        }
    }

    #[test]
    fn others_are_not_this_process() {
        let others = Others::watch(Vec::new()).unwrap();
        let start = std::time::Instant::now();
        while start.elapsed() < Duration::from_millis(200) {}
        assert!((0.0..=100.0).contains(&others.taken_pct().unwrap()));
        assert!(Others::watch(vec![u32::MAX]).is_err());
    }

    #[test]
    fn this_host_is_measured() {
        assert!((0.0..=100.0).contains(&busy_pct().unwrap()));
    }
}
