// SPDX-License-Identifier: GPL-2.0

//! The periodic work: look, decide, act.
//!
//! One lock guards all state. It is taken by the work and by the files in debugfs, may be held
//! while sleeping, and comes before the CPU hotplug lock; so nothing that runs under the latter
//! takes it. The work does not allocate.

use kernel::{
    fmt,
    impl_has_delayed_work,
    kernel_stat::nr_running,
    new_delayed_work,
    new_mutex,
    prelude::*,
    sched::{
        asym_priority,
        soft_offline,
        steal_capacity,
        steal_source::{
            self,
            Source, //
        }, //
    },
    sync::{
        Arc,
        Mutex, //
    },
    time::{
        msecs_to_jiffies,
        BootTime,
        Instant,
        Monotonic, //
    },
    workqueue::{
        self,
        DelayedWork,
        WorkItem, //
    }, //
};

use crate::{
    config::{
        Config,
        Invalid,
        Knob, //
    },
    events::{
        Events,
        Ratelimit, //
    },
    guard::Guard,
    history::{
        Entry,
        History,
        LENGTH, //
    },
    machine::{
        Hotplugged,
        Machine, //
    },
    order::Count,
    pack::Pack,
    packing::Levels,
    platform::{
        Native,
        Platform, //
    },
    policy::{
        Law,
        Policy,
        Usage,
        Verdict,
        View,
        INTERVAL, //
    },
    sample::{
        Clock,
        Moment,
        Period,
        Sample,
        MSEC, //
    },
    trace,
};

/// Periods in a row of which nothing is known, after which all cores are taken back. To keep cores
/// from work for a reason that nobody can see any more is the worse mistake.
const BLIND: u32 = 10;

/// Periods for which nothing is tried after the scheduler refused a set of cores. What made it
/// refuse, a hotplug operation or a new partition, is most likely still going on.
const REFUSED: u32 = 5;

/// Settings that `status` shows as they are: under lockdown their own files cannot be read.
const SHOWN: [Knob; 4] = [
    Knob::IntervalMs,
    Knob::StealHighBp,
    Knob::StealLowBp,
    Knob::Confirm,
];

/// What the governor is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Running,
    Stopped,
    StandingDown,
    NoSource,
}

impl Mode {
    /// Returns what there is to do at present.
    fn due(enabled: bool) -> Self {
        if !enabled {
            Mode::Stopped
        } else if steal_source::source() == Source::None {
            Mode::NoSource
        } else if soft_offline::bypassed() {
            Mode::StandingDown
        } else {
            Mode::Running
        }
    }

    /// Returns the sentence for the log.
    fn message(self) -> &'static str {
        match self {
            Mode::Running => "running",
            Mode::Stopped => "stopped, all cores are in use",
            Mode::StandingDown => "standing down: a BPF scheduler has all tasks",
            Mode::NoSource => "no steal source, all cores are in use until there is one",
        }
    }

    /// Returns the word for `status`.
    fn name(self) -> &'static str {
        match self {
            Mode::Running => "running",
            Mode::Stopped => "stopped",
            Mode::StandingDown => "standing-down",
            Mode::NoSource => "no-steal-source",
        }
    }
}

/// Why a configuration cannot be carried out: somebody else has a hook that it needs.
struct Refusal {
    error: Error,
    /// The hook, and what to do.
    why: &'static str,
}

impl Refusal {
    const CAPACITY: &'static str = "steal capacity is claimed by another driver; \
        unload it, or set steal_capacity to 0";
    const PACK: &'static str = "asym priority is claimed by another driver; \
        unload it, or set asym_levels to none and rank_steal to 0";
    const GUARD: &'static str = "the cache guard is claimed by another driver; \
        unload it, or set guard to kernel";

    /// Says why something failed.
    fn of(why: &'static str) -> impl Fn(Error) -> Self {
        move |error| Self { error, why }
    }
}

/// The clocks, counted from when the module was loaded.
struct Birth {
    monotonic: Instant<Monotonic>,
    boottime: Instant<BootTime>,
}

