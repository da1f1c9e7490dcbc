//! What tokio programs call, over real sockets in this process.

mod endpoint;
mod ends;
mod messages;
mod pair;
mod refused;
mod relay;
mod resumable;
mod streams;
mod unanswered;

use std::{
    net::{SocketAddr, UdpSocket},
    time::Duration,
};

use rudp::CloseReason;
use tokio::time::timeout;

/// Waits, but no longer than only a failure would take.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(120), future)
        .await
        .expect("within two minutes")
}

/// The end of a connection that this side asked for.
pub(crate) fn own_end(code: u64, reason: &str) -> CloseReason {
    let reason = reason.to_owned();
    CloseReason::Local { code, reason }
}

/// An address where nobody listens, and what keeps its port: while that lives, nobody who asks for
/// any port is given this one, at whatever address.
pub(crate) fn closed() -> (UdpSocket, SocketAddr) {
    let keeper = UdpSocket::bind(any()).expect("a socket");
    let port = keeper.local_addr().expect("bound").port();
    (keeper, SocketAddr::from(([127, 0, 0, 2], port)))
}

pub(crate) fn any() -> SocketAddr {
    "127.0.0.1:0".parse().expect("an address")
}
