//! Ways to dial a server that never accepts.

use crate::proto::ReconnectParams;
use crate::proto::reconnect_service_client::ReconnectServiceClient;
use anyhow::bail;
use http::Uri;
use std::time::Duration;
use tokio::time::{interval, timeout};
use tonic::body::Body;
use tonic::client::GrpcService;
use tonic::codegen::{Bytes, Service, StdError};

/// How many calls [`by_calls`] makes at most. A channel that backs off needs a dozen.
pub const CALLS: usize = 1_000;

/// Makes one call after the other for so long, each as soon as the one before has failed, as
/// any user does. When it dials is the channel's matter.
///
/// # Errors
///
/// A server that answers: it is no retry port.
pub async fn by_calls<T>(channel: T, lasts: Duration) -> anyhow::Result<()>
where
    T: GrpcService<Body, Error: Into<StdError>>,
    T::ResponseBody: http_body::Body<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
{
    let mut server = ReconnectServiceClient::new(channel);
    let calls = async {
        for _ in 0..CALLS {
            if server.start(ReconnectParams::default()).await.is_ok() {
                bail!("the retry port answered a call: it must close each connection");
            }
        }
        Ok(())
    };
    timeout(lasts, calls).await.unwrap_or(Ok(()))
}

/// Dials for so long at a constant interval.
pub async fn at_an_interval<S>(every: Duration, uri: Uri, mut connector: S, lasts: Duration)
where
    S: Service<Uri>,
{
    let dials = async {
        let mut ticks = interval(every);
        loop {
            ticks.tick().await;
            let _ = connector.call(uri.clone()).await; // and closes it
        }
    };
    let _: Result<(), _> = timeout(lasts, dials).await;
}
