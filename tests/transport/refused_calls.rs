//! What an application is told when a call is refused, and what a host that does not listen counts.

use conformance::{
    datagrams::encoded,
    pair::{CLIENTS, Pair, SERVERS, SingleStream, clean, client_addr, endpoint, server_addr},
    time::{ms, s},
};
use rudp_proto::{
    CloseReason, Config, ConnectError, EndpointStats, Handle, MessageError, OpenError, ReadError,
    Side, StreamId, StreamKind, WriteError, wire::Packet,
};

fn established() -> (Pair, Handle, Handle) {
    Pair::connected(Config::DEFAULT, clean())
}

/// A refused call, and what is said of it.
fn said<T>(result: Result<T, impl ToString>) -> String {
    result.map_or_else(|error| error.to_string(), |_| "allowed".to_owned())
}

/// (K3)
#[test]
fn who_closes_reads_on_and_begins_nothing() {
    let (mut pair, client, server) = established();
    pair.server.conn(server).put(b"late").unwrap();
    let now = pair.now;
    let conn = pair.client.conn(client);
    conn.put(b"x").unwrap();
    conn.close(0, "");
    assert_eq!(conn.open_stream(), Err(OpenError::Closed));
    assert_eq!(conn.write(CLIENTS, b"y"), Err(WriteError::Closed));
    assert_eq!(conn.finish(CLIENTS), Err(WriteError::Closed));
    let message = conn.send_message(now, b"m", None);
    assert_eq!(message, Err(MessageError::Closed));
    let closed = "the connection is closed (K3)";
    assert_eq!(said(conn.open_stream()), closed);
    assert_eq!(said(conn.write(CLIENTS, b"y")), closed);
    assert_eq!(said(message), closed);
    pair.run_for(ms(30)); // the peer's data is here before its CLOSE
    assert_eq!(pair.client.bytes(client), b"late");
}

/// (K3)
#[test]
fn a_stream_without_an_end_says_that_the_connection_ended() {
    let (mut pair, client, server) = established();
    pair.client.reads = false;
    pair.server.conn(server).put(b"all").unwrap();
    pair.run_for(ms(100));
    pair.server.conn(server).close(0, "");
    pair.server.conn(server).put(b"more").unwrap_err();
    pair.run_for(s(1));
    // The peer's FIN came with its CLOSE: there is an end.
    let mut buf = [0; 8];
    let conn = pair.client.conn(client);
    assert_eq!(conn.read(SERVERS, &mut buf), Ok(Some(3)));
    assert_eq!(conn.read(SERVERS, &mut buf), Ok(Some(0)));

    // An abort has none, and drops what was not read.
    let (mut pair, client, server) = established();
    pair.client.reads = false;
    pair.server.conn(server).put(b"all").unwrap();
    pair.run_for(ms(100));
    pair.server.conn(server).abort(7, "");
    pair.settle();
    pair.lets_pass = Box::new(|_, _, _| false);
    let mut datagrams = Vec::new();
    while let Some((bytes, _)) = pair.down.poll_ecn_packet(pair.now + ms(20)) {
        datagrams.push(bytes);
    }
    for bytes in datagrams {
        let client = &mut pair.client.endpoint;
        client.handle_datagram(pair.now, server_addr(), None, &bytes);
    }
    // Before the end is fetched:
    let conn = pair.client.conn(client);
    assert_eq!(conn.read(SERVERS, &mut buf), Err(ReadError::Closed));
    assert_eq!(
        said(conn.read(SERVERS, &mut buf)),
        "the connection ended before the peer's stream did (K3)"
    );
    pair.settle();
    let end = CloseReason::Peer {
        code: 7,
        reason: String::new(),
    };
    assert_eq!(pair.client.closed(), [&end]);
}

#[test]
fn what_does_not_exist_or_is_over_is_named_with_its_rule() {
    let (mut pair, client, _) = established();
    let conn = pair.client.conn(client);
    let never = StreamId::new(Side::Client, StreamKind::Bytes, 5);
    assert_eq!(
        said(conn.write(never, b"x")),
        "there is no such stream (S2)"
    );
    assert_eq!(
        said(conn.read(never, &mut [0; 1])),
        "there is no such stream (S2)"
    );
    conn.reset(never, 1); // nothing happens
    conn.stop(never, 1);
    let message = conn.send_message(s(9), b"m", None).unwrap();
    conn.reset(message, 1);
    conn.stop(message, 1);
    conn.end().unwrap();
    assert_eq!(
        said(conn.write(CLIENTS, b"x")),
        "the stream is finished (F4)"
    );
    let long = conn.send_message(s(9), &[0; 70_000], None);
    assert_eq!(
        said(long),
        "a message of 70000 bytes, where 65536 are allowed (M2, M5)"
    );
    pair.run_for(s(1));
    let server = pair.server.handle();
    let arrived = pair.server.conn(server).read_message();
    assert_eq!(
        arrived.as_deref(),
        Some(&b"m"[..]),
        "neither reset nor stopped"
    );
}

/// (H9)
#[test]
fn an_endpoint_at_its_limit_says_what_the_limit_is() {
    let config = Config {
        max_connections: 3,
        ..Config::DEFAULT
    };
    let mut full = endpoint(config, 1);
    for _ in 0..3 {
        assert!(full.connect(s(0), server_addr()).is_ok());
    }
    let refused = full.connect(s(0), server_addr());
    assert_eq!(refused, Err(ConnectError::TooManyConnections(3)));
    assert_eq!(
        said(refused),
        "the endpoint is at its limit of 3 connections (H9)"
    );
}

/// (H4)
#[test]
fn who_does_not_listen_counts_hellos_and_answers_none() {
    let mut client = endpoint(Config::DEFAULT, 1);
    client.connect(s(0), server_addr()).unwrap();
    let mut hello = Vec::new();
    client.poll_transmit(s(0), 1, &mut hello).unwrap();
    assert!(matches!(
        Packet::decode(&hello, 0),
        Ok(packet @ Packet::Hello { .. }) if encoded(&packet) == hello
    ));
    let mut deaf = endpoint(Config::DEFAULT, 2);
    for count in 1..=3 {
        deaf.handle_datagram(s(0), client_addr(), None, &hello);
        assert!(deaf.poll_transmit(s(0), 1, &mut Vec::new()).is_none());
        let stats = EndpointStats {
            datagrams_received: count,
            not_listening: count,
            ..EndpointStats::default()
        };
        assert_eq!(deaf.stats(), stats);
    }
    deaf.listen(true);
    deaf.handle_datagram(s(0), client_addr(), None, &hello);
    assert!(deaf.poll_transmit(s(0), 1, &mut Vec::new()).is_some());
    assert_eq!(deaf.stats().not_listening, 3);
}
