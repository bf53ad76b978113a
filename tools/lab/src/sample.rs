// SPDX-License-Identifier: GPL-2.0

//! What a guest says about itself once a second, and what follows from two such samples.

use anyhow::{Context, Result, bail, ensure};

/// Guest time units of `/proc/stat` and `/proc/uptime` per second.
const HZ: f64 = 100.0;

/// The times of `/proc/stat` that matter here, in hundredths of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// `idle` and `iowait`.
    pub idle: u64,
    /// `steal`.
    pub steal: u64,
}

impl CpuTimes {
    /// Takes the numbers behind `cpu` or `cpuN`.
    pub fn parse<'a>(fields: impl Iterator<Item = &'a str>) -> Result<Self> {
        let fields = fields
            .map(|field| {
                field
                    .parse()
                    .with_context(|| format!("{field:?} is no time"))
            })
            .collect::<Result<Vec<u64>>>()?;
        ensure!(
            fields.len() >= 8,
            "a line of /proc/stat with {} times",
            fields.len()
        );
        Ok(Self {
            idle: fields[3] + fields[4],
            steal: fields[7],
        })
    }
}

/// One sample: `UPTIME ROUNDS COUNTED FOLDED TIME...`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Guest time, in seconds.
    pub uptime: f64,
    /// Rounds of the load done so far.
    pub rounds: u64,
    /// When the last of them was done, in guest time; the time of the sample for rounds that take next to none.
    pub counted: f64,
    /// CPUs that are soft offline.
    pub folded: usize,
    /// All CPUs together.
    pub times: CpuTimes,
}

impl Sample {
    /// Parses the guest's answer.
    pub fn parse(line: &str) -> Result<Self> {
        let mut fields = line.split_ascii_whitespace();
        let mut next = |what| {
            fields
                .next()
                .with_context(|| format!("{line:?} has no {what}"))
        };
        let uptime = parse_uptime(next("uptime")?)?;
        let rounds = next("rounds")?
            .parse()
            .context("the rounds are no number")?;
        let counted = parse_uptime(next("time of the last round")?)?;
        let folded = cpulist_len(next("folded CPUs")?)?;
        Ok(Self {
            uptime,
            rounds,
            counted,
            folded,
            times: CpuTimes::parse(fields)?,
        })
    }
}

fn parse_uptime(text: &str) -> Result<f64> {
    let uptime: f64 = text.parse().context("the uptime is no number")?;
    ensure!(uptime.is_finite() && uptime >= 0.0, "uptime {uptime}");
    Ok(uptime)
}

/// Counts the CPUs of a kernel cpulist; `none` stands for the empty one.
pub fn cpulist_len(list: &str) -> Result<usize> {
    if list == "none" {
        return Ok(0);
    }
    list.split(',').map(range_len).sum()
}

fn range_len(range: &str) -> Result<usize> {
    let number = |text: &str| {
        text.parse::<u16>()
            .with_context(|| format!("{range:?} is no range of CPUs"))
            .map(usize::from)
    };
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last) = (number(first)?, number(last)?);
    if first > last {
        bail!("{range:?} is no range of CPUs");
    }
    Ok(last - first + 1)
}

/// The span between two samples of a guest with a number of CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span {
    /// Guest time, in seconds.
    pub seconds: f64,
    /// Stolen CPU-seconds.
    pub steal: f64,
    /// CPU-seconds that were not idle, steal included.
    pub active: f64,
    /// Rounds done.
    pub rounds: u64,
}

impl Span {
    /// From `a` to `b`.
    ///
    /// What is not idle is active. The guest's tick is lost while a CPU does not run, so that user and system time
    /// come out short; idle time and uptime do not depend on the tick.
    pub fn between(a: &Sample, b: &Sample, cpus: usize) -> Self {
        let seconds = (b.uptime - a.uptime).max(0.0);
        let idle = b.times.idle.saturating_sub(a.times.idle) as f64 / HZ;
        let steal = b.times.steal.saturating_sub(a.times.steal) as f64 / HZ;
        let active = (seconds * cpus as f64 - idle).max(0.0);
        Self {
            seconds,
            steal,
            active,
            rounds: b.rounds.saturating_sub(a.rounds),
        }
    }

    /// Steal in per cent of the time that the guest wanted, or `None` if it wanted next to none.
    pub fn steal_pct(&self) -> Option<f64> {
        (self.active > 0.02 * self.seconds && self.active > 0.0)
            .then(|| (100.0 * self.steal / self.active).min(100.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "12.34 56 12.01 2-3 100 0 200 300 7 1 2 400 0 0";

    #[test]
    fn parses_a_sample() {
        let sample = Sample::parse(LINE).unwrap();
        assert_eq!(
            sample,
            Sample {
                uptime: 12.34,
                rounds: 56,
                counted: 12.01,
                folded: 2,
                times: CpuTimes {
                    idle: 307,
                    steal: 400
                }
            }
        );
    }

    #[test]
    fn refuses_broken_samples() {
        for line in [
            "",
            "x 1 1.0 none 1 2 3 4 5 6 7 8",
            "inf 1 1.0 none 1 2 3 4 5 6 7 8",
            "1.0 -1 1.0 none 1 2 3 4 5 6 7 8",
            "1.0 1 none 1 2 3 4 5 6 7 8",
            "1.0 1 1.0 none 1 2 3 4 5 6 7",
            "1.0 1 1.0 3-1 1 2 3 4 5 6 7 8",
            "1.0 1 1.0 none 1 2 3 x 5 6 7 8",
        ] {
            assert!(Sample::parse(line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn counts_cpulists() {
        for (list, cpus) in [
            ("none", 0),
            ("0", 1),
            ("1-3", 3),
            ("0,2-3,7", 4),
            ("0-65535", 65536),
        ] {
            assert_eq!(cpulist_len(list).unwrap(), cpus, "{list}");
        }
        for list in ["", "-", "1-", "-1", "a", "1,,2", "2-1", "99999"] {
            assert!(cpulist_len(list).is_err(), "{list:?}");
        }
    }

    fn sample(uptime: f64, idle: u64, steal: u64, rounds: u64) -> Sample {
        Sample {
            uptime,
            rounds,
            counted: uptime,
            folded: 0,
            times: CpuTimes { idle, steal },
        }
    }

    #[test]
    fn steal_is_a_share_of_active_time() {
        // Two seconds of four CPUs, one of them idle, three CPU-seconds stolen.
        let span = Span::between(&sample(1.0, 0, 0, 5), &sample(3.0, 200, 300, 9), 4);
        assert_eq!(
            span,
            Span {
                seconds: 2.0,
                steal: 3.0,
                active: 6.0,
                rounds: 4
            }
        );
        assert_eq!(span.steal_pct(), Some(50.0));
    }

    #[test]
    fn an_idle_guest_has_no_steal_share() {
        assert_eq!(
            Span::between(&sample(1.0, 0, 0, 0), &sample(2.0, 400, 0, 0), 4).steal_pct(),
            None
        );
        assert_eq!(Span::default().steal_pct(), None);
    }

    #[test]
    fn nothing_goes_negative_or_beyond_all() {
        let back = Span::between(&sample(3.0, 200, 300, 9), &sample(1.0, 0, 0, 5), 4);
        assert_eq!(back, Span::default());
        let late = Span::between(&sample(1.0, 0, 0, 0), &sample(2.0, 300, 500, 0), 4);
        assert_eq!(late.steal_pct(), Some(100.0));
    }
}
