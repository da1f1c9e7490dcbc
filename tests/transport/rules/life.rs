//! Life and death of a connection, K1 to K9.

use std::time::Duration;

use rudp_proto::wire::{Frame, Packet, RESET_LEN, unreachable_notice};
use rudp_proto::{
    CloseReason, Config, Endpoint, Event, HandshakeStep, Lost, Secrets, Trace, VIOLATION_CODE,
    WriteError,
};

use crate::pair::{Pair, clean, client_addr, endpoint, ms, pattern, secs, server_addr};
use crate::{NO_KEEPALIVE, TRACED, ack, data, encoded, established, has, hello, stream};

/// (K1)
#[test]
fn rule_rudp_k1_silence_is_broken_by_a_ping_that_the_timer_watches() {
    let server = Config {
        idle_timeout: secs(12),
        keepalive: None,
        ..Config::DEFAULT
    };
    for (server, every) in [(NO_KEEPALIVE, secs(10)), (server, secs(6))] {
        let mut pair = Pair::with(Config::DEFAULT, server, clean());
        pair.connect();
        pair.run_for(secs(2));
        let quiet_since = pair.log.last().unwrap().0 + ms(20);
        let pings = |pair: &Pair| {
            let frames = pair.frames(true).into_iter();
            let ping = frames.filter(|(_, _, frame)| *frame == Frame::Ping);
            ping.map(|(at, _, _)| at).collect::<Vec<_>>()
        };
        pair.run_until(quiet_since + every - ms(41));
        assert_eq!(pings(&pair), []);
        pair.lets_pass = Box::new(|_, _, _| false);
        pair.run_for(secs(3) + ms(100));
        let at = pings(&pair);
        assert!(at[0] <= quiet_since + every, "{at:?}");
        let gaps: Vec<Duration> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps, [secs(1), secs(2)], "repeated by the RTO");
    }
}

/// (K2)
#[test]
fn rule_rudp_k2_the_smaller_idle_timeout_of_both_ends_a_silent_connection() {
    let server = Config {
        idle_timeout: secs(20),
        ..Config::DEFAULT
    };
    let mut pair = Pair::with(Config::DEFAULT, server, clean());
    pair.connect();
    pair.run_for(secs(1));
    let start = pair.now;
    pair.lets_pass = Box::new(|_, _, _| false);
    pair.connect(); // and one that never gets an answer
    pair.run_until(start + secs(70));
    let closed = pair
        .client
        .events
        .iter()
        .filter_map(|(at, _, event)| match event {
            Event::Closed(reason) => Some((*at, reason)),
            _ => None,
        });
    let closed: Vec<_> = closed.collect();
    let timed_out = &CloseReason::Lost(Lost::TimedOut);
    assert_eq!(closed.len(), 2);
    assert!(
        closed[0].1 == timed_out && closed[0].0 <= start + secs(20),
        "{closed:?}"
    );
    assert_eq!(closed[1], (start + secs(60), timed_out));
    assert_eq!(pair.next(), None);
}

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

    // All is delivered, only the CLOSE is not: closed, not lost.
    let (mut pair, client, _) = established();
    pair.lets_pass = Box::new(|_, _, bytes| !has(bytes, |f| matches!(f, Frame::Close { .. })));
    pair.client.conn(client).close(0, "");
    pair.run_for(ms(500));
    pair.server.endpoint = endpoint(Config::DEFAULT, 2);
    pair.lets_pass = Box::new(|_, _, _| true);
    pair.run_for(secs(2));
    assert_eq!(pair.client.closed(), [&CloseReason::Local]);
}

