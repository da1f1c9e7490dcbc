//! Versions of the protocol, N1 to N5.

use conformance::datagrams::{encoded, sealed};
use conformance::pair::{Pair, clean, client_addr, endpoint, pattern, server_addr};
use conformance::time::{ms, s};
use rudp_proto::wire::{Frame, HELLO_LEN, Header, Packet, Params, VERSION, Versions};
use rudp_proto::{CloseReason, Config, ConfigError, Endpoint, Lost, Secrets};

use super::{PARAMS, hello};

/// Reserved ones, which both endpoints can speak.
const GREASE: u8 = 0x1a;
const OTHER: u8 = 0xfa;

fn speaking(versions: &[u8]) -> Config {
    Config {
        versions: Versions::new(versions).unwrap(),
        ..Config::DEFAULT
    }
}

/// A pair after a few seconds of trying to connect.
fn tried(client: &[u8], server: &[u8]) -> Pair {
    let mut pair = Pair::with(speaking(client), speaking(server), clean());
    pair.connect();
    pair.run_for(s(5));
    pair
}

/// The first two bytes of what a side sent: version, kind.
fn sent(pair: &Pair, from_client: bool) -> Vec<(u8, u8)> {
    let own = pair
        .log
        .iter()
        .filter(|(_, client, _)| *client == from_client);
    own.map(|(_, _, bytes)| (bytes[0], bytes[1] & 15)).collect()
}

/// (N1)
#[test]
fn rule_rudp_n1_a_hello_of_any_version_can_be_recognised() {
    let foreign = |kind: u8, len: usize| {
        let mut body = vec![7; len - 4];
        body[1] = kind;
        sealed(body)
    };
    let mut damaged = foreign(0, HELLO_LEN);
    damaged[30] ^= 1;
    for (datagram, answered, unknown, corrupted) in [
        (foreign(0, HELLO_LEN), true, 1, 0),
        (foreign(0, HELLO_LEN + 500), true, 1, 0),
        (foreign(0, HELLO_LEN - 1), false, 1, 0),
        (foreign(2, HELLO_LEN), false, 1, 0),
        (damaged, false, 0, 1),
    ] {
        let mut server = endpoint(Config::DEFAULT, 2);
        server.listen(true);
        server.handle_datagram(s(0), client_addr(), None, &datagram);
        let stats = server.stats();
        let counted = (stats.unknown_versions, stats.corrupted);
        assert_eq!(counted, (unknown, corrupted));
        let mut out = Vec::new();
        let answer = server.poll_transmit(s(0), 1, &mut out);
        assert_eq!(answer.is_some(), answered);
        if answered {
            assert!(out.len() < datagram.len());
            let list = Packet::Versions {
                client_id: u64::from_be_bytes([7; 8]),
                versions: Versions::DEFAULT,
            };
            assert_eq!(Packet::decode(&out, 0), Ok(list));
        }
    }
}

/// (N2)
#[test]
fn rule_rudp_n2_a_server_lists_its_versions_and_keeps_no_state() {
    let pair = tried(&[GREASE], &[VERSION, OTHER]);
    let client_id = Header::of(&pair.log[0].2).unwrap().id;
    let versions = Versions::new(&[VERSION, OTHER]).unwrap();
    let list = Packet::Versions {
        client_id,
        versions,
    };
    assert_eq!(pair.log[1].2, encoded(&list));
    assert_eq!(pair.log.len(), 2, "and the client gives up");
    let stats = pair.server.endpoint.stats();
    assert_eq!((stats.versions_sent, stats.unknown_versions), (1, 1));
    let server = &pair.server.endpoint;
    assert_eq!((server.poll_timeout(), pair.server.events.len()), (None, 0));

    let mut silent = endpoint(Config::DEFAULT, 2);
    silent.handle_datagram(s(0), client_addr(), None, &pair.log[0].2);
    assert!(silent.poll_transmit(s(0), 1, &mut Vec::new()).is_none());
}

/// (N3)
#[test]
fn rule_rudp_n3_two_endpoints_meet_in_a_version_that_both_speak() {
    for (client, server, chosen, round_trips) in [
        (&[VERSION][..], &[VERSION][..], VERSION, 1),
        (&[VERSION], &[GREASE, VERSION], VERSION, 1),
        (&[GREASE, VERSION], &[VERSION], VERSION, 2),
        (&[VERSION, GREASE], &[OTHER, GREASE], GREASE, 2),
        (&[GREASE], &[VERSION, GREASE], GREASE, 1),
        (&[OTHER, GREASE, VERSION], &[VERSION, GREASE], GREASE, 2),
    ] {
        let mut pair = Pair::with(speaking(client), speaking(server), clean());
        let handle = pair.connect();
        pair.run_for(ms(40) * round_trips + ms(21)); // and the server hears of it
        let connection = pair.client.conn(handle);
        assert!(connection.is_established(), "{client:?} {server:?}");
        assert_eq!(
            (connection.version(), connection.stats().timeouts),
            (chosen, 0)
        );
        let accepted = pair.server.handle();
        pair.client.send_all(handle, &pattern(50_000));
        pair.server.send_all(accepted, &pattern(60_000));
        pair.run_for(s(5));
        assert!(pair.server.bytes(accepted) == pattern(50_000));
        assert!(pair.client.bytes(handle) == pattern(60_000));
        assert!(
            sent(&pair, false)
                .iter()
                .all(|(version, _)| [0, chosen].contains(version))
        );
    }
    let pair = tried(&[GREASE], &[VERSION]);
    let lost = CloseReason::Lost(Lost::Version(Versions::DEFAULT));
    assert_eq!(pair.client.closed(), [&lost]);
    assert_eq!(lost.to_string(), "no common version: the server speaks 2");
    assert!(pair.server.events.is_empty());
}

