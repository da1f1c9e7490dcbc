//! What is measured: the links, and how much of it.

use std::time::Duration;

use netsim::{GilbertElliott, LinkConfig, Policer, Probability};

/// Bits per second of every link.
const RATE: u64 = 100_000_000;
/// A queue for a tenth of what is under way in 20 ms.
const SHALLOW: usize = 25_000;

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
    pub fn quick() -> Self {
        Self {
            quick: true,
            seeds: vec![1],
            rows: vec!["a", "b", "d", "f2"],
            messages: vec![10],
            message_count: 2_000,
            handshakes: 50,
        }
    }

    pub fn full() -> Self {
        Self {
            quick: false,
            seeds: vec![1, 2, 3],
            rows: rows().iter().map(|row| row.name).collect(),
            messages: vec![2, 10],
            message_count: 2_000,
            handshakes: 200,
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
    pub targets: [f64; 3],
}

/// The rows of bulk transfers. A queue holds one bandwidth-delay product.
pub fn rows() -> Vec<Row> {
    let ms = Duration::from_millis;
    let lossy = |rtt, ppm| LinkConfig {
        loss: share(ppm),
        ..link(rtt)
    };
    let jittery = |keep_order| LinkConfig {
        jitter: ms(10),
        keep_order,
        ..link(50)
    };
    let disordered = LinkConfig {
        reorder: share(20_000),
        reorder_delay: ms(5),
        duplicate: share(10_000),
        ..lossy(20, 5_000)
    };
    let bursty = LinkConfig {
        burst: Some(GilbertElliott::from_means(4, share(10_000)).expect("a channel")),
        ..link(20)
    };
    let row = |name, what, link, loss, targets| Row {
        name,
        what,
        link,
        loss,
        targets,
    };
    vec![
        row("a", "20 ms", link(20), 0.0, [89.0, 91.0, 93.0]),
        row(
            "b",
            "20 ms, 1 %",
            lossy(20, 10_000),
            0.01,
            [84.0, 89.0, 92.1],
        ),
        row(
            "c",
            "20 ms, 5 %",
            lossy(20, 50_000),
            0.05,
            [75.0, 84.0, 88.6],
        ),
        row(
            "d",
            "20 ms, 10 %",
            lossy(20, 100_000),
            0.1,
            [68.0, 79.0, 84.1],
        ),
        row(
            "e",
            "100 ms, 1 %",
            lossy(100, 10_000),
            0.01,
            [50.0, 62.0, 71.0],
        ),
        row(
            "f1",
            "50 ms +-10 in order",
            jittery(true),
            0.0,
            [72.0, 78.0, 85.0],
        ),
        row(
            "f2",
            "50 ms +-10 in disorder",
            jittery(false),
            0.0,
            [60.0, 78.0, 85.0],
        ),
        row(
            "g",
            "20 ms, 0.5 %, 2 % late, 1 % twice",
            disordered,
            0.005,
            [82.0, 88.0, 91.0],
        ),
        row(
            "h",
            "20 ms, 1 % in bursts of 4",
            bursty,
            0.01,
            [82.0, 88.0, 91.0],
        ),
    ]
}

/// A link of that round trip, in ms, whose queue holds what is under way in it.
pub fn link(rtt: u64) -> LinkConfig {
    LinkConfig {
        delay: Duration::from_millis(rtt) / 2,
        rate: Some(RATE),
        queue: usize::try_from(RATE / 8 * rtt / 1_000).expect("it is small"),
        ..LinkConfig::PERFECT
    }
}

/// The link of small messages and handshakes: 40 ms, with that loss in percent.
pub fn thin(percent: u32) -> LinkConfig {
    LinkConfig {
        loss: share(percent * 10_000),
        ..link(40)
    }
}

/// The link that flips a bit in every 200th packet, and disturbs otherwise too.
pub fn corrupt() -> LinkConfig {
    LinkConfig {
        corrupt: share(5_000),
        duplicate: share(50_000),
        ..link(20)
    }
}

/// Bottlenecks that two flows share.
pub fn bottlenecks() -> [(&'static str, LinkConfig); 3] {
    let shallow = LinkConfig {
        queue: SHALLOW,
        ..link(20)
    };
    let policed = LinkConfig {
        rate: Some(10 * RATE),
        policer: Some(Policer {
            rate: RATE,
            burst: SHALLOW,
        }),
        ..link(20)
    };
    [
        ("queue of 250 kB", link(20)),
        ("queue of 25 kB", shallow),
        ("policer", policed),
    ]
}

fn share(ppm: u32) -> Probability {
    Probability::from_ppm(ppm).expect("a share")
}
