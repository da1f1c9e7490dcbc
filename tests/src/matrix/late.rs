//! Hosts that wake late, as where timers are coarse or others have the processor.

use std::{net::SocketAddr, time::Duration};

use rudp_proto::{Ecn, Endpoint};

use crate::{draws::splitmix64, time::ms};

/// A host's time asleep, and what arrives in it.
pub(super) struct Late {
    /// Where the draws are.
    state: u64,
    pub(super) wakes_at: Option<Duration>,
    pub(super) is_awake: bool,
    inbox: Vec<(SocketAddr, Option<Ecn>, Vec<u8>)>,
}

impl Late {
    /// Awake until it has sent what there is to send.
    pub(super) fn new(seed: u64) -> Self {
        Self {
            state: seed,
            wakes_at: None,
            is_awake: true,
            inbox: Vec::new(),
        }
    }

    /// A timer is due, or something to read has come: the host will wake for it, if it does not for
    /// another reason first. Once in 20 times it takes 10 ms, else 3 at most.
    pub(super) fn rouse(&mut self, now: Duration) {
        if self.wakes_at.is_none() {
            let draw = splitmix64(&mut self.state);
            let late = if draw.is_multiple_of(20) {
                ms(10)
            } else {
                Duration::from_micros((draw >> 32) % 3_001)
            };
            self.wakes_at = Some(now + late);
        }
    }

    pub(super) fn receive(
        &mut self,
        now: Duration,
        from: SocketAddr,
        ecn: Option<Ecn>,
        datagram: &[u8],
    ) {
        self.inbox.push((from, ecn, datagram.to_vec()));
        self.rouse(now);
    }

    /// Reads all that has come, then runs the timers, if it is time.
    pub(super) fn wake(&mut self, now: Duration, endpoint: &mut Endpoint) {
        if self.wakes_at.is_none_or(|at| at > now) {
            return;
        }
        (self.wakes_at, self.is_awake) = (None, true);
        for (from, ecn, datagram) in self.inbox.drain(..) {
            endpoint.handle_datagram(now, from, ecn, &datagram);
        }
        endpoint.handle_timeout(now);
    }
}
