//! Path MTU discovery, U1 to U6.

use conformance::datagrams::{encoded, sealed};
use conformance::pair::{Pair, SingleStream, clean, client_addr, endpoint, pattern, server_addr};
use conformance::time::{ms, s};
use netsim::LinkConfig;
use rudp_proto::wire::{BASE_DATAGRAM, Frame, LARGEST_DATAGRAM, Packet, Params};
use rudp_proto::{Config, ConfigError, Congestion, Endpoint, Handle, Secrets};

use super::{PARAMS, hello};

fn up_to(max_datagram: usize) -> Config {
    Config {
        max_datagram: Some(max_datagram),
        ..Config::DEFAULT
    }
}

/// A link of 50 Mbit/s that carries so much.
fn narrow(mtu: usize) -> LinkConfig {
    LinkConfig {
        rate: Some(50_000_000),
        queue: 250_000,
        mtu: Some(mtu),
        ..clean()
    }
}

/// Sends so much from the client, and checks that it arrives.
fn transfer(pair: &mut Pair, client: Handle, server: Handle, bytes: usize) {
    pair.client.send_all(client, &pattern(bytes));
    pair.run_for(s(60));
    assert!(pair.server.bytes(server) == pattern(bytes));
}

fn size(pair: &mut Pair, client: Handle) -> usize {
    let size = pair.client.conn(client).stats().datagram_size;
    usize::try_from(size).unwrap()
}

/// (U1)
#[test]
fn rule_rudp_u1_a_datagram_is_as_large_as_what_got_through() {
    let (mut pair, client, server) = Pair::connected(up_to(1_472), narrow(1_400));
    let before = pair.log.len();
    transfer(&mut pair, client, server, 8_000_000);
    let mut proved = BASE_DATAGRAM;
    for (_, from_client, datagram) in &pair.log[before..] {
        let probe = datagram.len() > proved;
        let padding = datagram.get(30..datagram.len() - 4).unwrap_or_default();
        let is_padding = padding.iter().all(|byte| *byte == 0);
        assert!(
            !from_client || !probe || is_padding,
            "only a probe is longer"
        );
        if *from_client && probe && datagram.len() <= 1_400 {
            proved = datagram.len();
        }
    }
    assert_eq!(proved, size(&mut pair, client));
    let full = pair
        .log
        .iter()
        .filter(|(_, _, datagram)| datagram.len() == proved);
    assert!(full.count() > 1_000);
}

/// (U2)
#[test]
fn rule_rudp_u2_a_search_ends_near_what_the_path_carries() {
    for (most, mtu) in [
        (1_472, 9_000),
        (1_472, 1_472),
        (1_472, 1_452),
        (1_472, 1_280),
        (1_472, 1_200),
        (1_200, 9_000),
        (9_000, 1_500),
        (9_000, 8_900),
        (LARGEST_DATAGRAM, 65_507),
    ] {
        let (mut pair, client, server) = Pair::connected(up_to(most), narrow(mtu));
        let bytes = if most > 1_472 { 16_000_000 } else { 4_000_000 };
        transfer(&mut pair, client, server, bytes);
        let found = size(&mut pair, client);
        let best = most.min(mtu);
        assert!(found <= best && best - found < 16, "{most}, {mtu}: {found}");
        let too_large = pair.up.counters().lost_mtu;
        assert!(too_large <= 45, "{most}, {mtu}: {too_large} lost");
    }
}

/// (U2)
#[test]
fn rule_rudp_u2_a_lost_probe_is_no_congestion() {
    for congestion in [Congestion::NewReno, Congestion::Cubic, Congestion::Bbr] {
        let config = Config {
            congestion,
            ..up_to(1_472)
        };
        let (mut pair, client, server) = Pair::connected(config, narrow(1_300));
        transfer(&mut pair, client, server, 150_000); // no more than a startup
        assert!(pair.up.counters().lost_mtu >= 3);
        let stats = pair.client.conn(client).stats();
        assert_eq!((stats.packets_lost, stats.fast_retransmits), (0, 0));
        let (mut wide, client, server) = Pair::connected(up_to(BASE_DATAGRAM), narrow(1_300));
        transfer(&mut wide, client, server, 150_000);
        let took = |pair: &Pair| {
            let mut sent = pair
                .log
                .iter()
                .filter(|(_, client, datagram)| *client && datagram.len() > 500);
            sent.next_back().unwrap().0
        };
        let late = took(&pair).saturating_sub(took(&wide));
        assert!(late < ms(45), "{congestion}: {late:?} later");
    }
}

/// (U2)
#[test]
fn rule_rudp_u2_a_stream_that_fills_no_packet_is_left_alone() {
    let (mut pair, client, server) = Pair::connected(Config::DEFAULT, narrow(1_472));
    let before = pair.log.len();
    for _ in 0..100 {
        pair.client.conn(client).put(&pattern(100)).unwrap();
        pair.run_for(ms(20));
    }
    pair.run_for(s(100)); // nor does an idle one
    let data = pair.log[before..].iter();
    assert!(data.clone().count() > 100);
    assert!(data.clone().all(|(_, _, datagram)| datagram.len() < 600));
    assert_eq!(pair.server.bytes(server).len(), 10_000);
}

