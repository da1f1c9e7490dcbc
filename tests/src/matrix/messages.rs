//! Small messages at a fixed pace, each answered with an echo: how long one takes.

mod echo;
mod pace;
mod whole;

use std::time::Duration;

use netsim::LinkConfig;
use rudp_proto::Config;

use super::{
    Bound, link, median, most,
    network::{Application, Network},
    whole_ms,
};
use crate::time::s;
pub(super) use echo::Echo;
pub(super) use pace::{Pace, SIZE};
use whole::Whole;
pub(super) use whole::{index_of, message};

/// Messages of a run.
pub(super) const COUNT: usize = 2_000;

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

/// How the messages travel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// On one stream: each waits for those before it.
    Kept,
    /// As messages of the transport: none waits for another.
    None,
}

/// A share of packets lost, and what is asked of the messages then.
#[derive(Copy, Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// Packets lost each way, in hundredths.
    pub loss: u32,
    /// How the messages travel.
    pub order: Order,
    /// Settings of both ends.
    pub config: Config,
    /// Of what 99 % take, in ms.
    pub p99: Bound,
    /// Of what 99.9 % take, in ms.
    pub p999: Bound,
    /// Of the bytes that leave the client for each message.
    pub wire_bytes: Bound,
}

impl Row {
    /// Whether the numbers are as the row says.
    #[must_use]
    pub fn allows(&self, measured: &Messages) -> bool {
        self.p99.allows(whole_ms(measured.p99))
            && self.p999.allows(whole_ms(measured.p999))
            && self.wire_bytes.allows(measured.wire_bytes)
    }
}

/// 2 % and 10 % loss, in order and in none; then the same without repetitions in the packets that
/// follow (L15).
#[rustfmt::skip] // a table
pub const ROWS: [Row; 8] = [
    row("m2",   2, Order::Kept, true, [most(61).holds(92), most(82).holds(145), most(380).holds(400)]),
    row("m10", 10, Order::Kept, true, [most(122).holds(150), most(163).holds(205), most(382).holds(400)]),
    row("u2",   2, Order::None, true, [most(61).holds(92), most(82).holds(145), most(372).holds(400)]),
    row("u10", 10, Order::None, true, [most(102).holds(150), most(163).holds(205), most(374).holds(400)]),
    row("m2-",   2, Order::Kept, false, [most(85).holds(95), most(102), most(169).holds(182)]),
    row("m10-", 10, Order::Kept, false, [most(153).holds(160), most(180), most(200).holds(200)]),
    row("u2-",   2, Order::None, false, [most(85).holds(95), most(102), most(165).holds(187)]),
    row("u10-", 10, Order::None, false, [most(132).holds(160), most(192), most(192).holds(206)]),
];

const fn row(
    name: &'static str,
    loss: u32,
    order: Order,
    bundles: bool,
    [p99, p999, wire_bytes]: [Bound; 3],
) -> Row {
    Row {
        name,
        loss,
        order,
        config: Config {
            bundles,
            ..Config::DEFAULT
        },
        p99,
        p999,
        wire_bytes,
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
    let runs = super::each(seeds, |seed| match row.order {
        Order::Kept => exchange(row.config, &lossy, seed, Echo::of(COUNT)),
        Order::None => exchange(row.config, &lossy, seed, Whole::of(COUNT)),
    });
    Messages {
        p50: median(&runs, |run| run.p50),
        p99: median(&runs, |run| run.p99),
        p999: median(&runs, |run| run.p999),
        wire_bytes: median(&runs, |run| run.wire_bytes),
        timeouts: median(&runs, |run| run.timeouts),
    }
}

/// Messages that come back.
pub(super) trait Exchange: Application {
    /// Whether all are back.
    fn is_done(&self) -> bool;
    /// How long each took that is.
    fn latencies(&self) -> Vec<Duration>;
}

fn exchange(config: Config, link: &LinkConfig, seed: u64, messages: impl Exchange) -> Messages {
    let mut network = Network::new(link, seed);
    network.connect(config, messages);
    let _ = network.run_until(s(3_600), |network| network.flows[0].application.is_done());
    let mut latencies = network.flows[0].application.latencies();
    latencies.sort_unstable();
    let of_1_000 = |share: usize| latencies[(COUNT * share).div_ceil(1_000) - 1];
    Messages {
        p50: of_1_000(500),
        p99: of_1_000(990),
        p999: of_1_000(999),
        wire_bytes: network.up.counters().entered_bytes / COUNT as u64,
        timeouts: network.flows[0].stats().timeouts,
    }
}
