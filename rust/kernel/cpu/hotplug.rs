// SPDX-License-Identifier: GPL-2.0

//! CPU hotplug callbacks.
//!
//! C header: [`include/linux/cpuhotplug.h`](srctree/include/linux/cpuhotplug.h)

use crate::{
    bindings,
    container_of,
    cpu::CpuId,
    error::to_result,
    prelude::*,
    sync::Arc,
    types::Opaque, //
};

use core::ops::Deref;

/// What to do when a CPU goes online or offline.
///
/// Both functions run on the CPU in question, in a thread that may sleep, while the CPU hotplug
/// operation is waiting for them. They must not take the CPU hotplug lock, for instance through
/// [`cpus_read_lock`](crate::cpu::cpus_read_lock) or by creating or dropping a [`Registration`].
///
/// CPUs that go offline for a suspend are treated no different.
pub trait Callbacks: Send + Sync + 'static {
    /// `cpu` has gone online. The scheduler does not use it yet: it is not in the active mask.
    fn online(&self, cpu: CpuId);

    /// `cpu` is about to go offline. The scheduler uses it no more: it is not in the active mask.
    fn offline(&self, cpu: CpuId);
}

impl<T: Callbacks> Callbacks for Arc<T> {
    fn online(&self, cpu: CpuId) {
        T::online(self, cpu);
    }

    fn offline(&self, cpu: CpuId) {
        T::offline(self, cpu);
    }
}

/// The registration of CPU hotplug callbacks.
///
/// The callbacks are not called for the CPUs that are online when they are registered or
/// unregistered. Dropping the registration waits for a callback that is running.
///
/// Neither creating nor dropping a registration is allowed while the CPU hotplug lock is held.
///
/// # Invariants
///
/// - `state` is a multi-instance CPU hotplug state that belongs to this registration and whose
///   callbacks are `online_callback` and `offline_callback` for `T`.
/// - `node` is the only instance of `state`.
///
/// # Examples
///
/// ```
/// use kernel::cpu::{hotplug, CpuId};
/// use kernel::sync::atomic::{Atomic, Relaxed};
///
/// /// Counts the CPUs that come and go.
/// struct Changes(Atomic<u32>);
///
/// impl hotplug::Callbacks for Changes {
///     fn online(&self, _cpu: CpuId) {
///         self.0.add(1, Relaxed);
///     }
///
///     fn offline(&self, _cpu: CpuId) {
///         self.0.add(1, Relaxed);
///     }
/// }
///
/// let changes = KBox::pin_init(
///     hotplug::Registration::<Changes>::new(c"example:changes", Changes(Atomic::new(0))),
///     GFP_KERNEL,
/// )?;
///
/// // The CPUs that are online already do not count.
/// assert_eq!(changes.0.load(Relaxed), 0);
/// # Ok::<(), Error>(())
/// ```
#[pin_data(PinnedDrop)]
pub struct Registration<T: Callbacks> {
    #[pin]
    callbacks: T,
    #[pin]
    node: Opaque<bindings::hlist_node>,
    state: bindings::cpuhp_state,
}

// SAFETY: CPU hotplug states and their instances belong to no thread, and `T` is `Send`.
unsafe impl<T: Callbacks> Send for Registration<T> {}

// SAFETY: A shared reference to a `Registration` gives access to `callbacks` only, and `T` is
// `Sync`.
unsafe impl<T: Callbacks> Sync for Registration<T> {}

impl<T: Callbacks> Registration<T> {
    /// Registers `callbacks`, which are called from now on.
    ///
    /// `name` is what `/sys/devices/system/cpu/hotplug/states` shows, by convention
    /// `subsystem:purpose`.
    ///
    /// # Errors
    ///
    /// Returns [`ENOSPC`] if all dynamic CPU hotplug states are taken.
    pub fn new<E>(name: &'static CStr, callbacks: impl PinInit<T, E>) -> impl PinInit<Self, Error>
    where
        Error: From<E>,
    {
        // INVARIANT: `register` returns a state with the callbacks for `T`, which nobody else
        // knows of, and to which it added `node`.
        try_pin_init!(&this in Self {
            callbacks <- callbacks,
            node: Opaque::zeroed(),
            state: {
                // SAFETY:
                // - `this` points to a `Registration<T>` whose `callbacks` and `node` have been
                //   initialized, and do not move since they are pinned.
                // - Should what follows fail, then `register` itself has not added the node. Else
                //   `Drop` removes the node before either is gone.
                unsafe { Self::register(this.as_ptr(), name) }?
            },
        })
    }

    /// Sets up a CPU hotplug state, and adds the node of `this` to it.
    ///
    /// # Safety
    ///
    /// `callbacks` and `node` of `this` must be initialized, and must neither move nor go away
    /// before the node has been removed from the returned state.
    unsafe fn register(this: *mut Self, name: &'static CStr) -> Result<bindings::cpuhp_state> {
        // SAFETY: The name is never freed, and the callbacks are those of a multi-instance state.
        let state = unsafe {
            bindings::cpuhp_setup_state_multi(
                bindings::cpuhp_state_CPUHP_AP_ONLINE_DYN,
                name.as_char_ptr(),
                Some(online_callback::<T>),
                Some(offline_callback::<T>),
            )
        };
        to_result(state)?;

        // SAFETY: By the safety requirements, `this` points to a `Registration<T>`.
        let node = Opaque::cast_into(unsafe { &raw const (*this).node });

        // SAFETY: `state` has been set up above. By the safety requirements, the node, and what
        // the callbacks find by means of it, is valid until it is removed from `state`.
        let added = to_result(unsafe { bindings::__cpuhp_state_add_instance(state, node, false) });
        if added.is_err() {
            // SAFETY: `state` has been set up above, and has no instance.
            unsafe { bindings::__cpuhp_remove_state(state, false) };
        }

        added.map(|()| state)
    }
}

impl<T: Callbacks> Deref for Registration<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.callbacks
    }
}

