//! Challenges and cookies, H3 to H6.

use std::time::Duration;

use conformance::datagrams::encoded;
use conformance::pair::{Pair, clean, client_addr, endpoint, server_addr};
use conformance::time::{ms, s};
use rudp_proto::wire::{Cookie, Frame, HELLO_LEN, Packet};
use rudp_proto::{COOKIE_LIFETIME, Config, Endpoint, Event, Secrets};

use super::{CHALLENGING, hello, settings_id};

/// (H3)
#[test]
fn rule_rudp_h3_who_is_challenged_gets_no_more_than_it_sent_and_no_state() {
    let mut server = endpoint(CHALLENGING, 2);
    server.listen(true);
    let mut client = endpoint(Config::DEFAULT, 1);
    let mut datagram = Vec::new();
    for _ in 0..100 {
        client.connect(s(0), server_addr()).unwrap();
        client.poll_transmit(s(0), 1, &mut datagram).unwrap();
        assert_eq!(datagram.len(), HELLO_LEN);
        server.handle_datagram(s(0), client_addr(), None, &datagram);
        let answer = server.poll_transmit(s(0), 1, &mut datagram);
        assert_eq!(answer.map(|answer| answer.to), Some(client_addr()));
        assert!(datagram.len() < HELLO_LEN);
        assert_eq!(server.poll_transmit(s(0), 1, &mut datagram), None);
    }
    assert_eq!((server.poll_timeout(), server.poll_event()), (None, None));
}

/// A listening server, and the cookie it gave for id 5 at time 0.
pub(super) fn challenged(config: Config) -> (Endpoint, Cookie) {
    let mut server = endpoint(config, 2);
    server.listen(true);
    let mut datagram = encoded(&hello(5, None));
    server.handle_datagram(s(0), client_addr(), None, &datagram);
    assert!(server.poll_transmit(s(0), 1, &mut datagram).is_some());
    match Packet::decode(&datagram, 0) {
        Ok(Packet::Challenge {
            client_id: 5,
            cookie,
        }) => (server, cookie),
        other => panic!("{other:?}"),
    }
}

/// (H4)
#[test]
fn rule_rudp_h4_the_first_challenge_is_answered_at_once_and_later_ones_with_the_timer() {
    let mut pair = Pair::new(CHALLENGING, clean());
    pair.lets_pass = Box::new(|_, _, _| false);
    pair.connect();
    pair.run_until(ms(40));
    let Packet::Hello {
        client_id,
        cookie: None,
        ..
    } = pair.sent(true)[0].1
    else {
        panic!("{:?}", pair.sent(true));
    };
    for issued_ms in [1, 2] {
        let cookie = Cookie {
            issued_ms,
            mac: [0; 16],
        };
        pair.deliver(false, &Packet::Challenge { client_id, cookie });
    }
    pair.run_until(s(2));
    let sent = pair
        .sent(true)
        .into_iter()
        .map(|(at, packet)| match packet {
            Packet::Hello { cookie, .. } => (at, cookie.map(|cookie| cookie.issued_ms)),
            other => panic!("{other:?}"),
        });
    let expected = [(ms(0), None), (ms(40), Some(1)), (ms(1_040), Some(2))];
    assert_eq!(sent.collect::<Vec<_>>(), expected);
}

/// (H5)
#[test]
fn rule_rudp_h5_a_cookie_is_good_for_two_minutes_one_address_and_one_id() {
    let last = COOKIE_LIFETIME;
    let elsewhere = "10.0.0.3:1000".parse().unwrap();
    for (case, at, from, id, good) in [
        ("at once", s(0), client_addr(), 5, true),
        ("in the last moment", last, client_addr(), 5, true),
        ("too late", last + ms(1), client_addr(), 5, false),
        ("from elsewhere", s(0), elsewhere, 5, false),
        ("for another id", s(0), client_addr(), 6, false),
    ] {
        let (mut server, cookie) = challenged(CHALLENGING);
        server.handle_datagram(at, from, None, &encoded(&hello(id, Some(cookie))));
        let connected = matches!(server.poll_event(), Some((_, Event::Connected)));
        assert_eq!(
            (connected, server.stats().bad_cookies),
            (good, u64::from(!good)),
            "{case}"
        );
    }
    let (_, cookie) = challenged(CHALLENGING);
    let secrets = Secrets {
        reset_key: [2; 32],
        seed: [3; 32],
    };
    let mut restarted = Endpoint::new(CHALLENGING, secrets).unwrap();
    restarted.listen(true);
    restarted.handle_datagram(s(0), client_addr(), None, &encoded(&hello(5, Some(cookie))));
    assert_eq!(restarted.poll_event(), None);
}

