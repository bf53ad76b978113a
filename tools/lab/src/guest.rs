// SPDX-License-Identifier: GPL-2.0

//! An emulated guest: started, talked to, and ended whatever happens.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::arch::Arch;
use crate::control::Control;
use crate::memory::GuestMemory;
use crate::publisher::Publisher;
use crate::qmp::Qmp;
use crate::sample::Sample;

const CONNECT_LIMIT: Duration = Duration::from_secs(20);
const BOOT_LIMIT: Duration = Duration::from_secs(180);
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
const POWEROFF_LIMIT: Duration = Duration::from_secs(60);

/// What to boot.
pub struct Config {
    /// The machine.
    pub arch: Arch,
    /// The emulator.
    pub qemu: PathBuf,
    /// The kernel build: `build/ARCH[-VARIANT]`.
    pub kernel: PathBuf,
    /// Virtual CPUs.
    pub vcpus: usize,
    /// Memory, in MiB.
    pub memory: u64,
}

impl Config {
    fn image(&self) -> PathBuf {
        self.kernel.join(self.arch.image())
    }

    fn initramfs(&self) -> PathBuf {
        self.kernel.join("initramfs.cpio.gz")
    }

    /// Says what is missing, before anything is started.
    pub fn check(&self) -> Result<()> {
        for file in [self.image(), self.initramfs()] {
            ensure!(
                file.is_file(),
                "{} is missing: run 'make kernel' first",
                file.display()
            );
        }
        let qemu = self.qemu.display();
        let version = Command::new(&self.qemu).arg("--version").output();
        match version {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => bail!("{qemu} --version failed: {}", output.status),
            Err(error) if error.kind() == ErrorKind::NotFound => bail!(
                "there is no {qemu}: run this inside the toolchain (scripts/in-toolchain), or install {}",
                self.arch.emulator().1
            ),
            Err(error) => Err(error).with_context(|| format!("running {qemu}")),
        }
    }

    fn command(&self, dir: &Path, memory: &GuestMemory) -> Result<Command> {
        let (machine, cpu) = self.arch.machine();
        let mut command = Command::new(&self.qemu);
        command
            .args(["-machine", &format!("{machine},memory-backend=ram")])
            .args(["-cpu", cpu])
            .args([
                "-accel",
                "tcg,thread=multi",
                "-smp",
                &self.vcpus.to_string(),
            ])
            .args(["-m", &format!("{}M", self.memory), "-object"])
            .arg(format!(
                "memory-backend-file,id=ram,size={}M,mem-path={},share=on",
                self.memory,
                memory.path()
            ))
            .args(["-nodefaults", "-no-reboot", "-display", "none"])
            .args(["-run-with", "exit-with-parent=on"])
            .arg("-kernel")
            .arg(self.image())
            .arg("-initrd")
            .arg(self.initramfs())
            .arg("-append")
            .arg(format!(
                "{} panic=-1 kunit.enable=0 corefold.run=lab",
                self.arch.arguments()
            ))
            .arg("-serial")
            .arg(format!("file:{}", dir.join("console.log").display()))
            .arg("-chardev")
            .arg(format!(
                "socket,id=control,path={}",
                dir.join("control").display()
            ))
            .args(self.arch.control_port())
            .arg("-qmp")
            .arg(format!("unix:{}", dir.join("qmp").display()))
            // A ctrl-C at the terminal is for the lab, which then ends its guests in order.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(dir.join("qemu.log"))?);
        Ok(command)
    }
}

/// An emulator that is killed when dropped.
struct Emulator(Child);

