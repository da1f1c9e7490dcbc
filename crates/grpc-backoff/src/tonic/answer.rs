//! What came of a call: counted while it is under way, and its errors as gRPC's codes.

use super::Unavailable;
use super::transport::in_words;
use crate::Handle;
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll};
use h2::Reason;
use http::Uri;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::format;
use std::sync::Arc;
use tonic::{Code, Status};

/// How many calls are under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls(Arc<AtomicUsize>);

impl Calls {
    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn begin(&self) -> Call {
        self.0.fetch_add(1, Ordering::Relaxed);
        Call(self.clone())
    }
}

/// A call under way, until it is dropped.
#[derive(Debug)]
pub(super) struct Call(Calls);

impl Drop for Call {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The body of an answer; the call is under way until it is dropped.
pub(super) struct Answer {
    body: Incoming,
    handle: Handle<Uri>,
    _call: Call,
}

impl Answer {
    pub(super) const fn new(body: Incoming, handle: Handle<Uri>, call: Call) -> Self {
        Self {
            body,
            handle,
            _call: call,
        }
    }
}

impl Body for Answer {
    type Data = <Incoming as Body>::Data;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Status>>> {
        let this = self.get_mut();
        let frame = Pin::new(&mut this.body).poll_frame(cx);
        frame.map_err(|error| failed(&error, &this.handle.status()))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The status of a call that broke off. A stream that the server reset has the code that gRPC
/// gives its reason; with anything else the whole connection is gone, so it is UNAVAILABLE.
pub(super) fn failed(error: &hyper::Error, known: &crate::Status) -> Status {
    let words = format!("{}; {known}", in_words(error));
    match reset(error) {
        Some(Reason::REFUSED_STREAM) | None => Unavailable::new(words, Some(known)).into(),
        Some(Reason::CANCEL) => Status::cancelled(words),
        Some(Reason::ENHANCE_YOUR_CALM) => Status::resource_exhausted(words),
        Some(Reason::INADEQUATE_SECURITY) => Status::permission_denied(words),
        Some(_) => Status::new(Code::Internal, words),
    }
}

fn reset(error: &hyper::Error) -> Option<Reason> {
    let error: &h2::Error = core::error::Error::source(error)?.downcast_ref()?;
    error.reason().filter(|_| error.is_reset())
}
