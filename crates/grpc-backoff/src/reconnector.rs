mod attempt;
mod budget;
mod catch;
mod clock;
mod connect;
mod core;
mod disconnect;
mod draws;
mod guard;
mod handle;
#[cfg(feature = "metrics")]
mod metrics;
mod phase;
mod report;
mod service;
mod shared;
mod status;
mod tell;

use crate::{AttemptId, Config, ConfigError, PickFirst, Snapshot};
use ::core::fmt;
use ::core::future::poll_fn;
use ::core::pin::Pin;
use ::core::time::Duration;
pub(crate) use clock::Clock;
use connect::{Dial, Stop, Waiting};
use core::Core;
use draws::Draws;
use std::boxed::Box;
use std::panic::resume_unwind;
#[cfg(feature = "metrics")]
use std::string::String;
use std::string::ToString;
use std::sync::Arc;
use std::vec::Vec;

pub use attempt::Attempt;
pub use budget::AttemptBudget;
pub use disconnect::Disconnect;
pub use guard::ConnectionGuard;
pub use handle::Handle;
#[cfg(feature = "metrics")]
pub use metrics::describe_metrics;
pub use phase::{Phase, PhaseTimes};
pub use report::{AttemptReport, Error, Failure, Outcome, Wait};
pub use service::OfService;
#[cfg(feature = "tonic")]
pub(crate) use service::call_ready;
pub use shared::{Mode, Shared};
pub use status::{LastFailure, Reason, Status};

/// Connects again and again, as often as the gRPC connection backoff allows and no more.
///
/// It takes any async connect function and drives a [`PickFirst`](crate::PickFirst) with tokio's
/// clock and one random generator of its own, seeded by the operating system (B4). The function
/// must resolve only once the server has *accepted* the connection (for gRPC: when SETTINGS has
/// arrived), since that is what resets the backoff (S11); it is dropped when its connect deadline
/// passes (S5), which covers all that it does. Where connections are used before that (D13), it
/// takes the [`guard`](Attempt::guard) of its attempt.
///
/// ```
/// # use {grpc_backoff::*, std::io, std::time::Duration, tokio::net::TcpStream};
/// # use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
/// # let address = listener.local_addr()?;
/// # tokio::spawn(async move {
/// #     loop { listener.accept().await?.0.write_u8(0).await?; }
/// #     #[expect(unreachable_code, reason = "names the type")] io::Result::Ok(())
/// # });
/// let mut server = Reconnector::new(Config::GRPC, move |_attempt| async move {
///     let mut stream = TcpStream::connect(address).await?; // an error: try again later
///     stream.read_u8().await?; // its first byte: only now has it accepted (S11)
///     Ok::<_, Failure<io::Error>>(stream)
/// })?;
/// let stream = server.connect().await?; // waits as long as it has to
/// drop(stream); // it broke
/// let stream = server.connect().await?; // a new run
/// # Ok(()) }
/// ```
///
/// # Cancel safety
///
/// Everything happens inside [`connect`](Self::connect); no task is spawned. Dropping its future
/// loses nothing, not even the attempts in flight: they stay here, and the next call goes on with
/// them, or with the wait. Meanwhile nobody drives them: an attempt whose connect deadline passes
/// in between has failed by the next call. To want no connection any more, call
/// [`withdraw`](Handle::withdraw). Dropping the reconnector ends everything, as
/// [`shutdown`](Handle::shutdown) does.
pub struct Reconnector<A: Clone + Eq, F, Fut> {
    dial: F,
    handle: Handle<A>,
    /// The futures of the attempts in flight.
    dials: Vec<Dial<Fut>>,
    resolver: Option<Resolver<A>>,
    resolving: Option<(AttemptId, Resolving<A>)>,
    /// An attempt has ended, and the task has not let others run since.
    owes_yield: bool,
}

type Resolver<A> = Box<dyn FnMut() -> Resolving<A> + Send>;
type Resolving<A> = Pin<Box<dyn Future<Output = Result<Vec<A>, Arc<str>>> + Send>>;

impl<F, Fut> Reconnector<(), F, Fut>
where
    F: FnMut(Attempt) -> Fut,
{
    /// Makes a reconnector to one target that has not connected yet. `dial` is called for each
    /// attempt and gives the future that connects.
    ///
    /// # Errors
    ///
    /// A config that makes no sense is refused, see [`ConfigError`] (D3).
    pub fn new(config: Config, dial: F) -> Result<Self, ConfigError> {
        Self::with_addresses(config, [()], dial)
    }
}

