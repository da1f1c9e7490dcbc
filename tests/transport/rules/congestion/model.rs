//! The model-based control, G8 and G9. Each number of G8 by itself: the tests of
//! `crates/rudp-proto/src/congestion/bbr.rs`.

use rudp_proto::{CongestionPhase, Stats};

use super::*;

/// Bytes that arrive in the second second of a long transfer, and what the client counted.
fn steady(congestion: Congestion, link: LinkConfig) -> (u64, Stats) {
    let config = Config {
        send_buffer: 4 << 20,
        receive_window: 16 << 20,
        trace: false,
        ..config(congestion)
    };
    let (mut pair, client, server) = Pair::connected(config, link);
    pair.client.send_all(client, &pattern(32 << 20));
    let received = |pair: &mut Pair| {
        pair.log.clear();
        pair.run_for(s(1));
        pair.server.conn(server).stats().stream_bytes_received
    };
    let first = received(&mut pair);
    let second = received(&mut pair);
    (second - first, pair.client.conn(client).stats())
}

/// (G8)
#[test]
fn rule_rudp_g8_a_model_fills_the_path_and_not_its_queue() {
    let (mut pair, client, _) = Pair::connected(config(Congestion::Bbr), narrow(1_000_000));
    pair.client.send_all(client, &pattern(8 << 20));
    pair.run_for(s(2));
    let path = 1_250_000;
    let rate = pair.client.conn(client).stats().pacing_rate.unwrap();
    assert!((path * 9 / 10..=path * 13 / 10).contains(&rate), "{rate}");
    let mut most = 0;
    for _ in 0..300 {
        pair.run_for(ms(10));
        let now = pair.now;
        most = most.max(pair.up.queued_bytes(now));
    }
    assert!(
        most < 50_000,
        "{most} bytes wait, where CUBIC would fill 1 MB"
    );
    assert_eq!(pair.client.conn(client).stats().packets_lost, 0);

    // The shortest round trip is probed: at some time in six seconds, little is in flight.
    let least = (0..600).map(|_| {
        pair.run_for(ms(5));
        pair.client.conn(client).stats().bytes_in_flight
    });
    let least = least.min().unwrap();
    assert!(least <= 30_000, "{least} of a path of 50 kB");
}

/// What the client's control did, when each began, and what it did then.
fn phases(pair: &Pair) -> Vec<(Duration, CongestionPhase)> {
    let traces = pair.client.traces.iter();
    let phases = traces.filter_map(|trace| match trace.step {
        Step::CongestionPhase { new, .. } => Some((trace.at, new)),
        _ => None,
    });
    phases.collect()
}

/// (G8)
#[test]
fn rule_rudp_g8_the_states_follow_each_other_for_as_long_as_they_may() {
    use CongestionPhase::{Cruise, Drain, ProbeDown, ProbeRtt, ProbeUp, Refill, Startup};
    // 42 packets fill the path: a cycle has as many rounds.
    let (mut pair, client, _) = Pair::connected(config(Congestion::Bbr), narrow(1_000_000));
    let start = pair.now;
    pair.client.send_all(client, &pattern(40 << 20));
    pair.run_for(s(30));
    let phases = phases(&pair);
    assert_eq!(phases[0].1, Startup);
    let mut seen = vec![Startup];
    for ((began, old), (ended, new)) in phases.iter().zip(&phases[1..]) {
        let (next, least, most) = match old {
            Startup => (Drain, ms(120), ms(600)),
            Drain => (ProbeDown, ms(0), 2 * ms(100)),
            ProbeDown => (Cruise, ms(0), 4 * ms(60)),
            Cruise => (Refill, ms(1_000), ms(3_000)),
            Refill => (ProbeUp, ms(40), ms(60)),
            ProbeUp => (ProbeDown, ms(40), 4 * ms(60)),
            ProbeRtt => (ProbeDown, ms(200), ms(300)),
            other => panic!("{other} is none of the model's"),
        };
        if *new == ProbeRtt {
            continue; // from any other
        }
        assert_eq!(*new, next, "after {old} at {began:?}");
        let lasted = *ended - start.max(*began);
        assert!((least..=most).contains(&lasted), "{old}: {lasted:?}");
        seen.push(*new);
    }
    let all = [Drain, ProbeDown, Cruise, Refill, ProbeUp];
    assert!(all.iter().all(|phase| seen.contains(phase)), "{seen:?}");
    let probes = phases.iter().filter(|(_, phase)| *phase == ProbeRtt);
    assert!((4..=6).contains(&probes.clone().count()), "{phases:?}");
}

