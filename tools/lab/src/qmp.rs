// SPDX-License-Identifier: GPL-2.0

//! As much of the QEMU machine protocol as the lab needs.

use std::io::{BufRead, BufReader, Read, Write};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

/// A connection in command mode.
pub struct Qmp<S: Read + Write> {
    stream: BufReader<S>,
}

#[derive(Deserialize)]
struct CpuInfo {
    #[serde(rename = "cpu-index")]
    index: usize,
    #[serde(rename = "thread-id")]
    thread: u32,
}

impl<S: Read + Write> Qmp<S> {
    /// Greets the emulator at the other end of `stream`.
    pub fn new(stream: S) -> Result<Self> {
        let mut qmp = Self {
            stream: BufReader::new(stream),
        };
        let greeting = qmp.receive()?;
        if greeting.get("QMP").is_none() {
            bail!("no QMP greeting but {greeting}");
        }
        qmp.execute("qmp_capabilities")?;
        Ok(qmp)
    }

    /// Runs a command without arguments.
    pub fn execute(&mut self, command: &str) -> Result<Value> {
        let mut line = json!({ "execute": command }).to_string();
        line.push('\n');
        self.stream
            .get_mut()
            .write_all(line.as_bytes())
            .context("writing to QMP")?;
        loop {
            let mut answer = self.receive()?;
            if let Some(error) = answer.get("error") {
                bail!("QMP {command}: {error}");
            }
            // Anything else is an event.
            if let Some(value) = answer.get_mut("return") {
                return Ok(value.take());
            }
        }
    }

    /// The host threads of the virtual CPUs, in the order of the CPUs.
    pub fn cpu_threads(&mut self) -> Result<Vec<u32>> {
        let mut cpus: Vec<CpuInfo> = serde_json::from_value(self.execute("query-cpus-fast")?)
            .context("query-cpus-fast answered something else")?;
        cpus.sort_by_key(|cpu| cpu.index);
        Ok(cpus.into_iter().map(|cpu| cpu.thread).collect())
    }

    fn receive(&mut self) -> Result<Value> {
        let mut line = String::new();
        if self
            .stream
            .read_line(&mut line)
            .context("reading from QMP")?
            == 0
        {
            bail!("the emulator closed its QMP connection");
        }
        serde_json::from_str(&line).with_context(|| format!("QMP sent {line:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;
    use std::thread;

    /// An emulator that says `lines`, one after each command that it gets after the first.
    fn emulator(lines: &'static [&'static str]) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        thread::spawn(move || {
            let mut commands = BufReader::new(theirs.try_clone().unwrap());
            let mut theirs = theirs;
            for line in lines {
                writeln!(theirs, "{line}").unwrap();
                if commands.read_line(&mut String::new()).unwrap_or(0) == 0 {
                    return;
                }
            }
        });
        ours
    }

    #[test]
    fn finds_the_threads_in_cpu_order() {
        let mut qmp = Qmp::new(emulator(&[
            r#"{"QMP": {"version": {}}}"#,
            r#"{"return": {}}"#,
            concat!(
                r#"{"event": "RESUME", "timestamp": {}}"#,
                "\n",
                r#"{"return": [{"cpu-index": 1, "thread-id": 12, "target": "x86_64"},"#,
                r#"{"cpu-index": 0, "thread-id": 11, "target": "x86_64"}]}"#
            ),
        ]))
        .unwrap();
        assert_eq!(qmp.cpu_threads().unwrap(), [11, 12]);
    }

    #[test]
    fn reports_what_the_emulator_refuses() {
        let mut qmp = Qmp::new(emulator(&[
            r#"{"QMP": {}}"#,
            r#"{"return": {}}"#,
            r#"{"error": {"class": "CommandNotFound", "desc": "no such thing"}}"#,
        ]))
        .unwrap();
        assert!(
            qmp.execute("nonsense")
                .unwrap_err()
                .to_string()
                .contains("no such thing")
        );
    }

    #[test]
    fn refuses_what_is_not_qmp() {
        assert!(Qmp::new(emulator(&["hello"])).is_err());
        assert!(Qmp::new(emulator(&[r#"{"hello": 1}"#])).is_err());
        assert!(Qmp::new(emulator(&[])).is_err());
    }
}