impl Emulator {
    fn exited(&mut self) -> Result<Option<ExitStatus>> {
        self.0.try_wait().context("waiting for the emulator")
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running guest.
pub struct Guest {
    /// Which.
    pub index: usize,
    /// Virtual CPUs.
    pub vcpus: usize,
    dir: PathBuf,
    interrupted: Arc<AtomicBool>,
    // Dropped in this order: nobody reads the threads of, or writes to, an emulator that is gone.
    publisher: Option<Publisher>,
    control: Control,
    emulator: Emulator,
    memory: GuestMemory,
    threads: Vec<u32>,
}

impl Guest {
    /// Starts the emulator and connects to it; the guest still boots. Its files go to `dir`.
    pub fn start(
        config: &Config,
        index: usize,
        dir: &Path,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Self> {
        let _ = fs::remove_dir_all(dir);
        fs::create_dir_all(dir).with_context(|| format!("making {}", dir.display()))?;
        let listen = |name: &str| {
            let listener = UnixListener::bind(dir.join(name))
                .with_context(|| format!("making the socket {}/{name}", dir.display()))?;
            listener.set_nonblocking(true)?;
            Ok::<_, anyhow::Error>(listener)
        };
        let (control, qmp) = (listen("control")?, listen("qmp")?);
        let memory = GuestMemory::new(
            &CString::new(format!("corefold-guest{index}"))?,
            config.memory,
            config.arch,
        )?;
        let child = config
            .command(dir, &memory)?
            .spawn()
            .with_context(|| format!("starting {}", config.qemu.display()))?;
        let mut emulator = Emulator(child);
        let mut connect = || {
            let control = Control::new(accept(&control, &mut emulator, interrupted)?)?;
            let stream = accept(&qmp, &mut emulator, interrupted)?;
            stream.set_read_timeout(Some(CONNECT_LIMIT))?;
            Ok((control, Qmp::new(stream)?.cpu_threads()?))
        };
        let (control, threads) = connect().map_err(|error: anyhow::Error| {
            error.context(format!(
                "guest {index} did not start, {}",
                said(&dir.join("qemu.log"))
            ))
        })?;
        ensure!(
            threads.len() == config.vcpus,
            "guest {index} has {} CPU threads, not {}",
            threads.len(),
            config.vcpus
        );
        Ok(Self {
            index,
            vcpus: config.vcpus,
            dir: dir.to_path_buf(),
            interrupted: interrupted.clone(),
            publisher: None,
            control,
            emulator,
            memory,
            threads,
        })
    }

    /// The log of the guest's console.
    pub fn console(&self) -> PathBuf {
        self.dir.join("console.log")
    }

    /// Waits until the guest takes commands, and returns the version of its kernel.
    pub fn wait_ready(&mut self) -> Result<String> {
        self.with_control(|control, alive| control.ready(BOOT_LIMIT, alive))?;
        let hello = self.ask("hello")?;
        let [kernel, cpus] = hello.as_slice() else {
            bail!("guest {} greets with {hello:?}", self.index);
        };
        ensure!(
            cpus.parse() == Ok(self.vcpus),
            "guest {} runs {cpus} CPUs, not {}; console: {}",
            self.index,
            self.vcpus,
            self.console().display()
        );
        Ok(kernel.clone())
    }

    /// Loads the lab module and begins to publish the host's run delay as the guest's steal.
    pub fn publish_steal(&mut self) -> Result<()> {
        self.ask("insmod corefold_lab")?;
        let answer = self.ask("show /sys/kernel/debug/corefold_lab/page")?;
        let phys = parse_phys(&answer.join(" "))?;
        let counters = self.memory.counters(phys, self.vcpus)?;
        let publisher = Publisher::start(self.emulator.0.id(), &self.threads, counters)
            .with_context(|| format!("reading the run delay of guest {}", self.index))?;
        self.publisher = Some(publisher);
        Ok(())
    }

    /// The emulator's process.
    pub fn pid(&self) -> u32 {
        self.emulator.0.id()
    }

    /// Host run delay of this guest's CPUs so far, in seconds.
    pub fn run_delay(&self) -> f64 {
        self.publisher
            .as_ref()
            .map_or(0.0, |publisher| publisher.total_ns() as f64 / 1e9)
    }

    /// Sends a command; [`Guest::answer`] must follow.
    pub fn send(&mut self, command: &str) -> Result<()> {
        self.with_control(|control, alive| {
            alive()?;
            control.send(command)
        })
    }

    /// Waits for the answer to the command sent last.
    pub fn answer(&mut self) -> Result<Vec<String>> {
        self.with_control(|control, alive| control.answer(ANSWER_LIMIT, alive))
    }

    /// Sends a command and waits for its answer.
    pub fn ask(&mut self, command: &str) -> Result<Vec<String>> {
        self.send(command)?;
        self.answer().with_context(|| format!("'{command}'"))
    }

    /// Waits for the answer to a `sample` or `stop`.
    pub fn sample(&mut self) -> Result<Sample> {
        let answer = self.answer()?;
        answer
            .first()
            .ok_or_else(|| anyhow!("an empty answer"))
            .and_then(|line| Sample::parse(line))
            .with_context(|| format!("sample of guest {}", self.index))
    }

    /// Powers the guest off and waits for its end.
    pub fn power_off(mut self) -> Result<()> {
        self.publisher = None;
        self.ask("quit")?;
        let deadline = Instant::now() + POWEROFF_LIMIT;
        while Instant::now() < deadline {
            if let Some(status) = self.emulator.exited()? {
                ensure!(
                    status.success(),
                    "the emulator of guest {} ended with {status}",
                    self.index
                );
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!(
            "guest {} did not power off, console: {}",
            self.index,
            self.console().display()
        )
    }

    fn with_control<T>(
        &mut self,
        work: impl FnOnce(&mut Control, &mut dyn FnMut() -> Result<()>) -> Result<T>,
    ) -> Result<T> {
        let Self {
            control,
            emulator,
            interrupted,
            publisher,
            ..
        } = self;
        let mut alive = || {
            check_alive(emulator, interrupted)?;
            ensure!(
                !publisher.as_ref().is_some_and(Publisher::failed),
                "a CPU thread of the emulator is gone"
            );
            Ok(())
        };
        work(control, &mut alive).with_context(|| {
            let console = self.dir.join("console.log");
            format!("guest {}, {}", self.index, said(&console))
        })
    }
}

fn check_alive(emulator: &mut Emulator, interrupted: &AtomicBool) -> Result<()> {
    if interrupted.load(Ordering::Relaxed) {
        return Err(crate::Interrupted.into());
    }
    match emulator.exited()? {
        Some(status) => bail!("the emulator ended with {status}"),
        None => Ok(()),
    }
}

fn accept(
    listener: &UnixListener,
    emulator: &mut Emulator,
    interrupted: &AtomicBool,
) -> Result<UnixStream> {
    let deadline = Instant::now() + CONNECT_LIMIT;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error).context("accepting the emulator's connection"),
        }
        check_alive(emulator, interrupted)?;
        ensure!(Instant::now() < deadline, "the emulator did not connect");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Names a log and quotes its last line.
fn said(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let last = text
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty());
    format!(
        "log {} ends with {:?}",
        log.display(),
        last.unwrap_or_default()
    )
}

fn parse_phys(text: &str) -> Result<u64> {
    text.trim()
        .strip_prefix("0x")
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .with_context(|| format!("the lab module's page is at {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(dir: &Path, qemu: &str) -> Config {
        Config {
            arch: Arch::X86_64,
            qemu: qemu.into(),
            kernel: dir.to_path_buf(),
            vcpus: 2,
            memory: 64,
        }
    }

    fn with_images(dir: &Path) {
        fs::create_dir_all(dir.join("arch/x86/boot")).unwrap();
        fs::write(dir.join("arch/x86/boot/bzImage"), "").unwrap();
        fs::write(dir.join("initramfs.cpio.gz"), "").unwrap();
    }

    #[test]
    fn a_missing_kernel_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let error = config(dir.path(), "true").check().unwrap_err().to_string();
        assert!(
            error.contains("bzImage") && error.contains("make kernel"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_emulator_is_named() {
        let dir = tempfile::tempdir().unwrap();
        with_images(dir.path());
        let error = config(dir.path(), "no-such-qemu")
            .check()
            .unwrap_err()
            .to_string();
        assert!(error.contains("no-such-qemu"), "{error}");
        let error = config(dir.path(), "false").check().unwrap_err().to_string();
        assert!(error.contains("failed"), "{error}");
        config(dir.path(), "true").check().unwrap();
    }

    #[test]
    fn an_emulator_that_dies_at_once_is_an_error_with_its_log() {
        let dir = tempfile::tempdir().unwrap();
        let stop = Arc::default();
        let error = Guest::start(
            &config(dir.path(), "false"),
            7,
            &dir.path().join("g"),
            &stop,
        )
        .err()
        .unwrap();
        let error = format!("{error:#}");
        assert!(
            error.contains("guest 7") && error.contains("qemu.log"),
            "{error}"
        );
    }

    #[test]
    fn an_interrupt_ends_the_wait_and_the_emulator() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("qemu");
        fs::write(&script, "#!/bin/sh\nexec sleep 1000\n").unwrap();
        fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let stop = Arc::new(AtomicBool::new(true));
        let start = Instant::now();
        let config = config(dir.path(), script.to_str().unwrap());
        let error = Guest::start(&config, 0, &dir.path().join("g"), &stop)
            .err()
            .unwrap();
        assert!(
            error.chain().any(|cause| cause.is::<crate::Interrupted>()),
            "{error:#}"
        );
        assert!(start.elapsed() < CONNECT_LIMIT);
    }

    #[test]
    fn takes_a_physical_address() {
        assert_eq!(parse_phys("0x1000\n").unwrap(), 0x1000);
        for text in ["", "1000", "0x", "0xzz", "-1"] {
            assert!(parse_phys(text).is_err(), "{text:?}");
        }
    }
}