impl<A, F, Fut> Reconnector<A, F, Fut>
where
    A: Clone + Eq,
    F: FnMut(Attempt<A>) -> Fut,
{
    /// As [`new`](Reconnector::new), for a target that has several addresses: each has its own
    /// backoff, and they are tried as gRPC does, the next one 250 ms after the one before.
    ///
    /// # Errors
    ///
    /// As [`new`](Reconnector::new).
    pub fn with_addresses(
        config: Config,
        addresses: impl IntoIterator<Item = A>,
        dial: F,
    ) -> Result<Self, ConfigError> {
        let machine = PickFirst::new(config, addresses)?;
        Ok(Self::drive(machine, dial))
    }

    /// Makes a reconnector that goes on where a [`snapshot`](Handle::snapshot) left off, with its
    /// addresses: each waits what is left (D10).
    ///
    /// ```
    /// # use {grpc_backoff::*, std::{fs, io}};
    /// # fn save_and_load(handle: &Handle, path: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    /// # let dial = |_: Attempt| async { Ok::<_, Failure<io::Error>>(()) };
    /// let [((), snapshot)] = handle.snapshot()[..] else { unreachable!("one address") };
    /// fs::write(path.with_extension("new"), snapshot.to_string())?;
    /// fs::rename(path.with_extension("new"), path)?; // all of it or nothing
    ///
    /// // In the next life of the program; what cannot be read is no reason to hurry.
    /// let snapshot = match fs::read_to_string(path)?.parse() {
    ///     Ok(snapshot) => snapshot,
    ///     Err(_) => Snapshot::unknown(&Config::GRPC, rand::random())?,
    /// };
    /// let server = Reconnector::restore(Config::GRPC, [((), snapshot)], dial)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Reconnector::new).
    pub fn restore(
        config: Config,
        snapshot: impl IntoIterator<Item = (A, Snapshot)>,
        dial: F,
    ) -> Result<Self, ConfigError> {
        let machine = PickFirst::restore(config, Duration::ZERO, snapshot)?;
        Ok(Self::drive(machine, dial))
    }

    /// The clock starts here, at zero.
    fn drive(machine: PickFirst<A>, dial: F) -> Self {
        Self {
            dial,
            handle: Handle {
                core: Core::new(Clock::start(), machine),
            },
            dials: Vec::new(),
            resolver: None,
            resolving: None,
            owes_yield: false,
        }
    }

    /// Takes its draws from a generator with this seed: for tests that replay. Never use one
    /// seed for two clients.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        self.with_inner(|inner| inner.draws = Draws::seeded(seed))
    }

    /// Takes its draws, uniform over all of `u64`, from a function: for tests that name each
    /// delay. It is called in the middle of a step, so it must not call the [`Handle`] of its own
    /// reconnector; should it panic, a generator takes its place.
    #[must_use]
    pub fn with_draws(self, draws: impl FnMut() -> u64 + Send + 'static) -> Self {
        self.with_inner(|inner| inner.draws = Draws::Function(Box::new(draws)))
    }

    /// Starts attempts only within a budget that many reconnectors share (D17).
    #[must_use]
    pub fn with_budget(self, budget: AttemptBudget) -> Self {
        self.with_inner(|inner| inner.budget = Some(budget))
    }

    /// Names the target in what `tracing` and the metrics say of it.
    #[must_use]
    pub fn named(self, target: impl Into<Arc<str>>) -> Self {
        self.with_inner(|inner| inner.teller_mut().target = Some(target.into()))
    }

    /// Adds labels to its metrics, such as `grpc.lb.backend_service` and `grpc.lb.locality`, which
    /// gRFC A94 leaves to whoever knows them.
    #[cfg(feature = "metrics")]
    #[must_use]
    pub fn with_labels(self, labels: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        self.with_inner(|inner| inner.teller_mut().labels.add(labels))
    }

    /// Calls `observer` at the end of every attempt, with what was planned and what came of it. As
    /// `tracing` subscribers and recorders of metrics, it may call the [`Handle`], and its panic
    /// breaks nothing: whoever caused the news goes on.
    #[must_use]
    pub fn on_attempt(self, observer: impl Fn(&AttemptReport) + Send + Sync + 'static) -> Self {
        self.with_inner(|inner| inner.teller_mut().observer = Some(Arc::new(observer)))
    }

    /// Reads from a function how long the machine has been suspended since it booted, instead of
    /// from the system's clocks (D16): for tests, and for systems whose clocks do not say. It may call
    /// the [`Handle`].
    #[must_use]
    pub fn with_suspend_clock(
        self,
        suspended: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Self {
        let so_far = suspended();
        self.with_inner(|inner| {
            inner.suspended = so_far;
            inner.suspend_clock = Some(Arc::new(suspended));
        })
    }

    fn with_inner(self, change: impl FnOnce(&mut core::Inner<A>)) -> Self {
        self.handle.core.with(|inner, _| change(inner));
        self
    }

    /// Reads and commands it from anywhere, also while it is inside
    /// [`connect`](Self::connect).
    #[must_use]
    pub const fn handle(&self) -> &Handle<A> {
        &self.handle
    }

    /// The connection that `connect` gave is gone (C2). Calling `connect` again says so too; until
    /// then the status stays READY, since nobody here watches a connection that you hold.
    /// Without a connection it says nothing; an attempt in flight stays.
    pub fn lost(&mut self) {
        self.handle.core.with(|inner, now| inner.lost(now));
    }

    /// As [`Handle::withdraw`], and the future of an attempt that this cancels is dropped at once.
    pub fn withdraw(&mut self) {
        self.handle.withdraw();
        self.sweep();
    }

    /// As [`Handle::shutdown`], and the future of an attempt that this cancels is dropped at once.
    pub fn shutdown(&mut self) {
        self.handle.shutdown();
        self.sweep();
    }
}

