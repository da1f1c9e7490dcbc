//! What is measured: the links, and how much of it.

use conformance::matrix::{self, fairness};
use netsim::{LinkConfig, Probability};

/// The rows of bulk transfers: their letters in `conformance::matrix`, which has the links and the
/// gates; the goodput that is to be reached, and what no sender exceeds, in Mbit/s.
const ROWS: [(&str, f64, f64); 9] = [
    ("a", 91.0, 93.0),
    ("b", 89.0, 92.1),
    ("c", 84.0, 88.6),
    ("d", 79.0, 84.1),
    ("e", 62.0, 71.0),
    ("f1", 78.0, 85.0),
    ("f2", 78.0, 85.0),
    ("g", 88.0, 91.0),
    ("h", 88.0, 91.0),
];

/// How much is measured.
pub struct Plan {
    pub quick: bool,
    pub seeds: Vec<u64>,
    /// Letters of the rows of bulk transfers.
    pub rows: Vec<&'static str>,
    /// Loss, in percent, under which messages are sent, and how many.
    pub messages: Vec<u32>,
    pub message_count: usize,
    pub handshakes: usize,
}

impl Plan {
    pub fn new(quick: bool) -> Self {
        if quick { Self::quick() } else { Self::full() }
    }

    fn quick() -> Self {
        Self {
            quick: true,
            seeds: vec![1],
            rows: vec!["a", "b", "d", "f2"],
            messages: vec![10],
            message_count: 2_000,
            handshakes: 50,
        }
    }

    fn full() -> Self {
        Self {
            quick: false,
            seeds: vec![1, 2, 3],
            rows: ROWS.map(|(name, ..)| name).into(),
            messages: vec![2, 10],
            message_count: 2_000,
            handshakes: 500,
        }
    }
}

/// A kind of link, and what it is to carry.
#[derive(Clone, Debug)]
pub struct Row {
    pub name: &'static str,
    pub what: &'static str,
    pub link: LinkConfig,
    /// The share of packets that the link loses: so much of what enters it is unavoidable.
    pub loss: f64,
    /// Goodput in Mbit/s: the gate, the ambition, and what no sender exceeds.
    pub goodput: [f64; 3],
    /// What may enter the link beyond the unavoidable, in % of the payload: the gate.
    pub overhead: f64,
}

/// The rows of bulk transfers.
pub fn rows() -> Vec<Row> {
    let known = matrix::rows();
    let rows = ROWS.map(|(name, ambition, ceiling)| {
        let row = known.iter().find(|row| row.name == name);
        let row = row.expect("a row of the matrix").clone();
        let gate = |bound: matrix::Bound| bound.gate().expect("a gate") as f64;
        Row {
            name,
            what: row.what,
            loss: loss(&row.link),
            link: row.link,
            goodput: [gate(row.goodput) / 1e3, ambition, ceiling],
            overhead: gate(row.overhead) / 10.0,
        }
    });
    rows.into()
}

/// The share of packets that a link loses in the long run.
fn loss(link: &LinkConfig) -> f64 {
    let share = |it: Probability| f64::from(it.ppb()) / 1e9;
    let bursts = link.burst.map_or(0.0, |it| {
        share(it.good_to_bad) / (share(it.good_to_bad) + share(it.bad_to_good))
    });
    share(link.loss) + bursts
}

/// The link of small messages and handshakes: 40 ms, with that loss in percent.
pub fn thin(percent: u32) -> LinkConfig {
    LinkConfig {
        loss: share(percent * 10_000),
        ..matrix::link(40)
    }
}

/// The link that flips a bit in every 200th packet, and disturbs otherwise too.
pub fn corrupt() -> LinkConfig {
    LinkConfig {
        corrupt: share(5_000),
        duplicate: share(50_000),
        ..matrix::link(20)
    }
}

/// Bottlenecks that two flows share: what a session calls them, and their links.
pub fn bottlenecks() -> [(&'static str, LinkConfig); 3] {
    [
        ("queue of 250 kB", "1"),
        ("queue of 25 kB", "1s"),
        ("policer", "1p"),
    ]
    .map(|(name, row)| (name, flows(row).link))
}

/// A row of two flows in `conformance::matrix`.
pub fn flows(name: &str) -> fairness::Row {
    let mut rows = fairness::rows().into_iter();
    let row = rows.find(|row| row.name == name);
    row.expect("a row of the matrix")
}

fn share(ppm: u32) -> Probability {
    Probability::from_ppm(ppm).expect("a share")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_asks_for_what_is_within_reach() {
        for row in rows() {
            let [gate, ambition, ceiling] = row.goodput;
            assert!(
                0.0 < gate && gate < ambition && ambition < ceiling,
                "{row:?}"
            );
            assert!(ceiling < 100.0 * (1.0 - row.loss), "{row:?}");
        }
    }

    #[test]
    fn bursts_count_as_loss() {
        let rows = rows();
        let loss = |name| rows.iter().find(|row| row.name == name).map(|row| row.loss);
        assert_eq!(loss("d"), Some(0.1));
        assert!(loss("h").is_some_and(|loss| (loss - 0.01).abs() < 1e-6));
    }
}
