mod driver;
mod report;

use crate::{AttemptId, Config, ConfigError, Connection, Snapshot, Start};
use core::fmt;
use core::future::poll_fn;
use core::pin::pin;
use core::task::{Context, Poll};
use core::time::Duration;
use driver::Driver;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::boxed::Box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::string::ToString;
use tokio::sync::watch;

pub use report::{AttemptReport, Error, Failure, Outcome, Status};

/// Connects again and again, as often as the gRPC connection backoff allows and no more.
///
/// It takes any async connect function and drives a [`Connection`] with tokio's clock and one
/// random generator of its own, seeded by the operating system (B4). The function must resolve
/// only once the server has *accepted* the connection (for gRPC: when SETTINGS has arrived),
/// since that is what resets the backoff (S11); it is dropped when its connect deadline passes
/// (S5). A host that uses connections before that (D13) drives a [`Connection`] itself.
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
/// loses nothing, not even the attempt in flight: that stays here, and the next call goes on with
/// it, or with the wait. Meanwhile nobody drives it: an attempt whose connect deadline passes in
/// between has failed by the next call. To want no connection any more, call
/// [`withdraw`](Self::withdraw). And this is how to hurry when the network comes back:
///
/// ```
/// # use {core::fmt, core::future::Future, grpc_backoff::*};
/// # async fn hurry<F, Fut, C, E: fmt::Display>(mut server: Reconnector<F, Fut>, network_is_back: tokio::sync::Notify) -> Result<C, Error<E>>
/// # where F: FnMut(AttemptId) -> Fut, Fut: Future<Output = Result<C, Failure<E>>> {
/// loop {
///     tokio::select! {
///         connected = server.connect() => break connected,
///         () = network_is_back.notified() => server.reset(), // ends a wait, and lets an attempt go on
///     }
/// }
/// # }
/// ```
pub struct Reconnector<F, Fut> {
    dial: F,
    driver: Driver<Fut>,
}

impl<F, Fut> Reconnector<F, Fut>
where
    F: FnMut(AttemptId) -> Fut,
{
    /// Makes a reconnector that has not connected yet. `dial` is called with the id of each
    /// attempt and gives the future that connects.
    ///
    /// # Errors
    ///
    /// A config that makes no sense is refused, see [`ConfigError`] (D3).
    pub fn new(config: Config, dial: F) -> Result<Self, ConfigError> {
        Ok(Self::drive(Connection::new(config)?, dial))
    }

    /// As [`new`](Self::new), but goes on where a [`snapshot`](Self::snapshot) left off: it
    /// waits what is left.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn restore(config: Config, snapshot: Snapshot, dial: F) -> Result<Self, ConfigError> {
        let machine = Connection::restore(config, Duration::ZERO, snapshot)?;
        Ok(Self::drive(machine, dial))
    }

    /// The clock starts here, at zero.
    fn drive(machine: Connection, dial: F) -> Self {
        let mut rng: SmallRng = rand::make_rng();
        let driver = Driver::new(machine, Box::new(move || rng.next_u64()));
        Self { dial, driver }
    }

    /// Takes its draws from a generator with this seed: for tests that replay. Never use one
    /// seed for two clients.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        self.with_draws(move || rng.next_u64())
    }

    /// Takes its draws, uniform over all of `u64`, from a function: for tests that name each
    /// delay.
    #[must_use]
    pub fn with_draws(mut self, draws: impl FnMut() -> u64 + Send + 'static) -> Self {
        self.driver.draws = Box::new(draws);
        self
    }

    /// Calls `observer` at the end of every attempt, with what was planned and what came of it.
    #[must_use]
    pub fn on_attempt(mut self, observer: impl FnMut(&AttemptReport) + Send + 'static) -> Self {
        self.driver.observer = Box::new(observer);
        self
    }

    /// Watches the state, the last failure and the instant of the next attempt. A watch shows
    /// the latest value only: see [`on_attempt`](Self::on_attempt) for all that happened.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Status> {
        self.driver.status.subscribe()
    }

    /// The connection that `connect` gave is gone (C2). Calling `connect` again says so too.
    /// Without a connection it says nothing; an attempt in flight stays.
    pub fn lost(&mut self) {
        self.driver.lost();
    }

    /// Nobody wants a connection any more: drops an attempt in flight, which is neither success
    /// nor failure (D12). The wait still counts (D8).
    pub fn withdraw(&mut self) {
        self.driver.withdraw();
    }

    /// Restarts the series and ends any wait, for instance when the network is back (C4). An
    /// attempt in flight goes on; if it fails, the next one starts at once (D5).
    pub fn reset(&mut self) {
        let now = self.driver.clock.now();
        self.driver.machine.reset(now);
        self.driver.publish();
    }

    /// Ends everything for good, an attempt in flight as well: from now on `connect` fails with
    /// [`Error::Shutdown`] (C1). An established connection is the caller's to close.
    pub fn shutdown(&mut self) {
        self.driver.shutdown();
    }

    /// What to keep across a restart of the program, see [`Connection::snapshot`].
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.driver.machine.snapshot(self.driver.clock.now())
    }

    /// Says in one line what it is doing and why, for a human.
    #[must_use]
    pub fn explain(&self) -> impl fmt::Display + use<'_, F, Fut> {
        self.driver.machine.explain(self.driver.clock.now())
    }
}

