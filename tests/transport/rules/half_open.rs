//! Connections whose client has not proved its address: H3, H6, H11, H12.

use std::net::SocketAddr;
use std::time::Duration;

use conformance::datagrams::{encoded, has};
use conformance::pair::{Pair, SingleStream, clean, client_addr, endpoint, server_addr};
use conformance::time::{ms, s};
use rudp_proto::wire::{Cookie, Frame, HELLO_LEN, Header, Packet};
use rudp_proto::{Config, Endpoint, EndpointStats, Event};

use super::{NO_KEEPALIVE, hello, stream};

const FEW: Config = Config {
    max_half_open: 3,
    ..NO_KEEPALIVE
};

fn listening(config: Config) -> Endpoint {
    let mut server = endpoint(config, 2);
    server.listen(true);
    server
}

fn stranger(number: u16) -> SocketAddr {
    SocketAddr::from(([10, 9, 9, 9], 1 + number))
}

/// Everything that the server has to send at once.
fn sent(server: &mut Endpoint, now: Duration) -> Vec<(SocketAddr, Vec<u8>)> {
    let mut datagram = Vec::new();
    let next = || {
        Some((
            server.poll_transmit(now, 1, &mut datagram)?.to,
            datagram.clone(),
        ))
    };
    std::iter::from_fn(next).collect()
}

/// What the server has to say to a Hello of the stranger.
fn answer(server: &mut Endpoint, now: Duration, number: u16, cookie: Option<Cookie>) -> Vec<u8> {
    let datagram = encoded(&hello(number.into(), cookie));
    server.handle_datagram(now, stranger(number), None, &datagram);
    let [(to, answer)] = &sent(server, now)[..] else {
        panic!("one answer to {number}");
    };
    assert_eq!(*to, stranger(number));
    answer.clone()
}

/// The cookie of an answer, if it is a Challenge; else it is SETTINGS.
fn challenge(answer: &[u8]) -> Option<Cookie> {
    match Packet::decode(answer, 0) {
        Ok(Packet::Challenge { cookie, .. }) => Some(cookie),
        _ => {
            assert!(is_settings(answer));
            None
        }
    }
}

fn is_settings(datagram: &[u8]) -> bool {
    has(datagram, |frame| matches!(frame, Frame::Settings { .. }))
}

/// Lets the time of the server pass until then; what it sends meanwhile is lost.
fn pass(server: &mut Endpoint, until: Duration) {
    while let Some(next) = server.poll_timeout().filter(|next| *next <= until) {
        server.handle_timeout(next);
        sent(server, next);
    }
}

fn counts(stats: EndpointStats) -> [u64; 3] {
    [stats.half_open, stats.half_open_lost, stats.challenges_sent]
}

/// (H3)
#[test]
fn rule_rudp_h3_an_address_without_a_proof_gets_three_times_its_bytes_at_most() {
    let fast = rto::Config {
        initial_rto: ms(200),
        min_rto: ms(200),
        max_rto: ms(200),
        ..rto::Config::RFC6298
    };
    // The timer, when Hellos come, and how many SETTINGS go out after each: of a fast timer as many
    // as the bytes pay for, then none until the next Hello, which brings at once what waited.
    for (rto, hellos, expected) in [
        (rto::Config::RFC6298, &[s(0)][..], &[6][..]), // at 0, 1, 3, 7, 15, 31 s
        (rto::Config::RFC6298, &[s(0), s(20)], &[5, 3]), // and at 36, 68 s
        (fast, &[s(0)], &[6]),                         // of 60 bytes each
        (fast, &[s(0), s(20), s(40)], &[6, 6, 7]),
    ] {
        let mut server = listening(Config {
            rto,
            ..NO_KEEPALIVE
        });
        let (mut received, mut bytes, mut counts) = (0, 0, Vec::new());
        let mut hellos = hellos.iter().copied().peekable();
        loop {
            let timer = server.poll_timeout();
            let Some(now) = timer.into_iter().chain(hellos.peek().copied()).min() else {
                break;
            };
            if hellos.next_if(|at| *at <= now).is_some() {
                let datagram = encoded(&hello(5, None));
                received += datagram.len();
                counts.push(0);
                server.handle_datagram(now, client_addr(), None, &datagram);
            }
            server.handle_timeout(now);
            for (to, datagram) in sent(&mut server, now) {
                assert!(to == client_addr() && is_settings(&datagram));
                bytes += datagram.len();
                *counts.last_mut().unwrap() += 1;
            }
            assert!(bytes <= 3 * received, "{bytes} for {received} at {now:?}");
        }
        assert_eq!(counts, expected);
        assert_eq!(server.poll_event(), None);
        assert_eq!(server.stats().half_open_lost, 1, "and it is forgotten");
    }
}