impl<A, F, Fut, C, E> Reconnector<A, F, Fut>
where
    A: Clone + Eq + fmt::Debug,
    F: FnMut(Attempt<A>) -> Fut,
    Fut: Future<Output = Result<C, Failure<E>>>,
    E: fmt::Display,
{
    /// As [`with_addresses`](Self::with_addresses), with addresses that are looked for at the
    /// first [`connect`](Self::connect), and again after each pass over them that failed.
    ///
    /// # Errors
    ///
    /// As [`new`](Reconnector::new).
    pub fn with_resolver<R, Res, Addresses, Error>(
        config: Config,
        mut resolve: R,
        dial: F,
    ) -> Result<Self, ConfigError>
    where
        R: FnMut() -> Res + Send + 'static,
        Res: Future<Output = Result<Addresses, Error>> + Send + 'static,
        Addresses: IntoIterator<Item = A>,
        Error: fmt::Display,
    {
        let machine = PickFirst::new(config, [])?.with_resolver();
        let mut reconnector = Self::drive(machine, dial);
        reconnector.resolver = Some(Box::new(move || {
            let resolving = resolve();
            Box::pin(async move {
                match resolving.await {
                    Ok(addresses) => Ok(addresses.into_iter().collect()),
                    Err(error) => Err(error.to_string().into()),
                }
            })
        }));
        Ok(reconnector)
    }

    /// Gives a connection, as soon as the backoff allows and the server accepts. A connection
    /// given before counts as lost. Dropped before it is done, the next call goes on: see
    /// [cancel safety](Self#cancel-safety).
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] where the connect function says that the failure is final,
    /// [`Error::GaveUp`] at a limit of the config (D11), [`Error::Withdrawn`] and
    /// [`Error::Shutdown`] where a [`Handle`] says so.
    ///
    /// # Panics
    ///
    /// Where the connect function or the resolver does: that attempt has failed.
    pub async fn connect(&mut self) -> Result<C, Error<E>> {
        unwind(self.connected(Wait::ForReady).await)
    }

    /// As [`connect`](Self::connect), but fails fast: it waits for attempts, never for a backoff
    /// (C3). The attempts stay in flight when it is dropped, and an attempt that is not due fails
    /// it at once, so it may be called as often as one likes.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect), and [`Error::Unavailable`].
    ///
    /// # Panics
    ///
    /// As [`connect`](Self::connect).
    pub async fn try_connect(&mut self) -> Result<C, Error<E>> {
        unwind(self.connected(Wait::FailFast).await)
    }

    /// As both, but a panic of the connect function is a failed attempt like others.
    #[cfg(feature = "tonic")]
    pub(crate) async fn connect_past_panics(&mut self, wait: Wait) -> Result<C, Error<E>> {
        loop {
            match self.connected(wait).await {
                Err(Stop::Panicked(_)) => {}
                result => return unwind(result),
            }
        }
    }

    async fn connected(&mut self, wait: Wait) -> Result<C, Stop<E>> {
        let mut waiting = Waiting::begin(Arc::clone(&self.handle.core));
        poll_fn(|cx| self.poll_connect(&mut waiting, wait, cx)).await
    }
}

fn unwind<C, E>(result: Result<C, Stop<E>>) -> Result<C, Error<E>> {
    result.map_err(|stop| match stop {
        Stop::Error(error) => error,
        Stop::Panicked(panic) => resume_unwind(panic),
    })
}

impl<A: Clone + Eq, F, Fut> Drop for Reconnector<A, F, Fut> {
    fn drop(&mut self) {
        self.handle.shutdown();
    }
}

impl<A: Clone + Eq, F, Fut> fmt::Debug for Reconnector<A, F, Fut> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reconnector")
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}
