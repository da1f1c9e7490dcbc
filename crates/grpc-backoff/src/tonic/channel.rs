use super::answer::{Answer, Calls, failed};
use super::deadline::grpc_timeout;
use super::origin::Origin;
use super::transport::in_words;
use super::{BoxFuture, Builder, Unavailable};
use crate::{Config, ConfigError, Handle, Shared, Status, Wait};
use core::fmt;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use std::boxed::Box;
use std::format;
use std::sync::{Arc, OnceLock};
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::timeout;
use tonic::body::Body;
use tower::load::Load;
use tower_service::Service;

/// A gRPC channel to one server that reconnects by itself, whether there are calls or not.
///
/// It is a `tower` service for generated clients and for balancers, and its clones share one
/// connection and one task. That ends with the last clone.
///
/// ```
/// # use grpc_backoff::{Config, ConfigError, Wait, tonic::Channel};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), ConfigError> {
/// # let target = http::Uri::from_static("http://127.0.0.1:50051");
/// let channel = Channel::new(Config::GRPC, target)?.calls(Wait::FailFast);
/// # drop(channel); Ok(()) }
/// ```
///
/// | | ready | a call without a connection |
/// |---|---|---|
/// | as it is made | when there is a connection | waits, however long: a balancer passes over it |
/// | [`calls`](Self::calls)`(FailFast)` | always | waits for the attempt in flight, and fails in TRANSIENT_FAILURE (C3) |
/// | [`calls`](Self::calls)`(ForReady)` | always | waits, until its own `grpc-timeout` |
///
/// As it is made it is for balancers: a call's `grpc-timeout` does not count before the channel is
/// ready, or one of those behind a balancer is. Without a balancer, say `calls`; around one, put a
/// `tokio::time::timeout`.
///
/// With `calls`, a request says otherwise for itself by a [`Wait`] in its extensions. A
/// connection is there, and used, before the server's SETTINGS (D13).
///
/// # Sent once
///
/// A request goes out on one connection and on no other. Where that closes while the request still
/// waits to be handed to HTTP/2, it goes to the next one; its [`Wait`] and its `grpc-timeout` hold
/// all the while. Once handed over, it fails with UNAVAILABLE when the connection closes, whether
/// the server saw it or not: only the caller knows whether to call again.
///
/// # Errors
///
/// Calls that got no answer fail with UNAVAILABLE, the reason and, unless nothing follows,
/// `google.rpc.RetryInfo`; at their own `grpc-timeout` with DEADLINE_EXCEEDED. Readiness fails
/// only as the channel is made, and only where nothing follows by itself: after `shutdown`, a
/// withdrawal, a final refusal or a limit of the config. A balancer then drops it.
#[derive(Clone)]
pub struct Channel {
    shared: Shared<Sender, Uri>,
    origin: Origin,
    calls: Calls,
    /// What calls do that say nothing themselves; `None` as it is made.
    wait: Option<Wait>,
}

type Sender = SendRequest<Body>;

impl Channel {
    /// Makes a channel to this target and begins to connect: over TCP, with TLS where the URI says
    /// `https`. A [`Builder`] has more to choose.
    ///
    /// # Errors
    ///
    /// A config that makes no sense is refused, see [`ConfigError`] (D3).
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime: the channel has a task.
    pub fn new(config: Config, target: Uri) -> Result<Self, ConfigError> {
        Builder::new(config).channel(target)
    }

    pub(super) fn build(builder: Builder, target: Uri) -> Result<Self, ConfigError> {
        let origin = Origin::new(target.clone());
        let (mode, http2) = (builder.mode, builder.http2.clone());
        let known = Arc::new(OnceLock::from(target));
        let dialler = builder.dialler(known, move |connection| {
            let http2 = http2.clone();
            Box::pin(async move {
                let handshake = http2.handshake(connection).await;
                Ok(handshake.map_err(|error| in_words(&error))?)
            })
        })?;
        Ok(Self {
            shared: dialler.share(mode),
            origin,
            calls: Calls::default(),
            wait: None,
        })
    }

    /// Makes it ready at any time, and lets each call see to it that there is a connection: those
    /// that say nothing themselves in this way (C3).
    #[must_use]
    pub const fn calls(mut self, wait: Wait) -> Self {
        self.wait = Some(wait);
        self
    }

    /// What it is doing; as text it is one line for people.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared.handle().status()
    }

    /// Watches the state, the last failure and the instant of the next attempt.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Status> {
        self.shared.handle().watch()
    }

    /// Commands it from anywhere: a reset, other addresses.
    #[must_use]
    pub fn handle(&self) -> &Handle<Uri> {
        self.shared.handle()
    }

    /// Ends it for good, with its connection and its task; calls under way break off.
    pub async fn shutdown(&self) {
        self.shared.shutdown().await;
    }
}

impl Service<Request<Body>> for Channel {
    type Response = Response<Body>;
    type Error = tonic::Status;
    type Future = BoxFuture<Result<Response<Body>, tonic::Status>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), tonic::Status>> {
        if self.wait.is_some() {
            return Poll::Ready(Ok(()));
        }
        let connected = ready!(self.shared.poll_connection(cx, Wait::ForReady));
        Poll::Ready(
            connected
                .map(drop)
                .map_err(|error| Unavailable::from(error).into()),
        )
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let wait = request.extensions().get().copied();
        let wait = wait.or(self.wait).unwrap_or(Wait::ForReady);
        let allowed = grpc_timeout(request.headers());
        self.origin.put(&mut request);
        let (shared, call) = (self.shared.clone(), self.calls.begin());
        Box::pin(async move {
            let answer = send(&shared, wait, request);
            let response = match allowed {
                None => answer.await?,
                Some(allowed) => timeout(allowed, answer)
                    .await
                    .unwrap_or_else(|_| Err(too_late(allowed, shared.handle())))?,
            };
            let handle = shared.handle().clone();
            Ok(response.map(|body| Body::new(Answer::new(body, handle, call))))
        })
    }
}

/// Sends the request on the connection that there is or will be. One that went away before the
/// request was sent gives it back, for the next.
async fn send(
    shared: &Shared<Sender, Uri>,
    wait: Wait,
    mut request: Request<Body>,
) -> Result<Response<Incoming>, tonic::Status> {
    loop {
        let connected = shared.connection(wait).await;
        let mut sender = connected.map_err(Unavailable::from)?;
        match sender.try_send_request(request).await {
            Ok(response) => return Ok(response),
            Err(mut error) => match error.take_message() {
                Some(unsent) => request = unsent,
                None => return Err(failed(error.error(), &shared.handle().status())),
            },
        }
        yield_now().await; // the task that drives the connection is about to see its end
    }
}

fn too_late(allowed: Duration, handle: &Handle<Uri>) -> tonic::Status {
    let status = handle.status();
    tonic::Status::deadline_exceeded(format!("no answer within {allowed:?}; {status}"))
}

impl Load for Channel {
    type Metric = usize;

    /// Calls under way, until their answers are read to the end.
    fn load(&self) -> usize {
        self.calls.count()
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("origin", &self.origin)
            .field("handle", self.shared.handle())
            .finish_non_exhaustive()
    }
}
