//! How a connection ends: K3, K4, K5, K7.

use netsim::LinkConfig;
use rudp_proto::wire::{Frame, Packet, RESET_LEN};
use rudp_proto::{CloseReason, Config, Endpoint, Event, Handle, Lost, Secrets, WriteError};

use crate::pair::{Host, Pair, clean, client_addr, endpoint, ms, pattern, secs};
use crate::{NO_KEEPALIVE, ack, data, established, has, stream};

/// (K3)
#[test]
fn rule_rudp_k3_a_graceful_close_waits_for_the_data_and_for_the_reader() {
    let (mut pair, client, server) = established();
    pair.server.reads = false;
    pair.client.conn(client).write(&pattern(50_000)).unwrap();
    pair.client.conn(client).close(3, "bye");
    pair.server.conn(server).write(b"unwanted").unwrap();
    pair.run_for(secs(2));
    assert_eq!(pair.client.closed(), [&CloseReason::Local]);
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
    assert_eq!(
        pair.server.conn(server).write(b"x"),
        Err(WriteError::Closed)
    );
    pair.server.read_all(server);
    pair.settle();
    assert_eq!(pair.server.bytes(server), pattern(50_000));
    let said = CloseReason::Peer {
        code: 3,
        reason: "bye".into(),
    };
    assert_eq!(pair.server.closed(), [&said]);
    pair.run_for(secs(100));
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
        pair.run_for(secs(2));
        let start = pair.now;
        let mute = hint || config.keepalive.is_none();
        pair.lets_pass = Box::new(move |at, client, _| !(mute && client && at > start + ms(35)));
        pair.client.conn(client).close(5, "done");
        pair.run_for(ms(200));
        assert_eq!(pair.client.closed(), [&CloseReason::Local], "{case}");
        if hint {
            pair.client = Host::new(endpoint(config, 9));
            let server = &mut pair.server.endpoint;
            server.handle_unreachable(pair.now, client_addr());
        }
        // Half of it is read within the idle timeout, the rest within another one.
        pair.run_until(start + secs(59));
        let mut half = vec![0; 25_000];
        let read = pair.server.conn(server).read(&mut half);
        assert_eq!(
            (read, &half[..]),
            (Ok(Some(25_000)), &pattern(50_000)[..25_000]),
            "{case}"
        );
        pair.run_until(start + secs(118));
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
        pair.run_for(secs(100));
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
    pair.client.conn(client).write(b"unread").unwrap();
    pair.client.conn(client).close(5, "done");
    pair.run_for(secs(1));
    let close = |frame: &Frame<'_>| matches!(frame, Frame::Close { .. });
    let arrived = |pair: &Pair, from_client| {
        let frames = pair.frames(from_client);
        let first = frames.iter().find(|(_, _, frame)| close(frame));
        first.expect("it closed").0 + ms(20)
    };
    // The last step is the acknowledgement of the answer to the CLOSE.
    let due = arrived(&pair, true) + ms(40) + secs(60);
    pair.run_until(due + secs(100));
    let said = CloseReason::Peer {
        code: 5,
        reason: "done".into(),
    };
    assert_eq!(closed_at(&pair.server), (due, said));
    assert_eq!(pair.next(), None);

    // For the peer's CLOSE, from a peer that lives and acknowledged ours: it has everything.
    let (mut pair, client, _) = established();
    pair.lets_pass = Box::new(|_, from_client, _| from_client);
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
        pair.run_for(secs(6));
        stay(&mut pair, vec![Frame::Ping]);
    }
    assert_eq!(
        closed_at(&pair.client),
        (acknowledged + secs(60), CloseReason::Local)
    );

    // For room at a peer that lives and never reads, though both keep it alive.
    let config = Config {
        receive_window: 10_000,
        ..Config::DEFAULT
    };
    for both_close in [false, true] {
        let (mut pair, client, server) = Pair::connected(config, clean());
        (pair.client.reads, pair.server.reads) = (false, false);
        pair.client.conn(client).write(&pattern(50_000)).unwrap();
        pair.server.conn(server).write(&pattern(50_000)).unwrap();
        pair.run_for(secs(1));
        pair.client.conn(client).close(0, "");
        if both_close {
            pair.server.conn(server).close(0, "");
        }
        let start = pair.now;
        pair.run_for(secs(300));
        let timed_out = CloseReason::Lost(Lost::TimedOut);
        assert_eq!(closed_at(&pair.client), (start + secs(60), timed_out));
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
    assert_eq!(pair.server.conn(server).write(&data), Ok(data.len()));
    pair.server.conn(server).close(0, "");
    pair.client.conn(client).close(0, "");
    pair.run_for(secs(300));
    assert!(pair.client.bytes(client) == data);
    assert_eq!(pair.client.closed(), [&CloseReason::Local]);
    assert_eq!(pair.server.closed(), [&CloseReason::Local]);
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
    pair.server.conn(server).write(&pattern(50_000)).unwrap();
    pair.run_for(secs(1));
    pair.server.conn(server).write(&pattern(50_000)).unwrap();
    let before = (pair.server.writable, pair.server.events.len());
    pair.client.conn(client).close(0, "");
    pair.run_for(ms(100));
    assert_eq!(pair.server.writable, before.0 + 1);
    let news = &pair.server.events[before.1..];
    assert!(
        news.iter().any(|(_, _, event)| *event == Event::Readable),
        "{news:?}"
    );
    let written = pair.server.conn(server).write(b"x");
    assert_eq!(written, Err(WriteError::Closed));
}