/// (K6)
#[test]
fn rule_rudp_k6_port_unreachable_ends_an_attempt_and_is_a_hint_to_a_connection() {
    let mut pair = Pair::new(Config::DEFAULT, clean());
    pair.connect();
    pair.settle();
    let notice = unreachable_notice(&pair.log[0].2).unwrap();
    assert_eq!(unreachable_notice(&notice), None);
    pair.client
        .endpoint
        .handle_datagram(ms(5), "10.0.0.9:1".parse().unwrap(), &notice);
    pair.settle();
    assert!(pair.client.closed().is_empty(), "a notice from elsewhere");
    pair.client
        .endpoint
        .handle_datagram(ms(5), server_addr(), &notice);
    pair.settle();
    assert_eq!(pair.client.closed(), [&CloseReason::Lost(Lost::Refused)]);

    for silent in [false, true] {
        let (mut pair, client, _) = established();
        pair.client.conn(client).write(b"x").unwrap();
        pair.settle();
        let notice = unreachable_notice(&pair.log.last().unwrap().2).unwrap();
        pair.run_for(ms(100));
        pair.lets_pass = Box::new(move |_, _, _| !silent);
        pair.client.conn(client).write(b"y").unwrap();
        pair.settle();
        pair.client
            .endpoint
            .handle_datagram(pair.now, server_addr(), &notice);
        pair.run_for(ms(999));
        assert!(pair.client.conn(client).is_established());
        pair.run_for(ms(1));
        let refused = !pair.client.closed().is_empty();
        assert_eq!(refused, silent);
        if !silent {
            // The answer took the hint back: a later expiry is no proof.
            pair.lets_pass = Box::new(|_, _, _| false);
            pair.client.conn(client).write(b"z").unwrap();
            pair.run_for(secs(2));
            assert!(pair.client.conn(client).is_established());
            assert_eq!(pair.client.conn(client).stats().timeouts, 1);
        }
    }
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

/// (K7)
#[test]
fn rule_rudp_k7_the_oldest_of_too_many_lingering_connections_ends_early() {
    const COUNT: usize = 1_030;
    let config = Config {
        max_connections: COUNT,
        ..NO_KEEPALIVE
    };
    let mut pair = Pair::new(config, clean());
    let handles: Vec<_> = (0..COUNT).map(|_| pair.connect()).collect();
    // Fewer strangers at a time than are answered (K9).
    pair.run_for(secs(20));
    let ids: Vec<u64> = pair
        .frames(false)
        .iter()
        .filter_map(|(_, _, frame)| match frame {
            Frame::Settings { connection_id, .. } => Some(*connection_id),
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), COUNT);
    for handle in handles {
        pair.client.conn(handle).close(0, "");
    }
    pair.run_for(ms(200));
    assert_eq!(pair.server.closed().len(), COUNT);
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
    assert_eq!(ended, COUNT - 1_024);
    assert!(answer(ids[0]) && !answer(ids[COUNT - 1]), "the oldest ones");
}

/// (K8)
#[test]
fn rule_rudp_k8_who_breaks_the_protocol_is_told_which_rule() {
    let (mut pair, _, _) = established();
    pair.inject(true, 50, vec![ack(0..1_000)]);
    pair.run_for(secs(1));
    let [
        CloseReason::Peer {
            code: VIOLATION_CODE,
            reason,
        },
    ] = pair.client.closed()[..]
    else {
        panic!("{:?}", pair.client.closed());
    };
    assert!(reason.contains("(L9)"), "{reason}");
}

/// (K9)
#[test]
fn rule_rudp_k9_what_nobody_fetches_is_bounded() {
    // Answers to strangers.
    let mut server = endpoint(Config::DEFAULT, 2);
    server.listen(true);
    for id in 0..1_000 {
        server.handle_datagram(secs(0), client_addr(), &encoded(&hello(id, None)));
    }
    let mut datagram = Vec::new();
    let answers = std::iter::from_fn(|| server.poll_transmit(secs(0), &mut datagram)).count();
    assert_eq!((answers, server.stats().answers_dropped), (256, 744));

    // Events: one Readable for many packets.
    let (mut pair, _, _) = Pair::connected(Config::DEFAULT, clean());
    let to = pair.id_of(true);
    for number in 0..100 {
        let frames = vec![stream(number, b"x", false)];
        let datagram = encoded(&Packet::Data {
            to,
            number: 100 + number,
            frames,
        });
        pair.server
            .endpoint
            .handle_datagram(pair.now, client_addr(), &datagram);
    }
    assert_eq!(
        pair.server.endpoint.poll_event().map(|(_, event)| event),
        Some(Event::Readable)
    );
    assert_eq!(pair.server.endpoint.poll_event(), None);

    // Connections.
    let config = Config {
        max_connections: 2,
        ..Config::DEFAULT
    };
    let mut client = endpoint(config, 1);
    assert!(client.connect(secs(0), server_addr()).is_ok());
    assert!(client.connect(secs(0), server_addr()).is_ok());
    assert!(client.connect(secs(0), server_addr()).is_err());

    // Traces: handshake steps of a client that is never answered.
    let config = Config {
        rto: fast(),
        idle_timeout: secs(3_600),
        ..TRACED
    };
    let mut client = endpoint(config, 1);
    let handle = client.connect(secs(0), server_addr()).unwrap();
    let mut now = secs(0);
    while now < secs(3_600) {
        client.handle_timeout(now);
        while client.poll_transmit(now, &mut datagram).is_some() {}
        now = client.poll_timeout().expect("it keeps trying");
    }
    let dropped = client.connection(handle).unwrap().stats().traces_dropped;
    let first = client.poll_event().map(|(_, event)| event);
    assert!(dropped > 0, "{first:?}");
    let hello = |at| Trace::Handshake {
        at,
        step: HandshakeStep::Hello,
    };
    assert_ne!(
        first,
        Some(Event::Trace(hello(secs(0)))),
        "the oldest went first"
    );
}

/// A timer that expires twice a second at least: only to fill a queue.
fn fast() -> rto::Config {
    rto::Config {
        initial_rto: ms(500),
        min_rto: ms(500),
        max_rto: ms(500),
        ..rto::Config::RFC6298
    }
}
