// SPDX-License-Identifier: GPL-2.0

//! The files in debugfs.

use kernel::{
    debugfs::{
        Reader,
        Readers,
        Scope,
        ScopedDir,
        Writer, //
    },
    fmt,
    prelude::*,
    sync::Arc,
    uaccess::UserSliceReader, //
};

use crate::{
    config::{
        Knob,
        TEXT_MAX, //
    },
    governor::Governor,
    LocalModule, //
};

/// The names of the knobs' files.
const NAMES: [(Knob, &CStr); Knob::ALL.len()] = [
    (Knob::Enabled, c"enabled"),
    (Knob::Policy, c"policy"),
    (Knob::IntervalMs, c"interval_ms"),
    (Knob::StealHighBp, c"steal_high_bp"),
    (Knob::StealLowBp, c"steal_low_bp"),
    (Knob::Confirm, c"confirm"),
    (Knob::FloorCores, c"floor_cores"),
    (Knob::StealCapacity, c"steal_capacity"),
    (Knob::Guard, c"guard"),
    (Knob::GuardGap, c"guard_gap"),
    (Knob::AsymLevels, c"asym_levels"),
    (Knob::RankSteal, c"rank_steal"),
];

/// A file that shows and sets one knob.
struct KnobFile {
    knob: Knob,
    governor: Arc<Governor>,
}

impl Writer for KnobFile {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.governor.show_knob(self.knob, f)
    }
}

impl Reader for KnobFile {
    fn read_from_slice(&self, reader: &mut UserSliceReader) -> Result {
        let mut buffer = [0u8; TEXT_MAX];
        let length = reader.len();
        let Some(text) = buffer.get_mut(..length) else {
            self.governor.refuse_unread(self.knob);
            return Err(EINVAL);
        };

        reader
            .read_slice(text)
            .inspect_err(|_| self.governor.refuse_unread(self.knob))?;
        self.governor.set(self.knob, text)
    }
}

/// What the files show.
pub(crate) struct Knobs {
    files: [KnobFile; NAMES.len()],
    governor: Arc<Governor>,
}

impl Knobs {
    /// Creates the directory and all its files; dropping them removes it.
    pub(crate) fn create(governor: &Arc<Governor>) -> Result<Pin<KBox<Scope<Self>>>> {
        let knobs = Self {
            files: NAMES.map(|(knob, _)| KnobFile {
                knob,
                governor: governor.clone(),
            }),
            governor: governor.clone(),
        };

        KBox::pin_init(
            Scope::dir_of_module(Ok::<_, Error>(knobs), c"corefold", Self::fill),
            GFP_KERNEL,
        )
    }

    fn fill<'data>(&'data self, dir: &ScopedDir<'data, '_, LocalModule>) {
        let dir = dir.readable_by(Readers::All);
        let governor = &self.governor;

        for ((_, name), file) in NAMES.iter().zip(&self.files) {
            dir.read_write_file(name, file);
        }
        dir.read_callback_file(c"status", governor, &show_status);
        dir.read_callback_file(c"cores", governor, &show_cores);
        dir.read_callback_file(c"ranks", governor, &show_ranks);
        dir.read_callback_file(c"domains", governor, &show_domains);
        dir.read_callback_file(c"history", governor, &show_history);
        dir.read_callback_file(c"events", governor, &show_events);
    }
}

fn show_status(governor: &Arc<Governor>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    governor.show_status(f)
}

fn show_cores(governor: &Arc<Governor>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    governor.show_cores(f)
}

fn show_ranks(governor: &Arc<Governor>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    governor.show_ranks(f)
}

fn show_domains(governor: &Arc<Governor>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    governor.show_domains(f)
}

fn show_history(governor: &Arc<Governor>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    governor.show_history(f)
}

fn show_events(governor: &Arc<Governor>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    governor.show_events(f)
}
