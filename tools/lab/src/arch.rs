// SPDX-License-Identifier: GPL-2.0

//! What differs between the machines that the lab emulates.

use clap::ValueEnum;

/// An architecture, by the kernel's name for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Arch {
    /// A PC.
    #[value(name = "x86_64")]
    X86_64,
    /// A mainframe's logical partition.
    #[value(alias = "s390x")]
    S390,
    /// A pSeries logical partition, little-endian.
    #[value(alias = "ppc64le", alias = "powerpcle")]
    Powerpc,
}

impl Arch {
    /// The kernel's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::S390 => "s390",
            Self::Powerpc => "powerpc",
        }
    }

    /// What names of files end in; the default architecture needs no mention.
    pub fn suffix(self) -> String {
        match self {
            Self::X86_64 => String::new(),
            _ => format!("-{}", self.name()),
        }
    }

    /// The emulator, and the Debian package that has it.
    pub fn emulator(self) -> (&'static str, &'static str) {
        match self {
            Self::X86_64 => ("qemu-system-x86_64", "qemu-system-x86"),
            Self::S390 => ("qemu-system-s390x", "qemu-system-s390x"),
            Self::Powerpc => ("qemu-system-ppc64", "qemu-system-ppc"),
        }
    }

    /// The kernel image in a build.
    pub fn image(self) -> &'static str {
        match self {
            Self::X86_64 => "arch/x86/boot/bzImage",
            Self::S390 => "arch/s390/boot/bzImage",
            Self::Powerpc => "vmlinux",
        }
    }

    /// The machine and its CPU.
    pub fn machine(self) -> (&'static str, &'static str) {
        match self {
            // The string instructions that these features recommend are slow when emulated.
            Self::X86_64 => (
                "q35",
                "max,la57=off,erms=off,fsrm=off,fzrm=off,fsrs=off,fsrc=off",
            ),
            Self::S390 => ("s390-ccw-virtio", "max"),
            Self::Powerpc => ("pseries", "power9"),
        }
    }

    /// Kernel arguments: where the console is, and where the guest takes commands.
    pub fn arguments(self) -> &'static str {
        match self {
            Self::X86_64 => "console=ttyS0 no_timer_check corefold.port=ttyS1",
            Self::S390 => "console=ttysclp0 corefold.port=hvc0",
            Self::Powerpc => "console=hvc0 corefold.port=hvc1",
        }
    }

    /// What connects the second port of the guest to the character device `control`.
    pub fn control_port(self) -> &'static [&'static str] {
        match self {
            Self::S390 => &[
                "-device",
                "virtio-serial-ccw",
                "-device",
                "virtconsole,chardev=control",
            ],
            _ => &["-serial", "chardev:control"],
        }
    }

    /// A word as the guest has it in its memory.
    pub fn word(self, value: u64) -> u64 {
        match self {
            Self::S390 => value.to_be(),
            _ => value.to_le(),
        }
    }
}
