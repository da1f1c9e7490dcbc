//! A million connections in one process, each with its retransmission timer, in virtual time:
//! `cargo run --release -p benches --example million [CONNECTIONS]`.
//!
//! `timers.rs` is the part to copy. The loop here is that of a server, which waits for an expiry or
//! for the network; here the network is a clock that ticks every millisecond and brings ACKs.

mod timers;

use std::{
    fs,
    time::{Duration, Instant},
};

use rto::{Config, Estimator, Limits, Progress, RetransmitTimer, Sample, Threshold, Timeout};
use tokio::{select, time::interval};
use tokio_util::time::DelayQueue;

use timers::Timers;

const TICK: Duration = Duration::from_millis(1);
/// How long it goes on.
const TICKS: usize = 3_000;
/// In how many ticks every connection hears something once.
const PERIOD: usize = 200;
/// One connection in so many never gets an answer,
const SILENT: usize = 1_000;
/// and is given up after so many retransmissions.
const R2: Threshold = Threshold::Retransmissions(1);
/// ACKs for which the other way is measured.
const EAGER_ACKS: usize = 3_000_000;
/// The order in which ACKs come: multiples of this prime, modulo the number of connections, visit
/// each once before any twice, and neighbours in memory far apart in time.
const STRIDE: usize = 2_147_483_647;

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let connections = match std::env::args().nth(1).map(|text| text.parse()) {
        None => 1_000_000,
        Some(Ok(connections @ 1..STRIDE)) => connections,
        Some(_) => {
            eprintln!("usage: million [CONNECTIONS], from 1 to {}", STRIDE - 1);
            std::process::exit(2);
        }
    };
    say("connections", connections);
    lazily(connections).await;
    eagerly(connections);
}

/// The server's loop.
async fn lazily(connections: usize) {
    let before = resident_bytes();
    let mut timers = open(connections);
    if let Some((before, after)) = before.zip(resident_bytes()) {
        let each = after.saturating_sub(before) / connections;
        say("bytes per connection, queue included", each);
    }
    say("of these, timer and key", Timers::BYTES);

    let opened = timers.queue_operations();
    let (mut ticks, mut acks, mut retransmissions, mut given_up) = (0, 0, 0, 0);
    let mut visits = (0..).map(|visit: usize| visit.wrapping_mul(STRIDE) % connections);
    let mut network = interval(TICK);
    network.tick().await; // the first is at once
    let start = clock();
    while ticks < TICKS {
        select! {
            biased;
            // 1. A timer has expired: a server would retransmit, or close the connection.
            (id, timeout) = timers.expired() => match timeout {
                Timeout::Retransmit(_) => retransmissions += 1,
                Timeout::GiveUp(_) => {
                    timers.remove(id);
                    given_up += 1;
                }
            },
            // 2. ACKs have come: their timers are told, and the queue hardly ever.
            _ = network.tick() => {
                let heard = |ticks: usize| ticks * connections / PERIOD;
                let now = timers.now();
                for id in visits.by_ref().take(heard(ticks + 1) - heard(ticks)) {
                    if !is_silent(id) {
                        timers.update(id, |timer| acknowledge(timer, now));
                        acks += 1;
                    }
                }
                ticks += 1;
            }
        }
    }
    let spent = start.elapsed();

    say("ACKs", acks);
    say("in seconds of virtual time", TICKS / 1_000);
    say("retransmissions", retransmissions);
    say("connections given up", given_up);
    let operations = timers.queue_operations() - opened;
    say(
        "queue operations per ACK",
        format!("{:.3}", operations as f64 / acks as f64),
    );
    say("ns per ACK, all included", nanos_each(spent, acks));
}

/// The other way, for comparison: every ACK moves its connection's entry.
fn eagerly(connections: usize) {
    let mut queue = DelayQueue::with_capacity(connections);
    let mut timers: Vec<_> = (0..connections)
        .map(|id| (timer(), queue.insert(id, Duration::from_secs(1))))
        .collect();
    let epoch = tokio_clock();
    let start = clock();
    for ack in 0..EAGER_ACKS {
        let (timer, key) = &mut timers[ack.wrapping_mul(STRIDE) % connections];
        let now = TICK * u32::try_from(ack * PERIOD / connections).unwrap_or(u32::MAX);
        acknowledge(timer, now);
        let deadline = timer.poll_timeout().expect("more is outstanding");
        queue.reset_at(key, epoch + deadline);
    }
    let each = nanos_each(start.elapsed(), EAGER_ACKS);
    say("ns per ACK where each moves its entry", each);
}

/// All connections, each with something sent.
fn open(connections: usize) -> Timers {
    let mut timers = Timers::with_capacity(connections, tokio_clock());
    for _ in 0..connections {
        let id = timers.insert(timer());
        timers.update(id, |timer| timer.handle_sent(Duration::ZERO));
    }
    timers
}

fn timer() -> RetransmitTimer {
    let estimator = Estimator::new(Config::RFC6298).expect("the RFC's own values are valid");
    let limits = Limits {
        r2: R2,
        ..Limits::NONE
    };
    RetransmitTimer::new(estimator).with_limits(limits)
}

/// Something is acknowledged, and more is outstanding.
fn acknowledge(timer: &mut RetransmitTimer, now: Duration) {
    let round_trip = Duration::from_micros(40_000 + u64::from(now.subsec_millis()) % 64);
    let sample = Some(Sample::measured(round_trip));
    timer.handle_acked(now, Progress::Some, sample);
}

fn is_silent(id: usize) -> bool {
    id.is_multiple_of(SILENT)
}

fn say(what: &str, value: impl ToString) {
    println!("{what:<38}{:>12}", value.to_string());
}

fn nanos_each(spent: Duration, acks: usize) -> String {
    format!("{:.0}", spent.as_secs_f64() * 1e9 / acks as f64)
}

/// Memory of this process, where the system tells.
fn resident_bytes() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: usize = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1_024)
}

#[expect(clippy::disallowed_methods, reason = "measures what an ACK costs")]
fn clock() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "tokio's clock, paused")]
fn tokio_clock() -> tokio::time::Instant {
    tokio::time::Instant::now()
}