impl Birth {
    fn now() -> Self {
        Self {
            monotonic: Instant::now(),
            boottime: Instant::now(),
        }
    }

    fn age(&self) -> Moment {
        let ns = |ns: i64| u64::try_from(ns).unwrap_or(0);

        Moment {
            monotonic: ns(self.monotonic.elapsed().as_nanos()),
            boottime: ns(self.boottime.elapsed().as_nanos()),
        }
    }
}

/// All that the lock guards.
struct State {
    config: Config,
    cores_max: u32,
    mode: Mode,
    claim: soft_offline::Registration,
    capacity: Option<steal_capacity::Registration>,
    pack: Pack,
    guard: Guard,
    machine: Machine,
    hotplugged: Arc<Hotplugged>,
    birth: Birth,
    clock: Clock,
    policy: Policy,
    sample: Sample,
    usage: Usage,
    /// The length of the last period in nanoseconds.
    elapsed: u64,
    /// The next sample is wanted soon.
    soon: bool,
    blind: u32,
    refused: u32,
    shrinks: usize,
    events: Events,
    history: History<KVec<Option<Entry>>>,
    /// Of messages on refused writes; none of these must keep the others from the log.
    refusals: Ratelimit,
    /// Of messages on what the governor is doing.
    switches: Ratelimit,
}

impl State {
    fn new(config: Config, cores_max: u32, hotplugged: Arc<Hotplugged>) -> Result<KBox<Self>> {
        let entries = KVec::from_elem(None, LENGTH, GFP_KERNEL)?;
        let machine = Machine::new(config.rank_steal)?;
        let pack = Pack::new()?;
        let claim = soft_offline::Registration::new().inspect_err(|_| {
            pr_err!("not loaded: soft offline is claimed by another driver; unload it first\n");
        })?;
        let state = Self {
            config,
            cores_max,
            mode: Mode::Stopped,
            claim,
            capacity: None,
            pack,
            guard: Guard::new(),
            machine,
            hotplugged,
            birth: Birth::now(),
            clock: Clock::new(),
            policy: Policy::new(config.policy),
            sample: Sample::Unknown,
            usage: Usage::NONE,
            elapsed: 0,
            soon: false,
            blind: 0,
            refused: 0,
            shrinks: soft_offline::shrinks(),
            events: Events::default(),
            history: History::new(entries),
            refusals: Ratelimit::new(),
            switches: Ratelimit::new(),
        };
        let mut state = KBox::new(state, GFP_KERNEL)?;

        state.machine.refresh();
        if !config.asym_levels.is_empty() && state.claim(&config).is_err() {
            // Nobody asked for these levels, the platform has them by default.
            pr_warn!("not packing by default: somebody else does\n");
            state.config.asym_levels = Levels::NONE;
        }
        let config = state.config;
        state.claim(&config).map_err(|refusal| {
            pr_err!("not loaded: {}\n", refusal.why);
            refusal.error
        })?;
        state.mode = Mode::due(config.enabled);
        Ok(state)
    }

    fn now_ms(&self) -> u64 {
        self.birth.age().monotonic / MSEC
    }

    /// Keeps steal out of the capacity of CPUs, or stops doing so, as the configuration wants it.
    fn claim_capacity(&mut self, config: &Config) -> Result {
        let want = config.enabled && config.steal_capacity;

        if want && self.capacity.is_none() {
            self.capacity = Some(steal_capacity::Registration::new()?);
        } else if !want {
            self.capacity = None;
        }
        Ok(())
    }

    /// Claims the hooks that a configuration needs besides soft offline, and tells them what it
    /// says; gives up the others.
    fn claim(&mut self, config: &Config) -> Result<(), Refusal> {
        self.claim_capacity(config)
            .map_err(Refusal::of(Refusal::CAPACITY))?;
        self.machine.set_rank_steal(config.rank_steal);
        self.pack
            .update(config, self.machine.cpus())
            .map_err(Refusal::of(Refusal::PACK))?;
        self.guard
            .update(config, self.pack.spacing())
            .map_err(Refusal::of(Refusal::GUARD))
    }

