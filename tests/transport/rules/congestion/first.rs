//! What a control begins with, L10.

use std::time::Duration;

use conformance::pair::{Pair, SingleStream, clean, pattern};
use conformance::time::{ms, s};
use rudp_proto::{Congestion, Handle};

use super::{ALL, PACKET, config, established, sending_times, window, windows};

/// The first window in packets, once the handshake has measured a round trip.
fn first_packets(congestion: Congestion) -> u64 {
    if congestion == Congestion::Bbr {
        32
    } else {
        10
    }
}

/// Nothing passes any more, and the client has more to send than its window holds: answers when its
/// packets left.
pub(super) fn fill_window(pair: &mut Pair, client: Handle) -> Vec<Duration> {
    pair.lets_pass = Box::new(|_, _, _| false);
    let before = sending_times(pair).len();
    pair.client.conn(client).put(&pattern(100_000)).unwrap();
    pair.run_for(ms(40));
    sending_times(pair).split_off(before)
}

/// (L10, G4)
#[test]
fn rule_rudp_l10_every_control_begins_with_its_first_window_and_has_one_packet_after_an_expiry() {
    for congestion in ALL {
        let (mut pair, client) = established(congestion);
        let first = first_packets(congestion);
        let explained = pair.client.conn(client).explain(pair.now).to_string();
        let bytes = first * PACKET;
        let named = format!("open, {congestion}: 0 of {bytes} bytes in flight");
        assert!(explained.starts_with(&named), "{explained}");
        let start = pair.now;
        let times = fill_window(&mut pair, client);
        assert_eq!(times.len() as u64, first, "{congestion}");
        // The model spreads it over the round trip, 2.89 times as fast; the others do not.
        let took = *times.last().unwrap() - start;
        let least = if congestion == Congestion::Bbr { 10 } else { 0 };
        assert!(
            (ms(least)..=ms(14 * least / 10)).contains(&took),
            "{took:?}"
        );
        pair.run_for(s(1) + ms(100));
        assert_eq!(window(&mut pair, client), PACKET, "{congestion}");
    }
}

/// (L10)
#[test]
fn rule_rudp_l10_every_control_begins_with_one_packet_after_two_lost_hellos() {
    for congestion in ALL {
        // After one lost Hello no round trip is known (H1).
        let whole = first_packets(congestion);
        for (answered, first) in [(s(0), whole), (s(1), 10), (s(2), 1), (s(7), 1)] {
            let mut pair = Pair::new(config(congestion), clean());
            pair.lets_pass = Box::new(move |at, _, _| at >= answered);
            let client = pair.connect();
            pair.client.conn(client).put(&pattern(1 << 20)).unwrap();
            pair.run_until(answered + ms(40));
            assert_eq!(window(&mut pair, client), first * PACKET, "{congestion}");
            if first <= 10 {
                let flight = pair.client.conn(client).stats().bytes_in_flight;
                assert_eq!(flight, first * PACKET, "{congestion}: at once");
            }
            // From there it doubles with each ACK of all.
            let mut grown = windows(&mut pair, client, 200);
            grown.dedup();
            if first == 1 {
                let doubled = [1, 2, 4].map(|packets| packets * PACKET);
                assert!(grown.starts_with(&doubled), "{congestion}: {grown:?}");
            }
        }
        // To a server, an expiry before the client's first packet is one.
        let mut pair = Pair::new(config(congestion), clean());
        pair.lets_pass = Box::new(|at, from_client, _| match from_client {
            true => at != s(1), // else the second Hello comes before the expiry (H13)
            false => at >= ms(500),
        });
        pair.connect();
        pair.run_for(ms(1_500));
        let server = pair.server.handle();
        let window = pair.server.conn(server).stats().congestion_window;
        assert!(
            (PACKET..2 * PACKET).contains(&window),
            "{congestion}: {window}"
        );
    }
}

/// (L10)
#[test]
fn rule_rudp_l10_a_server_whose_settings_were_sent_three_times_begins_with_one_packet() {
    for (answered, least) in [(ms(500), 32), (ms(1_500), 1)] {
        // A Hello each second asks for them before the server's own timer does (H13).
        let mut pair = Pair::new(config(Congestion::Bbr), clean());
        pair.lets_pass = Box::new(move |at, from_client, _| from_client || at >= answered);
        let client = pair.connect();
        while !pair.client.conn(client).is_established() {
            pair.run_for(ms(1));
        }
        pair.run_for(ms(30)); // the client's first packet, and a round trip with it
        let server = pair.server.handle();
        let stats = pair.server.conn(server).stats();
        assert_eq!(stats.timeouts, 0);
        let windows = least * PACKET..(least + 1) * PACKET;
        let window = stats.congestion_window;
        assert!(windows.contains(&window), "{window}");
    }
}
