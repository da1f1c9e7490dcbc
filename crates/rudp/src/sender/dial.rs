//! One attempt to connect.

use std::{fmt, io, net::SocketAddr, sync::Arc};

use grpc_backoff::Failure;
use rudp_proto::{CloseReason, Trace};

use super::{SendEvent, Sending};
use crate::{
    ConnectError, Connection, Endpoint, EndpointOptions, Observer, TraceSink,
    protocol::{Refusal, RefusalCode},
};

/// Why an attempt gave no connection.
#[derive(Debug)]
pub enum DialError {
    /// No socket can be had that sends to this address.
    Socket(SocketAddr, io::Error),
    /// The handshake failed.
    Connect(ConnectError),
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(server, error) => write!(f, "cannot send to {server}: {error}"),
            Self::Connect(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DialError {}

impl DialError {
    /// The refusal, if the receiver refused with a reason.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::Connect(ConnectError::Closed(reason)) => as_refusal(reason),
            _ => None,
        }
    }

    /// Only a refusal with a reason is final; all else may be better next time: a route may come up,
    /// a server come back.
    fn judge(self) -> Failure<Self> {
        match self.refusal() {
            Some(_) => Failure::Final(self),
            None => Failure::Retry(self),
        }
    }
}

/// A connection and the socket it lives on.
pub(super) struct Link {
    pub(super) attempt: u64,
    pub(super) connection: Connection,
    pub(super) endpoint: Endpoint,
}

/// Connects from a new socket: the route, and with it this side's address, may have changed.
pub(super) async fn dial(
    server: SocketAddr,
    attempt: u64,
    options: EndpointOptions,
    observe: Observer<SendEvent>,
) -> Result<Link, Failure<DialError>> {
    let on_trace = move |_, trace: Trace| {
        observe(SendEvent {
            at: trace.at,
            what: Sending::Trace { attempt, trace },
        });
    };
    let options = EndpointOptions {
        on_trace: (options.config.trace).then(|| -> TraceSink { Arc::new(on_trace) }),
        ..options
    };
    let endpoint = Endpoint::client_to(server, options)
        .map_err(|error| DialError::Socket(server, error).judge())?;
    let connected = endpoint.connect(server).await;
    let connection = connected.map_err(|error| DialError::Connect(error).judge())?;
    Ok(Link {
        attempt,
        connection,
        endpoint,
    })
}

/// Code 0 means that the receiver only went away.
pub(super) fn as_refusal(reason: &CloseReason) -> Option<Refusal> {
    match reason {
        CloseReason::Peer {
            code: code @ 1..,
            reason,
        } => Some(Refusal {
            code: RefusalCode::from_wire(*code),
            reason: reason.clone(),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_system_is_worth_another_attempt() {
        let server = SocketAddr::from(([10, 9, 9, 9], 1));
        for errno in [rustix::io::Errno::NETUNREACH, rustix::io::Errno::INVAL] {
            let error = DialError::Socket(server, errno.into());
            let text = error.to_string();
            assert!(text.starts_with("cannot send to 10.9.9.9:1: "), "{text}");
            assert!(matches!(error.judge(), Failure::Retry(_)), "{text}");
        }
    }
}
