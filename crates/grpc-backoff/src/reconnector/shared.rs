use super::Reconnector;
use super::attempt::Attempt;
use super::catch::{catch, discard};
use super::connect::{Stop, Waiting};
use super::core::{Core, Inner};
use super::handle::Handle;
use super::report::{Error, Failure, Wait};
use super::status::Status;
use core::fmt;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::boxed::Box;
use std::string::ToString;
use std::sync::Arc;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;

/// When a [`Shared`] connects by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// When somebody asks for a connection, and again after a loss when somebody asks next.
    #[default]
    OnDemand,
    /// At once, and again after each failure, refusal and loss as soon as the backoff allows,
    /// without traffic (by the document's values within 144 s), until it gives up (D11) or is
    /// withdrawn.
    KeepConnected,
}

/// One connection that many tasks use: a background task makes it, drives it, and makes it again.
///
/// Made by [`Reconnector::share`]. A copy is for the same connection; once the last one is
/// dropped, the task ends. The task is the only one there is, and
/// [`shutdown`](Self::shutdown) waits for its end.
pub struct Shared<C, A: Clone + Eq = ()> {
    owners: Arc<Owners<A>>,
    slot: watch::Receiver<Slot<C>>,
    status: watch::Receiver<Status>,
    /// What [`poll_connection`](Self::poll_connection) waits for.
    waiting: Option<(Wait, Connected<C>)>,
}

type Connected<C> = Pin<Box<dyn Future<Output = Result<C, Error<Arc<str>>>> + Send + Sync>>;

/// Ends the task with the last of them.
struct Owners<A: Clone + Eq> {
    handle: Handle<A>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl<A: Clone + Eq> Drop for Owners<A> {
    fn drop(&mut self) {
        self.handle.shutdown();
    }
}

/// What the task tells.
struct Slot<C> {
    connection: Option<C>,
    /// Final refusals so far, and the latest in words.
    refusals: u64,
    refusal: Arc<str>,
}

impl<A, F, Fut, C, D, E> Reconnector<A, F, Fut>
where
    A: Clone + Eq + fmt::Debug + Send + Sync + 'static,
    F: FnMut(Attempt<A>) -> Fut + Send + 'static,
    Fut: Future<Output = Result<(C, D), Failure<E>>> + Send + 'static,
    C: Clone + Send + Sync + 'static,
    D: Future + Send + 'static,
    E: fmt::Display + Send + 'static,
{
    /// Gives the connection to many tasks. The connect function's result is the connection and a
    /// future that drives it and ends when it is gone, as the handshakes of `hyper` and `redis`
    /// give them. A panic in either is a failed attempt or a loss; one as they are dropped changes
    /// nothing.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime, where it cannot spawn its task.
    #[must_use]
    pub fn share(self, mode: Mode) -> Shared<C, A> {
        let handle = self.handle().clone();
        let (slot, receiver) = watch::channel(Slot {
            connection: None,
            refusals: 0,
            refusal: "".into(),
        });
        let status = handle.watch();
        let task = tokio::spawn(run(self, mode, slot));
        Shared {
            owners: Arc::new(Owners {
                handle,
                task: Mutex::new(Some(task)),
            }),
            slot: receiver,
            status,
            waiting: None,
        }
    }
}

/// The task: connects, drives the connection until it is gone, and begins again.
async fn run<A, F, Fut, C, D, E>(
    mut reconnector: Reconnector<A, F, Fut>,
    mode: Mode,
    slot: watch::Sender<Slot<C>>,
) where
    A: Clone + Eq + fmt::Debug,
    F: FnMut(Attempt<A>) -> Fut,
    Fut: Future<Output = Result<(C, D), Failure<E>>>,
    D: Future,
    E: fmt::Display,
{
    let core = Arc::clone(&reconnector.handle().core);
    let mut keep = mode == Mode::KeepConnected;
    loop {
        if !keep {
            until(&core, Inner::is_wanted).await;
        }
        let mut waiting = Waiting::begin(Arc::clone(&core));
        let connected = poll_fn(|cx| reconnector.poll_connect(&mut waiting, Wait::ForReady, cx));
        keep = mode == Mode::KeepConnected;
        match connected.await {
            Ok((connection, driving)) => {
                slot.send_modify(|slot| slot.connection = Some(connection));
                drive(&core, driving).await;
                let mut connection = None;
                slot.send_modify(|slot| connection = slot.connection.take());
                discard(connection); // outside the slot's lock
                reconnector.lost();
                keep &= waiting.is_wanted(); // (D8)
            }
            Err(Stop::Error(Error::Refused(error))) => {
                let words = catch(|| error.to_string());
                slot.send_modify(|slot| {
                    slot.refusals = slot.refusals.saturating_add(1);
                    slot.refusal = words.unwrap_or_default().into();
                });
                discard(error);
            }
            Err(Stop::Error(Error::Shutdown)) => return,
            Err(Stop::Error(Error::GaveUp(_))) => until(&core, |inner| !inner.gave_up()).await,
            Err(Stop::Error(_)) => keep = false, // withdrawn, until somebody wants it again
            Err(Stop::Panicked(_)) => {}         // a failed attempt like others
        }
    }
}

async fn until<A: Clone + Eq>(core: &Core<A>, is_so: impl Fn(&Inner<A>) -> bool) {
    poll_fn(|cx| core.look(|inner, _| inner.poll_until(cx.waker(), &is_so))).await;
}

/// Drives a connection until it is gone or not wanted any more.
async fn drive<A: Clone + Eq>(core: &Core<A>, driving: impl Future) {
    let mut driving = Box::pin(driving);
    poll_fn(|cx: &mut Context<'_>| {
        let gone = |inner: &Inner<A>| !inner.is_given();
        if (core.look(|inner, _| inner.poll_until(cx.waker(), gone))).is_ready() {
            return Poll::Ready(());
        }
        match catch(|| driving.as_mut().poll(cx).map(drop)) {
            Ok(polled) => polled,
            Err(_) => Poll::Ready(()),
        }
    })
    .await;
    discard(driving);
}

