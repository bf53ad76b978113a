// SPDX-License-Identifier: GPL-2.0

//! Guests that contend, told what to do all at once.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::guest::{Config, Guest};
use crate::report::Check;
use crate::sample::Sample;

/// The module's counters.
pub const EVENTS: &str = "/sys/kernel/debug/corefold/events";

/// What a guest runs while it is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    arguments: String,
    endless: bool,
}

impl Job {
    /// A load that goes on until it is stopped. `arguments` are those of `scripts/guest/lab-load`.
    pub fn endless(arguments: impl Into<String>) -> Self {
        Self {
            arguments: arguments.into(),
            endless: true,
        }
    }

    /// A load that is given its time, and ends.
    pub fn timed(arguments: impl Into<String>) -> Self {
        Self {
            arguments: arguments.into(),
            endless: false,
        }
    }

    /// The guest's command that starts it.
    pub fn start(&self) -> String {
        format!("start {}", self.arguments)
    }

    /// The guest's command that ends it and takes the last sample.
    fn end(&self) -> &'static str {
        if self.endless { "stop" } else { "finish" }
    }
}

/// Guests that run on the same CPUs of the host.
pub struct Lab<'a> {
    /// The guests.
    pub guests: Vec<Guest>,
    /// The version of their kernel.
    pub kernel: String,
    interrupted: &'a AtomicBool,
}

impl<'a> Lab<'a> {
    /// Boots `count` guests; their files go to `dir`.
    pub fn boot(
        config: &Config,
        count: usize,
        host_cpus: usize,
        dir: &Path,
        interrupted: &'a Arc<AtomicBool>,
    ) -> Result<Self> {
        println!(
            "Booting {count} guests of {} CPUs each on {host_cpus} host CPUs (consoles: {})",
            config.vcpus,
            dir.join("guest*/console.log").display()
        );
        let mut guests = (0..count)
            .map(|index| {
                let dir = dir.join(format!("guest{index}"));
                Guest::start(config, index, &dir, interrupted)
            })
            .collect::<Result<Vec<_>>>()?;
        let mut kernel = String::new();
        for guest in &mut guests {
            kernel = guest.wait_ready()?;
            guest.publish_steal()?;
        }
        println!("Guests are up: Linux {kernel}; the host's run delay is their steal");
        Ok(Self {
            guests,
            kernel,
            interrupted,
        })
    }

    /// Sends a command to all guests, then waits for all answers.
    pub fn ask(&mut self, command: &str) -> Result<Vec<Vec<String>>> {
        self.ask_each(&vec![Some(command.to_string()); self.guests.len()])
    }

    /// Sends each guest its own command, if there is one, then waits for all answers.
    pub fn ask_each(&mut self, commands: &[Option<String>]) -> Result<Vec<Vec<String>>> {
        for (guest, command) in self.guests.iter_mut().zip(commands) {
            if let Some(command) = command {
                guest.send(command)?;
            }
        }
        let answers = self
            .guests
            .iter_mut()
            .zip(commands)
            .map(|(guest, command)| match command {
                Some(command) => guest.answer().with_context(|| format!("'{command}'")),
                None => Ok(Vec::new()),
            });
        answers.collect()
    }

    /// Starts a job in each guest that has one, samples all guests at once and then every `period`, `count` times,
    /// and ends the jobs with the last sample. `each` sees what there is after each of them. Returns the samples of
    /// each guest.
    pub fn watch(
        &mut self,
        jobs: &[Option<Job>],
        period: Duration,
        count: u64,
        each: &mut dyn FnMut(u64, &[Vec<Sample>]),
    ) -> Result<Vec<Vec<Sample>>> {
        let starts: Vec<_> = jobs.iter().map(|job| Some(job.as_ref()?.start())).collect();
        let sample = vec!["sample"; jobs.len()];
        let ends: Vec<_> = jobs
            .iter()
            .map(|job| job.as_ref().map_or("sample", Job::end))
            .collect();

        self.ask_each(&starts)?;
        let start = Instant::now();
        let mut samples: Vec<_> = self.sample(&sample)?.into_iter().map(|s| vec![s]).collect();
        for number in 1..=count {
            self.sleep_until(start + period * u32::try_from(number)?)?;
            let commands = if number == count { &ends } else { &sample };
            for (all, sample) in samples.iter_mut().zip(self.sample(commands)?) {
                all.push(sample);
            }
            each(number, &samples);
        }
        Ok(samples)
    }

    fn sample(&mut self, commands: &[&str]) -> Result<Vec<Sample>> {
        for (guest, command) in self.guests.iter_mut().zip(commands) {
            guest.send(command)?;
        }
        self.guests.iter_mut().map(Guest::sample).collect()
    }

    /// Sleeps, unless somebody interrupts.
    pub fn sleep_until(&self, when: Instant) -> Result<()> {
        loop {
            if self.interrupted.load(Ordering::Relaxed) {
                bail!(crate::Interrupted);
            }
            let left = when.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(100)));
        }
    }

    /// Powers all guests off and looks at their kernel logs.
    pub fn shut_down(self) -> Result<Vec<Check>> {
        let consoles: Vec<_> = self.guests.iter().map(Guest::console).collect();
        for guest in self.guests {
            guest.power_off()?;
        }
        consoles.iter().map(|console| check_log(console)).collect()
    }
}

fn check_log(console: &Path) -> Result<Check> {
    let output = Command::new("scripts/splats.sh")
        .arg(console)
        .output()
        .context("scripts/splats.sh: run this in the project's top directory")?;
    Ok(Check {
        name: format!("{} is clean", console.display()),
        pass: output.status.success(),
        detail: String::from_utf8_lossy(&output.stderr).trim().to_string(),
    })
}

/// Makes sure that the guests have to share.
pub fn check_contention(guests: usize, vcpus: usize, host_cpus: usize) -> Result<()> {
    ensure!(
        guests * vcpus > host_cpus,
        "{guests} guests of {vcpus} CPUs do not contend for the {host_cpus} CPUs here: use more (--guests, --vcpus), or \
         give the lab fewer (taskset -c 0,1)"
    );
    Ok(())
}

/// One line of the module's counters.
pub fn parse_event(line: &str) -> Option<(String, u64)> {
    let (name, value) = line.split_once(' ')?;
    Some((name.to_string(), value.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_names_and_numbers() {
        assert_eq!(parse_event("folds 3"), Some(("folds".into(), 3)));
        assert_eq!(parse_event("folds"), None);
        assert_eq!(parse_event("folds many"), None);
    }

    #[test]
    fn jobs_end_as_they_are() {
        let endless = Job::endless("work compute 4");
        assert_eq!(
            (endless.start().as_str(), endless.end()),
            ("start work compute 4", "stop")
        );
        assert_eq!(Job::timed("stress 2 vm 4").end(), "finish");
    }

    #[test]
    fn guests_must_contend() {
        assert!(check_contention(2, 1, 2).is_err());
        assert!(check_contention(2, 2, 2).is_ok());
    }
}