/// (K4)
#[test]
fn rule_rudp_k4_an_abort_is_told_at_once_with_the_settings_if_need_be() {
    let mut pair = Pair::new(Config::DEFAULT, clean());
    pair.lets_pass = Box::new(|at, from_client, _| from_client || at != ms(60));
    let client = pair.connect();
    pair.client.conn(client).write(&pattern(50_000)).unwrap();
    pair.run_until(ms(70)); // the SETTINGS left at 60 ms and are lost
    let server = pair.server.handle();
    pair.server.conn(server).abort(13, "not allowed");
    pair.run_for(ms(20));
    let said = CloseReason::Peer {
        code: 13,
        reason: "not allowed".into(),
    };
    assert_eq!(pair.client.closed(), [&said]);
    assert_eq!(pair.server.closed(), [&CloseReason::Local]);
    let streams = pair
        .frames(true)
        .into_iter()
        .filter(|(_, _, frame)| frame.is_ack_eliciting());
    assert_eq!(streams.count(), 0, "what was not delivered is dropped");
    pair.run_for(secs(100));
    assert_eq!(pair.next(), None);
}

/// (K5)
#[test]
fn rule_rudp_k5_a_reset_needs_the_token_and_a_longer_cause() {
    let mut stranger = endpoint(Config::DEFAULT, 2);
    for (frames, answered) in [
        (vec![Frame::Ping], false),
        (vec![stream(0, &[0; 12], false)], false), // 30 bytes
        (vec![stream(0, &[0; 13], false)], true),
    ] {
        let mut datagram = data(frames);
        let cause = datagram.len();
        stranger.handle_datagram(secs(0), client_addr(), &datagram);
        let answer = stranger.poll_transmit(secs(0), &mut datagram);
        assert_eq!(answer.is_some(), answered, "{cause}");
        assert!(!answered || (cause > RESET_LEN && datagram.len() == RESET_LEN));
    }

    // In both directions: each side knows the other's token.
    for client_restarts in [false, true] {
        let (mut pair, client, server) = established();
        let (restarted, other) = if client_restarts {
            (&mut pair.client.endpoint, 1)
        } else {
            (&mut pair.server.endpoint, 2)
        };
        let secrets = Secrets {
            reset_key: [other; 32],
            seed: [77; 32],
        };
        *restarted = Endpoint::new(Config::DEFAULT, secrets).unwrap();
        let (host, handle) = if client_restarts {
            (&mut pair.server, server)
        } else {
            (&mut pair.client, client)
        };
        host.conn(handle).write(b"x").unwrap();
        pair.run_for(secs(1));
        let host = if client_restarts {
            &pair.server
        } else {
            &pair.client
        };
        assert_eq!(host.closed(), [&CloseReason::Lost(Lost::Reset)]);
    }

    // Who forgot before it acknowledged the CLOSE may have read nothing: lost, not closed.
    let is_close = |bytes: &[u8]| has(bytes, |f| matches!(f, Frame::Close { .. }));
    let (mut pair, client, _) = established();
    pair.server.reads = false;
    pair.lets_pass = Box::new(move |_, _, bytes| !is_close(bytes));
    pair.client.conn(client).write(b"unread").unwrap();
    pair.client.conn(client).close(0, "");
    pair.run_for(ms(500));
    assert_eq!(pair.client.conn(client).unacknowledged(), 0);
    pair.server.endpoint = endpoint(Config::DEFAULT, 2);
    pair.lets_pass = Box::new(|_, _, _| true);
    pair.run_for(secs(2));
    assert_eq!(pair.client.closed(), [&CloseReason::Lost(Lost::Reset)]);

    // Who acknowledged it has everything, though its own CLOSE was lost.
    let (mut pair, client, _) = established();
    pair.lets_pass = Box::new(move |_, from_client, bytes| from_client || !is_close(bytes));
    pair.client.conn(client).close(0, "");
    pair.run_for(ms(100));
    let (_, number, _) = *pair.frames(true).last().expect("the CLOSE left");
    pair.inject(false, 90, vec![ack(0..number + 1)]);
    pair.server.endpoint = endpoint(Config::DEFAULT, 2);
    pair.run_for(secs(11)); // a PING finds the restart
    assert_eq!(pair.client.closed(), [&CloseReason::Local]);
}

