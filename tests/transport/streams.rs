//! Many streams and messages on one connection, and what becomes of them.

use std::collections::BTreeMap;

use conformance::pair::{Pair, clean, pattern};
use conformance::time::{ms, s};
use netsim::{LinkConfig, Probability};
use rudp_proto::{Config, Connection, OpenError, Side, StreamId, StreamKind};

/// What was read of a stream or a message, by its first bytes.
type Received = BTreeMap<StreamId, Vec<u8>>;

/// Different bytes for each number.
fn data_of(number: u64, len: usize) -> Vec<u8> {
    let mut data = number.to_be_bytes().to_vec();
    data.extend(pattern(len));
    data
}

/// Reads what is there of these streams, and finishes and forgets those that are at their end.
fn read(connection: &mut Connection, open: &mut Vec<StreamId>, received: &mut Received) {
    let mut buf = [0; 4_096];
    open.retain(|id| {
        while let Some(count) = connection.read(*id, &mut buf).expect("it goes on") {
            if count == 0 {
                return false;
            }
            let stream = received.entry(*id).or_default();
            stream.extend_from_slice(&buf[..count]);
        }
        true
    });
}

/// A server that sends back, on the stream itself, what it read of it to its end.
fn echo(connection: &mut Connection, open: &mut Vec<StreamId>, received: &mut Received) {
    open.extend(std::iter::from_fn(|| connection.accept_stream()));
    let before = open.clone();
    read(connection, open, received);
    for id in before.into_iter().filter(|id| !open.contains(id)) {
        let data = received.remove(&id).unwrap_or_default();
        assert_eq!(connection.write(id, &data), Ok(data.len()));
        connection.finish(id).unwrap();
    }
}

fn lossy() -> LinkConfig {
    LinkConfig {
        loss: Probability::from_percent(2).unwrap(),
        jitter: ms(5),
        keep_order: false,
        duplicate: Probability::from_percent(1).unwrap(),
        rate: Some(50_000_000),
        ..clean()
    }
}

/// Each is opened, written, echoed and read to its end, as many at once as the peer allows; at the
/// end nothing is left of them.
#[test]
fn ten_thousand_streams_share_a_connection_and_leave_nothing_behind() {
    const COUNT: u64 = 10_000;
    let (mut pair, client, server) = Pair::connected(Config::DEFAULT, lossy());
    (pair.client.reads, pair.server.reads) = (false, false);
    let (mut opened, mut most_open) = (0, 0);
    let (mut asking, mut asked) = (Vec::new(), Received::new());
    let (mut answering, mut answers) = (Vec::new(), Received::new());
    while (answers.len() as u64) < COUNT || !answering.is_empty() {
        let conn = pair.client.conn(client);
        while opened < COUNT {
            let id = match conn.open_stream() {
                Ok(id) => id,
                Err(OpenError::TooMany) => break,
                Err(error) => panic!("{error}"),
            };
            let data = data_of(opened, 50);
            assert_eq!(conn.write(id, &data), Ok(data.len()));
            conn.finish(id).unwrap();
            answering.push(id);
            opened += 1;
        }
        read(conn, &mut answering, &mut answers);
        most_open = most_open.max(conn.open_streams());
        echo(pair.server.conn(server), &mut asking, &mut asked);
        pair.run_for(ms(20));
        pair.log.clear();
        assert!(pair.now < s(300), "{} answers", answers.len());
    }
    for (id, answer) in &answers {
        assert_eq!(*answer, data_of(id.index(), 50), "{id}");
    }
    assert_eq!(most_open, 1_024);
    pair.run_for(s(5));
    for (connection, side) in [
        (pair.client.conn(client), "client"),
        (pair.server.conn(server), "server"),
    ] {
        let left = (connection.open_streams(), connection.unacknowledged());
        assert_eq!(left, (0, 0), "{side}");
    }
}

/// Streams that nobody reads, in both directions, fill every window; what is read goes on all the
/// same, and all of it arrives when it is read at last.
#[test]
fn streams_that_stall_do_not_hold_back_others_for_ever() {
    let tight = Config {
        send_buffer: 200_000,
        receive_window: 100_000,
        stream_window: 20_000,
        ..Config::DEFAULT
    };
    let (mut pair, client, server) = Pair::connected(tight, lossy());
    (pair.client.reads, pair.server.reads) = (false, false);
    let stalled = pattern(30_000);
    let ids = |side| (0..3).map(move |index| StreamId::new(side, StreamKind::Bytes, index));
    for (host, handle) in [(&mut pair.client, client), (&mut pair.server, server)] {
        for _ in 0..3 {
            let id = host.conn(handle).open_stream().unwrap();
            host.conn(handle).write(id, &stalled).unwrap();
        }
    }
    pair.run_for(s(5));
    let conn = pair.client.conn(client);
    let id = conn.open_stream().unwrap();
    let live = pattern(400_000);
    let (mut written, mut received) = (0, Received::new());
    let mut open = vec![id];
    while !open.is_empty() {
        let conn = pair.client.conn(client);
        written += conn.write(id, &live[written..]).unwrap_or(0);
        if written == live.len() {
            let _ = conn.finish(id);
        }
        pair.run_for(ms(50));
        let conn = pair.server.conn(server);
        if !received.is_empty() || conn.accept_stream() == Some(id) || pair.now > s(6) {
            read(pair.server.conn(server), &mut open, &mut received);
        }
        assert!(pair.now < s(300), "{} of {}", written, live.len());
    }
    assert!(received[&id] == live);
    for (from, to) in [(Side::Client, false), (Side::Server, true)] {
        let handle = if to { client } else { server };
        for id in ids(from) {
            let (mut open, mut received) = (vec![id], Received::new());
            for _ in 0..20 {
                read(pair.host_mut(to).conn(handle), &mut open, &mut received);
                pair.run_for(s(1));
            }
            let bytes = &received[&id];
            assert!(stalled.starts_with(bytes) && bytes.len() >= 20_000, "{id}");
        }
    }
    assert_eq!(pair.client.conn(client).unacknowledged(), 0);
    assert_eq!(pair.server.conn(server).unacknowledged(), 0);
}