#[pinned_drop]
impl<T: Callbacks> PinnedDrop for Registration<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: By the type invariants, `node` is an instance of `state`. The call waits until
        // no callback uses it.
        unsafe { bindings::__cpuhp_state_remove_instance(self.state, self.node.get(), false) };

        // SAFETY: By the type invariants, `state` belongs to this registration. Its only instance
        // has just been removed.
        unsafe { bindings::__cpuhp_remove_state(self.state, false) };
    }
}

/// # Safety
///
/// `node` must be the field of that name in a [`Registration<T>`] whose `callbacks` are
/// initialized, and remain so for `'a`.
unsafe fn callbacks_of<'a, T: Callbacks>(node: *mut bindings::hlist_node) -> &'a T {
    // SAFETY: By the safety requirements, `node` lies in a `Registration<T>`.
    let this = unsafe { container_of!(Opaque::cast_from(node).cast_mut(), Registration<T>, node) };

    // SAFETY: By the safety requirements, `callbacks` is valid for reading. It is never written
    // to while it is pinned, other than by its own interior mutability. The other fields are left
    // alone: `state` may not have been initialized yet.
    unsafe { &(*this).callbacks }
}

/// # Safety
///
/// Must only be called by the CPU hotplug core, as a callback of a state that
/// [`Registration::<T>::register`] has set up.
unsafe extern "C" fn online_callback<T: Callbacks>(
    cpu: c_uint,
    node: *mut bindings::hlist_node,
) -> c_int {
    // SAFETY: The only instances of such a state are nodes of a `Registration<T>`, which has
    // initialized its `callbacks` before it adds the node, and waits for us to return when it
    // removes the node.
    let callbacks = unsafe { callbacks_of::<T>(node) };

    // SAFETY: The CPU hotplug core passes valid CPU numbers.
    callbacks.online(unsafe { CpuId::from_u32_unchecked(cpu) });
    0
}

/// # Safety
///
/// Must only be called by the CPU hotplug core, as a callback of a state that
/// [`Registration::<T>::register`] has set up.
unsafe extern "C" fn offline_callback<T: Callbacks>(
    cpu: c_uint,
    node: *mut bindings::hlist_node,
) -> c_int {
    // SAFETY: As in `online_callback`.
    let callbacks = unsafe { callbacks_of::<T>(node) };

    // SAFETY: The CPU hotplug core passes valid CPU numbers.
    callbacks.offline(unsafe { CpuId::from_u32_unchecked(cpu) });
    0
}

#[cfg(all(CONFIG_RUST_CPU_HOTPLUG_KUNIT_TEST, CONFIG_HOTPLUG_CPU))]
#[macros::kunit_tests(rust_cpu_hotplug)]
mod tests {
    use super::*;
    use crate::{
        cpu::cpus_read_lock,
        sync::atomic::{
            Atomic,
            Relaxed, //
        }, //
    };

    /// Counts what happened to one CPU.
    struct Counter {
        cpu: CpuId,
        onlines: Atomic<u32>,
        offlines: Atomic<u32>,
    }

    impl Callbacks for Counter {
        fn online(&self, cpu: CpuId) {
            self.onlines.add(u32::from(cpu == self.cpu), Relaxed);
        }

        fn offline(&self, cpu: CpuId) {
            self.offlines.add(u32::from(cpu == self.cpu), Relaxed);
        }
    }

    impl Counter {
        fn new(cpu: CpuId) -> Result<Arc<Self>> {
            Ok(Arc::new(
                Self {
                    cpu,
                    onlines: Atomic::new(0),
                    offlines: Atomic::new(0),
                },
                GFP_KERNEL,
            )?)
        }

        fn counts(&self) -> (u32, u32) {
            (self.onlines.load(Relaxed), self.offlines.load(Relaxed))
        }
    }

    /// Takes a CPU offline and brings it back.
    fn cycle(cpu: CpuId) -> Result {
        // SAFETY: An FFI call with no additional requirements.
        to_result(unsafe { bindings::remove_cpu(cpu.as_u32()) })?;
        // SAFETY: An FFI call with no additional requirements.
        to_result(unsafe { bindings::add_cpu(cpu.as_u32()) })
    }

    /// Returns a CPU other than the first, which may not be able to go offline.
    fn removable_cpu() -> Option<CpuId> {
        let guard = cpus_read_lock();
        guard.online().last().filter(|cpu| cpu.as_u32() != 0)
    }

    #[test]
    fn callbacks_are_called_while_registered() -> Result {
        let Some(cpu) = removable_cpu() else {
            return Ok(());
        };
        let counter = Counter::new(cpu)?;
        let registration = KBox::pin_init(
            Registration::<Arc<Counter>>::new(c"kunit:rust", counter.clone()),
            GFP_KERNEL,
        )?;

        assert_eq!(counter.counts(), (0, 0));
        cycle(cpu)?;
        assert_eq!(counter.counts(), (1, 1));

        drop(registration);
        cycle(cpu)?;
        assert_eq!(counter.counts(), (1, 1));
        Ok(())
    }

    #[test]
    fn dropping_drops_the_callbacks() -> Result {
        let counter = Counter::new(CpuId::current())?;
        drop(KBox::pin_init(
            Registration::<Arc<Counter>>::new(c"kunit:rust", counter.clone()),
            GFP_KERNEL,
        )?);

        assert!(Arc::into_unique_or_drop(counter).is_some());
        Ok(())
    }
}