impl<F, Fut, C, E> Reconnector<F, Fut>
where
    F: FnMut(AttemptId) -> Fut,
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
    /// [`Error::GaveUp`] at a limit of the config (D11), [`Error::Shutdown`] after `shutdown`.
    ///
    /// # Panics
    ///
    /// Where the connect function does: that attempt has failed.
    pub async fn connect(&mut self) -> Result<C, Error<E>> {
        self.driver.connect();
        loop {
            let start = self.driver.next_attempt().await?;
            match self.dialled(start).await {
                Some(Ok(connection)) => {
                    self.driver.connected(start);
                    return Ok(connection);
                }
                Some(Err(Failure::Retry(error))) => {
                    let outcome = Outcome::Failed(error.to_string().into());
                    self.driver.failed(start, outcome);
                }
                Some(Err(Failure::Final(error))) => {
                    let outcome = Outcome::Refused(error.to_string().into());
                    self.driver.failed(start, outcome);
                    self.driver.withdraw();
                    return Err(Error::Refused(error));
                }
                None => {} // past its deadline: the machine aborts it
            }
        }
    }

    /// What the connect function gives by the attempt's deadline.
    async fn dialled(&mut self, start: Start) -> Option<Fut::Output> {
        let clock = self.driver.clock;
        let mut deadline = pin!(clock.sleep_until(Some(start.deadline)));
        poll_fn(|cx| match self.poll_attempt(start, cx) {
            Poll::Ready(result) => Poll::Ready(Some(result)),
            Poll::Pending => deadline.as_mut().poll(cx).map(|()| None),
        })
        .await
    }

    /// Begins the attempt or goes on with it. One that panics has failed, and is not polled again.
    fn poll_attempt(&mut self, start: Start, cx: &mut Context<'_>) -> Poll<Fut::Output> {
        let Self { dial, driver } = self;
        let attempt = &mut driver.attempt;
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let attempt = attempt.get_or_insert_with(|| Box::pin(dial(start.attempt)));
            attempt.as_mut().poll(cx)
        }));
        polled.unwrap_or_else(|panic| {
            driver.failed(
                start,
                Outcome::Failed("the connect function panicked".into()),
            );
            resume_unwind(panic)
        })
    }
}

impl<F, Fut> fmt::Debug for Reconnector<F, Fut> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reconnector")
            .field("machine", &self.driver.machine)
            .finish_non_exhaustive()
    }
}