    /// Ranks CPUs as they are now.
    fn publish_ranks(&mut self) {
        let config = self.config;

        // Nothing needs to be claimed that is not, so that this cannot fail.
        let _ = self.claim(&config);
    }

    /// Forgets all samples.
    fn start_afresh(&mut self) {
        self.clock.forget();
        self.machine.forget();
        self.policy.reset();
        self.sample = Sample::Unknown;
        self.blind = 0;
    }

    /// Notes a value that was refused.
    fn refuse(&mut self, args: fmt::Arguments<'_>) {
        self.events.refused_writes += 1;
        if self.refusals.pass(self.now_ms()) {
            pr_warn!("{}\n", args);
        }
    }

    /// Notes levels that there are not.
    fn refuse_levels(&mut self) {
        let levels = self.machine.levels();

        self.refuse(fmt!(
            "asym_levels: no such level; write none, or some of these: {}",
            format_args!("{levels}")
        ));
    }

    /// Takes a new configuration, or leaves everything as it is.
    fn configure(&mut self, config: Config) -> Result {
        if config == self.config {
            return Ok(());
        }
        if let Err(refusal) = self.claim(&config) {
            // What was in force before needs nothing that is not there.
            let old = self.config;
            let _ = self.claim(&old);
            self.refuse(fmt!("{}", refusal.why));
            return Err(refusal.error);
        }

        let old = core::mem::replace(&mut self.config, config);
        if config.policy != old.policy {
            self.policy = Policy::new(config.policy);
        }
        self.policy.reset();
        self.refused = 0;
        if (config.enabled, config.interval_ms) != (old.enabled, old.interval_ms) {
            self.start_afresh();
        }
        if config.enabled != old.enabled {
            self.switch(Mode::due(config.enabled));
        }
        Ok(())
    }

    /// Changes what the governor is doing. But for running, that means to use all cores.
    fn switch(&mut self, mode: Mode) {
        let old = core::mem::replace(&mut self.mode, mode);
        if old == mode {
            return;
        }

        self.start_afresh();
        match mode {
            Mode::NoSource => self.events.source_lost += u64::from(old != Mode::Stopped),
            Mode::StandingDown => self.events.stand_downs += 1,
            Mode::Running | Mode::Stopped => (),
        }
        if self.switches.pass(self.now_ms()) {
            pr_info!("{}\n", mode.message());
        }
        if mode != Mode::Running {
            self.machine.refresh();
            self.unfold_all(mode.name());
        }
    }

    /// Uses all cores.
    fn unfold_all(&mut self, reason: &'static str) {
        let count = self.machine.count();

        self.publish(count.eligible, &count, reason);
    }

    /// Looks at what the last period brought, and acts on it.
    fn period(&mut self) {
        let asked_ns = self.delay_ns();

        self.soon = false;
        self.events.samples += 1;
        self.events.hotplugs = self.hotplugged.count();

        let mode = Mode::due(self.config.enabled);
        self.switch(mode);
        self.machine.look();
        self.notice_shrinks();
        self.sample = if mode == Mode::Running {
            self.take_sample(asked_ns)
        } else {
            Sample::Unknown
        };
        self.machine.rank();
        self.publish_ranks();

        let count = self.machine.count();
        trace::sample(self.sample, count.active, count.eligible);
        match self.sample {
            Sample::Steal(steal_bp) => self.decide(steal_bp, &count),
            Sample::Unknown => self.wait(&count),
        }
    }

    /// The scheduler takes cores back when hotplug or a partition leaves it no choice.
    fn notice_shrinks(&mut self) {
        let shrinks = soft_offline::shrinks();
        let new = shrinks.wrapping_sub(core::mem::replace(&mut self.shrinks, shrinks));
        if new == 0 {
            return;
        }

        let active = self.machine.count().active;
        self.events.shrinks += new as u64;
        self.policy.reset();
        self.note(active, active, "shrink", "scheduler");
    }

