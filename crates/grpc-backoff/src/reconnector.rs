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
mod options;
mod phase;
mod report;
mod resolver;
mod service;
mod shared;
mod status;
mod tell;
#[cfg(test)]
mod tests;

use crate::{Config, ConfigError, PickFirst, Snapshot};
use ::core::fmt;
use ::core::future::poll_fn;
use ::core::time::Duration;
pub(crate) use clock::Clock;
use connect::{Dial, Stop, Waiting};
use core::Core;
use resolver::Resolver;
use std::boxed::Box;
use std::panic::resume_unwind;
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
    resolver: Option<Box<Resolver<A>>>,
    /// An attempt has ended, and the task has not let others run since.
    owes_yield: bool,
}

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
            owes_yield: false,
        }
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
