//! Whole connections in virtual time.

mod pair;

use std::time::Duration;

use netsim::LinkConfig;
use pair::{Pair, clean, ms, pattern, secs};
use rudp_proto::wire::{Frame, Packet, unreachable_notice};
use rudp_proto::{CloseReason, Config, Event, HandshakeStep, Lost, Trace};

const TRACED: Config = Config {
    trace: true,
    ..Config::DEFAULT
};

fn has(packet: &[u8], wanted: impl Fn(&Frame<'_>) -> bool) -> bool {
    match Packet::decode(packet) {
        Ok(Packet::Data { frames, .. }) => frames.iter().any(wanted),
        _ => false,
    }
}

#[test]
fn a_connection_takes_two_round_trips_and_data_follows() {
    let mut pair = Pair::new(TRACED, clean());
    let client = pair.connect();
    pair.client.send_all(client, b"hello");
    pair.run_for(secs(1));
    let server = pair.server.handle();
    assert_eq!(pair.client.events, [(ms(80), client, Event::Connected)]);
    assert_eq!(pair.server.events, [(ms(60), server, Event::Connected)]);
    assert_eq!(pair.server.bytes(server), b"hello");
    assert_eq!(pair.server.ended, [server]);
    assert_eq!(pair.client.conn(client).unacknowledged(), 0);
    let stats = *pair.client.conn(client).stats();
    assert_eq!(stats.srtt, Some(ms(40)));
    assert_eq!(stats.timeouts, 0);
    use HandshakeStep::{Cookie, Hello, Settings};
    let steps = (pair.client.traces.iter()).filter_map(|trace| match trace {
        Trace::Handshake { at, step } => Some((*at, *step)),
        _ => None,
    });
    let expected = [(ms(0), Hello), (ms(40), Cookie), (ms(80), Settings)];
    assert_eq!(steps.collect::<Vec<_>>(), expected);
}

#[test]
fn a_transfer_survives_loss_reordering_duplication_and_corruption() {
    let link = LinkConfig {
        delay: ms(20),
        jitter: ms(5),
        keep_order: false,
        loss: "5%".parse().unwrap(),
        duplicate: "2%".parse().unwrap(),
        corrupt: "1%".parse().unwrap(),
        rate: Some(50_000_000),
        ..LinkConfig::PERFECT
    };
    let mut pair = Pair::new(TRACED, link);
    let client = pair.connect();
    let data = pattern(3 << 20);
    pair.client.send_all(client, &data);
    pair.run_for(secs(60));
    let server = pair.server.handle();
    assert!(
        pair.server.bytes(server) == data,
        "{} bytes",
        pair.server.bytes(server).len()
    );
    assert_eq!(pair.server.ended, [server]);
    let stats = pair.client.conn(client).stats();
    assert!(
        stats.fast_retransmits > 0 && stats.spurious_losses > 0,
        "{stats:?}"
    );
    assert_eq!(stats.stream_bytes_acked, data.len() as u64);
    assert_eq!(stats.bytes_in_flight, 0);
    assert!(pair.server.endpoint.stats().corrupted > 0);
}

#[test]
fn a_clean_link_is_filled() {
    let link = LinkConfig {
        rate: Some(100_000_000),
        queue: 500_000,
        ..clean()
    };
    let mut pair = Pair::new(Config::DEFAULT, link);
    let client = pair.connect();
    pair.client.send_all(client, &pattern(16 << 20));
    pair.run_for(secs(3));
    assert_eq!(
        pair.client.conn(client).unacknowledged(),
        0,
        "16 MiB at 100 Mbit/s take 1.4 s"
    );
}

#[test]
fn both_directions_carry_data_at_once() {
    let link = LinkConfig {
        loss: "3%".parse().unwrap(),
        ..clean()
    };
    let (mut pair, client, server) = Pair::connected(Config::DEFAULT, link);
    let (there, back) = (pattern(300_000), pattern(200_000));
    pair.client.send_all(client, &there);
    pair.server.send_all(server, &back);
    pair.run_for(secs(60));
    assert!(pair.server.bytes(server) == there && pair.client.bytes(client) == back);
}

#[test]
fn a_lost_window_update_does_not_dead_lock() {
    let config = Config {
        receive_window: 10_000,
        ..Config::DEFAULT
    };
    let (mut pair, client, server) = Pair::connected(config, clean());
    let mut updates = 0;
    pair.lets_pass = Box::new(move |_, from_client, bytes| {
        let update = !from_client && has(bytes, |frame| matches!(frame, Frame::MaxData(_)));
        updates += u32::from(update);
        !(update && updates % 2 == 1) // every other one is lost
    });
    pair.client.send_all(client, &pattern(50_000));
    pair.run_for(secs(60));
    assert_eq!(pair.server.bytes(server), pattern(50_000));
}

#[test]
fn a_reader_that_pauses_stops_the_sender_and_loses_nothing() {
    let config = Config {
        receive_window: 10_000,
        ..Config::DEFAULT
    };
    let (mut pair, client, server) = Pair::connected(config, clean());
    pair.server.reads = false;
    pair.client.send_all(client, &pattern(50_000));
    pair.run_for(secs(100));
    assert_eq!(pair.client.conn(client).unacknowledged(), 40_000);
    pair.server.reads = true;
    pair.server.read_all(server);
    pair.run_for(secs(10));
    assert_eq!(pair.server.bytes(server), pattern(50_000));
}

#[test]
fn a_lost_hello_challenge_or_settings_only_delays_the_handshake() {
    // (which datagram of which side is lost, when the client is connected)
    for (from_client, lost, connected) in [
        (true, 0, ms(1080)),  // the first Hello
        (false, 0, ms(1080)), // the Challenge
        (true, 1, ms(1080)),  // the Hello with the cookie
        (false, 1, ms(1080)), // the SETTINGS
    ] {
        let mut pair = Pair::new(Config::DEFAULT, clean());
        let mut sent = [0; 2];
        pair.lets_pass = Box::new(move |_, client, _| {
            let index = &mut sent[usize::from(client)];
            *index += 1;
            !(client == from_client && *index - 1 == lost)
        });
        let client = pair.connect();
        pair.client.send_all(client, b"hello");
        pair.run_for(secs(10));
        assert_eq!(pair.client.events[0], (connected, client, Event::Connected));
        assert_eq!(pair.server.events.len(), 1, "one connection");
        assert_eq!(pair.server.bytes(pair.server.handle()), b"hello");
    }
}

#[test]
fn a_black_out_is_survived_and_the_timer_doubles_through_it() {
    let (mut pair, client, server) = Pair::connected(TRACED, clean());
    let data = pattern(1_000_000);
    pair.client.send_all(client, &data);
    pair.run_for(ms(50));
    let start = pair.now;
    pair.up.black_out(start, start + secs(6));
    pair.down.black_out(start, start + secs(6));
    pair.run_for(secs(60));
    assert!(pair.server.bytes(server) == data);
    let expiries: Vec<(Duration, Duration)> = (pair.client.traces.iter())
        .filter_map(|trace| match trace {
            Trace::Expired { rto, estimator, .. } => Some((*rto, estimator.rto())),
            _ => None,
        })
        .collect();
    assert_eq!(
        expiries[..3],
        [(secs(1), secs(2)), (secs(2), secs(4)), (secs(4), secs(8))]
    );
    let collapse = |trace: &Trace| match trace {
        Trace::Sample {
            estimator,
            collapsed,
            ..
        } => (estimator.rto(), *collapsed) == (secs(1), 3),
        _ => false,
    };
    let collapsed = pair.client.traces.iter().any(collapse);
    assert!(collapsed, "a fresh sample undoes three back-offs");
}

#[test]
fn a_graceful_close_loses_nothing() {
    let link = LinkConfig {
        loss: "10%".parse().unwrap(),
        ..clean()
    };
    let (mut pair, client, server) = Pair::connected(Config::DEFAULT, link);
    let data = pattern(200_000);
    pair.client.conn(client).write(&data).unwrap();
    pair.client.conn(client).close(0, "done");
    assert!(pair.client.conn(client).write(b"more").is_err());
    pair.run_for(secs(120));
    assert!(pair.server.bytes(server) == data);
    assert_eq!(pair.client.closed(), [&CloseReason::Local]);
    let said = CloseReason::Peer {
        code: 0,
        reason: "done".into(),
    };
    assert_eq!(pair.server.closed(), [&said]);
    assert_eq!(pair.next(), None, "nothing is left behind");
}

#[test]
fn a_reader_hears_of_the_close_after_the_last_byte() {
    let (mut pair, client, server) = Pair::connected(Config::DEFAULT, clean());
    pair.server.reads = false;
    pair.client.conn(client).write(b"last words").unwrap();
    pair.client.conn(client).close(0, "");
    pair.run_for(secs(5));
    assert_eq!(pair.client.closed(), [&CloseReason::Local]);
    assert!(pair.server.closed().is_empty());
    pair.server.read_all(server);
    pair.settle();
    assert_eq!(pair.server.bytes(server), b"last words");
    assert_eq!(pair.server.closed().len(), 1);
}

#[test]
fn both_sides_may_close_at_once_with_data_under_way() {
    let (mut pair, client, server) = Pair::connected(Config::DEFAULT, clean());
    let (there, back) = (pattern(1_000), pattern(400_000));
    pair.client.conn(client).write(&there).unwrap();
    pair.client.conn(client).close(1, "client");
    pair.server.conn(server).write(&back).unwrap();
    pair.server.conn(server).close(2, "server");
    pair.run_for(secs(30));
    assert!(pair.server.bytes(server) == there && pair.client.bytes(client) == back);
    assert_eq!(pair.client.closed(), [&CloseReason::Local]);
    assert_eq!(pair.server.closed(), [&CloseReason::Local]);
    assert_eq!(pair.next(), None);
}

#[test]
fn an_abort_tells_its_reason_even_if_the_first_one_is_lost() {
    let (mut pair, client, server) = Pair::connected(Config::DEFAULT, clean());
    let mut aborts = 0;
    pair.lets_pass = Box::new(move |_, from_client, bytes| {
        let abort = has(bytes, |frame| {
            matches!(frame, Frame::Close { abort: true, .. })
        });
        aborts += u32::from(abort && !from_client);
        !abort || aborts > 2
    });
    pair.client.conn(client).write(&pattern(100_000)).unwrap();
    pair.run_for(ms(5));
    pair.server.conn(server).abort(28, "the disk is full");
    pair.run_for(secs(60));
    let said = CloseReason::Peer {
        code: 28,
        reason: "the disk is full".into(),
    };
    assert_eq!(pair.client.closed(), [&said]);
    assert_eq!(pair.server.closed(), [&CloseReason::Local]);
    assert_eq!(pair.next(), None);
}

#[test]
fn a_server_that_aborts_at_once_is_heard_by_its_client() {
    let mut pair = Pair::new(Config::DEFAULT, clean());
    pair.connect();
    pair.run_until(ms(60));
    let server = pair.server.handle();
    pair.server.conn(server).abort(13, "not allowed");
    pair.run_for(secs(5));
    let said = CloseReason::Peer {
        code: 13,
        reason: "not allowed".into(),
    };
    assert_eq!(pair.client.closed(), [&said]);
}

#[test]
fn a_restarted_server_resets_the_connections_of_its_former_life() {
    let (mut pair, client, _) = Pair::connected(Config::DEFAULT, clean());
    let secrets = rudp_proto::Secrets {
        reset_key: [2; 32],
        seed: [99; 32],
    };
    pair.server.endpoint = rudp_proto::Endpoint::new(Config::DEFAULT, secrets).unwrap();
    pair.client.conn(client).write(b"x").unwrap();
    pair.run_for(ms(40));
    assert_eq!(pair.client.closed(), [&CloseReason::Lost(Lost::Reset)]);
    pair.run_for(secs(1));
    assert_eq!(pair.next(), None);
}

#[test]
fn a_keepalive_finds_the_restart_too() {
    let (mut pair, _, _) = Pair::connected(Config::DEFAULT, clean());
    pair.server.endpoint = pair::endpoint(Config::DEFAULT, 2);
    pair.run_for(secs(11));
    assert_eq!(pair.client.closed(), [&CloseReason::Lost(Lost::Reset)]);
}

#[test]
fn a_reset_with_a_wrong_token_changes_nothing() {
    let (mut pair, client, _) = Pair::connected(Config::DEFAULT, clean());
    let secrets = rudp_proto::Secrets {
        reset_key: [3; 32],
        seed: [3; 32],
    };
    pair.server.endpoint = rudp_proto::Endpoint::new(Config::DEFAULT, secrets).unwrap();
    pair.client.conn(client).write(b"x").unwrap();
    pair.run_for(secs(1));
    assert!(pair.server.endpoint.stats().resets_sent > 0);
    assert!(pair.client.conn(client).is_established());
}

#[test]
fn port_unreachable_refuses_an_attempt_at_once() {
    let mut pair = Pair::new(Config::DEFAULT, clean());
    pair.connect();
    pair.settle();
    let hello = pair.log[0].2.clone();
    let notice = unreachable_notice(&hello).unwrap();
    pair.client
        .endpoint
        .handle_datagram(ms(1), pair::server_addr(), &notice);
    pair.settle();
    assert_eq!(pair.client.closed(), [&CloseReason::Lost(Lost::Refused)]);

    pair.connect();
    pair.client
        .endpoint
        .handle_unreachable(ms(2), pair::server_addr());
    pair.settle();
    assert_eq!(pair.client.closed().len(), 2);
}

#[test]
fn an_established_connection_takes_port_unreachable_as_a_hint() {
    let (mut pair, client, _) = Pair::connected(Config::DEFAULT, clean());
    pair.client
        .endpoint
        .handle_unreachable(pair.now, pair::server_addr());
    pair.client.conn(client).write(b"x").unwrap();
    pair.run_for(secs(5));
    assert!(pair.client.conn(client).is_established(), "an answer came");

    let start = pair.now;
    pair.up.black_out(start, start + secs(100));
    pair.client
        .endpoint
        .handle_unreachable(start, pair::server_addr());
    pair.client.conn(client).write(b"x").unwrap();
    pair.run_for(ms(999));
    assert!(
        pair.client.conn(client).is_established(),
        "the timer has not run out"
    );
    pair.run_for(ms(1));
    assert_eq!(pair.client.closed(), [&CloseReason::Lost(Lost::Refused)]);
}

#[test]
fn connections_take_turns_to_send() {
    let mut pair = Pair::new(Config::DEFAULT, clean());
    let handles = [pair.connect(), pair.connect(), pair.connect()];
    pair.run_for(secs(1));
    for handle in handles {
        pair.client.conn(handle).write(&pattern(5_000)).unwrap();
    }
    let before = pair.log.len();
    pair.settle();
    let to = |(_, _, bytes): &(Duration, bool, Vec<u8>)| match Packet::decode(bytes) {
        Ok(Packet::Data { to, .. }) => to,
        other => panic!("{other:?}"),
    };
    let order: Vec<u64> = pair.log[before..].iter().map(to).collect();
    assert!(order.len() >= 12, "{order:?}");
    for turn in order.windows(3) {
        assert!(
            turn[0] != turn[1] && turn[1] != turn[2] && turn[0] != turn[2],
            "{order:?}"
        );
    }
}

#[test]
fn a_full_server_says_so() {
    let server = Config {
        max_connections: 1,
        ..Config::DEFAULT
    };
    let mut pair = Pair::with(Config::DEFAULT, server, clean());
    pair.connect();
    pair.run_for(secs(1));
    pair.connect();
    pair.run_for(secs(1));
    assert_eq!(pair.client.closed(), [&CloseReason::Lost(Lost::Busy)]);
    assert_eq!(pair.server.endpoint.stats().refusals_sent, 1);
}

#[test]
fn silence_ends_a_connection_after_the_idle_timeout_and_a_handshake_too() {
    let (mut pair, client, _) = Pair::connected(Config::DEFAULT, clean());
    let start = pair.now;
    pair.up.black_out(start, start + secs(1000));
    pair.down.black_out(start, start + secs(1000));
    pair.client.conn(client).write(b"x").unwrap();
    pair.connect();
    pair.run_for(secs(61));
    let timed_out = &CloseReason::Lost(Lost::TimedOut);
    assert_eq!(pair.client.closed(), [timed_out, timed_out]);
    assert_eq!(pair.server.closed(), [timed_out]);
    assert_eq!(pair.next(), None);
}

#[test]
fn an_idle_connection_lives_on_pings() {
    let (mut pair, client, server) = Pair::connected(Config::DEFAULT, clean());
    let before = pair.log.len();
    pair.run_for(secs(600));
    assert!(pair.client.conn(client).is_established());
    assert!(pair.server.conn(server).is_established());
    let sent = pair.log.len() - before;
    assert!((118..=240).contains(&sent), "{sent} datagrams in 600 s");
}
