//! Two flows over one bottleneck: what share each gets, and what they lose in the queue.

use std::time::Duration;

use netsim::{LinkConfig, Policer};
use rudp_proto::{Config, Congestion};

use super::{
    Bound, RATE,
    bulk::{Transfer, kbit_per_s},
    least, link, median, most,
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
    /// What the first gets of both, in thousandths.
    pub share: u64,
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
    /// Who meets whom, and where.
    pub what: &'static str,
    /// The link, in both directions.
    pub link: LinkConfig,
    /// What each of the flows is.
    pub flows: [Config; 2],
    /// What is to be fair.
    pub fair: Fair,
}

/// What a row is held to.
#[derive(Copy, Clone, Debug)]
pub enum Fair {
    /// Jain's index of two alike, in thousandths.
    Jain(Bound),
    /// The first one's share, in thousandths: not too little, not too much.
    Share([Bound; 2]),
}

impl Row {
    /// Whether the numbers are as the row says.
    #[must_use]
    pub fn allows(&self, measured: &Shares) -> bool {
        match self.fair {
            Fair::Jain(bound) => bound.allows(measured.jain),
            Fair::Share(bounds) => bounds.iter().all(|bound| bound.allows(measured.share)),
        }
    }
}

/// Of what two of ours lose in the queue, in hundredths of what two of CUBIC lose there.
pub const DROPS: Bound = most(60).holds(500);

/// Two of ours, two of CUBIC, and one of each: over a queue of one bandwidth-delay product, over a
/// tenth of that, and over a policer.
#[must_use]
pub fn rows() -> Vec<Row> {
    let ours = Config::DEFAULT;
    let cubic = Config {
        congestion: Congestion::Cubic,
        ..ours
    };
    let row = |name, what, link: &LinkConfig, flows, fair| Row {
        name,
        what,
        link: link.clone(),
        flows,
        fair,
    };
    let (usual, shallow, policed) = (link(20), shallow(), policed());
    let alike = |reached| Fair::Jain(least(reached).holds(900));
    let share = |most| Fair::Share([least(300).holds(300), most]);
    #[rustfmt::skip] // a table
    let rows = vec![
        row("2", "two of ours", &usual, [ours; 2], alike(930)),
        row("2c", "two of CUBIC", &usual, [cubic; 2], alike(947)),
        row("1", "beside CUBIC", &usual, [ours, cubic], share(most(545).holds(650))),
        row("2s", "two of ours, a queue of 25 kB", &shallow, [ours; 2], alike(965)),
        row("1s", "beside CUBIC, a queue of 25 kB", &shallow, [ours, cubic], share(most(675))),
        row("2p", "two of ours, a policer", &policed, [ours; 2], alike(965)),
        row("1p", "beside CUBIC, a policer", &policed, [ours, cubic], share(most(620))),
    ];
    rows
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
        share: median(&runs, |run| run.share),
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
        share: 1_000 * goodput[0] / goodput.iter().sum::<u64>().max(1),
        jain: jain(goodput),
        dropped: counters.lost_queue + counters.lost_policer,
    }
}

fn jain([x, y]: [u64; 2]) -> u64 {
    1_000 * (x + y).pow(2) / (2 * (x * x + y * y)).max(1)
}
