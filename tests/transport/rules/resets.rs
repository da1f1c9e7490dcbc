//! Streams that are given up, S6 and S7.

use conformance::pair::{CLIENTS, Pair, clean, pattern};
use conformance::time::s;
use rudp_proto::wire::Frame;
use rudp_proto::{Config, Event, ReadError, WriteError};

use super::streams::{client_stream, told};
use super::{established, stream_of, violation};

/// (S6)
#[test]
fn rule_rudp_s6_a_reset_drops_the_rest_and_counts_as_received() {
    let small = Config {
        receive_window: 2_000,
        ..Config::DEFAULT
    };
    let (mut pair, client, server) = Pair::connected(small, clean());
    pair.server.reads = false;
    let conn = pair.client.conn(client);
    let (first, second) = (conn.open_stream().unwrap(), conn.open_stream().unwrap());
    conn.write(first, &pattern(9_000)).unwrap();
    pair.run_for(s(1)); // the window of the connection is full
    let conn = pair.client.conn(client);
    conn.write(second, b"now me").unwrap();
    conn.reset(first, 7);
    assert_eq!(conn.write(first, b"x"), Err(WriteError::Finished));
    pair.run_for(s(1));
    let conn = pair.server.conn(server);
    let mut buf = [0; 9];
    assert_eq!(conn.read(first, &mut buf), Err(ReadError::Reset(7)));
    assert_eq!(conn.read(first, &mut buf), Ok(Some(0)), "told once");
    assert_eq!(conn.read(second, &mut buf), Ok(Some(6)));
    let size = pair
        .frames(true)
        .iter()
        .find_map(|(_, _, frame)| match frame {
            Frame::ResetStream { code: 7, size, .. } => Some(*size),
            _ => None,
        });
    assert_eq!(size, Some(2_000));
    assert_eq!(pair.client.conn(client).unacknowledged(), 0);

    // Of a stream that is all there, it changes nothing; of another size, it breaks the protocol.
    let id = client_stream(2);
    pair.inject(true, 90, vec![stream_of(id, 0, b"whole", true)]);
    let reset = |size| Frame::ResetStream { id, code: 7, size };
    pair.inject(true, 91, vec![reset(5)]);
    assert_eq!(pair.server.conn(server).read(id, &mut buf), Ok(Some(5)));
    pair.inject(true, 92, vec![reset(6)]);
    violation(&pair, "F4");
}

/// (S7)
#[test]
fn rule_rudp_s7_a_reader_that_wants_no_more_ends_the_sending() {
    let (mut pair, client, server) = established();
    let id = pair.client.conn(client).open_stream().unwrap();
    assert_eq!(id, CLIENTS);
    pair.client.conn(client).write(id, b"hello").unwrap();
    pair.run_for(s(1));
    pair.server.conn(server).stop(id, 9);
    pair.client.conn(client).write(id, b"under way").unwrap();
    pair.run_for(s(1));
    assert_eq!(told(&pair, &Event::Stopped(id)), 1);
    let conn = pair.client.conn(client);
    assert_eq!(conn.write(id, b"x"), Err(WriteError::Stopped(9)));
    assert_eq!(conn.finish(id), Err(WriteError::Stopped(9)));
    assert_eq!(conn.write(id, b"x"), Err(WriteError::Finished), "it knows");
    let answered = |(_, _, frame): &(_, _, Frame<'_>)| {
        matches!(
            frame,
            Frame::ResetStream {
                code: 9,
                size: 14,
                ..
            }
        )
    };
    assert!(pair.frames(true).iter().any(answered));
    let conn = pair.server.conn(server);
    assert_eq!(conn.read(id, &mut [0; 9]), Ok(Some(0)));
    conn.finish(id).unwrap();
    pair.client.conn(client).stop(id, 0);
    pair.run_for(s(1));
    assert_eq!(pair.server.conn(server).open_streams(), 0);
    assert_eq!(pair.client.conn(client).open_streams(), 0);
}

/// (S7)
#[test]
fn rule_rudp_s7_an_application_hears_once_of_a_stop_and_of_none_that_comes_late() {
    let (mut pair, client, _) = established();
    let conn = pair.client.conn(client);
    let (stopped, given_up) = (conn.open_stream().unwrap(), conn.open_stream().unwrap());
    for id in [stopped, given_up] {
        conn.write(id, b"hello").unwrap();
    }
    conn.reset(given_up, 1);
    let stop = |id| Frame::StopSending { id, code: 9 };
    for number in 50..53 {
        pair.inject(false, number, vec![stop(stopped), stop(given_up)]);
    }
    assert_eq!(told(&pair, &Event::Stopped(stopped)), 1);
    assert_eq!(told(&pair, &Event::Stopped(given_up)), 0);
    let conn = pair.client.conn(client);
    assert_eq!(conn.write(stopped, b"x"), Err(WriteError::Stopped(9)));
    assert_eq!(conn.write(given_up, b"x"), Err(WriteError::Finished));
}

/// (S7)
#[test]
fn rule_rudp_s7_a_stop_is_told_and_gives_room_though_the_application_reads_on() {
    let small = Config {
        receive_window: 2_000,
        ..Config::DEFAULT
    };
    let (mut pair, client, server) = Pair::connected(small, clean());
    pair.server.reads = false;
    for _ in 0..5 {
        let conn = pair.client.conn(client);
        let id = conn.open_stream().unwrap();
        conn.write(id, &pattern(1_500)).unwrap();
        pair.run_for(s(1));
        let conn = pair.server.conn(server);
        conn.stop(id, 9);
        assert_eq!(conn.read(id, &mut [0; 9]), Ok(Some(0)));
        conn.finish(id).unwrap();
        let conn = pair.client.conn(client);
        conn.write(id, &pattern(1_500)).unwrap(); // under way, and nobody reads it
        pair.run_for(s(1));
        assert_eq!(told(&pair, &Event::Stopped(id)), 1, "{id}");
        let conn = pair.client.conn(client);
        assert_eq!(conn.finish(id), Err(WriteError::Stopped(9)));
        assert_eq!(conn.read(id, &mut [0; 9]), Ok(Some(0)));
        pair.run_for(s(1));
        assert_eq!(pair.client.conn(client).open_streams(), 0);
        assert_eq!(pair.server.conn(server).open_streams(), 0);
    }
}