    /// Returns the time that is left until the next sample, in nanoseconds.
    fn delay_ns(&self) -> u64 {
        u64::from(self.config.delay_ms(self.soon)) * MSEC
    }

    fn take_sample(&mut self, asked_ns: u64) -> Sample {
        let period = self.clock.advance(self.birth.age(), asked_ns);
        self.events.period(period);

        self.elapsed = match period {
            Period::Plain(elapsed) => elapsed,
            _ => {
                self.machine.forget();
                self.policy.reset();
                0
            }
        };
        let totals = self
            .machine
            .read(self.elapsed, &self.hotplugged, &mut self.events);
        self.usage = totals.usage();
        totals.sample()
    }

    /// Asks the policy, and does what it wants.
    fn decide(&mut self, steal_bp: u32, count: &Count) {
        self.blind = 0;
        let verdict = self.verdict(steal_bp, count);

        self.soon = verdict.soon;
        trace::decision(count.active, &verdict);
        if self.refused > 0 {
            self.refused -= 1;
            self.note(count.active, count.active, "hold", "refused");
            return;
        }
        self.publish(verdict.target, count, verdict.reason.name());
    }

    fn verdict(&mut self, steal_bp: u32, count: &Count) -> Verdict {
        let view = View {
            steal_bp,
            active: count.active,
            total: count.eligible,
            floor: self.floor(),
            usage: self.usage,
            elapsed: self.elapsed_parts(),
            // All but the one that asks.
            runnable: nr_running().saturating_sub(1),
        };

        self.policy.decide(&view, &self.config.tuning())
    }

    /// Returns the length of the last period, where an interval is [`INTERVAL`].
    fn elapsed_parts(&self) -> u32 {
        let part = u64::from(self.config.interval_ms) * MSEC / u64::from(INTERVAL);

        u32::try_from(self.elapsed / part).unwrap_or(u32::MAX)
    }

    /// Returns how many cores must be used at least.
    fn floor(&mut self) -> u32 {
        self.config
            .floor_cores
            .max(Native::entitled_cores().unwrap_or(0))
            .max(self.machine.least())
    }

    /// Waits for steal to be known again, but not forever.
    fn wait(&mut self, count: &Count) {
        self.events.samples_unknown += 1;
        self.policy.reset();
        self.blind = self.blind.saturating_add(1);
        if self.blind >= BLIND && count.active < count.eligible {
            self.events.blind += 1;
            self.unfold_all("blind");
        } else {
            self.note(count.active, count.active, "hold", "unknown");
        }
    }

    /// Folds cores so that `target` are in use, and notes what came of it.
    fn publish(&mut self, target: u32, count: &Count, reason: &'static str) {
        let from = count.active;
        let (mask, to) = self.machine.plan(target);
        let Some(mask) = mask else {
            self.note(from, from, "hold", reason);
            return;
        };

        let result = self.claim.set(mask);
        trace::action(from, to, &result);
        if result.is_err() {
            self.events.refused_masks += 1;
            self.refused = REFUSED;
            self.policy.reset();
            self.note(from, from, "refused", reason);
            return;
        }
        let action = if to < from {
            self.events.folds += u64::from(from - to);
            "fold"
        } else if to > from {
            self.events.unfolds += u64::from(to - from);
            "unfold"
        } else {
            self.events.moves += 1;
            "move"
        };
        self.note(from, to, action, reason);
        self.machine.refresh();
    }

    fn note(&mut self, from: u32, to: u32, action: &'static str, reason: &'static str) {
        let now_ms = self.now_ms();

        self.history.push(Entry {
            first_ms: now_ms,
            last_ms: now_ms,
            count: 1,
            steal_bp: self.sample.steal_bp(),
            from,
            to,
            action,
            reason,
        });
    }

