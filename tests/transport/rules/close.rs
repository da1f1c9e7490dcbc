//! The graceful close, K3.

use conformance::pair::{Host, Pair, SingleStream, clean, client_addr, endpoint, own_end, pattern};
use conformance::time::{ms, s};
use netsim::LinkConfig;
use rudp_proto::wire::Frame;
use rudp_proto::{CloseReason, Config, Event, Lost, WriteError};

use super::{NO_KEEPALIVE, ack, established};

/// (K3)
#[test]
fn rule_rudp_k3_a_graceful_close_waits_for_the_data_and_for_the_reader() {
    let (mut pair, client, server) = established();
    pair.server.reads = false;
    pair.client.conn(client).put(&pattern(50_000)).unwrap();
    pair.client.conn(client).close(3, "bye");
    pair.server.conn(server).put(b"unwanted").unwrap();
    pair.run_for(s(2));
    assert_eq!(pair.client.closed(), [&own_end(3, "bye")]);
    let frames = pair.frames(true);
    let close_at = frames
        .iter()
        .find(|(_, _, frame)| matches!(frame, Frame::Close { .. }));
    let fin_at = frames
        .iter()
        .rfind(|(_, _, f)| matches!(f, Frame::Stream { fin: true, .. }));
    assert!(
        close_at.unwrap().0 >= fin_at.unwrap().0 + ms(40),
        "after its acknowledgement"
    );
    assert!(
        pair.server.closed().is_empty(),
        "there is something to read"
    );
    assert_eq!(pair.server.conn(server).put(b"x"), Err(WriteError::Closed));
    pair.server.read_all(server);
    pair.settle();
    assert_eq!(pair.server.bytes(server), pattern(50_000));
    let said = CloseReason::Peer {
        code: 3,
        reason: "bye".into(),
    };
    assert_eq!(pair.server.closed(), [&said]);
    pair.run_for(s(100));
    assert_eq!(pair.next(), None);
}

/// A reader that pauses loses nothing, whatever becomes of the peer that closed (K3).
#[test]
fn rule_rudp_k3_what_came_before_the_close_waits_for_a_reader_that_pauses() {
    let said = CloseReason::Peer {
        code: 5,
        reason: "done".into(),
    };
    for (case, config, hint) in [
        (
            "the peer forgets, and would answer a PING by a Reset",
            Config::DEFAULT,
            false,
        ),
        ("the peer's program ends", Config::DEFAULT, true),
        ("the last acknowledgement is lost", NO_KEEPALIVE, false),
    ] {
        let (mut pair, client, server) = Pair::connected(config, clean());
        pair.server.reads = false;
        pair.client.send_all(client, &pattern(50_000));
        pair.run_for(s(2));
        let start = pair.now;
        let mute = hint || config.keepalive.is_none();
        pair.lets_pass = Box::new(move |at, client, _| !(mute && client && at > start + ms(35)));
        pair.client.conn(client).close(5, "done");
        pair.run_for(ms(200));
        assert_eq!(pair.client.closed(), [&own_end(5, "done")], "{case}");
        if hint {
            pair.client = Host::new(endpoint(config, 9));
            let server = &mut pair.server.endpoint;
            server.handle_unreachable(pair.now, client_addr());
        }
        // Half of it is read within the idle timeout, the rest within another one.
        pair.run_until(start + s(59));
        let mut half = vec![0; 25_000];
        let read = pair.server.conn(server).take(&mut half);
        assert_eq!(
            (read, &half[..]),
            (Ok(Some(25_000)), &pattern(50_000)[..25_000]),
            "{case}"
        );
        pair.run_until(start + s(118));
        assert!(
            pair.server.closed().is_empty(),
            "{case}: {:?}",
            pair.server.closed()
        );
        pair.server.read_all(server);
        pair.settle();
        assert_eq!(
            pair.server.bytes(server),
            &pattern(50_000)[25_000..],
            "{case}"
        );
        assert_eq!(pair.server.closed(), [&said], "{case}");
        pair.run_for(s(100));
        assert_eq!(pair.next(), None, "{case}");
    }
}

