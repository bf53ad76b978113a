// SPDX-License-Identifier: GPL-2.0

//! What is compared: ways to decide how many cores a guest uses.

use anyhow::{Result, ensure};

/// How an arm sets its guests up.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Setting {
    /// Not at all.
    Stock,
    /// The module, with these knobs.
    Module(Vec<(String, String)>),
    /// A fixed number of cores, the one that did best when all were tried.
    Oracle,
}

/// One way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm {
    /// What it is called.
    pub name: String,
    setting: Setting,
}

/// The arm that all others are held against.
pub const STOCK: &str = "stock";
/// The arm that nothing can beat which keeps to one number of cores.
pub const ORACLE: &str = "oracle";

impl Arm {
    fn module(name: &str, knobs: &[(&str, &str)]) -> Self {
        let own = |&(knob, value): &(&str, &str)| (knob.to_string(), value.to_string());
        Self {
            name: name.into(),
            setting: Setting::Module(knobs.iter().map(own).collect()),
        }
    }

    /// The arms of every bench.
    ///
    /// The constants of the step policy are the published ones: those of the series for PowerVM of December 2025, ten
    /// and five per cent and two samples that agree; and those of `steal_governor` (September 2026), five and two per
    /// cent and no second sample. Both share the interval of the bench, and the module's way to measure steal.
    pub fn all() -> Vec<Self> {
        let fixed = |name: &str, setting| Self {
            name: name.into(),
            setting,
        };
        vec![
            fixed(STOCK, Setting::Stock),
            Self::module(
                "step-srikar",
                &[
                    ("policy", "step"),
                    ("steal_high_bp", "1000"),
                    ("steal_low_bp", "500"),
                    ("confirm", "2"),
                ],
            ),
            Self::module(
                "step-governor",
                &[
                    ("policy", "step"),
                    ("steal_high_bp", "500"),
                    ("steal_low_bp", "200"),
                    ("confirm", "1"),
                ],
            ),
            Self::module("proportional", &[("policy", "proportional")]),
            fixed(ORACLE, Setting::Oracle),
        ]
    }

    /// Takes `NAME=KNOB:VALUE,...`.
    pub fn parse(text: &str) -> Result<Self> {
        let (name, knobs) = text.split_once('=').unwrap_or((text, ""));
        let plain = |text: &str| {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        let knobs: Vec<_> = knobs
            .split(',')
            .filter(|knob| !knob.is_empty())
            .map(|knob| knob.split_once(':').unwrap_or((knob, "")))
            .collect();
        ensure!(
            plain(name)
                && knobs
                    .iter()
                    .all(|(knob, value)| plain(knob) && plain(value)),
            "an arm is NAME=KNOB:VALUE,... such as gentle=policy:step,confirm:5; not {text:?}"
        );
        Ok(Self::module(name, &knobs))
    }

    /// The commands by which a guest of `vcpus` CPUs is set up; `oracle` is the best number of cores.
    pub fn set_up(&self, vcpus: usize, interval_ms: u64, oracle: usize) -> Vec<String> {
        match &self.setting {
            Setting::Stock => Vec::new(),
            Setting::Oracle => fold(vcpus, oracle),
            Setting::Module(knobs) => {
                let write =
                    |knob: &str, value: &str| format!("write {DEBUGFS}/corefold/{knob} {value}");
                // All knobs are in place before the first sample is taken.
                let mut commands = vec![format!(
                    "insmod corefold enabled=0 interval_ms={interval_ms}"
                )];
                commands.extend(knobs.iter().map(|(knob, value)| write(knob, value)));
                commands.push(write("enabled", "1"));
                commands
            }
        }
    }

    /// The commands that undo it.
    pub fn take_down(&self, vcpus: usize, oracle: usize) -> Vec<String> {
        match self.setting {
            Setting::Stock => Vec::new(),
            Setting::Oracle => release(vcpus, oracle),
            Setting::Module(_) => vec!["rmmod corefold".into()],
        }
    }

    /// Whether it is the module that decides.
    pub fn is_module(&self) -> bool {
        matches!(self.setting, Setting::Module(_))
    }
}

const DEBUGFS: &str = "/sys/kernel/debug";

/// The commands that leave a guest of `vcpus` CPUs with `cores` in use, whatever happens.
pub fn fold(vcpus: usize, cores: usize) -> Vec<String> {
    if cores >= vcpus {
        return Vec::new();
    }
    vec![format!(
        "write {DEBUGFS}/corefold_lab/soft_offline {cores}-{}",
        vcpus - 1
    )]
}

/// The commands that give all cores back after [`fold`].
pub fn release(vcpus: usize, cores: usize) -> Vec<String> {
    if cores >= vcpus {
        return Vec::new();
    }
    vec![format!("write {DEBUGFS}/corefold_lab/soft_offline release")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_is_set_up_and_taken_down() {
        let arms = Arm::all();
        let by_name = |name| arms.iter().find(|arm| arm.name == name).unwrap();
        assert!(by_name(STOCK).set_up(4, 150, 1).is_empty());
        assert!(by_name(STOCK).take_down(4, 1).is_empty());
        let oracle = by_name(ORACLE);
        assert!(oracle.set_up(4, 150, 1)[0].ends_with("soft_offline 1-3"));
        assert!(oracle.take_down(4, 1)[0].ends_with("soft_offline release"));
        assert!(oracle.set_up(4, 150, 4).is_empty() && oracle.take_down(4, 4).is_empty());
        let step = by_name("step-srikar").set_up(4, 150, 1);
        assert_eq!(step[0], "insmod corefold enabled=0 interval_ms=150");
        assert!(step[2].ends_with("corefold/steal_high_bp 1000"));
        assert!(step.last().unwrap().ends_with("corefold/enabled 1"));
    }

    #[test]
    fn names_differ() {
        let mut names: Vec<_> = Arm::all().into_iter().map(|arm| arm.name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn further_arms_are_parsed() {
        let arm = Arm::parse("gentle=policy:step,confirm:5").unwrap();
        let commands = arm.set_up(4, 1000, 1);
        assert!(arm.is_module() && commands[2].ends_with("confirm 5"));
        assert_eq!(Arm::parse("plain").unwrap().set_up(4, 1000, 1).len(), 2);
        for text in [
            "",
            "=",
            "a b",
            "x=confirm",
            "x=confirm:",
            "x=a:b c",
            "x=a;b:1",
        ] {
            assert!(Arm::parse(text).is_err(), "{text:?}");
        }
    }
}
