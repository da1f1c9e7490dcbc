//! How often a bulk transfer asks the allocator for memory, and what stays of it. A binary of its own: it counts
//! everything that its thread does.

use conformance::{
    pair::{Pair, clean},
    time::s,
    turns::Turns,
};
use rudp_proto::{Config, Connection, Handle, StreamId};

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

/// Writes the name of each stream on it, and ends that half.
fn name(conn: &mut Connection, ids: &[StreamId]) {
    for id in ids {
        let data = id.number().to_be_bytes();
        assert_eq!(conn.write(*id, &data), Ok(data.len()));
        conn.finish(*id).expect("it is open");
    }
}

/// Reads the name of each stream from it, and the end.
fn read_names(conn: &mut Connection, ids: &[StreamId]) {
    for id in ids {
        let mut data = [0; 9];
        assert_eq!(conn.read(*id, &mut data), Ok(Some(8)), "{id}");
        assert_eq!(data[..8], id.number().to_be_bytes());
        assert_eq!(conn.read(*id, &mut data), Ok(Some(0)), "{id}");
    }
}

/// (S4)
#[test]
fn ten_thousand_streams_at_once_carry_data_both_ways_and_give_their_memory_back() {
    const EACH: usize = 5_000;
    let config = Config {
        max_streams: 5_000,
        ..Config::DEFAULT
    };
    let (mut pair, client, server) = Pair::connected(config, clean());
    (pair.client.reads, pair.server.reads) = (false, false);
    let hosts = [(true, client), (false, server)];
    let run = |pair: &mut Pair| {
        pair.run_for(s(5));
        pair.log = Vec::new();
        (pair.client.events, pair.server.events) = (Vec::new(), Vec::new());
        hosts.map(|(is_client, handle)| {
            let conn = pair.host_mut(is_client).conn(handle);
            (conn.open_streams(), conn.unacknowledged())
        })
    };
    let counted = allocation_counter::measure(|| {
        let opened = hosts.map(|(is_client, handle)| {
            let conn = pair.host_mut(is_client).conn(handle);
            let ids = (0..EACH).map(|_| conn.open_stream().expect("allowed"));
            let ids: Vec<StreamId> = ids.collect();
            name(conn, &ids);
            ids
        });
        assert_eq!(run(&mut pair), [(2 * EACH, 0); 2]);
        for ((is_client, handle), ids) in hosts.into_iter().zip(opened.iter().rev()) {
            let conn = pair.host_mut(is_client).conn(handle);
            assert!(std::iter::from_fn(|| conn.accept_stream()).eq(ids.iter().copied()));
            read_names(conn, ids);
            name(conn, ids);
        }
        assert_eq!(run(&mut pair), [(EACH, 0); 2], "until the answers are read");
        for ((is_client, handle), ids) in hosts.into_iter().zip(&opened) {
            read_names(pair.host_mut(is_client).conn(handle), ids);
        }
        assert_eq!(run(&mut pair), [(0, 0); 2]);
    });
    println!("{counted:?}");
    let (most, left) = (counted.bytes_max, counted.bytes_current);
    assert!(most > 5_000_000, "all of them are there at once: {most}");
    assert!(left < 100_000, "{left} bytes are left");
}
