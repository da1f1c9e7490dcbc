//! How a connection ends: K4, K5, K7; K3 is in `close`.

use conformance::datagrams::has;
use conformance::pair::{Pair, SingleStream, clean, client_addr, endpoint, own_end, pattern};
use conformance::time::{ms, s};
use rudp_proto::wire::{Frame, Packet, RESET_LEN};
use rudp_proto::{CloseReason, Config, Endpoint, Handle, Lost, Secrets};

use super::{CHALLENGING, NO_KEEPALIVE, ack, data, established, stream};

/// (K4)
#[test]
fn rule_rudp_k4_an_abort_is_told_at_once_with_the_settings_if_need_be() {
    let mut pair = Pair::new(CHALLENGING, clean());
    pair.lets_pass = Box::new(|at, from_client, _| from_client || at != ms(60));
    let client = pair.connect();
    pair.client.conn(client).put(&pattern(50_000)).unwrap();
    pair.run_until(ms(70)); // the SETTINGS left at 60 ms and are lost
    let server = pair.server.handle();
    pair.server.conn(server).abort(13, "not allowed");
    pair.run_for(ms(20));
    let said = CloseReason::Peer {
        code: 13,
        reason: "not allowed".into(),
    };
    assert_eq!(pair.client.closed(), [&said]);
    assert_eq!(pair.server.closed(), [&own_end(13, "not allowed")]);
    let streams = pair
        .frames(true)
        .into_iter()
        .filter(|(_, _, frame)| frame.is_ack_eliciting());
    assert_eq!(streams.count(), 0, "what was not delivered is dropped");
    pair.run_for(s(100));
    assert_eq!(pair.next(), None);
}

/// (K5)
#[test]
fn rule_rudp_k5_a_reset_needs_the_token_and_a_longer_cause() {
    let mut stranger = endpoint(Config::DEFAULT, 2);
    for (frames, answered) in [
        (vec![Frame::Ping], false),
        (vec![stream(0, &[0; 9], false)], false), // 30 bytes
        (vec![stream(0, &[0; 10], false)], true),
    ] {
        let mut datagram = data(frames);
        let cause = datagram.len();
        stranger.handle_datagram(s(0), client_addr(), None, &datagram);
        let answer = stranger.poll_transmit(s(0), 1, &mut datagram);
        assert_eq!(answer.is_some(), answered, "{cause}");
        assert!(!answered || (cause > RESET_LEN && datagram.len() == RESET_LEN));
    }

    // With a wrong token it changes nothing.
    let (mut pair, client, _) = established();
    pair.server.endpoint = endpoint(Config::DEFAULT, 3);
    pair.client.conn(client).put(b"x").unwrap();
    pair.run_for(s(1));
    assert!(pair.server.endpoint.stats().resets_sent > 0);
    assert!(pair.client.conn(client).is_established());

    // In both directions: each side knows the other's token.
    for client_restarts in [false, true] {
        let (mut pair, client, server) = established();
        let (key, handle) = if client_restarts {
            (1, server)
        } else {
            (2, client)
        };
        let secrets = Secrets {
            reset_key: [key; 32],
            seed: [77; 32],
        };
        let restarted = Endpoint::new(Config::DEFAULT, secrets).unwrap();
        pair.host_mut(client_restarts).endpoint = restarted;
        let survivor = pair.host_mut(!client_restarts);
        survivor.conn(handle).put(b"x").unwrap();
        pair.run_for(s(1));
        let survivor = pair.host(!client_restarts);
        assert_eq!(survivor.closed(), [&CloseReason::Lost(Lost::Reset)]);
        pair.run_for(s(1));
        assert_eq!(pair.next(), None);
    }

    // Who forgot before it acknowledged the CLOSE may have read nothing: lost, not closed.
    let is_close = |bytes: &[u8]| has(bytes, |f| matches!(f, Frame::Close { .. }));
    let (mut pair, client, _) = established();
    pair.server.reads = false;
    pair.lets_pass = Box::new(move |_, _, bytes| !is_close(bytes));
    pair.client.conn(client).put(b"unread").unwrap();
    pair.client.conn(client).close(0, "");
    pair.run_for(ms(500));
    assert_eq!(pair.client.conn(client).unacknowledged(), 0);
    pair.server.endpoint = endpoint(Config::DEFAULT, 2);
    pair.lets_pass = Box::new(|_, _, _| true);
    pair.run_for(s(2));
    assert_eq!(pair.client.closed(), [&CloseReason::Lost(Lost::Reset)]);

    // Who acknowledged it has everything, though its own CLOSE was lost.
    let (mut pair, client, _) = established();
    pair.lets_pass = Box::new(move |_, from_client, bytes| from_client || !is_close(bytes));
    pair.client.conn(client).close(0, "");
    pair.run_for(ms(100));
    let (_, number, _) = *pair.frames(true).last().expect("the CLOSE left");
    pair.inject(false, 90, vec![ack(0..number + 1)]);
    pair.server.endpoint = endpoint(Config::DEFAULT, 2);
    pair.run_for(s(11)); // a PING finds the restart
    assert_eq!(pair.client.closed(), [&own_end(0, "")]);
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
    pair.run_for(s(3));
    assert_eq!(pair.next(), None, "3 RTO are over");

    // Without an answer the CLOSE is repeated three times.
    let (mut pair, client, _) = Pair::connected(NO_KEEPALIVE, clean());
    pair.lets_pass = Box::new(|_, _, _| false);
    pair.client.conn(client).abort(1, "");
    pair.run_for(s(59));
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
    pair.run_for(s(20));
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
            .map(|(_, _, bytes)| Packet::decode(bytes, 0));
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
        !aborts || at > start + s(1)
    });
    let connected: Vec<Handle> = pair.server.events.iter().map(|event| event.1).collect();
    let (oldest, others) = connected.split_first().unwrap();
    pair.server.conn(*oldest).abort(13, "never again");
    for handle in &others[..1_024] {
        pair.server.conn(*handle).close(0, "");
    }
    pair.run_for(ms(200));
    assert_eq!(pair.server.closed().len(), 1_025);
    pair.run_for(s(5));
    let said = CloseReason::Peer {
        code: 13,
        reason: "never again".into(),
    };
    assert!(pair.client.closed().contains(&&said));
}