impl<C, A> Shared<C, A>
where
    A: Clone + Eq + Send + Sync + 'static,
    C: Clone + Send + Sync + 'static,
{
    /// Gives the connection, or waits for it as `wait` says. Where nothing is connecting, it is
    /// wanted from now on, until there is one or somebody calls [`withdraw`](Handle::withdraw).
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] for callers that fail fast (C3); for all, [`Error::Refused`] where
    /// the connect function fails for good meanwhile, [`Error::GaveUp`] at a limit of the config
    /// (D11), [`Error::Withdrawn`] and [`Error::Shutdown`].
    pub async fn connection(&self, wait: Wait) -> Result<C, Error<Arc<str>>> {
        let (mut slot, mut status) = (self.slot.clone(), self.status.clone());
        let handle = &self.owners.handle;
        let refusals = slot.borrow().refusals;
        let mut withdrawals = None;
        loop {
            status.borrow_and_update();
            {
                let slot = slot.borrow_and_update();
                if let Some(connection) = &slot.connection {
                    return Ok(connection.clone());
                }
                if slot.refusals > refusals {
                    return Err(Error::Refused(Arc::clone(&slot.refusal)));
                }
            }
            let end = (handle.core).command(|inner, now| inner.ask(now, wait, &mut withdrawals));
            if let Some(end) = end {
                return Err(end.into());
            }
            tokio::select! {
                biased;
                changed = slot.changed() => if changed.is_err() {
                    return Err(Error::Shutdown);
                },
                _ = status.changed() => {}
            }
        }
    }

    /// As [`connection`](Self::connection), for a `poll_ready`: it wakes when there is more to
    /// say. A later call with another `wait` begins anew.
    ///
    /// # Errors
    ///
    /// As [`connection`](Self::connection).
    pub fn poll_connection(
        &mut self,
        cx: &mut Context<'_>,
        wait: Wait,
    ) -> Poll<Result<C, Error<Arc<str>>>> {
        if let Some(connection) = self.current() {
            self.waiting = None;
            return Poll::Ready(Ok(connection));
        }
        let waiting = self.waiting.take().filter(|(asked, _)| *asked == wait);
        let (_, mut connected) = waiting.unwrap_or_else(|| {
            let shared = self.clone();
            (wait, Box::pin(async move { shared.connection(wait).await }))
        });
        let poll = connected.as_mut().poll(cx);
        self.waiting = poll.is_pending().then_some((wait, connected));
        poll
    }

    /// The connection, if there is one now.
    #[must_use]
    pub fn current(&self) -> Option<C> {
        self.slot.borrow().connection.clone()
    }

    /// Reads and commands the reconnector.
    #[must_use]
    pub fn handle(&self) -> &Handle<A> {
        &self.owners.handle
    }

    /// Ends everything for good (C1), and waits until the task is gone, and its connection with
    /// it.
    pub async fn shutdown(&self) {
        self.owners.handle.shutdown();
        let mut task = self.owners.task.lock().await;
        if let Some(running) = &mut *task {
            let _ = running.await; // it ends, whatever it has to say
            *task = None;
        }
    }
}

impl<C, A: Clone + Eq> Clone for Shared<C, A> {
    fn clone(&self) -> Self {
        Self {
            owners: Arc::clone(&self.owners),
            slot: self.slot.clone(),
            status: self.status.clone(),
            waiting: None,
        }
    }
}

impl<C, A: Clone + Eq> fmt::Debug for Shared<C, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("handle", &self.owners.handle)
            .finish_non_exhaustive()
    }
}

impl<C> fmt::Debug for Slot<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}
