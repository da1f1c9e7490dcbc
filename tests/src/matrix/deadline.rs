//! Small messages that are good only for a while: what becomes of each, and what that saves.

use std::{collections::BTreeMap, time::Duration};

use netsim::LinkConfig;
use rudp_proto::{Config, Connection, Event, StreamId};

use super::{
    Bound, least, link, median,
    messages::{COUNT, Pace, index_of, message},
    most,
    network::{Application, Network},
    whole_ms,
};
use crate::time::{ms, s};

/// When the path goes dark.
const BEGIN: Duration = s(6);

/// What became of the messages of a run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Fates {
    /// Of all, in thousandths, those that arrived.
    pub arrived: u64,
    /// The age at which the last to arrive did.
    pub oldest: Duration,
    /// Messages of which the sender heard nothing, or twice, or that they arrived when they did
    /// not.
    pub misreported: u64,
    /// Of the bytes that leave the client without a deadline, those that leave with it: in
    /// thousandths.
    pub bytes: u64,
}

/// What happens to packets, how long a message is good, and what is asked then.
#[derive(Copy, Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// Packets lost each way, in hundredths.
    pub loss: u32,
    /// For so long both directions are dark, once.
    pub dark: Option<Duration>,
    /// Settings of both ends.
    pub config: Config,
    /// How long a message is good.
    pub lifetime: Duration,
    /// Of what arrives, in thousandths.
    pub arrived: Bound,
    /// Of the oldest age, in ms.
    pub oldest: Bound,
    /// Of the bytes, in thousandths of those without a deadline.
    pub bytes: Bound,
}

impl Row {
    /// Whether the numbers are as the row says.
    #[must_use]
    pub fn allows(&self, measured: &Fates) -> bool {
        self.arrived.allows(measured.arrived)
            && self.oldest.allows(whole_ms(measured.oldest))
            && measured.misreported == 0
            && self.bytes.allows(measured.bytes)
    }
}

/// A hundred milliseconds over a path of 40: what leaves at the last moment is 20 ms under way.
pub const ROWS: [Row; 3] = [
    row("d10", 10, None, true, [least(996), most(117), most(995)]),
    row("d10-", 10, None, false, [least(985), most(121), most(999)]),
    row(
        "do2",
        0,
        Some(s(2)),
        true,
        [least(948), most(102), most(990)],
    ),
];

const fn row(
    name: &'static str,
    loss: u32,
    dark: Option<Duration>,
    bundles: bool,
    [arrived, oldest, bytes]: [Bound; 3],
) -> Row {
    Row {
        name,
        loss,
        dark,
        config: Config {
            bundles,
            ..Config::DEFAULT
        },
        lifetime: ms(100),
        arrived,
        oldest: oldest.holds(121),
        bytes,
    }
}

/// Runs a row once for each seed from 1 on, and answers the median of each number; of what is not
/// reported well, and of ages, the most.
///
/// # Panics
///
/// If a message is wrong, or comes twice; if a connection is lost; without any seed.
#[must_use]
pub fn measure(row: &Row, seeds: u64) -> Fates {
    let path = LinkConfig {
        loss: super::percent(row.loss),
        blackouts: row
            .dark
            .map(|dark| BEGIN..BEGIN + dark)
            .into_iter()
            .collect(),
        ..link(40)
    };
    let runs = super::each(seeds, |seed| {
        let (without, bytes) = send(row.config, &path, seed, None);
        assert_eq!(without.arrived.len(), COUNT, "without a deadline, all");
        let (with, fewer) = send(row.config, &path, seed, Some(row.lifetime));
        Fates {
            arrived: 1_000 * with.arrived.len() as u64 / COUNT as u64,
            oldest: with.oldest(),
            misreported: with.misreported(),
            bytes: 1_000 * fewer / bytes,
        }
    });
    Fates {
        arrived: median(&runs, |run| run.arrived),
        oldest: runs.iter().map(|run| run.oldest).max().expect("a seed"),
        misreported: runs.iter().map(|run| run.misreported).sum(),
        bytes: median(&runs, |run| run.bytes),
    }
}

/// Sends the messages, waits for the fate of each, and answers what left the client too.
fn send(
    config: Config,
    link: &LinkConfig,
    seed: u64,
    lifetime: Option<Duration>,
) -> (Perishable, u64) {
    let mut network = Network::new(link, seed);
    network.connect(config, Perishable::of(lifetime));
    let is_done = |network: &Network<Perishable>| network.flows[0].application.is_done();
    let ended_at = network.run_until(s(3_600), is_done);
    let bytes = network.up.counters().entered_bytes;
    let _ = network.run_until(ended_at + s(1), |_| false); // nothing is told twice
    let flow = network.flows.pop().expect("one flow");
    (flow.application, bytes)
}

/// What the sender heard of a message.
#[derive(Debug, Default)]
struct Heard {
    acknowledged: u32,
    expired: u32,
}

/// The client sends a message whenever one is due; the server notes when it comes.
struct Perishable {
    pace: Pace,
    lifetime: Option<Duration>,
    sent: BTreeMap<StreamId, usize>,
    heard: BTreeMap<usize, Heard>,
    arrived: BTreeMap<usize, Duration>,
}

impl Perishable {
    fn of(lifetime: Option<Duration>) -> Self {
        Self {
            pace: Pace::of(COUNT),
            lifetime,
            sent: BTreeMap::new(),
            heard: BTreeMap::new(),
            arrived: BTreeMap::new(),
        }
    }

    fn is_done(&self) -> bool {
        self.heard.len() == COUNT
    }

    fn oldest(&self) -> Duration {
        let arrived = (0..COUNT).map(|index| self.arrived.get(&index).copied());
        let oldest = self.pace.ages(arrived).into_iter().max();
        oldest.expect("some arrive")
    }

    fn misreported(&self) -> u64 {
        let is_wrong = |index: &usize| match self.heard.get(index) {
            Some(Heard {
                acknowledged: 1,
                expired: 0,
            }) => !self.arrived.contains_key(index),
            Some(Heard {
                acknowledged: 0,
                expired: 1,
            }) => false, // it may have arrived
            _ => true,
        };
        (0..COUNT).filter(is_wrong).count() as u64
    }
}

impl Application for Perishable {
    fn act_as_client(&mut self, now: Duration, connection: &mut Connection) {
        while let Some(index) = self.pace.poll(now) {
            let sent = connection.send_message(now, &message(index), self.lifetime);
            let id = sent.expect("there is room for every message");
            let acknowledged = connection.is_acknowledged(id);
            assert_eq!(acknowledged, Ok(false), "it asks to hear of it");
            self.sent.insert(id, index);
        }
    }

    fn act_as_server(&mut self, now: Duration, connection: &mut Connection) {
        while let Some(bytes) = connection.read_message() {
            let earlier = self.arrived.insert(index_of(&bytes), now);
            assert_eq!(earlier, None, "once");
        }
    }

    fn wakes_at(&self) -> Option<Duration> {
        self.pace.wakes_at()
    }

    fn hear(&mut self, event: Event) {
        let (Event::Acknowledged(id) | Event::MessageExpired(id)) = event else {
            return;
        };
        let heard = self.heard.entry(self.sent[&id]).or_default();
        match event {
            Event::Acknowledged(_) => heard.acknowledged += 1,
            _ => heard.expired += 1,
        }
    }
}
