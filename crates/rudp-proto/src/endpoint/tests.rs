//! What a call visits.

use alloc::vec::Vec;
use core::iter;
use core::net::SocketAddr;
use core::time::Duration;

use crate::wire::{BASE_DATAGRAM, MIN_IDLE_TIMEOUT, Packet, Params, Versions};
use crate::{Config, Endpoint, Secrets};

/// Sends all that is to be sent: how often.
fn send_all(endpoint: &mut Endpoint, now: Duration) -> usize {
    let mut datagrams = Vec::new();
    let sent = iter::from_fn(|| endpoint.poll_transmit(now, 64, &mut datagrams)).count();
    while endpoint.poll_event().is_some() {}
    sent
}

#[test]
fn a_timeout_visits_one_of_ten_thousand_connections() {
    let config = Config {
        max_connections: 10_000,
        ..Config::DEFAULT
    };
    let secrets = Secrets {
        reset_key: [1; 32],
        seed: [1; 32],
    };
    let mut endpoint = Endpoint::new(config, secrets).unwrap();
    let server = SocketAddr::from(([10, 0, 0, 2], 2));
    let mut handles = Vec::new();
    for now in (0..10_000).map(Duration::from_micros) {
        handles.push(endpoint.connect(now, server).unwrap());
        assert_eq!(send_all(&mut endpoint, now), 1);
    }
    let mut before = Duration::ZERO;
    for handle in handles {
        let now = endpoint.poll_timeout().unwrap();
        assert!(now > before, "each waits for another instant");
        endpoint.handle_timeout(now);
        let visited: Vec<_> = endpoint.to_transmit.iter().copied().collect();
        assert_eq!(visited, [handle]);
        assert_eq!(send_all(&mut endpoint, now), 1);
        before = now;
    }
}

#[test]
fn a_flood_of_hellos_takes_the_memory_of_a_few_and_gives_it_back() {
    let secrets = Secrets {
        reset_key: [1; 32],
        seed: [1; 32],
    };
    let config = Config::DEFAULT;
    let mut endpoint = Endpoint::new(config, secrets).unwrap();
    endpoint.listen(true);
    let hello = Packet::Hello {
        client_id: 7,
        params: Params {
            receive_window: 1,
            stream_window: 1,
            streams: 1,
            messages: 1,
            idle_timeout: MIN_IDLE_TIMEOUT,
            reset_token: [0; 16],
            max_datagram: BASE_DATAGRAM as u64,
            versions: Versions::DEFAULT,
        },
        cookie: None,
    };
    let mut datagram = Vec::new();
    hello.encode(&mut datagram);
    for port in 1..=10_000 {
        let from = SocketAddr::from(([10, 9, 9, 9], port));
        endpoint.handle_datagram(Duration::ZERO, from, None, &datagram);
    }
    assert_eq!(endpoint.half_open.len(), config.max_half_open);
    assert_eq!(endpoint.table.sizes(), [config.max_half_open; 4]);
    assert_eq!(
        send_all(&mut endpoint, Duration::ZERO),
        128 + 256,
        "and challenges"
    );
    let first = SocketAddr::from(([10, 9, 9, 9], 1));
    assert_eq!(
        endpoint.table.at(first).len(),
        1,
        "one is reported unreachable"
    );
    endpoint.handle_timeout(MIN_IDLE_TIMEOUT);
    assert_eq!(endpoint.table.sizes(), [0; 4]);
    assert!(endpoint.half_open.is_empty() && endpoint.eventful.is_empty());
    assert_eq!(endpoint.poll_timeout(), None);
}
