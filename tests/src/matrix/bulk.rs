//! A bulk transfer in one direction, and what it took.

use std::{sync::LazyLock, time::Duration};

use netsim::LinkConfig;
use rudp_proto::{Config, Connection};

use super::network::{Application, Network};
use crate::{
    pair::{SingleStream, pattern},
    time::s,
};

/// Bytes of one transfer.
const SIZE: u64 = 16 << 20;
/// A transfer that has not ended by then is measured by what had arrived.
const MOST_TIME: Duration = s(30);
/// After so many bytes the stream repeats itself: a prime, with which nothing is in step.
const PERIOD: usize = 65_521;
/// Bytes written or read at once.
const CHUNK: usize = 16 << 10;
/// A period, and the beginning of the next.
static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut bytes = pattern(PERIOD);
    bytes.extend_from_within(..CHUNK);
    bytes
});

/// What one transfer, or several one after the other, took.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// Payload per time from the established connection to the server's answer, in kbit/s.
    pub goodput: u64,
    /// What left the client beyond the payload, headers included, and without what the link lost by
    /// chance: in thousandths of the payload.
    pub overhead: u64,
    /// Packets that the client declared lost.
    pub lost: u64,
    /// Of these, the ones that had arrived.
    pub spurious: u64,
    /// Expiries of the client's retransmission timer.
    pub timeouts: u64,
    /// Datagrams in which the path flipped a bit, at either end.
    pub damaged: u64,
    /// Of these, the ones that no endpoint counted.
    pub unnoticed: u64,
}

/// Sends 16 MiB over such links, between hosts that wake late or in time.
///
/// # Panics
///
/// If a byte arrives wrong, or the connection is lost.
#[must_use]
pub fn transfer(config: Config, link: &LinkConfig, late: bool, seed: u64) -> Bulk {
    let mut network = Network::new(link, seed);
    if late {
        network.wake_late(seed);
    }
    network.connect(config, Transfer::of(SIZE));
    let is_done = |network: &Network<Transfer>| network.flows[0].application.done_at.is_some();
    let ended_at = network.run_until(MOST_TIME, is_done);
    let stats = network.flows[0].stats();
    let Transfer {
        received, began_at, ..
    } = network.flows[0].application;
    let took = ended_at - began_at.expect("it was established");
    let counters = network.up.counters();
    let by_chance = counters.lost_random + counters.lost_burst;
    let survived = counters.entered - by_chance;
    let damaged = network.damaged(ended_at + s(1));
    let useful_bytes = counters.entered_bytes * survived / counters.entered;
    Bulk {
        goodput: kbit_per_s(received, took),
        overhead: useful_bytes.saturating_sub(received) * 1_000 / received,
        lost: stats.packets_lost,
        spurious: stats.spurious_losses,
        timeouts: stats.timeouts,
        damaged,
        unnoticed: damaged.saturating_sub(network.flows[0].noticed()),
    }
}

pub(super) fn kbit_per_s(bytes: u64, time: Duration) -> u64 {
    bytes * 8_000 / u64::try_from(time.as_micros()).expect("a short time")
}

/// The client sends so many bytes, the server answers with one.
pub(super) struct Transfer {
    size: u64,
    written: u64,
    /// How much the server has read.
    pub(super) received: u64,
    began_at: Option<Duration>,
    answered: bool,
    done_at: Option<Duration>,
    buffer: Box<[u8]>, // for what is read at once
}

impl Transfer {
    pub(super) fn of(size: u64) -> Self {
        Self {
            size,
            written: 0,
            received: 0,
            began_at: None,
            answered: false,
            done_at: None,
            buffer: [0; CHUNK].into(),
        }
    }
}

/// The bytes of the stream from an offset on.
fn stream(offset: u64) -> &'static [u8] {
    let index = usize::try_from(offset % PERIOD as u64).expect("below the period");
    &PATTERN[index..index + CHUNK]
}

impl Application for Transfer {
    fn act_as_client(&mut self, now: Duration, connection: &mut Connection) {
        self.began_at.get_or_insert(now);
        while self.written < self.size {
            let rest = usize::try_from(self.size - self.written).unwrap_or(CHUNK);
            let chunk = &stream(self.written)[..rest.min(CHUNK)];
            let taken = connection.put(chunk).expect("an open stream takes bytes");
            self.written += taken as u64;
            if taken < chunk.len() {
                break;
            }
        }
        if self.answered && connection.take(&mut [0]) == Ok(Some(1)) {
            self.done_at = Some(now);
        }
    }

    fn act_as_server(&mut self, _: Duration, connection: &mut Connection) {
        while let Some(count) = connection.take(&mut self.buffer).expect("it goes on") {
            let right = self.buffer[..count] == stream(self.received)[..count];
            assert!(right, "wrong bytes from {} on", self.received);
            self.received += count as u64;
        }
        if self.received == self.size && !self.answered {
            self.answered = connection.put(&[1]) == Ok(1);
        }
    }

    fn wakes_at(&self) -> Option<Duration> {
        None
    }
}
