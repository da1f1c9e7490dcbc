//! A link that goes dark under a stream of small messages: how long both sides stay silent after it.

use std::time::Duration;

use netsim::LinkConfig;
use rudp_proto::Config;

use super::{link, median, messages::Echo, network::Network};
use crate::time::{ms, s};

/// What followed an outage.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// From the end of the outage to the first message that comes back.
    pub silence: Duration,
    /// The longest time between two messages from then on; without a second hole, 20 ms.
    pub later_gap: Duration,
    /// Packets of both sides that were lost in the dark.
    pub lost: u64,
}

/// An outage, and what is asked of the transport after it.
#[derive(Copy, Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// How long both directions are dark.
    pub dark: Duration,
    /// Settings of both ends.
    pub config: Config,
    /// The silence now, not to be exceeded again.
    pub ceiling: Duration,
    /// The silence that is asked for, where one is.
    pub gate: Option<Duration>,
}

/// 2, 3, 10 and 30 s.
pub const ROWS: [Row; 4] = [
    Row {
        name: "o2",
        dark: s(2),
        config: Config::DEFAULT,
        ceiling: ms(200),
        gate: None,
    },
    Row {
        name: "o3",
        dark: s(3),
        config: Config::DEFAULT,
        ceiling: ms(200),
        gate: None,
    },
    Row {
        name: "o10",
        dark: s(10),
        config: Config::DEFAULT,
        ceiling: ms(200),
        gate: Some(ms(1_200)),
    },
    Row {
        name: "o30",
        dark: s(30),
        config: Config::DEFAULT,
        ceiling: ms(500),
        gate: None,
    },
];

/// When the link goes dark for the first seed; for each further one, a little later.
const BEGIN: Duration = s(6);
const LATER: Duration = ms(7);
/// Messages a second, as many as go on for so long before and after.
const PER_SECOND: u64 = 50;
const AROUND: u64 = 20;

/// Runs a row once for each seed from 1 on, and answers the median of each number.
///
/// # Panics
///
/// If the connection is lost; without any seed.
#[must_use]
pub fn measure(row: &Row, seeds: u64) -> Outage {
    let runs = super::each(seeds, |seed| black_out(row.config, row.dark, seed));
    Outage {
        silence: median(&runs, |run| run.silence),
        later_gap: median(&runs, |run| run.later_gap),
        lost: median(&runs, |run| run.lost),
    }
}

fn black_out(config: Config, dark: Duration, seed: u64) -> Outage {
    let begin = BEGIN + LATER * u32::try_from(seed).expect("few seeds");
    let end = begin + dark;
    let link = LinkConfig {
        blackouts: vec![begin..end],
        ..link(40)
    };
    let mut network = Network::new(&link, seed);
    let count = PER_SECOND * (2 * dark.as_secs() + AROUND);
    network.connect(
        config,
        Echo::of(usize::try_from(count).expect("few messages")),
    );
    let _ = network.run_until(s(3_600), |network| network.flows[0].application.is_done());
    let back_at = &network.flows[0].application.back_at;
    let after = &back_at[back_at.partition_point(|at| *at < end)..];
    let gaps = after.windows(2).map(|two| two[1] - two[0]);
    Outage {
        silence: after[0] - end,
        later_gap: gaps.max().expect("many messages"),
        lost: network.counters().lost_blackout,
    }
}