/// (N3)
#[test]
fn rule_rudp_n3_a_list_is_ignored_if_it_names_the_version_in_use_or_comes_too_late() {
    let list = |pair: &Pair, versions: &[u8]| Packet::Versions {
        client_id: Header::of(&pair.log[0].2).unwrap().id,
        versions: Versions::new(versions).unwrap(),
    };
    let config = Config {
        max_half_open: 0,
        ..speaking(&[VERSION, GREASE])
    };
    for (at, versions) in [
        (ms(5), &[VERSION, GREASE][..]), // it could have been accepted
        (ms(45), &[GREASE]),             // after the Challenge
        (ms(500), &[OTHER]),             // established
    ] {
        let mut pair = Pair::with(config, config, clean());
        let handle = pair.connect();
        pair.run_for(at);
        let list = list(&pair, versions);
        pair.deliver(false, &list);
        pair.run_for(s(1));
        let connection = pair.client.conn(handle);
        assert!(connection.is_established(), "{at:?}");
        assert_eq!(connection.version(), VERSION);
        assert!(
            sent(&pair, true)
                .iter()
                .all(|(version, _)| *version == VERSION)
        );
    }

    // Only one is believed, and none for another id or from another address.
    let mut pair = Pair::with(config, config, clean());
    pair.connect();
    pair.settle();
    pair.deliver(
        false,
        &Packet::Versions {
            client_id: 1,
            versions: Versions::new(&[OTHER]).unwrap(),
        },
    );
    let first = list(&pair, &[GREASE]);
    let elsewhere = "10.0.0.9:9".parse().unwrap();
    let client = &mut pair.client.endpoint;
    client.handle_datagram(pair.now, elsewhere, None, &encoded(&first));
    pair.settle();
    assert_eq!(sent(&pair, true), [(VERSION, 0)]);
    pair.deliver(false, &first);
    let second = list(&pair, &[OTHER]);
    pair.deliver(false, &second);
    assert_eq!(sent(&pair, true), [(VERSION, 0), (GREASE, 0)]);
    assert!(pair.client.closed().is_empty());
}

/// (N4)
#[test]
fn rule_rudp_n4_a_version_that_negotiation_does_not_lead_to_is_refused() {
    // Somebody on the way told a client of 2 and 26 that the server speaks 26 alone.
    let config = speaking(&[VERSION, GREASE]);
    let mut pair = Pair::with(config, config, clean());
    pair.connect();
    pair.settle();
    let client_id = Header::of(&pair.log[0].2).unwrap().id;
    let versions = Versions::new(&[GREASE]).unwrap();
    pair.lets_pass = Box::new(|_, _, bytes| bytes[0] == GREASE);
    pair.deliver(
        false,
        &Packet::Versions {
            client_id,
            versions,
        },
    );
    pair.run_for(s(5));
    assert_eq!(pair.server.endpoint.stats().malformed, 5, "each repetition");
    assert!(pair.server.events.is_empty() && pair.client.events.is_empty());

    // The client finds out by itself, if the server does not.
    let (mut client, server) = (endpoint(config, 1), server_addr());
    let handle = client.connect(s(0), server).unwrap();
    let mut out = Vec::new();
    assert!(client.poll_transmit(s(0), 1, &mut out).is_some());
    let to = Header::of(&out).unwrap().id;
    let params = Params { versions, ..PARAMS };
    let settings = Frame::Settings {
        connection_id: 9,
        params,
    };
    let frames = vec![settings];
    let accepted = Packet::Data {
        to,
        number: 0,
        frames,
    };
    client.handle_datagram(s(1), server, None, &encoded(&accepted));
    let closed = std::iter::from_fn(|| client.poll_event()).last();
    let what = format!("{closed:?}");
    assert!(
        closed.is_some_and(|(it, _)| it == handle) && what.contains("(N4)"),
        "{what}"
    );
}

/// (N5)
#[test]
fn rule_rudp_n5_an_endpoint_speaks_version_2_and_reserved_ones() {
    let secrets = Secrets {
        reset_key: [1; 32],
        seed: [1; 32],
    };
    for (versions, odd) in [
        (&[VERSION][..], None),
        (&[GREASE, OTHER, VERSION, 0x0a], None),
        (&[VERSION, 3], Some(3)),
        (&[VERSION, VERSION], Some(VERSION)),
    ] {
        let made = Endpoint::new(speaking(versions), secrets);
        assert_eq!(made.err(), odd.map(ConfigError::Version), "{versions:?}");
    }
    let too_many = [VERSION; 9];
    for versions in [&[][..], &[0], &too_many] {
        assert_eq!(Versions::new(versions), None);
    }
    let mut server = endpoint(speaking(&[GREASE]), 2);
    server.listen(true);
    server.handle_datagram(s(0), client_addr(), None, &encoded(&hello(1, None)));
    assert_eq!(
        server.stats().versions_sent,
        1,
        "not even its own, if it is told so"
    );
}
