//! Small messages at a fixed pace, each answered with an echo: how long one takes.

use std::time::Duration;

use netsim::LinkConfig;
use rudp_proto::{Config, Connection};

use super::{
    link, median,
    network::{Application, Network},
};
use crate::pair::SingleStream;
use crate::time::{ms, s};

/// Bytes of a message, and the time between two.
const SIZE: u64 = 100;
const INTERVAL: Duration = ms(20);
/// How long the connection rests before the first message.
const REST: Duration = ms(500);
/// Messages of a run.
const COUNT: usize = 2_000;

/// What the messages of a run took.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Messages {
    /// From when a message was due to its last byte back at the client: the median,
    pub p50: Duration,
    /// what 99 % need at most,
    pub p99: Duration,
    /// and 99.9 %.
    pub p999: Duration,
    /// Bytes that left the client for each message, headers included.
    pub wire_bytes: u64,
    /// Expiries of the client's retransmission timer.
    pub timeouts: u64,
}

/// A share of packets lost, and what is asked of the messages then.
#[derive(Copy, Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// Packets lost each way, in hundredths.
    pub loss: u32,
    /// Settings of both ends.
    pub config: Config,
    /// What 99 % take now, and 99.9 %, and may not exceed again.
    pub ceiling: [Duration; 2],
    /// The most bytes that may leave the client for each message.
    pub most_bytes: u64,
    /// What 99 % are to take, and 99.9 %.
    pub gate: [Duration; 2],
}

/// 2 % and 10 % loss; the same without repetitions in the packets that follow (L15).
pub const ROWS: [Row; 4] = [
    row("m2", 2, true, [65, 85], 400, [92, 145]),
    row("m10", 10, true, [140, 205], 400, [150, 205]),
    row("m2-", 2, false, [105, 145], 187, [95, 145]),
    row("m10-", 10, false, [220, 300], 206, [160, 205]),
];

const fn row(
    name: &'static str,
    loss: u32,
    bundles: bool,
    [ceiling, rare]: [u64; 2],
    most_bytes: u64,
    gate: [u64; 2],
) -> Row {
    Row {
        name,
        loss,
        config: Config {
            bundles,
            ..Config::DEFAULT
        },
        ceiling: [ms(ceiling), ms(rare)],
        most_bytes,
        gate: [ms(gate[0]), ms(gate[1])],
    }
}

/// Runs a row once for each seed from 1 on, and answers the median of each number.
///
/// # Panics
///
/// If an echo is wrong, or a connection is lost; without any seed.
#[must_use]
pub fn measure(row: &Row, seeds: u64) -> Messages {
    let lossy = LinkConfig {
        loss: super::percent(row.loss),
        ..link(40)
    };
    let runs = super::each(seeds, |seed| exchange(row.config, &lossy, seed));
    Messages {
        p50: median(&runs, |run| run.p50),
        p99: median(&runs, |run| run.p99),
        p999: median(&runs, |run| run.p999),
        wire_bytes: median(&runs, |run| run.wire_bytes),
        timeouts: median(&runs, |run| run.timeouts),
    }
}

fn exchange(config: Config, link: &LinkConfig, seed: u64) -> Messages {
    let mut network = Network::new(link, seed);
    network.connect(config, Echo::of(COUNT));
    let _ = network.run_until(s(3_600), |network| network.flows[0].application.is_done());
    let timeouts = network.flows[0].stats().timeouts;
    let mut latencies: Vec<_> = network.flows[0].application.latencies().collect();
    latencies.sort_unstable();
    let of_1_000 = |share: usize| latencies[(COUNT * share).div_ceil(1_000) - 1];
    Messages {
        p50: of_1_000(500),
        p99: of_1_000(990),
        p999: of_1_000(999),
        wire_bytes: network.up.counters().entered_bytes / COUNT as u64,
        timeouts,
    }
}

/// The client writes a message whenever one is due, the server sends back what it reads.
pub(super) struct Echo {
    count: usize,
    first_at: Option<Duration>,
    written: usize,
    echoed: u64,
    received: u64,
    /// When each message was back.
    pub(super) back_at: Vec<Duration>,
}

impl Echo {
    pub(super) const fn of(count: usize) -> Self {
        Self {
            count,
            first_at: None,
            written: 0,
            echoed: 0,
            received: 0,
            back_at: Vec::new(),
        }
    }

    pub(super) const fn is_done(&self) -> bool {
        self.back_at.len() == self.count
    }

    fn due_at(&self, index: usize) -> Option<Duration> {
        let since = INTERVAL * u32::try_from(index).expect("few messages");
        Some(self.first_at? + since)
    }

    fn latencies(&self) -> impl Iterator<Item = Duration> {
        let back = self.back_at.iter().enumerate();
        back.filter_map(|(index, back_at)| Some(*back_at - self.due_at(index)?))
    }
}

/// A byte of the stream: those of one message are alike, those of the next are not.
fn byte(offset: u64) -> u8 {
    (offset / SIZE).to_le_bytes()[0]
}

/// Calls `take` with what there is to read, after a look at each byte of it.
fn read(
    connection: &mut Connection,
    offset: &mut u64,
    mut take: impl FnMut(&mut Connection, &[u8]),
) {
    let mut buffer = [0; 4_096];
    while let Some(count) = connection.take(&mut buffer).expect("it goes on") {
        let read = &buffer[..count];
        for (at, found) in (*offset..).zip(read) {
            assert_eq!(*found, byte(at), "byte {at}");
        }
        *offset += count as u64;
        take(connection, read);
    }
}

impl Application for Echo {
    fn act_as_client(&mut self, now: Duration, connection: &mut Connection) {
        self.first_at.get_or_insert(now + REST);
        while self.wakes_at().is_some_and(|due| due <= now) {
            let message = [byte(self.written as u64 * SIZE); SIZE as usize];
            let taken = connection.put(&message);
            assert_eq!(taken, Ok(message.len()), "the buffer holds every message");
            self.written += 1;
        }
        read(connection, &mut self.received, |_, _| {});
        while (self.back_at.len() as u64) < self.received / SIZE {
            self.back_at.push(now);
        }
    }

    fn act_as_server(&mut self, _: Duration, connection: &mut Connection) {
        read(connection, &mut self.echoed, |connection, bytes| {
            assert_eq!(connection.put(bytes), Ok(bytes.len()));
        });
    }

    fn wakes_at(&self) -> Option<Duration> {
        self.due_at(self.written)
            .filter(|_| self.written < self.count)
    }
}