    fn show_status(&mut self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.machine.refresh();
        let count = self.machine.count();
        let floor = self.floor();
        let folded = self.machine.folded();

        writeln!(f, "enabled: {}", u32::from(self.config.enabled))?;
        writeln!(f, "state: {}", self.mode.name())?;
        let reason = self.history.last().map_or("-", |entry| entry.reason);
        writeln!(f, "reason: {reason}")?;
        writeln!(f, "policy: {}", self.policy.kind().name())?;
        for knob in SHOWN {
            write!(f, "{}: ", knob.name())?;
            self.config.show(knob, f)?;
            f.write_str("\n")?;
        }
        f.write_str("steal_bp: ")?;
        show_or_dash(self.sample.steal_bp(), f)?;
        writeln!(f, "cores: {}", count.eligible)?;
        writeln!(f, "active_cores: {}", count.active)?;
        writeln!(f, "folded_cores: {}", count.eligible - count.active)?;
        writeln!(f, "excluded_cores: {}", count.excluded)?;
        f.write_fmt(fmt!("folded: {folded}\n"))?;
        writeln!(f, "floor_cores: {floor}")?;
        f.write_str("entitled_cores: ")?;
        show_or_dash(Native::entitled_cores(), f)?;
        f.write_str("available_cores: ")?;
        show_or_dash(Native::available_cores(), f)?;
        writeln!(f, "platform: {}", Native::NAME)?;
        writeln!(f, "source: {}", source_name(steal_source::source()))?;
        writeln!(f, "steal_capacity: {}", self.capacity_name())?;
        writeln!(f, "ranks: {}", self.ranks_name())?;
        writeln!(f, "asym_levels: {}", self.pack.levels())?;
        writeln!(f, "guard: {}", self.config.guard.name())?;
        writeln!(f, "guard_state: {}", self.guard.state())?;
        writeln!(f, "uptime_ms: {}", self.now_ms())
    }

    /// Which of the two worlds this kernel is in, and what is done about it.
    fn capacity_name(&self) -> &'static str {
        match (steal_capacity::supported(), self.capacity.is_some()) {
            (false, _) => "not-affected",
            (true, false) => "lowered-by-steal",
            (true, true) => "kept-from-steal",
        }
    }

    /// Whose ranks the scheduler goes by.
    fn ranks_name(&self) -> &'static str {
        if self.pack.is_claimed() {
            "corefold"
        } else {
            "kernel"
        }
    }

    /// The counters, with those that others count.
    fn events(&self) -> Events {
        let guard = self.guard.counts();

        Events {
            rank_changes: self.pack.changes(),
            rebuilds: self.pack.rebuilds(),
            guard_asym_wins: guard.asym_wins as u64,
            guard_llc_wins: guard.llc_wins as u64,
            guard_kept_up: guard.kept_up as u64,
            ..self.events
        }
    }

    fn show_history(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "first_ms last_ms count steal_bp from to action reason")?;
        for entry in self.history.iter() {
            write!(f, "{} {} {} ", entry.first_ms, entry.last_ms, entry.count)?;
            match entry.steal_bp {
                Some(bp) => write!(f, "{bp}")?,
                None => f.write_str("-")?,
            }
            writeln!(
                f,
                " {} {} {} {}",
                entry.from, entry.to, entry.action, entry.reason
            )?;
        }
        Ok(())
    }
}

fn source_name(source: Source) -> &'static str {
    match source {
        Source::None => "none",
        Source::Paravirt => "paravirt",
        Source::Vtime => "vtime",
    }
}

/// Prints a line with a number, or with a dash where it is not known: that is not the same as zero.
fn show_or_dash(value: Option<u32>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value {
        Some(value) => writeln!(f, "{value}"),
        None => writeln!(f, "-"),
    }
}

/// Samples steal and folds cores, once per interval.
#[pin_data]
pub(crate) struct Governor {
    #[pin]
    state: Mutex<KBox<State>>,
    #[pin]
    work: DelayedWork<Self>,
}

impl_has_delayed_work! {
    impl HasDelayedWork<Self> for Governor { self.work }
}

