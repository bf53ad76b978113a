// SPDX-License-Identifier: GPL-2.0

//! The line protocol between the lab and `scripts/guest/lab`, over the guest's second serial port.
//!
//! The guest says `ready` once. Then each line from the host is a command, answered by any number of lines that start
//! with `= `, and one that is `ok` or starts with `fail `.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How often a wait looks up.
const POLL: Duration = Duration::from_millis(100);

/// What the host reads.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Ready,
    Data(String),
    Ok,
    Fail(String),
}

fn parse(line: &str) -> Result<Line> {
    Ok(match line.split_once(' ') {
        Some(("=", data)) => Line::Data(data.to_string()),
        Some(("fail", reason)) => Line::Fail(reason.to_string()),
        _ => match line {
            "ready" => Line::Ready,
            "=" => Line::Data(String::new()),
            "ok" => Line::Ok,
            "fail" => Line::Fail("without a reason".to_string()),
            _ => bail!("the guest said {line:?}, which is not in the protocol"),
        },
    })
}

/// The host's end.
pub struct Control {
    stream: UnixStream,
    buffer: Vec<u8>,
}

impl Control {
    /// Takes a connected stream.
    pub fn new(stream: UnixStream) -> Result<Self> {
        stream
            .set_read_timeout(Some(POLL))
            .context("setting a timeout")?;
        stream
            .set_write_timeout(Some(Duration::from_secs(10)))
            .context("setting a timeout")?;
        Ok(Self {
            stream,
            buffer: Vec::new(),
        })
    }

    /// Sends a command, without waiting for the answer.
    pub fn send(&mut self, command: &str) -> Result<()> {
        debug_assert!(!command.contains('\n'));
        self.stream
            .write_all(format!("{command}\n").as_bytes())
            .with_context(|| format!("sending '{command}' to the guest"))
    }

    /// Waits for the guest to say that it is ready. `alive` is asked now and then whether to go on.
    pub fn ready(&mut self, limit: Duration, alive: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        match self
            .line(limit, alive)
            .context("waiting for the guest to boot")?
        {
            Line::Ready => Ok(()),
            other => bail!("the guest said {other:?} before it was ready"),
        }
    }

    /// Waits for the answer to a command.
    pub fn answer(
        &mut self,
        limit: Duration,
        alive: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Vec<String>> {
        let mut data = Vec::new();
        loop {
            match self.line(limit, alive)? {
                Line::Data(line) => data.push(line),
                Line::Ok => return Ok(data),
                Line::Fail(reason) => bail!("the guest could not: {reason}"),
                Line::Ready => bail!("the guest started anew"),
            }
        }
    }

    fn line(&mut self, limit: Duration, alive: &mut dyn FnMut() -> Result<()>) -> Result<Line> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(end) = self.buffer.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return parse(String::from_utf8_lossy(&line).trim_end());
            }
            alive()?;
            if Instant::now() >= deadline {
                bail!("no answer within {} s", limit.as_secs());
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) => {
                    alive()?;
                    bail!("the guest's control port is closed");
                }
                Ok(length) => self.buffer.extend_from_slice(&bytes[..length]),
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) => {}
                Err(error) => return Err(error).context("reading the guest's control port"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(300);

    fn guest_says(text: &str) -> (Control, UnixStream) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(text.as_bytes()).unwrap();
        (Control::new(ours).unwrap(), theirs)
    }

    fn ok() -> Result<()> {
        Ok(())
    }

    #[test]
    fn an_answer_has_data_and_an_end() {
        let (mut control, _guest) = guest_says("ready\r\n= one\r\n=\n= two words\nok\n= later");
        control.ready(LIMIT, &mut ok).unwrap();
        assert_eq!(
            control.answer(LIMIT, &mut ok).unwrap(),
            ["one", "", "two words"]
        );
    }

    #[test]
    fn a_failure_carries_its_reason() {
        let (mut control, _guest) = guest_says("= noise\nfail no such module\n");
        let error = control.answer(LIMIT, &mut ok).unwrap_err().to_string();
        assert!(error.contains("no such module"), "{error}");
    }

    #[test]
    fn silence_ends_in_time() {
        let (mut control, _guest) = guest_says("= half a li");
        let start = Instant::now();
        assert!(
            control
                .answer(LIMIT, &mut ok)
                .unwrap_err()
                .to_string()
                .contains("no answer")
        );
        assert!(start.elapsed() < LIMIT * 3);
    }

    #[test]
    fn a_dead_guest_is_noticed() {
        let (mut control, guest) = guest_says("= x\n");
        drop(guest);
        assert!(
            control
                .answer(LIMIT, &mut ok)
                .unwrap_err()
                .to_string()
                .contains("closed")
        );
        let (mut control, _guest) = guest_says("");
        let mut dead = || bail!("dead");
        assert!(control.answer(Duration::from_secs(60), &mut dead).is_err());
    }

    #[test]
    fn other_talk_is_refused() {
        for text in ["hello\n", "okay\n", "ready\n", "\n"] {
            let (mut control, _guest) = guest_says(text);
            assert!(control.answer(LIMIT, &mut ok).is_err(), "{text:?}");
        }
        let (mut control, _guest) = guest_says("ok\n");
        assert!(control.ready(LIMIT, &mut ok).is_err());
    }

    #[test]
    fn commands_go_out_as_lines() {
        let (mut control, mut guest) = guest_says("");
        control.send("start spin 4").unwrap();
        let mut bytes = [0; 64];
        let length = guest.read(&mut bytes).unwrap();
        assert_eq!(&bytes[..length], b"start spin 4\n");
    }
}
