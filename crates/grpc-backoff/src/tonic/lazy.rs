use super::Unavailable;
use super::answer::failed;
use crate::Handle;
use core::fmt;
use core::iter::successors;
use core::pin::Pin;
use core::task::{Context, Poll};
use http::{Request, Response, Uri};
use tonic::Status;
use tonic::body::Body;
use tonic::transport::channel::ResponseFuture;
use tonic::transport::{Channel, Error};
use tower_service::Service;

/// A tonic channel over a [`Connector`](super::Connector) whose failing calls say why, and when to
/// try again.
///
/// Tonic hides the details of an [`Unavailable`] from `Endpoint::connect_with_connector_lazy`, and
/// gives UNKNOWN to a call that breaks off with its connection. Here both are UNAVAILABLE, with
/// the reason and, unless nothing follows, `google.rpc.RetryInfo`.
#[derive(Clone)]
pub struct LazyChannel {
    channel: Channel,
    handle: Handle<Uri>,
}

impl LazyChannel {
    /// Wraps a channel, and takes the handle of its connector.
    ///
    /// ```
    /// # fn wrapped(endpoint: tonic::transport::Endpoint) -> Result<(), grpc_backoff::ConfigError> {
    /// # use grpc_backoff::{Config, tonic::{Connector, LazyChannel}};
    /// let connector = Connector::new(Config::GRPC)?;
    /// let handle = connector.handle().clone();
    /// let channel = LazyChannel::new(endpoint.connect_with_connector_lazy(connector), handle);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub const fn new(channel: Channel, handle: Handle<Uri>) -> Self {
        Self { channel, handle }
    }

    /// Reads and commands the connector from anywhere: the state, a watch, a reset.
    #[must_use]
    pub const fn handle(&self) -> &Handle<Uri> {
        &self.handle
    }
}

impl Service<Request<Body>> for LazyChannel {
    type Response = Response<Body>;
    type Error = Status;
    type Future = Answering;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Status>> {
        let polled = self.channel.poll_ready(cx);
        polled.map_err(|error| status(error, &self.handle))
    }

    fn call(&mut self, request: Request<Body>) -> Answering {
        Answering {
            answer: self.channel.call(request),
            handle: self.handle.clone(),
        }
    }
}

/// The answer to a call through a [`LazyChannel`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Answering {
    answer: ResponseFuture,
    handle: Handle<Uri>,
}

impl Future for Answering {
    type Output = Result<Response<Body>, Status>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.answer).poll(cx);
        polled.map_err(|error| status(error, &this.handle))
    }
}

fn status(error: Error, handle: &Handle<Uri>) -> Status {
    let chain = || {
        successors(
            Some(&error as &(dyn core::error::Error + 'static)),
            |error| error.source(),
        )
    };
    if let Some(unavailable) = chain().find_map(|error| error.downcast_ref::<Unavailable>()) {
        return unavailable.clone().into();
    }
    match chain().find_map(|error| error.downcast_ref()) {
        Some(error) => failed(error, &handle.status()),
        None => Status::from_error(error.into()),
    }
}

impl fmt::Debug for LazyChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyChannel")
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}
