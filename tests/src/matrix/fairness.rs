//! Two flows over one bottleneck: what share each gets, and what they lose in the queue.

use std::time::Duration;

use netsim::{LinkConfig, Policer};
use rudp_proto::Config;

use super::{
    RATE,
    bulk::{Transfer, kbit_per_s},
    link, median,
    network::Network,
};
use crate::time::{ms, s};

/// The bench lasts so long, and its beginning does not count.
const END: Duration = s(30);
const BEGIN: Duration = s(10);
/// How much later the second flow begins, times the seed.
const LATER: Duration = ms(7);

/// What two flows came to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    /// The goodput of each, in kbit/s.
    pub goodput: [u64; 2],
    /// Jain's index, (x + y)^2 / 2 (x^2 + y^2), in thousandths: 1,000 if both get as much, 500 if
    /// one gets all.
    pub jain: u64,
    /// Packets that found the queue full, or exceeded the policer's rate, over the whole time.
    pub dropped: u64,
}

/// A bottleneck for two flows, and what is asked of them.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// What the link does.
    pub what: &'static str,
    /// The link, in both directions.
    pub link: LinkConfig,
    /// What each of the flows is.
    pub flows: [Config; 2],
    /// Jain's index that is reached, and must not be lost again.
    pub floor: u64,
    /// Jain's index that is asked for, where one is.
    pub gate: Option<u64>,
}

/// A queue of one bandwidth-delay product, a tenth of that, and a policer.
#[must_use]
pub fn rows() -> Vec<Row> {
    let ours = [super::config(); 2];
    let row = |name, what, link, [floor, gate]: [u64; 2]| Row {
        name,
        what,
        link,
        flows: ours,
        floor,
        gate: (gate > 0).then_some(gate),
    };
    vec![
        row("2", "20 ms", link(20), [950, 900]),
        row("2s", "20 ms, a queue of 25 kB", shallow(), [950, 0]),
        row("2p", "20 ms, a policer", policed(), [950, 0]),
    ]
}

/// A queue for a tenth of what is under way.
pub(super) fn shallow() -> LinkConfig {
    LinkConfig {
        queue: 25_000,
        ..link(20)
    }
}

/// A faster line, of which a policer leaves the usual rate.
pub(super) fn policed() -> LinkConfig {
    let policer = Policer {
        rate: RATE,
        burst: 25_000,
    };
    LinkConfig {
        rate: Some(10 * RATE),
        policer: Some(policer),
        ..link(20)
    }
}

/// Runs a row once for each seed from 1 on, and answers the median of each number.
///
/// # Panics
///
/// If a byte arrives wrong, or a connection is lost; without any seed.
#[must_use]
pub fn measure(row: &Row, seeds: u64) -> Shares {
    let runs = super::each(seeds, |seed| share(row.flows, &row.link, seed));
    Shares {
        goodput: [0, 1].map(|flow: usize| median(&runs, |run| run.goodput[flow])),
        jain: median(&runs, |run| run.jain),
        dropped: median(&runs, |run| run.dropped),
    }
}

fn share(configs: [Config; 2], link: &LinkConfig, seed: u64) -> Shares {
    let mut network = Network::new(link, seed);
    for (config, index) in configs.into_iter().zip(0..) {
        let at = LATER * index * u32::try_from(seed).expect("few seeds");
        let _ = network.run_until(at, |_| false);
        network.connect(config, Transfer::of(u64::MAX));
    }
    let received = |network: &Network<Transfer>| {
        [0, 1].map(|flow: usize| network.flows[flow].application.received)
    };
    let _ = network.run_until(BEGIN, |_| false);
    let before = received(&network);
    let _ = network.run_until(END, |_| false);
    let after = received(&network);
    let goodput = [0, 1].map(|flow: usize| kbit_per_s(after[flow] - before[flow], END - BEGIN));
    let counters = network.up.counters();
    Shares {
        goodput,
        jain: jain(goodput),
        dropped: counters.lost_queue + counters.lost_policer,
    }
}

fn jain([x, y]: [u64; 2]) -> u64 {
    1_000 * (x + y).pow(2) / (2 * (x * x + y * y)).max(1)
}
