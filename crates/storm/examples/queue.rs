//! What an event costs in the queue of the simulations, beside a binary heap:
//! `cargo run --release -p storm --example queue`.
//!
//! So many events wait; each that is taken is put back up to 100 s ahead.

use std::{cmp::Reverse, collections::BinaryHeap, time::Instant};

use storm::{draws::Draws, engine::Queue};

const AHEAD_NS: u64 = 100_000_000_000;
/// How many events are taken.
const TAKEN: u32 = 5_000_000;

fn main() {
    println!("{:>10}{:>12}{:>14}", "waiting", "queue, ns", "binary heap");
    for waiting in [10_000, 100_000, 1_000_000] {
        let (queue, at) = time(|| radix(waiting));
        let (heap, same) = time(|| binary(waiting));
        assert_eq!(at, same, "both take the events in the same order");
        println!("{waiting:>10}{queue:>12.0}{heap:>14.0}");
    }
}

fn ahead(draws: &mut Draws) -> u64 {
    draws.next() % AHEAD_NS
}

/// Gives the instant of the last event taken, as the other does.
fn radix(waiting: u32) -> u64 {
    let (mut queue, mut draws, mut last) = (Queue::new(), Draws::seeded(1), 0);
    (0..waiting).for_each(|client| queue.push(ahead(&mut draws), client));
    for _ in 0..TAKEN {
        let Some((now, client)) = queue.pop() else {
            break;
        };
        queue.push(now + ahead(&mut draws), client);
        last = now;
    }
    last
}

/// Ties by the number of the push, since a heap keeps no order.
fn binary(waiting: u32) -> u64 {
    let (mut heap, mut draws, mut last) = (BinaryHeap::new(), Draws::seeded(1), 0);
    let clients = 0..waiting;
    clients.for_each(|client| heap.push(Reverse((ahead(&mut draws), client, client))));
    for number in waiting..waiting + TAKEN {
        let Some(Reverse((now, _, client))) = heap.pop() else {
            break;
        };
        heap.push(Reverse((now + ahead(&mut draws), number, client)));
        last = now;
    }
    last
}

#[expect(clippy::disallowed_methods, reason = "measures what an event costs")]
fn time(run: impl Fn() -> u64) -> (f64, u64) {
    let start = Instant::now();
    let last = run();
    (start.elapsed().as_secs_f64() * 1e9 / f64::from(TAKEN), last)
}
