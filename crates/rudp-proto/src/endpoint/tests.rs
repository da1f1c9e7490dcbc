//! What a call visits.

use alloc::vec::Vec;
use core::iter;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
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

const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 2);

fn endpoint(config: Config) -> Endpoint {
    let secrets = Secrets {
        reset_key: [1; 32],
        seed: [1; 32],
    };
    Endpoint::new(config, secrets).unwrap()
}

#[test]
fn a_timeout_visits_one_of_ten_thousand_connections() {
    let config = Config {
        max_connections: 10_000,
        ..Config::DEFAULT
    };
    let mut endpoint = endpoint(config);
    let mut handles = Vec::new();
    for now in (0..10_000).map(Duration::from_micros) {
        handles.push(endpoint.connect(now, SERVER).unwrap());
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
    let config = Config::DEFAULT;
    let mut endpoint = endpoint(config);
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

/// Carries datagrams between a client at `address` and a server until both are silent.
fn exchange(client: &mut Endpoint, server: &mut Endpoint, address: SocketAddr, now: Duration) {
    let mut datagram = Vec::new();
    loop {
        if client.poll_transmit(now, 1, &mut datagram).is_some() {
            server.handle_datagram(now, address, None, &datagram);
        } else if server.poll_transmit(now, 1, &mut datagram).is_some() {
            client.handle_datagram(now, SERVER, None, &datagram);
        } else {
            return;
        }
    }
}

#[test]
fn ten_thousand_connections_come_and_go_and_leave_no_index_behind() {
    const AT_ONE_ADDRESS: usize = 4;
    let mut server = endpoint(Config::DEFAULT);
    server.listen(true);
    let (mut now, mut most) = (Duration::ZERO, 0);
    for port in 1..=2_500 {
        let address = SocketAddr::from(([10, 9, 9, 9], port));
        let mut client = endpoint(Config::DEFAULT);
        let handles: Vec<_> = (0..AT_ONE_ADDRESS)
            .map(|_| client.connect(now, SERVER).unwrap())
            .collect();
        exchange(&mut client, &mut server, address, now);
        let connected: Vec<_> = iter::from_fn(|| server.poll_event()).collect();
        let there = server.table.at(address);
        let told = connected.iter().map(|(handle, _)| *handle);
        assert!(there.len() == AT_ONE_ADDRESS && told.eq(there.iter().copied()));
        for handle in &there {
            let connection = server.connection(*handle).unwrap();
            let (local, remote) = (connection.local_id(), connection.remote_id().unwrap());
            assert_eq!(server.table.by_local(address, local), Some(*handle));
            assert_eq!(server.table.by_remote(address, remote), Some(*handle));
        }
        for handle in handles {
            client.connection_mut(handle).unwrap().close(0, "");
        }
        exchange(&mut client, &mut server, address, now);
        while server.poll_event().is_some() {}
        let [connections, others @ ..] = server.table.sizes();
        assert_eq!(others, [connections; 3], "each is in each index once");
        most = most.max(connections);
        now += Duration::from_millis(10);
        server.handle_timeout(now);
    }
    assert_eq!(most, 1_024, "so many linger (K7)");
    while let Some(at) = server.poll_timeout() {
        server.handle_timeout(at);
    }
    assert_eq!(server.table.sizes(), [0; 4]);
    assert!(server.half_open.is_empty() && server.closed.is_empty());
    assert!(server.to_transmit.is_empty() && server.eventful.is_empty());
}
