//! Messages, M1 to M4.

use conformance::pair::{Pair, SingleStream, clean, pattern};
use conformance::time::{ms, s};
use rudp_proto::wire::Frame;
use rudp_proto::{Config, Event, MAX_MESSAGE, MessageError, Side, StreamId, StreamKind};

use super::{established, stream_of, violation};

fn message(opener: Side, index: u64) -> StreamId {
    StreamId::new(opener, StreamKind::Message, index)
}

/// (M1)
#[test]
fn rule_rudp_m1_a_message_arrives_once_and_whole_in_any_order() {
    let (mut pair, client, server) = established();
    let large = pattern(1_500);
    let mut lost = false;
    pair.lets_pass = Box::new(move |_, from_client, _| {
        !from_client || std::mem::replace(&mut lost, true) // the first part of the large one
    });
    let conn = pair.client.conn(client);
    for data in [&large[..], b"small", b""] {
        conn.send_message(ms(0), data, None).unwrap();
    }
    pair.run_for(s(1));
    let conn = pair.server.conn(server);
    let messages: Vec<_> = std::iter::from_fn(|| conn.read_message()).collect();
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[0], b"small", "what is whole first is read first");
    assert!(messages.contains(&large) && messages.contains(&Vec::new()));
    assert_eq!(conn.open_streams(), 0);

    let id = message(Side::Server, 0);
    for frame in [
        stream_of(id, 0, b"x", false),
        Frame::StopSending { id, code: 0 },
        Frame::MaxStreamData { id, limit: 9 },
        Frame::ResetStream {
            id,
            code: 0,
            size: 0,
        },
    ] {
        let (mut pair, _, server) = established();
        let sent = pair.server.conn(server).send_message(ms(0), b"x", None);
        assert_eq!(sent, Ok(id));
        pair.inject(true, 50, vec![frame]);
        violation(&pair, "M1");
    }
}

/// (M2)
#[test]
fn rule_rudp_m2_a_message_has_at_most_65536_bytes() {
    let (mut pair, client, server) = established();
    let conn = pair.client.conn(client);
    let (longest, longer) = (pattern(MAX_MESSAGE), pattern(MAX_MESSAGE + 1));
    let refused = Err(MessageError::TooLong {
        length: 65_537,
        limit: 65_536,
    });
    assert_eq!(conn.send_message(ms(0), &longer, None), refused);
    assert!(conn.send_message(ms(0), &longest, None).is_ok());
    pair.run_for(s(1));
    assert!(pair.server.conn(server).read_message() == Some(longest));
    let id = message(Side::Client, 1);
    pair.inject(true, 950, vec![stream_of(id, 65_535, b"x", false)]);
    assert!(pair.server.closed().is_empty());
    pair.inject(true, 951, vec![stream_of(id, 65_536, b"x", false)]);
    violation(&pair, "M2");
}

/// (M3)
#[test]
fn rule_rudp_m3_messages_that_nobody_reads_stop_their_sender() {
    let few = Config {
        max_messages: 2,
        receive_window: 5_000,
        ..Config::DEFAULT
    };
    let (mut pair, client, server) = Pair::connected(few, clean());
    let conn = pair.client.conn(client);
    conn.send_message(ms(0), &pattern(2_500), None).unwrap();
    conn.send_message(ms(0), &pattern(2_000), None).unwrap();
    let refused = Err(MessageError::TooMany);
    assert_eq!(conn.send_message(ms(0), b"x", None), refused);
    conn.put(&pattern(5_000)).unwrap();
    pair.run_for(s(5));
    assert!(
        pair.server.bytes(server).len() < 5_000,
        "nothing is left for it"
    );
    let conn = pair.client.conn(client);
    assert_eq!(conn.send_message(ms(0), b"x", None), refused);
    assert!(pair.server.conn(server).read_message().is_some());
    pair.run_for(s(5));
    assert!(pair.server.conn(server).read_message().is_some());
    pair.run_for(s(5));
    assert_eq!(pair.server.bytes(server).len(), 5_000);
    let told = |(_, _, event): &&(_, _, Event)| *event == Event::MessageWritable;
    assert_eq!(pair.client.events.iter().filter(told).count(), 1);
    let conn = pair.client.conn(client);
    assert!(conn.send_message(ms(0), b"x", None).is_ok());
}

