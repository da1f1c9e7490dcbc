//! What the driver task and the application's handles share.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
};

use rudp_proto::{CloseReason, Event, Handle, Stats, StreamId, Trace, WriteError};
use tokio::sync::{Notify, watch};

use crate::{
    Clock, Connection,
    backlog::Backlog,
    waiting::{Settled, Signals, Waiting},
};

/// Where traces go: called by the driver's task, with the connection's handle.
pub type TraceSink = Arc<dyn Fn(Handle, Trace) + Send + Sync>;

/// What the driver task and the application's handles share.
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) work: Notify, // wakes the driver: the application did something
    pub(crate) idle: watch::Sender<bool>, // nothing is connected, to be sent or to be waited for
    pub(crate) backlog: Backlog,
    state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) core: rudp_proto::Endpoint,
    slots: BTreeMap<Handle, Slot>, // one per connection that is not closed
    is_over: bool,                 // the driver is gone
}

/// What is to be passed on once the state is no longer locked.
#[derive(Default)]
pub(crate) struct Deferred {
    pub(crate) woken: Vec<Waker>,
    pub(crate) accepted: Vec<Connection>,
    pub(crate) traces: Vec<(Handle, Trace)>,
}

/// Who waits for what on a connection.
struct Slot {
    phase: watch::Sender<Phase>,
    waiting: Waiting,
    signals: Arc<Signals>,
}