/// (H11)
#[test]
fn rule_rudp_h11_the_application_hears_of_a_connection_with_the_proof() {
    for (case, by_cookie) in [("a Data packet", false), ("a cookie", true)] {
        // Not even by its traces.
        let mut server = listening(Config { trace: true, ..FEW });
        // A Challenge from when it was crowded.
        let crowd: Vec<_> = (0..4).map(|n| answer(&mut server, s(0), n, None)).collect();
        let cookie = challenge(&crowd[3]).expect("a crowd");
        pass(&mut server, s(70));
        assert_eq!(counts(server.stats()), [3, 3, 1], "{case}");

        let settings = answer(&mut server, s(70), 3, None);
        assert!(is_settings(&settings), "{case}");
        assert_eq!(server.poll_event(), None, "{case}");
        let Ok(Packet::Data { frames, .. }) = Packet::decode(&settings, 0) else {
            panic!("SETTINGS");
        };
        let [Frame::Settings { connection_id, .. }] = frames[..] else {
            panic!("SETTINGS alone: {frames:?}");
        };
        let data = |to| Packet::Data {
            to,
            number: 0,
            frames: vec![stream(0, b"x", true)],
        };
        let guess = encoded(&data(connection_id ^ 1));
        server.handle_datagram(s(70), stranger(3), None, &guess);
        let elsewhere = encoded(&data(connection_id));
        server.handle_datagram(s(70), stranger(4), None, &elsewhere);
        assert_eq!(server.poll_event(), None, "{case}");
        let proof = match by_cookie {
            true => encoded(&hello(3, Some(cookie))),
            false => encoded(&data(connection_id)),
        };
        server.handle_datagram(s(70), stranger(3), None, &proof);
        server.handle_datagram(s(70), stranger(3), None, &proof);
        let told = std::iter::from_fn(|| server.poll_event());
        let connected = told.filter(|(_, event)| *event == Event::Connected);
        assert_eq!(connected.count(), 1, "{case}");
        assert_eq!(counts(server.stats()), [4, 3, 1], "{case}");
    }
}

/// (H11)
#[test]
fn rule_rudp_h11_a_half_open_connection_ends_without_a_word() {
    for (case, after) in [
        ("nobody comes", s(60)),
        ("a Hello at 10 s", s(70)),
        ("nobody is there", ms(50)),
        ("it listens no more", ms(50)),
        ("a wrong Reset", s(60)),
        ("the client's Reset", ms(50)),
    ] {
        let mut server = listening(FEW);
        answer(&mut server, s(0), 1, None);
        let reset = |token| encoded(&Packet::Reset { id: 1, token });
        pass(&mut server, ms(50));
        match case {
            "nobody is there" => server.handle_unreachable(ms(50), stranger(1)),
            "it listens no more" => server.listen(false),
            "a wrong Reset" => server.handle_datagram(ms(50), stranger(1), None, &reset([8; 16])),
            "the client's Reset" => {
                server.handle_datagram(ms(50), stranger(1), None, &reset([9; 16]));
            }
            "a Hello at 10 s" => {
                pass(&mut server, s(10));
                let again = encoded(&hello(1, None));
                server.handle_datagram(s(10), stranger(1), None, &again);
            }
            _ => {}
        }
        pass(&mut server, after - ms(1));
        let before = server.stats().half_open_lost;
        pass(&mut server, after);
        let lost = (before, server.stats().half_open_lost);
        assert_eq!(lost, (u64::from(after == ms(50)), 1), "{case}");
        assert_eq!(
            (server.poll_event(), server.poll_timeout()),
            (None, None),
            "{case}"
        );
    }
}

/// (H11)
#[test]
fn rule_rudp_h11_a_flood_of_hellos_costs_a_few_connections_and_honest_clients_a_round_trip() {
    const FORGED: u16 = 10_000;
    let mut pair = Pair::with(NO_KEEPALIVE, FEW, clean());
    let before = pair.connect();
    pair.client.conn(before).put(b"before").unwrap();
    pair.run_for(s(1));
    for number in 0..FORGED {
        let datagram = encoded(&hello(number.into(), None));
        let server = &mut pair.server.endpoint;
        server.handle_datagram(pair.now, stranger(number), None, &datagram);
        sent(server, pair.now);
    }
    let stats = pair.server.endpoint.stats();
    assert_eq!((stats.half_open, stats.challenges_sent), (4, 9_997));
    let start = pair.now;
    let honest = pair.connect();
    pair.client.conn(honest).put(b"honest").unwrap();
    pair.client.conn(before).put(b", and after").unwrap();
    // What goes to the strangers is none of the link's.
    pair.run_until(start + ms(150));
    let connected = pair.client.events.last().unwrap();
    assert_eq!(*connected, (start + ms(80), honest, Event::Connected));
    let handles: Vec<_> = pair.server.events.iter().map(|event| event.1).collect();
    assert_eq!(pair.server.bytes(handles[0]), b"before, and after");
    assert_eq!(pair.server.bytes(handles[1]), b"honest");
    assert_eq!(handles.len(), 2);
}