impl Governor {
    /// Claims the hooks. Nothing happens before [`Governor::start`].
    ///
    /// # Errors
    ///
    /// Returns [`EBUSY`] if somebody else has claimed a hook that the configuration needs.
    pub(crate) fn new(
        config: Config,
        cores_max: u32,
        hotplugged: Arc<Hotplugged>,
    ) -> Result<Arc<Self>> {
        let state = State::new(config, cores_max, hotplugged)?;

        Arc::pin_init(
            pin_init!(Self {
                state <- new_mutex!(state, "Governor::state"),
                work <- new_delayed_work!("Governor::work"),
            }),
            GFP_KERNEL,
        )
    }

    /// Starts sampling at once, unless it is disabled.
    pub(crate) fn start(self: &Arc<Self>) {
        if self.state.lock().config.enabled {
            self.schedule(0);
        }
    }

    /// Stops sampling for good, and waits for the work to end.
    pub(crate) fn stop(self: &Arc<Self>) {
        workqueue::disable_delayed_work_sync(self);
    }

    fn schedule(self: &Arc<Self>, delay_ms: u32) {
        // It may be queued already, which is just as well, or disabled for good.
        let _ =
            workqueue::system_freezable().enqueue_delayed(self.clone(), msecs_to_jiffies(delay_ms));
    }

    /// Sets a knob.
    ///
    /// # Errors
    ///
    /// Returns [`ERANGE`] for a value out of range, [`EINVAL`] for one that makes no sense,
    /// [`EBUSY`] if it needs what somebody else has. Nothing has changed then.
    pub(crate) fn set(self: &Arc<Self>, knob: Knob, text: &[u8]) -> Result {
        let mut state = self.state.lock();
        let old = state.config;
        let config = match old.with(knob, text, state.cores_max) {
            Ok(config) => config,
            Err(invalid) => {
                state.refuse(fmt!("{}", format_args!("{invalid}")));
                return Err(errno(&invalid));
            }
        };
        if knob == Knob::AsymLevels && !asym_priority::has_levels(config.asym_levels.as_c_str()) {
            state.refuse_levels();
            return Err(EINVAL);
        }
        state.configure(config)?;
        drop(state);

        if (config.enabled, config.interval_ms) != (old.enabled, old.interval_ms) {
            self.restart();
        }
        Ok(())
    }

    /// Lets a changed interval take effect now, not when the old one is over.
    fn restart(self: &Arc<Self>) {
        workqueue::cancel_delayed_work_sync(self);
        // Whoever comes here last sees what everybody set.
        self.start();
    }

    /// Counts a value that could not even be read.
    pub(crate) fn refuse_unread(&self, knob: Knob) {
        self.state
            .lock()
            .refuse(fmt!("{}: not a value; write one short line", knob.name()));
    }

    /// Prints the value of a knob.
    pub(crate) fn show_knob(&self, knob: Knob, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = self.state.lock().config;

        config.show(knob, f)?;
        f.write_str("\n")
    }

    /// Prints how things are.
    pub(crate) fn show_status(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.lock().show_status(f)
    }

    /// Prints the cores.
    pub(crate) fn show_cores(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut state = self.state.lock();

        state.machine.refresh();
        state.machine.show(f)
    }

    /// Prints the ranks of all CPUs.
    pub(crate) fn show_ranks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut state = self.state.lock();

        state.machine.refresh();
        state.publish_ranks();
        state.machine.show_ranks(state.pack.is_claimed(), f)
    }

    /// Prints the scheduling domains.
    pub(crate) fn show_domains(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut state = self.state.lock();

        state.machine.refresh();
        state.machine.show_domains(f)
    }

    /// Prints the last decisions.
    pub(crate) fn show_history(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.lock().show_history(f)
    }

    /// Prints the counters.
    pub(crate) fn show_events(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let events = self.state.lock().events();

        write!(f, "{events}")
    }
}

/// Returns the error code for a refused value.
fn errno(invalid: &Invalid) -> Error {
    if invalid.is_range() {
        ERANGE
    } else {
        EINVAL
    }
}

impl WorkItem for Governor {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        let mut state = this.state.lock();
        if !state.config.enabled {
            return;
        }

        state.period();
        let delay_ms = state.config.delay_ms(state.soon);
        drop(state);
        this.schedule(delay_ms);
    }
}