/// (K3)
#[test]
fn rule_rudp_k3_nobody_waits_longer_than_the_idle_timeout_for_a_step() {
    let closed_at = |host: &Host| match host.events.last() {
        Some((at, _, Event::Closed(reason))) => (*at, reason.clone()),
        other => panic!("{other:?}"),
    };
    // For a reader: the application hears the peer's words without reading.
    let (mut pair, client, _) = established();
    pair.server.reads = false;
    pair.client.conn(client).put(b"unread").unwrap();
    pair.client.conn(client).close(5, "done");
    pair.run_for(s(1));
    let close = |frame: &Frame<'_>| matches!(frame, Frame::Close { .. });
    let arrived = |pair: &Pair, from_client| {
        let frames = pair.frames(from_client);
        let first = frames.iter().find(|(_, _, frame)| close(frame));
        first.expect("it closed").0 + ms(20)
    };
    // The last step is the acknowledgement of the answer to the CLOSE.
    let due = arrived(&pair, true) + ms(40) + s(60);
    pair.run_until(due + s(100));
    let said = CloseReason::Peer {
        code: 5,
        reason: "done".into(),
    };
    assert_eq!(closed_at(&pair.server), (due, said));
    assert_eq!(pair.next(), None);

    // For the peer's CLOSE, from a peer that lives and acknowledged ours: it has everything.
    let (mut pair, client, _) = established();
    pair.lets_pass = Box::new(|_, from_client, _| from_client);
    pair.client.conn(client).put(b"x").unwrap();
    pair.client.conn(client).close(0, "");
    pair.settle();
    let mut number = 100;
    let mut stay = |pair: &mut Pair, frames: Vec<Frame<'_>>| {
        pair.inject(false, number, frames);
        number += 1;
    };
    let newest = |pair: &Pair| pair.frames(true).last().expect("something left").1;
    let fin = newest(&pair);
    stay(&mut pair, vec![ack(0..fin + 1)]);
    let own = newest(&pair);
    assert!(own > fin, "the CLOSE follows the FIN");
    stay(&mut pair, vec![ack(0..own + 1)]);
    let acknowledged = pair.now;
    for _ in 0..12 {
        pair.run_for(s(6));
        stay(&mut pair, vec![Frame::Ping]);
    }
    assert_eq!(
        closed_at(&pair.client),
        (acknowledged + s(60), own_end(0, ""))
    );

    // For room at a peer that lives and never reads, though both keep it alive.
    let config = Config {
        receive_window: 10_000,
        ..Config::DEFAULT
    };
    for both_close in [false, true] {
        let (mut pair, client, server) = Pair::connected(config, clean());
        (pair.client.reads, pair.server.reads) = (false, false);
        pair.client.conn(client).put(&pattern(50_000)).unwrap();
        pair.server.conn(server).put(&pattern(50_000)).unwrap();
        pair.run_for(s(1));
        pair.client.conn(client).close(0, "");
        if both_close {
            pair.server.conn(server).close(0, "");
        }
        let start = pair.now;
        pair.run_for(s(300));
        let timed_out = CloseReason::Lost(Lost::TimedOut);
        assert_eq!(closed_at(&pair.client), (start + s(60), timed_out));
        assert_eq!(pair.server.closed().len(), 1);
        assert_eq!(pair.next(), None);
    }
}

/// (K3)
#[test]
fn rule_rudp_k3_a_simultaneous_close_waits_as_long_as_data_flows() {
    let slow = LinkConfig {
        rate: Some(100_000),
        queue: 200_000,
        ..clean()
    };
    let (mut pair, client, server) = Pair::connected(Config::DEFAULT, slow);
    let data = pattern(1_000_000); // more than 80 s
    assert_eq!(pair.server.conn(server).put(&data), Ok(data.len()));
    pair.server.conn(server).close(0, "");
    pair.client.conn(client).close(0, "");
    pair.run_for(s(300));
    assert!(pair.client.bytes(client) == data);
    assert_eq!(pair.client.closed(), [&own_end(0, "")]);
    assert_eq!(pair.server.closed(), [&own_end(0, "")]);
    assert_eq!(pair.next(), None);
}

/// (K3)
#[test]
fn rule_rudp_k3_a_blocked_writer_is_told_to_look_when_the_peer_closes() {
    let config = Config {
        receive_window: 10_000,
        send_buffer: 10_000,
        ..Config::DEFAULT
    };
    let (mut pair, client, server) = Pair::connected(config, clean());
    (pair.client.reads, pair.server.reads) = (false, false);
    pair.client.conn(client).put(b"unread").unwrap();
    pair.server.conn(server).put(&pattern(50_000)).unwrap();
    pair.run_for(s(1));
    pair.server.conn(server).put(&pattern(50_000)).unwrap();
    let before = (pair.server.writable, pair.server.events.len());
    pair.client.conn(client).close(0, "");
    pair.run_for(ms(100));
    assert_eq!(pair.server.writable, before.0 + 1);
    let news = &pair.server.events[before.1..];
    assert!(
        news.iter()
            .any(|(_, _, event)| matches!(event, Event::Readable(_))),
        "{news:?}"
    );
    let written = pair.server.conn(server).put(b"x");
    assert_eq!(written, Err(WriteError::Closed));
}
