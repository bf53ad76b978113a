// SPDX-License-Identifier: GPL-2.0

//! What guests have to do over time.

use serde::Deserialize;

/// Threads that are ready to run, over time. Times are in intervals of the governor.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Demand {
    /// Always as many.
    Constant {
        /// Threads.
        threads: f64,
    },
    /// All or little, in turns.
    Bursts {
        /// Threads between bursts.
        low: f64,
        /// Threads in a burst.
        high: f64,
        /// Length of a burst.
        on: f64,
        /// Time between bursts.
        off: f64,
    },
    /// A sine.
    Diurnal {
        /// Threads at the lowest point.
        low: f64,
        /// Threads at the highest point.
        high: f64,
        /// Length of a day.
        day: f64,
    },
    /// As it was recorded: `[time, threads]`, each of which holds until the next.
    Recorded {
        /// The points, by time.
        points: Vec<(f64, f64)>,
    },
}

impl Demand {
    /// Returns the threads at a time; `phase`, from 0 to 1, shifts what is periodic.
    pub fn threads(&self, time: f64, phase: f64) -> f64 {
        match *self {
            Demand::Constant { threads } => threads,
            Demand::Bursts { low, high, on, off } => {
                let whole = on + off;
                if (time + phase * whole) % whole < on {
                    high
                } else {
                    low
                }
            }
            Demand::Diurnal { low, high, day } => {
                let angle = (time / day + phase) * std::f64::consts::TAU;
                low + (high - low) * (0.5 - 0.5 * angle.cos())
            }
            Demand::Recorded { ref points } => {
                let next = points.partition_point(|point| point.0 <= time);
                next.checked_sub(1).map_or(0.0, |at| points[at].1)
            }
        }
    }

    /// Returns whether it never changes.
    pub fn is_constant(&self) -> bool {
        matches!(self, Demand::Constant { .. })
    }

    /// Returns what is wrong with it.
    pub fn fault(&self) -> Option<&'static str> {
        let bad = |values: &[f64]| {
            values
                .iter()
                .any(|value| !value.is_finite() || *value < 0.0)
        };
        match self {
            Demand::Constant { threads } if bad(&[*threads]) => Some("threads must be 0 or more"),
            Demand::Bursts { low, high, on, off }
                if bad(&[*low, *high, *on, *off]) || on + off <= 0.0 =>
            {
                Some("low, high, on and off must be 0 or more, and on + off more than 0")
            }
            Demand::Diurnal { low, high, day }
                if bad(&[*low, *high]) || *day <= 0.0 || !day.is_finite() =>
            {
                Some("low and high must be 0 or more, and day more than 0")
            }
            Demand::Recorded { points } if points.iter().any(|point| bad(&[point.0, point.1])) => {
                Some("times and threads must be 0 or more")
            }
            Demand::Recorded { points } if !points.is_sorted_by(|one, other| one.0 < other.0) => {
                Some("the times of points must rise")
            }
            _ => None,
        }
    }
}
