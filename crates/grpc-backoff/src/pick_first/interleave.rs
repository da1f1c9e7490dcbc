use alloc::vec::Vec;
use core::net::SocketAddr;

/// Orders addresses so that the two families alternate, beginning with that of the first (A1).
///
/// Within a family the order stays. A dead family then costs one
/// [`connection_attempt_delay`](crate::Config::connection_attempt_delay), not one for each of its
/// addresses (RFC 8305, section 4).
///
/// ```
/// # use grpc_backoff::interleave;
/// let addresses = ["[::1]:80", "[::2]:80", "[::3]:80", "10.0.0.1:80"].map(|a| a.parse().unwrap());
/// let ordered = interleave(addresses).into_iter().map(|a| a.to_string());
/// assert!(ordered.eq(["[::1]:80", "10.0.0.1:80", "[::2]:80", "[::3]:80"]));
/// ```
#[must_use]
pub fn interleave(addresses: impl IntoIterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let mut addresses = addresses.into_iter().peekable();
    let v6_first = addresses.peek().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = addresses.partition(|a| a.is_ipv6() == v6_first);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut ordered = Vec::new();
    while first.len() > 0 || second.len() > 0 {
        ordered.extend(first.next());
        ordered.extend(second.next());
    }
    ordered
}
