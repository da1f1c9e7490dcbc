//! What a call visits.

use alloc::vec::Vec;
use core::iter;
use core::net::SocketAddr;
use core::time::Duration;

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
