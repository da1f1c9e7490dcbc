//! Sending a file: connect, offer, send, and begin again until it is there.

mod dial;
mod event;
mod transfer;

use std::{
    ffi::OsStr,
    fmt, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use grpc_backoff::Reconnector;
use tokio::time::timeout;

use self::{
    dial::{as_refusal, dial},
    transfer::{End, Transfer},
};
use crate::{
    Endpoint, EndpointOptions, Observer, OptionsError, attempt::AttemptLog, blocking::blocking,
    last_rtt::LastRtt, protocol::Refusal, storage::Source,
};
pub use dial::DialError;
pub use event::{Delivered, Report, SendEvent, Sending, Totals};

/// How long the last farewell may take, when the file is there already: 1 s.
const FAREWELL: Duration = Duration::from_secs(1);

/// Settings of [`send`].
#[derive(Clone, Debug)]
pub struct SendOptions {
    /// Whether another file of the same name may be replaced; default no.
    pub force: bool,
    /// When to connect again; default [`grpc_backoff::Config::GRPC`], without
    /// a limit. Nothing else decides that.
    pub backoff: grpc_backoff::Config,
    /// Settings of the endpoint. `on_trace` comes from the observer, which hears traces if
    /// `config.trace` says so. After the first connection, the initial RTO comes from the last one's
    /// round trip, as in [`ResumableOptions`](crate::ResumableOptions).
    pub endpoint: EndpointOptions,
}

impl Default for SendOptions {
    fn default() -> Self {
        Self {
            force: false,
            backoff: grpc_backoff::Config::GRPC,
            endpoint: EndpointOptions::default(),
        }
    }
}

/// Why a file was not sent.
#[derive(Debug)]
pub enum SendError {
    /// The file cannot be read.
    Source(io::Error),
    /// The settings are refused.
    Options(OptionsError),
    /// The receiver refused; sending it again will not help.
    Refused(Refusal),
    /// No connection within the limits of the backoff's config.
    GaveUp(grpc_backoff::Error<DialError>),
    /// The receiver broke the file protocol; says how.
    Protocol(String),
    /// `stop` came first.
    Interrupted,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::Options(error) => error.fmt(f),
            Self::Refused(refusal) => write!(f, "refused by the receiver: {refusal}"),
            Self::GaveUp(error) => error.fmt(f),
            Self::Protocol(what) => write!(f, "the receiver broke the file protocol: {what}"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for SendError {}

/// Sends a file to a receiver under its own name. A lost connection is made
/// again, as often as the backoff allows, and the file goes on from the last
/// byte that the receiver has on disk.
///
/// When `stop` completes, the receiver is told and keeps what it has; dropping
/// the future instead is like the death of the process.
///
/// # Errors
///
/// A [`SendError`]. A lost connection is none, unless a limit is set.
pub async fn send(
    server: SocketAddr,
    path: &Path,
    options: SendOptions,
    observe: Observer<SendEvent>,
    stop: impl Future<Output = ()>,
) -> Result<Report, SendError> {
    let mut endpoint = None;
    let result = tokio::select! {
        result = deliver(server, path, options, observe, &mut endpoint) => result,
        () = stop => Err(SendError::Interrupted),
    };
    if let Some(endpoint) = endpoint {
        match result {
            // The receiver had the last word: there is nothing left to say.
            Ok(_) | Err(SendError::Refused(_)) => endpoint.abandon().await,
            Err(_) => endpoint.shutdown().await,
        }
    }
    result
}

/// Connects and transfers, again and again until the file is there. Leaves
/// the last connection's `endpoint` to the caller.
async fn deliver(
    server: SocketAddr,
    path: &Path,
    options: SendOptions,
    observe: Observer<SendEvent>,
    endpoint: &mut Option<Endpoint>,
) -> Result<Report, SendError> {
    let config = options.endpoint.config.check();
    config.map_err(|error| SendError::Options(error.into()))?;
    let clock = options.endpoint.clock;
    let source = open(path.to_owned()).await.map_err(SendError::Source)?;
    let transfer = Transfer {
        name: name(path).map_err(SendError::Source)?,
        length: source.length(),
        force: options.force,
        source: Arc::new(Mutex::new(source)),
        clock,
        observe: observe.clone(),
    };
    let start = clock.now();
    let (mut connections, mut totals) = (0, Totals::default());
    let (log, told) = (AttemptLog::new(clock), observe.clone());
    let from = options.endpoint;
    let last_rtt = LastRtt::default();
    let dial = |attempt: grpc_backoff::Attempt| {
        let mut options = from.clone();
        last_rtt.hint(&mut options.config);
        dial(server, attempt.id().get(), options, observe.clone())
    };
    let reconnector = Reconnector::new(options.backoff, dial)
        .map_err(|error| SendError::Options(error.into()))?;
    let mut reconnector = reconnector.on_attempt(move |report| {
        let (at, attempt) = log.record(report);
        let what = Sending::Attempt(attempt);
        told(SendEvent { at, what });
    });
    loop {
        let link = reconnector.connect().await.map_err(no_connection)?;
        let (attempt, connection) = (link.attempt, link.connection);
        *endpoint = Some(link.endpoint);
        connections += 1;
        transfer.report(Sending::Connected { attempt });
        let delivered = transfer.run(&connection).await;
        if delivered.is_ok() {
            // The receiver has the file; that it hears the farewell is not vital.
            _ = timeout(FAREWELL, connection.close(0, "")).await;
        }
        let stats = connection.stats();
        last_rtt.learn(&stats);
        totals.add(&stats);
        match delivered {
            Ok(delivered) => {
                transfer.report(Sending::Delivered(delivered));
                return Ok(Report {
                    name: transfer.name.clone(),
                    length: transfer.length,
                    delivered,
                    elapsed: clock.now().saturating_sub(start),
                    attempts: attempt + 1,
                    connections,
                    totals,
                });
            }
            Err(End::Final(error)) => return Err(error),
            Err(End::Closed) => {
                let reason = connection.closed().await;
                if let Some(refusal) = as_refusal(&reason) {
                    return Err(SendError::Refused(refusal));
                }
                transfer.report(Sending::Lost(reason));
                reconnector.lost();
            }
        }
    }
}

fn no_connection(error: grpc_backoff::Error<DialError>) -> SendError {
    let refusal = match &error {
        grpc_backoff::Error::Refused(error) => error.refusal(),
        _ => None,
    };
    refusal.map_or(SendError::GaveUp(error), SendError::Refused)
}

fn name(path: &Path) -> io::Result<String> {
    let name = path.file_name().and_then(OsStr::to_str);
    let error = || io::Error::new(io::ErrorKind::InvalidInput, "the file name is not UTF-8");
    name.map(str::to_owned).ok_or_else(error)
}

async fn open(path: PathBuf) -> io::Result<Source> {
    blocking(move || Source::open(&path)).await
}
