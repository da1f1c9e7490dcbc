//! What the kernel tells about a socket: `TCP_INFO`, and its tick.

use std::time::Duration;

use nix::{
    getsockopt_impl, libc, sockopt_impl,
    sys::socket::getsockopt,
    time::{ClockId, clock_getres},
};
use socket2::Socket;

// Of `struct tcp_info` as much as kernels since 4.9 have.
sockopt_impl!(
    TcpInfoBytes,
    GetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_INFO,
    [u8; 152]
);

/// The fields that the tests look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TcpInfo {
    pub(super) established: bool,
    /// Doublings of the RTO.
    pub(super) backoff: u8,
    /// The RTO in force.
    pub(super) rto_us: u32,
    /// SRTT.
    pub(super) rtt_us: u32,
    /// The smoothed deviation: not the one that the RTO is made of.
    pub(super) rttvar_us: u32,
    /// Payload of a full segment.
    pub(super) mss: u32,
    /// Segments in flight.
    pub(super) unacked: u32,
    /// Retransmissions so far, of the SYN too.
    pub(super) retransmitted: u32,
    /// The last round-trip sample, where the window of the minimum is zero.
    pub(super) min_rtt_us: u32,
}

impl TcpInfo {
    pub(super) fn of(socket: &Socket) -> Self {
        let bytes = getsockopt(socket, TcpInfoBytes).expect("the socket is TCP");
        let word = |at: usize| {
            u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        Self {
            established: bytes[0] == 1,
            backoff: bytes[4],
            rto_us: word(8),
            rtt_us: word(68),
            rttvar_us: word(72),
            mss: word(16),
            unacked: word(24),
            retransmitted: word(100),
            min_rtt_us: word(148),
        }
    }
}

/// The kernel's tick: the grain of its coarse clock.
pub(super) fn jiffy() -> Duration {
    let grain = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).expect("Linux has that clock");
    grain.into()
}