/// (M5)
#[test]
fn rule_rudp_m5_parts_of_messages_never_fill_the_window() {
    let small = Config {
        receive_window: 100_000,
        ..Config::DEFAULT
    };
    let mut pair = Pair::new(small, clean());
    let client = pair.connect();
    let conn = pair.client.conn(client);
    let refused = Err(MessageError::TooLong {
        length: 601,
        limit: 600,
    });
    assert_eq!(conn.send_message(ms(0), &[7; 601], None), refused);
    assert!(conn.send_message(ms(0), &[7; 600], None).is_ok());
    pair.run_for(s(1));
    let server = pair.server.handle();
    let conn = pair.client.conn(client);
    let refused = Err(MessageError::TooLong {
        length: 50_001,
        limit: 50_000,
    });
    assert_eq!(conn.send_message(ms(0), &[7; 50_001], None), refused);
    for _ in 0..100 {
        assert!(conn.send_message(ms(0), &[7; 50_000], None).is_ok());
    }
    conn.put(&pattern(200_000)).unwrap();
    let mut lengths = Vec::new();
    for _ in 0..1_000 {
        pair.run_for(ms(100));
        let conn = pair.server.conn(server);
        lengths.extend(std::iter::from_fn(|| conn.read_message()).map(|message| message.len()));
    }
    assert_eq!(lengths[0], 600);
    assert_eq!(lengths[1..], [50_000; 100]);
    assert!(pair.server.bytes(server) == pattern(200_000));
}

/// (M4)
#[test]
fn rule_rudp_m4_a_message_that_is_late_is_dropped_and_its_sender_hears() {
    let (mut pair, client, server) = established();
    let (now, lifetime) = (pair.now, Some(ms(500)));
    let conn = pair.client.conn(client);
    let good = conn.send_message(now, b"in time", lifetime).unwrap();
    pair.run_for(ms(100));
    pair.lets_pass = Box::new(move |at, _, _| at > now + s(3));
    let start = pair.now;
    let conn = pair.client.conn(client);
    let late = conn.send_message(start, &pattern(3_000), lifetime).unwrap();
    conn.send_message(start, b"for ever", None).unwrap();
    pair.run_for(ms(499));
    let expired = |pair: &Pair| {
        let events = pair.client.events.iter();
        let expired = events.filter_map(|(at, _, event)| match event {
            Event::MessageExpired(id) => Some((*at, *id)),
            _ => None,
        });
        expired.collect::<Vec<_>>()
    };
    assert_eq!(expired(&pair), []);
    pair.run_for(ms(1));
    assert_eq!(expired(&pair), [(start + ms(500), late)]);
    assert_ne!(good, late);
    pair.run_for(s(10));
    let conn = pair.server.conn(server);
    let messages: Vec<_> = std::iter::from_fn(|| conn.read_message()).collect();
    assert_eq!(messages, [&b"in time"[..], b"for ever"]);
    assert_eq!(conn.open_streams(), 0);
    assert_eq!(pair.client.conn(client).open_streams(), 0);

    // News that nobody fetches are bounded.
    let many = Config {
        max_messages: 3_000,
        ..Config::DEFAULT
    };
    let (mut pair, client, _) = Pair::connected(many, clean());
    let now = pair.now;
    let sent = (0..3_000).take_while(|_| {
        let sent = pair
            .client
            .conn(client)
            .send_message(now, b"x", Some(ms(0)));
        pair.client.endpoint.handle_timeout(now);
        sent.is_ok()
    });
    assert_eq!(sent.count(), 1_024);
    pair.settle();
    assert_eq!(expired(&pair).len(), 1_024);
    let told = |(_, _, event): &&(_, _, Event)| *event == Event::MessageWritable;
    assert_eq!(pair.client.events.iter().filter(told).count(), 1);
    let sent = pair.client.conn(client).send_message(now, b"x", None);
    assert!(sent.is_ok());
}
