//! What the driver task and the application's handles share.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Waker},
};

use rudp_proto::{CloseReason, Event, Handle, Stats, Trace};
use tokio::sync::{Notify, mpsc, watch};

use crate::{Clock, Connection};

/// Where traces go: called by the driver's task, with the connection's handle.
pub type TraceSink = Arc<dyn Fn(Handle, Trace) + Send + Sync>;

/// What the driver task and the application's handles share.
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) work: Notify, // wakes the driver: the application did something
    pub(crate) idle: watch::Sender<bool>, // nothing is connected, to be sent or to be waited for
    state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) core: rudp_proto::Endpoint,
    slots: BTreeMap<Handle, Slot>, // one per connection that is not closed
    awaiting: BTreeSet<Handle>,    // those where somebody waits for acknowledgements
    incoming: Option<mpsc::UnboundedSender<Connection>>, // at most `max_connections` queue here
}

/// What is to be passed on once the state is no longer locked.
#[derive(Default)]
pub(crate) struct Deferred {
    pub(crate) accepted: Vec<Connection>,
    pub(crate) traces: Vec<(Handle, Trace)>,
}

/// Who waits for what on a connection.
struct Slot {
    phase: watch::Sender<Phase>,
    reader: Option<Waker>,
    writer: Option<Waker>,
    acknowledged: Vec<Waker>,
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
    pub(crate) fn new(
        clock: Clock,
        core: rudp_proto::Endpoint,
        incoming: mpsc::UnboundedSender<Connection>,
    ) -> Arc<Self> {
        let state = State {
            core,
            slots: BTreeMap::new(),
            awaiting: BTreeSet::new(),
            incoming: Some(incoming),
        };
        Arc::new(Self {
            clock,
            work: Notify::new(),
            idle: watch::Sender::new(true),
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
        let slot = Slot {
            phase,
            reader: None,
            writer: None,
            acknowledged: Vec::new(),
        };
        state.slots.insert(handle, slot);
        Connection::new(self.clone(), handle, follow)
    }

    /// Wakes whom the core's events concern, and returns what must wait until the lock is gone.
    pub(crate) fn dispatch(self: &Arc<Self>, state: &mut State) -> Deferred {
        state.wake_acknowledged();
        let mut deferred = Deferred::default();
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
                Event::Readable(_) => state.with(handle, |slot| wake(&mut slot.reader)),
                Event::Writable(_) => state.with(handle, |slot| wake(&mut slot.writer)),
                // The connection is one stream in each direction, and no message.
                Event::Opened
                | Event::Stopped(_)
                | Event::MayOpen
                | Event::MessageReadable
                | Event::MessageWritable
                | Event::MessageExpired(_) => {}
                Event::Unanswered => tracing::debug!(?handle, "unanswered"),
                Event::Trace(trace) => deferred.traces.push((handle, trace)),
                Event::Closed(reason) => {
                    tracing::debug!(?handle, %reason, "closed");
                    state.close(handle, reason);
                }
            }
        }
        deferred
    }

    /// Hands an accepted connection to the application. If the endpoint takes
    /// no more, the connection is dropped, and aborted with it: so this must
    /// not be called with the state locked.
    pub(crate) fn accept(&self, connection: Connection) {
        tracing::debug!(handle = ?connection.handle(), "accepted");
        let queue = self.lock().incoming.clone();
        _ = queue.map(|queue| queue.send(connection));
    }
}

impl State {
    /// Whether no connection is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// A connection, until it is closed or the driver is gone.
    pub(crate) fn connection(&mut self, handle: Handle) -> Option<&mut rudp_proto::Connection> {
        let open = self.slots.contains_key(&handle);
        open.then(|| self.core.connection_mut(handle)).flatten()
    }

    /// Lets a reader sleep until there is something to read.
    pub(crate) fn await_readable(&mut self, handle: Handle, cx: &Context<'_>) {
        self.with(handle, |slot| wait(&mut slot.reader, cx));
    }

    /// Lets a writer sleep until there is room.
    pub(crate) fn await_writable(&mut self, handle: Handle, cx: &Context<'_>) {
        self.with(handle, |slot| wait(&mut slot.writer, cx));
    }

    /// Lets a writer sleep until everything is acknowledged.
    pub(crate) fn await_acknowledged(&mut self, handle: Handle, cx: &Context<'_>) {
        self.with(handle, |slot| slot.acknowledged.push(cx.waker().clone()));
        self.awaiting.insert(handle);
    }

    /// Takes no more connections and aborts those that are open.
    pub(crate) fn stop(&mut self, code: u64, reason: &str) {
        self.core.listen(false);
        self.incoming = None;
        for &handle in self.slots.keys() {
            if let Some(connection) = self.core.connection_mut(handle) {
                connection.abort(code, reason);
            }
        }
    }

    /// The driver is gone: whatever is still open is closed.
    pub(crate) fn end(&mut self) {
        self.incoming = None;
        while let Some((&handle, _)) = self.slots.first_key_value() {
            self.close(handle, CloseReason::Local);
        }
    }

    fn wake_acknowledged(&mut self) {
        let Self {
            core,
            slots,
            awaiting,
            ..
        } = self;
        awaiting.retain(|handle| {
            let connection = core.connection(*handle);
            let waits = connection.is_some_and(|connection| connection.unacknowledged() > 0);
            if !waits && let Some(slot) = slots.get_mut(handle) {
                slot.acknowledged.drain(..).for_each(Waker::wake);
            }
            waits
        });
    }

    fn close(&mut self, handle: Handle, reason: CloseReason) {
        if let Some(mut slot) = self.slots.remove(&handle) {
            let stats = self.core.connection(handle).map(|it| *it.stats());
            let stats = Box::new(stats.unwrap_or_default());
            slot.phase.send_replace(Phase::Closed(reason, stats));
            wake(&mut slot.reader);
            wake(&mut slot.writer);
            slot.acknowledged.drain(..).for_each(Waker::wake);
        }
    }

    fn with(&mut self, handle: Handle, act: impl FnOnce(&mut Slot)) {
        if let Some(slot) = self.slots.get_mut(&handle) {
            act(slot);
        }
    }
}

fn wait(waiting: &mut Option<Waker>, cx: &Context<'_>) {
    match waiting {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *waiting = Some(cx.waker().clone()),
    }
}

fn wake(waiting: &mut Option<Waker>) {
    if let Some(waker) = waiting.take() {
        waker.wake();
    }
}