/// (H11)
#[test]
fn rule_rudp_h11_who_is_known_to_be_there_takes_the_place_of_the_oldest() {
    let config = Config {
        max_connections: 2,
        ..FEW
    };
    let mut server = listening(config);
    for number in [1, 2] {
        assert_eq!(challenge(&answer(&mut server, s(0), number, None)), None);
    }
    let cookie = challenge(&answer(&mut server, s(0), 3, None)).expect("there is no room");
    assert!(is_settings(&answer(&mut server, s(0), 3, Some(cookie))));
    assert!(matches!(server.poll_event(), Some((_, Event::Connected))));
    assert_eq!(counts(server.stats()), [2, 1, 1], "the first one is gone");
    assert!(
        server.connect(s(0), server_addr()).is_ok(),
        "and the second"
    );
    sent(&mut server, s(0));
    assert_eq!(counts(server.stats()), [2, 2, 1]);
    assert!(server.connect(s(0), server_addr()).is_err(), "none is left");
    let cookie = challenge(&answer(&mut server, s(0), 4, None)).expect("there is no room");
    let refusal = answer(&mut server, s(0), 4, Some(cookie));
    assert_eq!(
        Packet::decode(&refusal, 0),
        Ok(Packet::Refuse { client_id: 4 })
    );
}

/// (H6), (H11)
#[test]
fn rule_rudp_h6_an_old_hello_makes_no_second_connection_that_anybody_sees() {
    let (mut pair, client, server) = Pair::connected(NO_KEEPALIVE, clean());
    let old = pair.log[0].2.clone();
    assert!(Header::of(&old).is_ok() && old.len() == HELLO_LEN);
    let replay = |pair: &mut Pair| {
        let server = &mut pair.server.endpoint;
        server.handle_datagram(pair.now, client_addr(), None, &old);
        pair.run_for(ms(500));
        counts(pair.server.endpoint.stats())
    };
    // While the connection lives, and while it lingers.
    assert_eq!(replay(&mut pair), [1, 0, 0]);
    pair.client.conn(client).close(0, "");
    pair.run_for(ms(200));
    assert_eq!(replay(&mut pair), [1, 0, 0]);
    // Once both have forgotten it: the client resets what it does not know (K5).
    pair.run_for(s(10));
    let resets = pair.client.endpoint.stats().resets_sent;
    assert_eq!(replay(&mut pair), [2, 1, 0]);
    assert_eq!(pair.client.endpoint.stats().resets_sent, resets + 1);
    let of_server = pair.server.events.iter().filter(|event| event.1 == server);
    assert_eq!(of_server.count(), pair.server.events.len());
    assert_eq!(pair.next(), None, "nothing is left behind");
}

/// (H7), (H11)
#[test]
fn rule_rudp_h7_a_half_open_connection_of_an_old_hello_disturbs_no_living_one() {
    let (mut pair, client, _) = Pair::connected(NO_KEEPALIVE, clean());
    let old = pair.log[0].2.clone();
    pair.server.endpoint = endpoint(NO_KEEPALIVE, 3); // it starts anew, and the Hello comes late
    pair.server.endpoint.listen(true);
    let server = &mut pair.server.endpoint;
    server.handle_datagram(pair.now, client_addr(), None, &old);
    pair.run_for(s(40));
    assert!(pair.client.conn(client).is_established());
    pair.run_for(s(30));
    assert_eq!(counts(pair.server.endpoint.stats()), [1, 1, 0]);
}

/// (H12)
#[test]
fn rule_rudp_h12_a_client_that_says_nothing_asks_before_the_server_forgets_it() {
    for (lost_until, proved) in [(ms(30), ms(60)), (s(4), ms(7_060)), (s(22), ms(25_060))] {
        let mut pair = Pair::new(NO_KEEPALIVE, clean());
        pair.lets_pass = Box::new(move |at, from_client, bytes| {
            let is_hello = bytes.len() == HELLO_LEN;
            !from_client || is_hello || at >= lost_until
        });
        let client = pair.connect();
        pair.run_for(s(60));
        let server = pair.server.handle();
        assert_eq!(pair.server.events, [(proved, server, Event::Connected)]);
        assert!(pair.client.conn(client).is_established());
    }
}