/// How long so many bytes take to arrive.
fn transfer(pair: &mut Pair, client: Handle, server: Handle, bytes: usize) -> Duration {
    let received = |pair: &mut Pair| pair.server.conn(server).stats().stream_bytes_received;
    let (start, end) = (pair.now, received(pair) + bytes as u64);
    let (pattern, mut written) = (pattern(bytes), 0);
    while received(pair) < end {
        written += pair.client.conn(client).put(&pattern[written..]).unwrap();
        pair.run_for(ms(1));
    }
    pair.now - start
}

/// (G8)
#[test]
fn rule_rudp_g8_a_path_is_known_after_a_silence_and_after_thin_traffic() {
    const BYTES: usize = 2 << 20;
    let config = Config {
        send_buffer: 4 << 20,
        receive_window: 16 << 20,
        ..config(Congestion::Bbr)
    };
    let (mut pair, client, server) = Pair::connected(config, wide(250_000, "0%"));
    let first = transfer(&mut pair, client, server, BYTES);
    let warm = transfer(&mut pair, client, server, BYTES);
    assert!(warm < first, "{warm:?} after {first:?}");
    let known = pair.client.conn(client).stats().pacing_rate.unwrap();

    pair.run_for(s(10));
    pair.client.traces.clear();
    let start = pair.now;
    let took = transfer(&mut pair, client, server, BYTES);
    assert!(
        took < warm + ms(20),
        "{took:?} after a silence, {warm:?} before"
    );
    let times = sending_times(&pair);
    let at_once = times.iter().filter(|at| **at == start).count() as u64;
    let quantum = known / 500 / PACKET;
    assert!(
        at_once <= quantum + 2,
        "{at_once} packets, {quantum} in 2 ms"
    );
    let probed = phases(&pair)
        .iter()
        .any(|(_, phase)| *phase == CongestionPhase::ProbeRtt);
    assert!(!probed, "the silence was a probe");

    for _ in 0..1_000 {
        pair.client.conn(client).put(&[0; 20]).unwrap();
        pair.run_for(ms(20));
    }
    let took = transfer(&mut pair, client, server, BYTES);
    assert!(
        took < warm + ms(20),
        "{took:?} after thin traffic, {warm:?} before"
    );
}

/// (G9)
#[test]
fn rule_rudp_g9_a_loss_is_congestion_only_with_evidence() {
    // Random losses leave no queue: what arrives is what the path carries.
    let (lossy, _) = steady(Congestion::Bbr, wide(250_000, "5%"));
    assert!(lossy > 9_000_000, "{lossy} of 12,500,000 bytes a second");
    let (cubic, _) = steady(Congestion::Cubic, wide(250_000, "5%"));
    assert!(cubic < 1_000_000, "{cubic}: the losses bite");
    // A queue that overflows is no random loss, however short it is.
    // Of one that holds a whole pipe, a startup leaves a tenth free (G8).
    for (queue, most) in [(250_000, 5), (25_000, 40)] {
        let (bytes, stats) = steady(Congestion::Bbr, wide(queue, "0%"));
        assert!(bytes > 10_000_000, "{queue}: {bytes}");
        let share = stats.packets_lost * 1_000 / stats.packets_sent;
        assert!(share < most, "{queue}: {share} of 1,000 packets lost");
    }
}

/// Each few seconds half of the pipe is in flight for a while; what a short queue drops when the rest
/// follows is no sign of others (G9). Before, each probe of the round trip cost half of what came
/// until the next of the rate.
#[test]
fn rule_rudp_g9_what_a_probe_of_the_round_trip_loses_is_its_own() {
    for rate in [120_000_000, 140_000_000] {
        let link = LinkConfig {
            rate: Some(rate),
            ..wide(25_000, "0%")
        };
        let (mut pair, client, server) = Pair::connected(config(Congestion::Bbr), link);
        pair.client.send_all(client, &pattern(200 << 20));
        let mut received = |time| {
            pair.run_for(time);
            pair.log.clear();
            pair.server.conn(server).stats().stream_bytes_received
        };
        let before = received(s(2));
        let bytes = received(s(8)) - before;
        let probes = phases(&pair).into_iter();
        let probes = probes.filter(|(_, phase)| *phase == CongestionPhase::ProbeRtt);
        assert!(probes.count() > 0);
        assert!(bytes > rate / 100 * 92, "{bytes} in 8 s at {rate}");
    }
}
