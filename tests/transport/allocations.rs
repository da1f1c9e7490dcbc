//! How often a bulk transfer asks the allocator for memory, and what stays of it. A binary of its own: it counts
//! everything that its thread does.

use conformance::{
    pair::{Pair, clean},
    time::s,
    turns::Turns,
};
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

/// (F5)
#[test]
fn streams_that_were_read_to_their_last_byte_keep_little() {
    const LEN: usize = 400_000;
    const STREAMS: usize = 50;
    let (mut pair, client, server) = Pair::connected(Config::DEFAULT, clean());
    pair.server.reads = false; // until all is there
    let mut buffer = vec![0; 1 << 16];
    let counted = allocation_counter::measure(|| {
        for _ in 0..STREAMS {
            let conn = pair.client.conn(client);
            let id = conn.open_stream().expect("allowed");
            assert_eq!(conn.write(id, &buffer.repeat(7)[..LEN]), Ok(LEN));
            pair.run_for(s(5));
            let (conn, mut read) = (pair.server.conn(server), 0);
            while let Ok(Some(count @ 1..)) = conn.read(id, &mut buffer) {
                read += count;
            }
            assert_eq!(read, LEN);
            (pair.log, pair.server.events) = (Vec::new(), Vec::new());
        }
    });
    println!("{STREAMS} streams: {counted:?}");
    let most = 4_000_000;
    assert!(counted.bytes_current < most, "{}", counted.bytes_current);
}