/// (H6)
#[test]
fn rule_rudp_h6_a_cookie_makes_one_connection() {
    let (mut server, cookie) = challenged(CHALLENGING);
    let replay = encoded(&hello(5, Some(cookie)));
    let mut connections = 0;
    for second in 0..COOKIE_LIFETIME.as_secs() {
        let now = s(second);
        server.handle_datagram(now, client_addr(), None, &replay);
        server.handle_timeout(now);
        let mut datagram = Vec::new();
        while server.poll_transmit(now, 1, &mut datagram).is_some() {}
        while let Some((handle, event)) = server.poll_event() {
            if event == Event::Connected {
                connections += 1;
                let connection = server.connection_mut(handle);
                connection.expect("it lives").abort(1, "next, please");
            }
        }
    }
    assert_eq!(connections, 1);
    assert!(server.stats().bad_cookies > 0);
}

/// What the server has to say to a Hello of client 5.
fn answer(server: &mut Endpoint, now: Duration, cookie: Option<Cookie>) -> Vec<u8> {
    let mut datagram = encoded(&hello(5, cookie));
    server.handle_datagram(now, client_addr(), None, &datagram);
    server.poll_transmit(now, 1, &mut datagram).expect("one");
    datagram
}

/// How many connections there are to accept, each of which is ended.
fn accepted(server: &mut Endpoint, now: Duration) -> usize {
    let mut count = 0;
    while let Some((handle, event)) = server.poll_event() {
        if event == Event::Connected {
            count += 1;
            let connection = server.connection_mut(handle);
            connection.expect("it lives").abort(1, "");
        }
    }
    let mut datagram = Vec::new();
    while server.poll_transmit(now, 1, &mut datagram).is_some() {}
    count
}

/// Whichever of its Hellos come late, with a cookie that is still good (H6).
#[test]
fn rule_rudp_h6_a_client_makes_one_connection() {
    for proved_by_data in [false, true] {
        let crowd = usize::from(proved_by_data);
        let config = Config {
            max_half_open: crowd,
            ..CHALLENGING
        };
        let mut server = endpoint(config, 2);
        server.listen(true);
        let stranger = "10.0.0.3:1000".parse().unwrap();
        let mut datagram = encoded(&hello(1, None));
        server.handle_datagram(s(0), stranger, None, &datagram);
        _ = server.poll_transmit(s(0), 1, &mut datagram);
        let cookies = [s(0), s(1)].map(|now| {
            let challenge = answer(&mut server, now, None);
            let Ok(Packet::Challenge { cookie, .. }) = Packet::decode(&challenge, 0) else {
                panic!("it is crowded");
            };
            cookie
        });
        if proved_by_data {
            server.handle_unreachable(s(1), stranger);
            let settings = answer(&mut server, s(1), None);
            let ping = encoded(&Packet::Data {
                to: settings_id(&settings),
                number: 0,
                frames: vec![Frame::Ping],
            });
            server.handle_datagram(s(2), client_addr(), None, &ping);
        } else {
            answer(&mut server, s(2), Some(cookies[1]));
        }
        assert_eq!(accepted(&mut server, s(2)), 1);
        for late in [s(2), s(60), COOKIE_LIFETIME] {
            server.handle_timeout(late);
            for cookie in cookies {
                let hello = encoded(&hello(5, Some(cookie)));
                server.handle_datagram(late, client_addr(), None, &hello);
                assert_eq!(accepted(&mut server, late), 0, "{late:?}");
            }
        }
        assert!(server.stats().bad_cookies > 0);
    }
}

/// Whatever the server forgets of the clients that it knew, it takes none twice (H6).
#[test]
fn rule_rudp_h6_many_clients_are_remembered_and_older_cookies_refused() {
    const COUNT: u64 = 10_000; // more than are remembered
    let config = Config {
        max_connections: 1,
        ..CHALLENGING
    };
    let mut server = endpoint(config, 2);
    server.listen(true);
    let mut datagram = Vec::new();
    let mut challenge = |server: &mut Endpoint, id: u64| {
        let now = ms(2 * id);
        server.handle_datagram(now, client_addr(), None, &encoded(&hello(id, None)));
        assert!(server.poll_transmit(now, 1, &mut datagram).is_some());
        match Packet::decode(&datagram, 0) {
            Ok(Packet::Challenge { cookie, .. }) => cookie,
            other => panic!("{other:?}"),
        }
    };
    let accept = |server: &mut Endpoint, now: Duration, id: u64, cookie: Cookie| {
        let hello = encoded(&hello(id, Some(cookie)));
        server.handle_datagram(now, client_addr(), None, &hello);
        accepted(server, now)
    };
    let unused = challenge(&mut server, 0);
    let mut cookies = Vec::new();
    for id in 1..COUNT {
        let cookie = challenge(&mut server, id);
        assert_eq!(accept(&mut server, ms(2 * id + 1), id, cookie), 1, "{id}");
        cookies.push((id, cookie));
    }
    let now = ms(2 * COUNT);
    for (id, cookie) in cookies {
        assert_eq!(accept(&mut server, now, id, cookie), 0, "{id} again");
    }
    assert_eq!(accept(&mut server, now, 0, unused), 0, "too old");
    let fresh = challenge(&mut server, COUNT);
    assert_eq!(accept(&mut server, now, COUNT, fresh), 1);
}
