//! What tokio programs call, over real sockets in this process.

mod endpoint;
mod messages;
mod pair;
mod relay;
mod resumable;
mod streams;
mod unanswered;

use std::{net::SocketAddr, time::Duration};

use tokio::time::timeout;

/// Waits, but no longer than only a failure would take.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(120), future)
        .await
        .expect("within two minutes")
}

pub(crate) fn any() -> SocketAddr {
    "127.0.0.1:0".parse().expect("an address")
}
