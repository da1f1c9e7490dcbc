use crate::reconnector::Clock;
use crate::{Error, State, Status};
use core::fmt;
use core::time::Duration;
use std::string::{String, ToString};
use tonic::Code;
use tonic_types::{ErrorDetails, StatusExt};

/// Why a call was not sent: there is no connection. It says what the channel is doing, and
/// becomes a [`tonic::Status`] with the code UNAVAILABLE and, as `google.rpc.RetryInfo`, the time
/// until another attempt; without that after an end (D18).
///
/// A tonic channel made by `Endpoint::connect_with_connector_lazy` keeps the code and the words of
/// that status, and hides the details: a [`LazyChannel`](super::LazyChannel) finds them.
#[derive(Clone, Debug)]
pub struct Unavailable(tonic::Status);

impl Unavailable {
    pub(super) fn new(why: String, status: Option<&Status>) -> Self {
        let details = match status.and_then(retry_delay) {
            Some(wait) => ErrorDetails::with_retry_info(Some(wait)),
            None => ErrorDetails::new(),
        };
        Self(tonic::Status::with_error_details(
            Code::Unavailable,
            why,
            details,
        ))
    }
}

/// The time until the next attempt; none at all where a call would be served by the attempt in
/// flight, or begin one. After an end nothing follows.
fn retry_delay(status: &Status) -> Option<Duration> {
    match (status.state, status.next_attempt_at) {
        (State::GaveUp { .. } | State::Shutdown, _) => None,
        (_, Some(at)) => Some(at.saturating_duration_since(Clock::read())),
        (_, None) => Some(Duration::ZERO),
    }
}

impl<E: fmt::Display> From<Error<E>> for Unavailable {
    fn from(error: Error<E>) -> Self {
        let status = match &error {
            Error::Unavailable(status) | Error::GaveUp(status) | Error::Withdrawn(status) => {
                Some(status)
            }
            Error::Refused(_) | Error::Shutdown => None,
        };
        Self::new(error.to_string(), status)
    }
}

impl From<Unavailable> for tonic::Status {
    fn from(Unavailable(status): Unavailable) -> Self {
        status
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.message())
    }
}

impl core::error::Error for Unavailable {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.0)
    }
}
