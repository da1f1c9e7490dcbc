mod driver;
mod report;

use crate::{AttemptId, Config, ConfigError, Connection, Snapshot};
use core::fmt;
use core::time::Duration;
use driver::{Driver, Wanting};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::boxed::Box;
use std::string::ToString;
use tokio::sync::watch;
use tokio::time::timeout_at;

pub use report::{AttemptReport, Error, Failure, Outcome, Status};

/// Connects again and again, as often as the gRPC connection backoff allows and no more.
///
/// It takes any async connect function and drives a [`Connection`] with tokio's clock and one
/// random generator of its own, seeded by the operating system (B4). The function must resolve
/// only once the server has *accepted* the connection (for gRPC: when SETTINGS has arrived),
/// since that is what resets the backoff (S11); it is dropped when its connect deadline passes
/// (S5).
///
/// ```
/// # use {grpc_backoff::*, std::io, std::time::Duration, tokio::net::TcpStream};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
/// # let address = listener.local_addr()?;
/// let mut server = Reconnector::new(Config::GRPC, move |_attempt| async move {
///     let stream = TcpStream::connect(address).await?; // an error: try again later
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
/// forgets nothing: the next call waits what is left, and an attempt in flight counts as
/// cancelled (D12). So this is how to hurry when the network comes back:
///
/// ```
/// # use {core::fmt, core::future::Future, grpc_backoff::*};
/// # async fn hurry<F, Fut, C, E: fmt::Display>(mut server: Reconnector<F>, network_is_back: tokio::sync::Notify) -> Result<C, Error<E>>
/// # where F: FnMut(AttemptId) -> Fut, Fut: Future<Output = Result<C, Failure<E>>> {
/// loop {
///     tokio::select! {
///         connected = server.connect() => break connected,
///         () = network_is_back.notified() => server.reset(), // and connect again, at once
///     }
/// }
/// # }
/// ```
pub struct Reconnector<F> {
    dial: F,
    driver: Driver,
}

impl<F> Reconnector<F> {
    /// Makes a reconnector that has not connected yet. `dial` is called with the id of each
    /// attempt and gives the future that connects.
    ///
    /// # Errors
    ///
    /// A config that makes no sense is refused, see [`ConfigError`] (D3).
    pub fn new<Fut>(config: Config, dial: F) -> Result<Self, ConfigError>
    where
        F: FnMut(AttemptId) -> Fut,
    {
        Ok(Self::drive(Connection::new(config)?, dial))
    }

    /// As [`new`](Self::new), but goes on where a [`snapshot`](Self::snapshot) left off: it
    /// waits what is left.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn restore<Fut>(config: Config, snapshot: Snapshot, dial: F) -> Result<Self, ConfigError>
    where
        F: FnMut(AttemptId) -> Fut,
    {
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
    pub fn lost(&mut self) {
        self.driver.lost();
    }

    /// Restarts the series and ends any wait, for instance when the network is back (C4).
    pub fn reset(&mut self) {
        let now = self.driver.clock.now();
        self.driver.machine.reset(now);
        self.driver.publish();
    }

    /// Ends everything for good: from now on `connect` fails with [`Error::Shutdown`] (C1).
    pub fn shutdown(&mut self) {
        // Between two calls of `connect` no attempt is in flight, and an established connection
        // is in the caller's hands.
        let _ = self.driver.machine.shutdown();
        self.driver.publish();
    }

    /// What to keep across a restart of the program, see [`Connection::snapshot`].
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.driver.machine.snapshot(self.driver.clock.now())
    }

    /// Says in one line what it is doing and why, for a human.
    pub fn explain(&self) -> impl fmt::Display + use<'_, F> {
        self.driver.machine.explain(self.driver.clock.now())
    }
}

impl<F, Fut, C, E> Reconnector<F>
where
    F: FnMut(AttemptId) -> Fut,
    Fut: Future<Output = Result<C, Failure<E>>>,
    E: fmt::Display,
{
    /// Gives a connection, as soon as the backoff allows and the server accepts. A connection
    /// given before counts as lost.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] where the connect function says that the failure is final,
    /// [`Error::GaveUp`] at a limit of the config (D11), [`Error::Shutdown`] after `shutdown`.
    pub async fn connect(&mut self) -> Result<C, Error<E>> {
        let mut wanting = Wanting::new(&mut self.driver);
        loop {
            let start = wanting.next_start().await?;
            let attempt = (self.dial)(start.attempt);
            match timeout_at(wanting.at(start.deadline), attempt).await {
                Ok(Ok(connection)) => {
                    wanting.connected(start);
                    return Ok(connection);
                }
                Ok(Err(Failure::Retry(error))) => {
                    wanting.failed(start, Outcome::Failed(error.to_string().into()));
                }
                Ok(Err(Failure::Final(error))) => {
                    wanting.failed(start, Outcome::Refused(error.to_string().into()));
                    return Err(Error::Refused(error));
                }
                Err(_) => {} // past its deadline and dropped: the machine aborts it
            }
        }
    }
}

impl<F> fmt::Debug for Reconnector<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reconnector")
            .field("machine", &self.driver.machine)
            .finish_non_exhaustive()
    }
}