/// (U6)
#[test]
fn rule_rudp_u6_larger_datagrams_carry_as_much_on_a_fat_path() {
    let fat = LinkConfig {
        rate: Some(1_000_000_000),
        queue: 5_000_000,
        ..clean()
    };
    for congestion in [Congestion::NewReno, Congestion::Cubic, Congestion::Bbr] {
        let took = |most| {
            let config = Config {
                congestion,
                ..up_to(most)
            };
            let (mut pair, client, server) = Pair::connected(config, fat.clone());
            let begin = pair.now;
            transfer(&mut pair, client, server, 32_000_000);
            let mut data = pair.log.iter().rev();
            let newest = data.find(|(_, up, it)| *up && it.len() > 500);
            newest.unwrap().0 - begin
        };
        let [small, large] = [BASE_DATAGRAM, 9_000].map(took);
        println!("{congestion}: {small:?} with 1,200 bytes, {large:?} with 9,000");
        let most = small + small / 50;
        assert!(large <= most, "{congestion}: {large:?}, not {small:?}");
    }
}

/// (U3)
#[test]
fn rule_rudp_u3_both_sides_say_how_much_they_accept() {
    let server_takes_less = (up_to(9_000), up_to(1_300));
    let mut pair = Pair::with(server_takes_less.0, server_takes_less.1, narrow(9_000));
    let client = pair.connect();
    pair.run_for(s(1));
    let server = pair.server.handle();
    transfer(&mut pair, client, server, 1_000_000);
    assert_eq!(size(&mut pair, client), 1_300);
    assert!(
        pair.log
            .iter()
            .all(|(_, _, datagram)| datagram.len() <= 1_300)
    );

    let mut endpoint = endpoint(up_to(1_300), 2);
    let long = sealed(vec![2; 1_297]);
    endpoint.handle_datagram(s(0), client_addr(), None, &long);
    assert_eq!((long.len(), endpoint.stats().malformed), (1_301, 1));

    let params = Params {
        max_datagram: 1_199,
        ..PARAMS
    };
    let small = Packet::Hello {
        client_id: 1,
        params,
        cookie: None,
    };
    assert!(Packet::decode(&encoded(&small), 0).is_err());
    assert!(Packet::decode(&encoded(&hello(1, None)), 0).is_ok());

    let secrets = Secrets {
        reset_key: [1; 32],
        seed: [1; 32],
    };
    for bytes in [1_199, 65_508] {
        let refused = Endpoint::new(up_to(bytes), secrets).err();
        assert_eq!(refused, Some(ConfigError::MaxDatagram(bytes)));
    }
}

/// (U4)
#[test]
fn rule_rudp_u4_a_path_that_becomes_narrow_is_used_with_smaller_datagrams() {
    for congestion in [Congestion::NewReno, Congestion::Cubic, Congestion::Bbr] {
        let config = Config {
            congestion,
            ..up_to(1_472)
        };
        let (mut pair, client, server) = Pair::connected(config, narrow(1_472));
        let data = pattern(40_000_000);
        pair.client.send_all(client, &data);
        pair.run_for(s(2));
        assert_eq!(size(&mut pair, client), 1_472);
        let before = pair.server.bytes(server).len();
        assert!(before < data.len());
        pair.up.set_config(narrow(1_300)).unwrap();
        pair.run_for(s(12));
        assert_eq!(size(&mut pair, client), BASE_DATAGRAM, "{congestion}");
        let now = pair.server.bytes(server).len();
        assert!(now > before + 2_000_000, "{congestion}: it goes on");
        pair.run_for(s(100));
        assert!(pair.server.bytes(server) == data, "{congestion}");
    }
}

/// (U4)
#[test]
fn rule_rudp_u4_in_a_black_hole_what_is_overdue_is_repeated_in_small_datagrams() {
    let (mut pair, client, server) = Pair::connected(Config::DEFAULT, narrow(1_472));
    transfer_open(&mut pair, client, 1_000_000);
    assert_eq!(size(&mut pair, client), 1_472);
    pair.up.set_config(narrow(1_300)).unwrap();
    let before = pair.client.conn(client).stats().timeouts;
    for _ in 0..4 {
        transfer_open(&mut pair, client, 1_400); // one packet each
    }
    assert_eq!(size(&mut pair, client), BASE_DATAGRAM);
    let stats = pair.client.conn(client).stats();
    assert_eq!(stats.timeouts - before, 1, "only the first time");
    assert_eq!(pair.server.bytes(server).len(), 1_005_600);
}

/// Sends so much from the client, and leaves the stream open.
fn transfer_open(pair: &mut Pair, client: Handle, bytes: usize) {
    pair.client.conn(client).put(&pattern(bytes)).unwrap();
    pair.run_for(s(5));
}

/// (U4)
#[test]
fn rule_rudp_u4_losses_of_every_size_are_no_black_hole() {
    let lossy = LinkConfig {
        loss: "10%".parse().unwrap(),
        ..narrow(1_472)
    };
    let (mut pair, client, server) = Pair::connected(up_to(1_472), lossy);
    transfer(&mut pair, client, server, 4_000_000);
    assert_eq!(size(&mut pair, client), 1_472);
}

/// (U5)
#[test]
fn rule_rudp_u5_the_systems_refusal_is_heeded_at_once() {
    let (mut pair, client, server) = Pair::connected(up_to(1_472), narrow(9_000));
    transfer(&mut pair, client, server, 1_000_000);
    assert_eq!(size(&mut pair, client), 1_472);
    let endpoint = &mut pair.client.endpoint;
    endpoint.handle_too_large(client_addr(), 1_400);
    pair.inject(false, 9_000, vec![Frame::Ping]);
    assert_eq!(size(&mut pair, client), 1_472, "somebody else's");
    pair.client.endpoint.handle_too_large(server_addr(), 1_400);
    pair.inject(false, 9_001, vec![Frame::Ping]);
    assert_eq!(size(&mut pair, client), BASE_DATAGRAM);
}
