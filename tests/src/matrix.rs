//! How fast the transport is, how fair, and how soon it is back after an outage, in virtual time:
//! numbers that are the same on every machine.
//!
//! `cargo run --release -p benches --example matrix` prints them, and `tests/transport/matrix.rs`
//! holds each to its [`Bound`]. Every link carries 100 Mbit/s each way, with a queue of one
//! bandwidth-delay product unless its row says otherwise; loss, jitter and the like meet both
//! directions. A datagram counts with 28 bytes of IP and UDP headers.

mod bound;
mod bulk;
pub mod deadline;
pub mod fairness;
mod late;
pub mod messages;
mod network;
pub mod outage;

use std::{thread, time::Duration};

use netsim::{GilbertElliott, LinkConfig, Probability};
use rudp_proto::Config;

use crate::time::ms;
pub use bound::{Bound, least, most};
pub use bulk::{Bulk, transfer};

/// Bits per second of every link.
const RATE: u64 = 100_000_000;

/// A transfer of 16 MiB over a kind of link, and what it is held to.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its letter.
    pub name: &'static str,
    /// What the link does.
    pub what: &'static str,
    /// The link, in both directions.
    pub link: LinkConfig,
    /// Settings of both ends; at first, the default.
    pub config: Config,
    /// Whether both hosts wake late: for each timer and each read 0 to 3 ms, and 10 ms one time in 20.
    pub wakes_late: bool,
    /// Of the goodput, in kbit/s.
    pub goodput: Bound,
    /// Of the overhead, in thousandths of the payload.
    pub overhead: Bound,
}

impl Row {
    /// Whether the numbers are as the row says.
    #[must_use]
    pub const fn allows(&self, measured: &Bulk) -> bool {
        self.goodput.allows(measured.goodput) && self.overhead.allows(measured.overhead)
    }
}

/// The rows a to h; then flipped bits, a queue of a tenth of the usual, a policer, a queue that
/// marks instead of dropping, and hosts that wake late.
///
/// # Panics
///
/// Never: the links make sense.
#[must_use]
pub fn rows() -> Vec<Row> {
    let lossy = |rtt_ms, loss| LinkConfig {
        loss: percent(loss),
        ..link(rtt_ms)
    };
    let jittery = |keep_order| LinkConfig {
        jitter: ms(10),
        keep_order,
        ..link(50)
    };
    let disordered = LinkConfig {
        loss: Probability::from_ppm(5_000).expect("a share"),
        reorder: percent(2),
        reorder_delay: ms(5),
        duplicate: percent(1),
        ..link(20)
    };
    let bursty = LinkConfig {
        burst: Some(GilbertElliott::from_means(4, percent(1)).expect("a channel")),
        ..link(20)
    };
    let marking = LinkConfig {
        queue: 500_000,
        mark_above: Some(60_000),
        ..link(20)
    };
    let corrupt = LinkConfig {
        corrupt: Probability::from_ppm(5_000).expect("a share"),
        ..link(20)
    };
    let row = |name, what, link, goodput, overhead| Row {
        name,
        what,
        link,
        config: Config::DEFAULT,
        wakes_late: false,
        goodput,
        overhead,
    };
    let (shallow, policed) = (fairness::shallow(), fairness::policed());
    let late = "20 ms, 0.5 % loss, 2 % 5 ms late, 1 % twice";
    let lean = |reached| most(reached).holds(80);
    #[rustfmt::skip] // a table
    let mut rows = vec![
        row("a", "20 ms", lossy(20, 0), least(90_500).holds(89_000), lean(40)),
        row("b", "20 ms, 1 % loss", lossy(20, 1), least(89_000).holds(84_000), lean(39)),
        row("c", "20 ms, 5 % loss", lossy(20, 5), least(84_500).holds(75_000), lean(38)),
        row("d", "20 ms, 10 % loss", lossy(20, 10), least(80_000).holds(68_000), lean(38)),
        row("e", "100 ms, 1 % loss", lossy(100, 1), least(62_000).holds(50_000), lean(50)),
        row("f1", "50 ms, +-10 ms each way, in order", jittery(true), least(76_800).holds(72_000), lean(49)),
        row("f2", "50 ms, +-10 ms each way, in disorder", jittery(false), least(81_700).holds(60_000), lean(39)),
        row("g", late, disordered, least(89_200).holds(82_000), lean(40)),
        row("h", "20 ms, 1 % loss in bursts of 4", bursty, least(89_200).holds(82_000), lean(40)),
        row("i", "20 ms, a bit flipped in 0.5 %", corrupt, least(89_500), lean(45)),
        row("s", "20 ms, a queue of 25 kB", shallow, least(83_000), lean(70)),
        row("p", "20 ms, a policer", policed, least(82_200), lean(74)),
        row("m", "20 ms, a queue of 500 kB, marks above 60 kB", marking, least(90_500), lean(38)),
    ];
    rows.push(Row {
        wakes_late: true,
        ..row(
            "w",
            "20 ms, hosts wake up to 10 ms late",
            lossy(20, 0),
            least(80_400),
            lean(61),
        )
    });
    rows
}

fn percent(percent: u32) -> Probability {
    Probability::from_percent(percent).expect("a percentage")
}

/// A link of that round trip, whose queue holds what is under way in it.
///
/// # Panics
///
/// Where no memory could hold such a queue.
#[must_use]
pub fn link(rtt_ms: u64) -> LinkConfig {
    let queue = RATE / 8 * rtt_ms / 1_000;
    LinkConfig {
        delay: ms(rtt_ms / 2),
        rate: Some(RATE),
        queue: usize::try_from(queue).expect("a small queue"),
        ..LinkConfig::PERFECT
    }
}

/// Runs a row once for each seed from 1 on, and answers the median of each number; of damaged
/// datagrams, the sum.
///
/// # Panics
///
/// If a byte arrives wrong, or a connection is lost; without any seed.
#[must_use]
pub fn measure(row: &Row, seeds: u64) -> Bulk {
    let runs = each(seeds, |seed| {
        transfer(row.config, &row.link, row.wakes_late, seed)
    });
    Bulk {
        goodput: median(&runs, |run| run.goodput),
        overhead: median(&runs, |run| run.overhead),
        lost: median(&runs, |run| run.lost),
        spurious: median(&runs, |run| run.spurious),
        timeouts: median(&runs, |run| run.timeouts),
        damaged: runs.iter().map(|run| run.damaged).sum(),
        unnoticed: runs.iter().map(|run| run.unnoticed).sum(),
    }
}

/// The nearest whole number of milliseconds, as it is printed and held to its bounds.
#[must_use]
pub fn whole_ms(time: Duration) -> u64 {
    let nearest = time.saturating_add(Duration::from_micros(500));
    u64::try_from(nearest.as_millis()).unwrap_or(u64::MAX)
}

/// The middle one of a number over all runs.
fn median<T, N: Copy + Ord>(runs: &[T], number: impl Fn(&T) -> N) -> N {
    let mut numbers: Vec<_> = runs.iter().map(number).collect();
    numbers.sort_unstable();
    numbers[numbers.len() / 2]
}

/// Calls `run` with each seed, on every core.
fn each<T: Send>(seeds: u64, run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (1..=seeds)
            .take(cores)
            .map(|first| {
                let mine = (first..=seeds).step_by(cores);
                scope.spawn(|| mine.map(&run).collect::<Vec<_>>())
            })
            .collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined
            .flat_map(|runs| runs.expect("see the panic above"))
            .collect()
    })
}
