//! How often a bulk transfer asks the allocator for memory. A binary of its own: it counts
//! everything that its thread does.

use conformance::turns::Turns;
use rudp_proto::{Config, Handle};

/// Datagrams that both endpoints sent so far.
fn datagrams(turns: &Turns) -> u64 {
    turns.client.stats().datagrams_sent + turns.server.stats().datagrams_sent
}

fn run(turns: &mut Turns, handles: &[Handle], count: u32) {
    for _ in 0..count {
        turns.turn(handles, |_, _| {});
    }
}

#[test]
fn a_packet_in_the_middle_of_a_transfer_hardly_allocates() {
    let mut turns = Turns::new(Config::DEFAULT, 64);
    let handles = [turns.connect()];
    run(&mut turns, &handles, 1_000); // the windows have grown
    let (before, received) = (datagrams(&turns), turns.received);
    let counted = allocation_counter::measure(|| run(&mut turns, &handles, 1_000));
    let packets = datagrams(&turns) - before;
    assert!(
        turns.received - received > 10_000_000,
        "{}",
        turns.received - received
    );
    let per_thousand = counted.count_total * 1_000 / packets;
    println!("{packets} datagrams, {per_thousand} allocations per 1,000: {counted:?}");
    assert!(per_thousand < 10, "{per_thousand} per 1,000 datagrams");
}