/// How far a connection has come.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    Connecting,
    Connected,
    Closed(CloseReason, Box<Stats>),
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("core", &self.lock().core)
            .finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn new(clock: Clock, core: rudp_proto::Endpoint, backlog: Backlog) -> Arc<Self> {
        let state = State {
            core,
            slots: BTreeMap::new(),
            is_over: false,
        };
        Arc::new(Self {
            clock,
            work: Notify::new(),
            idle: watch::Sender::new(true),
            backlog,
            state: Mutex::new(state),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a connection of the core and makes the application's handle.
    pub(crate) fn open(
        self: &Arc<Self>,
        state: &mut State,
        handle: Handle,
        phase: Phase,
    ) -> Connection {
        let (phase, follow) = watch::channel(phase);
        let signals = Arc::new(Signals::default());
        let slot = Slot {
            phase,
            waiting: Waiting::default(),
            signals: signals.clone(),
        };
        state.slots.insert(handle, slot);
        Connection::new(self.clone(), handle, follow, signals)
    }

    /// Tells whom the core's events concern, and adds what must wait until the lock is gone. Readers
    /// and writers are woken then too: on another thread they would at once wait for that lock.
    pub(crate) fn dispatch(self: &Arc<Self>, state: &mut State, deferred: &mut Deferred) {
        while let Some((handle, event)) = state.core.poll_event() {
            match event {
                Event::Connected if state.slots.contains_key(&handle) => {
                    state.with(handle, |slot| _ = slot.phase.send_replace(Phase::Connected));
                }
                Event::Connected => {
                    deferred
                        .accepted
                        .push(self.open(state, handle, Phase::Connected));
                }
                Event::Opened => state.with(handle, |slot| slot.signals.opened.notify_waiters()),
                Event::MayOpen => state.with(handle, |slot| slot.signals.may_open.notify_waiters()),
                Event::MessageReadable => {
                    state.with(handle, |slot| slot.signals.message.notify_waiters());
                }
                Event::MessageWritable => {
                    state.with(handle, |slot| {
                        slot.signals.room_for_message.notify_waiters()
                    });
                }
                Event::Readable(id) => state.with(handle, |slot| {
                    deferred.woken.extend(slot.waiting.readers.take(id));
                }),
                Event::Writable(id) => state.with(handle, |slot| {
                    deferred.woken.extend(slot.waiting.writers.take(id));
                }),
                Event::Stopped(id) => state.handle_stopped(handle, id),
                Event::Acknowledged(id) => {
                    state.with(handle, |slot| {
                        slot.waiting.settle(id, Settled::Acknowledged)
                    });
                }
                Event::MessageExpired(id) => {
                    state.with(handle, |slot| slot.waiting.settle(id, Settled::Expired));
                }
                Event::Unanswered | Event::Answered => {
                    tracing::debug!(?handle, ?event);
                    state.with(handle, |slot| slot.signals.answers.notify_waiters());
                }
                Event::Trace(trace) => deferred.traces.push((handle, trace)),
                Event::Closed(reason) => {
                    tracing::debug!(?handle, %reason, "closed");
                    state.close(handle, reason);
                }
            }
        }
    }

    /// Hands an accepted connection to the application. Not to be called with the state locked.
    pub(crate) fn accept(&self, connection: Connection) {
        tracing::debug!(handle = ?connection.handle(), "accepted");
        self.backlog.push(connection);
    }

    /// Takes no more connections and aborts those that are open. Not to be called with the state
    /// locked.
    pub(crate) fn stop(&self, code: u64, reason: &str) {
        self.lock().stop(code, reason);
        self.backlog.close();
    }

    /// The driver is gone: whatever is still open is closed. Not to be called with the state locked.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.end();
        self.idle.send_replace(true);
        drop(state);
        self.backlog.close();
    }
}

/// How a connection ends with its endpoint: by this side, which says nothing.
pub(crate) fn gone() -> CloseReason {
    let (code, reason) = (0, String::new());
    CloseReason::Local { code, reason }
}

impl State {
    /// Whether nothing will be done any more.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether no connection is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// A connection, until it is closed or the driver is gone.
    pub(crate) fn connection(&mut self, handle: Handle) -> Option<&mut rudp_proto::Connection> {
        let open = self.slots.contains_key(&handle);
        open.then(|| self.core.connection_mut(handle)).flatten()
    }

    /// The same, with those who wait for something on it.
    pub(crate) fn open_connection(
        &mut self,
        handle: Handle,
    ) -> Option<(&mut rudp_proto::Connection, &mut Waiting)> {
        let slot = self.slots.get_mut(&handle)?;
        Some((self.core.connection_mut(handle)?, &mut slot.waiting))
    }

    /// The peer stopped a stream: its writer hears so, and who waits for that.
    fn handle_stopped(&mut self, handle: Handle, id: StreamId) {
        if let Some((connection, waiting)) = self.open_connection(handle)
            && let Err(WriteError::Stopped(code)) = connection.is_acknowledged(id)
        {
            waiting.writers.take(id).into_iter().for_each(Waker::wake);
            waiting.settle(id, Settled::Stopped(code));
        }
    }

    fn stop(&mut self, code: u64, reason: &str) {
        self.core.listen(false);
        for &handle in self.slots.keys() {
            if let Some(connection) = self.core.connection_mut(handle) {
                connection.abort(code, reason);
            }
        }
    }

    fn end(&mut self) {
        self.is_over = true;
        while let Some((handle, event)) = self.core.poll_event() {
            if let Event::Closed(reason) = event {
                self.close(handle, reason); // it ended before the driver did
            }
        }
        while let Some((&handle, _)) = self.slots.first_key_value() {
            self.close(handle, gone());
        }
    }

    fn close(&mut self, handle: Handle, reason: CloseReason) {
        if let Some(mut slot) = self.slots.remove(&handle) {
            let stats = self.core.connection(handle).map(|it| it.stats());
            let stats = Box::new(stats.unwrap_or_default());
            slot.phase.send_replace(Phase::Closed(reason, stats));
            slot.waiting.readers.wake_all();
            slot.waiting.writers.wake_all();
            slot.signals.all();
        }
    }

    fn with(&mut self, handle: Handle, act: impl FnOnce(&mut Slot)) {
        if let Some(slot) = self.slots.get_mut(&handle) {
            act(slot);
        }
    }
}
