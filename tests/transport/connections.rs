//! Whole connections in virtual time.

use std::time::Duration;

use conformance::pair::{Host, Pair, SingleStream, clean, own_end, pattern};
use conformance::time::{ms, s};
use netsim::LinkConfig;
use rudp_proto::wire::Header;
use rudp_proto::{
    CloseReason, Config, CongestionPhase, Event, HandshakeStep, Step, Trace, TracedPacket,
};

const TRACED: Config = Config {
    trace: true,
    ..Config::DEFAULT
};

#[test]
fn a_connection_takes_a_round_trip_and_data_follows() {
    use HandshakeStep::{Cookie, Hello, Settings};
    let steps = [(ms(0), Hello), (ms(40), Settings)];
    opens(TRACED, ms(40), ms(60), &steps);

    let crowded = Config {
        max_half_open: 0,
        ..TRACED
    };
    let steps = [(ms(0), Hello), (ms(40), Cookie), (ms(80), Settings)];
    opens(crowded, ms(80), ms(60), &steps);
}

fn opens(
    config: Config,
    at_client: Duration,
    at_server: Duration,
    expected: &[(Duration, HandshakeStep)],
) {
    let mut pair = Pair::new(config, clean());
    let client = pair.connect();
    pair.client.send_all(client, b"hello");
    pair.run_for(s(1));
    let server = pair.server.handle();
    assert_eq!(pair.client.events, [(at_client, client, Event::Connected)]);
    assert_eq!(pair.server.events, [(at_server, server, Event::Connected)]);
    assert_eq!(pair.server.bytes(server), b"hello");
    assert_eq!(pair.server.ended, [server]);
    assert_eq!(pair.client.conn(client).unacknowledged(), 0);
    let stats = pair.client.conn(client).stats();
    assert_eq!(stats.srtt, Some(ms(40)));
    assert_eq!(stats.timeouts, 0);
    let steps = (pair.client.traces.iter()).filter_map(|trace| match trace.step {
        Step::Handshake(step) => Some((trace.at, step)),
        _ => None,
    });
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
    let config = Config {
        keepalive: None,
        ..TRACED
    };
    let mut pair = Pair::new(config, link);
    let client = pair.connect();
    let data = pattern(3 << 20);
    pair.client.send_all(client, &data);
    pair.run_for(s(60));
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
fn a_reader_that_pauses_stops_the_sender_and_loses_nothing() {
    let config = Config {
        receive_window: 10_000,
        ..Config::DEFAULT
    };
    let (mut pair, client, server) = Pair::connected(config, clean());
    pair.server.reads = false;
    pair.client.send_all(client, &pattern(50_000));
    pair.run_for(s(100));
    assert_eq!(pair.client.conn(client).unacknowledged(), 40_000);
    pair.server.reads = true;
    pair.server.read_all(server);
    pair.run_for(s(10));
    assert_eq!(pair.server.bytes(server), pattern(50_000));
}

#[test]
fn a_lost_hello_challenge_or_settings_only_delays_the_handshake() {
    // (whether the server challenges, which datagram of which side is lost, when the client is
    // connected)
    for (challenges, from_client, lost, connected) in [
        (false, true, 0, ms(1_040)),  // the Hello
        (false, false, 0, ms(1_040)), // the SETTINGS
        (false, true, 1, ms(40)),     // their acknowledgement, with the data
        (true, true, 0, ms(1_080)),   // the first Hello
        (true, false, 0, ms(1_080)),  // the Challenge
        (true, true, 1, ms(1_080)),   // the Hello with the cookie
        (true, false, 1, ms(1_080)),  // the SETTINGS
    ] {
        let config = Config {
            max_half_open: if challenges { 0 } else { 1 },
            ..Config::DEFAULT
        };
        let mut pair = Pair::new(config, clean());
        let mut sent = [0; 2];
        pair.lets_pass = Box::new(move |_, client, _| {
            let index = &mut sent[usize::from(client)];
            *index += 1;
            !(client == from_client && *index - 1 == lost)
        });
        let client = pair.connect();
        pair.client.send_all(client, b"hello");
        pair.run_for(s(10));
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
    pair.up.black_out(start, start + s(8));
    pair.down.black_out(start, start + s(8));
    pair.run_for(s(60));
    assert!(pair.server.bytes(server) == data);
    let expiries: Vec<(Duration, Duration)> = (pair.client.traces.iter())
        .filter_map(|trace| match trace.step {
            Step::Retransmit { rto, .. } => Some((rto, trace.estimator.rto())),
            _ => None,
        })
        .collect();
    assert_eq!(expiries[..3], [(s(1), s(2)), (s(2), s(4)), (s(4), s(8))]);
    let collapse = Step::Timer(rto::Event::Collapsed {
        rto: s(1),
        undone: 3,
    });
    let collapsed = (pair.client.traces.iter()).any(|trace| trace.step == collapse);
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
    pair.client.conn(client).put(&data).unwrap();
    pair.client.conn(client).close(0, "done");
    assert!(pair.client.conn(client).put(b"more").is_err());
    pair.run_for(s(120));
    assert!(pair.server.bytes(server) == data);
    assert_eq!(pair.client.closed(), [&own_end(0, "done")]);
    let said = CloseReason::Peer {
        code: 0,
        reason: "done".into(),
    };
    assert_eq!(pair.server.closed(), [&said]);
    assert_eq!(pair.next(), None, "nothing is left behind");
}

#[test]
fn connections_take_turns_to_send() {
    let mut pair = Pair::new(Config::DEFAULT, clean());
    let handles = [pair.connect(), pair.connect(), pair.connect()];
    pair.run_for(s(1));
    for handle in handles {
        pair.client.conn(handle).put(&pattern(5_000)).unwrap();
    }
    let before = pair.log.len();
    pair.settle();
    let to = |(_, _, bytes): &(Duration, bool, Vec<u8>)| Header::of(bytes).expect("a header").id;
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
fn an_idle_connection_lives_on_pings() {
    let (mut pair, client, server) = Pair::connected(Config::DEFAULT, clean());
    let before = pair.log.len();
    pair.run_for(s(600));
    assert!(pair.client.conn(client).is_established());
    assert!(pair.server.conn(server).is_established());
    let sent = pair.log.len() - before;
    assert!((118..=240).contains(&sent), "{sent} datagrams in 600 s");
}

#[test]
fn traces_tell_of_every_packet_and_how_congestion_control_stood() {
    let link = LinkConfig {
        rate: Some(20_000_000),
        loss: "1%".parse().unwrap(),
        ..clean()
    };
    let (mut pair, client, server) = Pair::connected(TRACED, link);
    pair.client.send_all(client, &pattern(1 << 20));
    pair.run_for(s(10));

    let (sent, received) = (packets(&pair.client, true), packets(&pair.server, false));
    let stats = pair.client.conn(client).stats();
    let hellos = 1;
    assert_eq!(sent.len() as u64, stats.packets_sent - hellos);
    let in_order = |packets: &[TracedPacket]| packets.is_sorted_by_key(|packet| packet.number);
    assert!(in_order(&sent) && in_order(&received));
    assert!(received.iter().all(|packet| sent.contains(packet)));
    let stats = pair.server.conn(server).stats();
    let bytes: usize = received.iter().map(|packet| packet.bytes).sum();
    let counted = (stats.packets_received, stats.bytes_received);
    assert_eq!((received.len() as u64, bytes as u64), counted);

    let (mut last, mut phases) = (None, Vec::new());
    let mut traces = pair.client.traces.iter().peekable();
    while let Some(trace) = traces.next() {
        match trace.step {
            Step::CongestionPhase { old, new } => {
                assert_eq!(old, phases.last().copied());
                phases.push(new);
                let told = traces.peek().map(|next| next.step);
                assert!(matches!(told, Some(Step::Congestion(_))), "{told:?}");
                last = None;
            }
            Step::Congestion(metrics) => {
                let soon = last.is_some_and(|last| trace.at < last + ms(5));
                assert!(!soon || metrics.bytes_in_flight == 0, "at {:?}", trace.at);
                last = Some(trace.at);
            }
            _ => {}
        }
    }
    use CongestionPhase::{Drain, ProbeDown, Startup};
    assert_eq!(phases[..3], [Startup, Drain, ProbeDown]);
    let steps = pair.client.traces.iter().rev().map(|trace| trace.step);
    let mut in_flight = steps.filter_map(|step| match step {
        Step::Congestion(metrics) => Some(metrics.bytes_in_flight),
        _ => None,
    });
    assert_eq!(in_flight.next(), Some(0), "the last word");
}

/// The Data packets that traces tell of.
fn packets(host: &Host, sent: bool) -> Vec<TracedPacket> {
    let packet = |trace: &Trace| match trace.step {
        Step::Sent(packet) if sent => Some(packet),
        Step::Received(packet) if !sent => Some(packet),
        _ => None,
    };
    host.traces.iter().filter_map(packet).collect()
}

/// Nothing in a new connection takes the age of the clock for its own.
#[test]
fn a_connection_of_a_later_hour_goes_like_one_of_the_first() {
    let at = |start: Duration| {
        let link = LinkConfig {
            rate: Some(20_000_000),
            ..clean()
        };
        let mut pair = Pair::new(TRACED, link);
        pair.now = start;
        let client = pair.connect();
        pair.client.send_all(client, &pattern(1 << 20));
        pair.run_for(s(5));
        let steps = pair.client.traces.into_iter();
        let phases = steps.filter_map(|trace| match trace.step {
            Step::CongestionPhase { new, .. } => Some((trace.at - start, new)),
            _ => None,
        });
        phases.collect::<Vec<_>>()
    };
    let first = at(Duration::ZERO);
    assert!(first.len() > 2, "{first:?}");
    assert_eq!(at(s(3_600)), first);
}
