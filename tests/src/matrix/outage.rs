//! A link that goes dark under a stream of small messages: how long both sides stay silent after it.

use std::time::Duration;

use netsim::LinkConfig;
use rudp_proto::Config;

use super::{
    Bound, link, median,
    messages::{Echo, Exchange},
    most,
    network::Network,
    whole_ms,
};
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
    /// Of the silence, in ms.
    pub silence: Bound,
    /// Of the longest gap after it, in ms.
    pub later_gap: Bound,
}

impl Row {
    /// Whether the numbers are as the row says.
    #[must_use]
    pub fn allows(&self, measured: &Outage) -> bool {
        self.silence.allows(whole_ms(measured.silence))
            && self.later_gap.allows(whole_ms(measured.later_gap))
    }
}

/// 2, 3, 10 and 30 s. A second hole lasts three round trips at most.
pub const ROWS: [Row; 4] = [
    row("o2", s(2), most(74), most(21)),
    row("o3", s(3), most(33), most(62)),
    row("o10", s(10), most(122), most(67)),
    row("o30", s(30), most(380), most(67)),
];

const fn row(name: &'static str, dark: Duration, silence: Bound, later_gap: Bound) -> Row {
    Row {
        name,
        dark,
        config: Config::DEFAULT,
        silence: silence.holds(1_200),
        later_gap: later_gap.holds(120),
    }
}

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
