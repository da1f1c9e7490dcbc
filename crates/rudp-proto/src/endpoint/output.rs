//! What is sent, and when.

use alloc::vec::Vec;
use core::net::SocketAddr;
use core::ops::Bound;
use core::time::Duration;

use super::{Endpoint, Handle};
use crate::stats::add;
use crate::wire::{BASE_DATAGRAM, LARGEST_DATAGRAM};
use crate::{Connection, Ecn};

/// The size of datagrams in bytes from which on several leave together.
const MIN_SEGMENT: usize = BASE_DATAGRAM / 10 * 9;

/// Datagrams of one connection, or one answer to a stranger, as a system call sends them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Where to.
    pub to: SocketAddr,
    /// What the IP header is to say of congestion.
    pub ecn: Option<Ecn>,
    /// The length in bytes of each datagram in the buffer; the last may be shorter.
    pub segment_size: usize,
}

impl Endpoint {
    /// Does everything that is due at `now`; harmless when nothing is.
    pub fn handle_timeout(&mut self, now: Duration) {
        let mut after = Bound::Unbounded;
        while let Some(&handle) = self.to_transmit.range((after, Bound::Unbounded)).next() {
            after = Bound::Excluded(handle);
            if self
                .deadline(handle)
                .is_some_and(|deadline| deadline <= now)
            {
                self.update(handle, |connection| connection.handle_timeout(now));
            }
        }
        while let Some(handle) = self.deadlines.pop_if(|deadline| deadline <= now) {
            self.update(handle, |connection| connection.handle_timeout(now));
        }
    }

    /// The deadline by which to call [`handle_timeout`](Self::handle_timeout);
    /// `None` asks for no call. Any other call may change it.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        let touched = self.to_transmit.iter();
        let touched = touched.filter_map(|handle| self.deadline(*handle));
        touched.chain(self.deadlines.first()).min()
    }

    fn deadline(&self, handle: Handle) -> Option<Duration> {
        self.table.get(handle)?.poll_timeout()
    }

    /// Clears `out` and fills it with the next datagrams to send to one place: one, or at most
    /// `max_segments` of the same size, of which the last may be shorter. Connections take turns.
    /// Any other call may give it something to do.
    #[must_use]
    pub fn poll_transmit(
        &mut self,
        now: Duration,
        max_segments: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        out.clear();
        if let Some(to) = self.answers.poll(out) {
            add(&mut self.stats.datagrams_sent, 1);
            return Some(Transmit {
                to,
                ecn: None,
                segment_size: out.len(),
            });
        }
        loop {
            let after = (Bound::Excluded(self.served), Bound::Unbounded);
            let next = self.to_transmit.range(after).next();
            let handle = *next.or_else(|| self.to_transmit.first())?;
            self.served = handle;
            if let Some(connection) = self.table.get_mut(handle)
                && let Some(segment_size) = fill(connection, now, max_segments, out)
            {
                let segments = out.len().div_ceil(segment_size) as u64;
                add(&mut self.stats.datagrams_sent, segments);
                self.eventful.insert(handle); // a writer may have room (F6)
                return Some(Transmit {
                    to: connection.peer_addr(),
                    ecn: connection.ecn(),
                    segment_size,
                });
            }
            self.to_transmit.remove(&handle);
            self.deadlines.set(handle, self.deadline(handle));
            self.eventful.insert(handle);
            self.bury(handle);
        }
    }
}

/// Appends a datagram of the connection, and more of the same size behind a long one.
fn fill(
    connection: &mut Connection,
    now: Duration,
    max_segments: usize,
    out: &mut Vec<u8>,
) -> Option<usize> {
    if !connection.poll_transmit(now, usize::MAX, out) {
        return None;
    }
    let size = out.len();
    let mut end = size;
    for _ in 1..max_segments {
        // A short one is shorter than what a next one may have to carry beside stream data.
        let full = (MIN_SEGMENT..=connection.datagram_size()).contains(&size);
        let goes_on = full
            && out.len() == end
            && connection.is_ecn_settled()
            && end.saturating_add(size) <= LARGEST_DATAGRAM; // the system begins with one packet
        if !goes_on || !connection.poll_transmit(now, size, out) {
            break;
        }
        end = end.saturating_add(size);
    }
    Some(size)
}