/// (K7)
#[test]
fn rule_rudp_k7_a_closed_connection_lingers_for_three_rto_and_answers() {
    let (mut pair, client, server) = Pair::connected(NO_KEEPALIVE, clean());
    pair.client.conn(client).close(0, "");
    pair.run_for(ms(200));
    assert_eq!(
        (pair.client.closed().len(), pair.server.closed().len()),
        (1, 1)
    );
    assert!(
        pair.server.endpoint.connection(server).is_none(),
        "the handle is dead"
    );
    let before = pair.log.len();
    pair.inject(
        true,
        90,
        vec![Frame::Close {
            code: 0,
            reason: "",
            abort: false,
        }],
    );
    assert!(has(&pair.log[before].2, |frame| matches!(
        frame,
        Frame::Ack(_)
    )));
    let sent = pair.log.len();
    pair.inject(true, 91, vec![stream(0, b"late", false)]);
    assert_eq!(pair.log.len(), sent, "it takes no data");
    pair.run_for(secs(3));
    assert_eq!(pair.next(), None, "3 RTO are over");

    // Without an answer the CLOSE is repeated three times.
    let (mut pair, client, _) = Pair::connected(NO_KEEPALIVE, clean());
    pair.lets_pass = Box::new(|_, _, _| false);
    pair.client.conn(client).abort(1, "");
    pair.run_for(secs(59));
    let frames = pair.frames(true);
    let closes = frames
        .iter()
        .filter(|(_, _, frame)| matches!(frame, Frame::Close { .. }));
    assert_eq!(closes.count(), 4);
    assert_eq!(pair.client.endpoint.poll_timeout(), None);
}

/// More connections than may linger, and their clients' handles.
fn crowd() -> (Pair, Vec<Handle>) {
    let config = Config {
        max_connections: CROWD,
        ..NO_KEEPALIVE
    };
    let mut pair = Pair::new(config, clean());
    let handles = (0..CROWD).map(|_| pair.connect()).collect();
    // Fewer strangers at a time than are answered (K9).
    pair.run_for(secs(20));
    (pair, handles)
}

const CROWD: usize = 1_030;

/// (K7)
#[test]
fn rule_rudp_k7_the_oldest_of_too_many_lingering_connections_ends_early() {
    let (mut pair, handles) = crowd();
    let ids: Vec<u64> = pair
        .frames(false)
        .iter()
        .filter_map(|(_, _, frame)| match frame {
            Frame::Settings { connection_id, .. } => Some(*connection_id),
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), CROWD);
    for handle in handles {
        pair.client.conn(handle).close(0, "");
    }
    pair.run_for(ms(200));
    assert_eq!(pair.server.closed().len(), CROWD);
    let mut answer = |id| {
        let frames = vec![stream(0, &[0; 100], false), Frame::Ping];
        let before = pair.log.len();
        let number = 90;
        pair.deliver(
            true,
            &Packet::Data {
                to: id,
                number,
                frames,
            },
        );
        let answer = pair
            .log
            .get(before)
            .map(|(_, _, bytes)| Packet::decode(bytes));
        matches!(answer, Some(Ok(Packet::Reset { .. })))
    };
    let ended = ids.iter().filter(|id| answer(**id)).count();
    assert_eq!(ended, CROWD - 1_024);
    assert!(answer(ids[0]) && !answer(ids[CROWD - 1]), "the oldest ones");
}

/// (K7)
#[test]
fn rule_rudp_k7_a_last_word_that_is_not_acknowledged_yet_lingers_on_in_a_crowd() {
    let (mut pair, _) = crowd();
    let start = pair.now;
    pair.lets_pass = Box::new(move |at, _, bytes| {
        let aborts = has(bytes, |f| matches!(f, Frame::Close { abort: true, .. }));
        !aborts || at > start + secs(1)
    });
    let connected: Vec<Handle> = pair.server.events.iter().map(|event| event.1).collect();
    let (oldest, others) = connected.split_first().unwrap();
    pair.server.conn(*oldest).abort(13, "never again");
    for handle in &others[..1_024] {
        pair.server.conn(*handle).close(0, "");
    }
    pair.run_for(ms(200));
    assert_eq!(pair.server.closed().len(), 1_025);
    pair.run_for(secs(5));
    let said = CloseReason::Peer {
        code: 13,
        reason: "never again".into(),
    };
    assert!(pair.client.closed().contains(&&said));
}
