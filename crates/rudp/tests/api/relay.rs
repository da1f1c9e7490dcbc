//! The relay over real sockets.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use netsim::{Link, LinkConfig, Probability};
use rudp::{
    Clock, CloseReason, ConnectError, Endpoint, EndpointOptions, Lost, Stats,
    relay::{Relay, RelayConfig, RelayControl, RelayCounters},
};
use tokio::{net::UdpSocket, task::JoinHandle, time::timeout};

/// A wait that only a failure makes this long.
const LONG: Duration = Duration::from_secs(20);
const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A running relay, and what to do with it.
struct Running {
    address: SocketAddr,
    control: RelayControl,
    task: JoinHandle<()>,
}

impl Running {
    fn start(to: SocketAddr, config: RelayConfig) -> Self {
        let relay = Relay::bind(ANY_PORT, to, config, Clock::start()).expect("a free port");
        let address = relay.local_addr().expect("bound");
        let control = relay.control();
        let task = tokio::spawn(async { match relay.run().await.expect("a working socket") {} });
        Self {
            address,
            control,
            task,
        }
    }

    /// Waits until the counters are as wanted.
    async fn until(&self, wanted: impl Fn(&RelayCounters) -> bool) {
        if timeout(LONG, self.control.wait_for(wanted)).await.is_err() {
            panic!("it never came to that: {}", self.control.counters());
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A target that sends everything back.
async fn echo() -> SocketAddr {
    let socket = UdpSocket::bind(ANY_PORT).await.expect("a free port");
    let address = socket.local_addr().expect("bound");
    tokio::spawn(async move {
        let mut buffer = [0; 2_000];
        while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
            socket.send_to(&buffer[..length], from).await.expect("sent");
        }
    });
    address
}

async fn client_of(relay: &Running) -> UdpSocket {
    let socket = UdpSocket::bind(ANY_PORT).await.expect("a free port");
    socket.connect(relay.address).await.expect("an address");
    socket
}

async fn receive(socket: &UdpSocket) -> Vec<u8> {
    let mut buffer = vec![0; 2_000];
    let received = timeout(LONG, socket.recv(&mut buffer)).await;
    let length = received.expect("an answer").expect("a working socket");
    buffer.truncate(length);
    buffer
}

fn lossy() -> LinkConfig {
    LinkConfig {
        loss: "20%".parse().expect("a share"),
        duplicate: "10%".parse().expect("a share"),
        ..LinkConfig::PERFECT
    }
}

/// How many of `count` packets a link with this seed delivers.
fn delivered(config: LinkConfig, seed: u64, count: u64) -> u64 {
    let mut link = Link::new(config, seed).expect("valid");
    for _ in 0..count {
        link.handle_packet(Duration::ZERO, vec![0]);
    }
    while link.poll_packet(Duration::ZERO).is_some() {}
    link.counters().delivered
}

#[tokio::test]
async fn real_datagrams_meet_the_fate_that_the_seed_decides() {
    const SEED: u64 = 7;
    const COUNT: u64 = 300;
    let config = RelayConfig {
        there: lossy(),
        back: lossy(),
        seed: SEED,
        ..RelayConfig::default()
    };
    let relay = Running::start(echo().await, config);
    let client = client_of(&relay).await;
    let there = delivered(lossy(), SEED, COUNT);
    let back = delivered(lossy(), SEED + 1, there);

    for number in 0..COUNT {
        client.send(&number.to_be_bytes()).await.expect("sent");
        // No socket's buffer shall decide a datagram's fate.
        relay.until(|now| now.there.entered > number).await;
    }
    for _ in 0..back {
        receive(&client).await;
    }

    let counters = relay.control.counters();
    assert_eq!(counters.there.entered, COUNT);
    assert_eq!(counters.there.delivered, there);
    assert_eq!(counters.back.entered, there);
    assert_eq!(counters.back.delivered, back);
    for link in [counters.there, counters.back] {
        assert!(link.lost_random > 0 && link.duplicated > 0, "{link}");
        assert_eq!(
            link.entered + link.duplicated,
            link.delivered + link.lost(),
            "seed {SEED}: {link}"
        );
    }
    assert_eq!((counters.flows, counters.no_flow), (1, 0));
    assert_eq!((counters.unreachable, counters.not_sent), (0, 0));
}

#[tokio::test]
async fn a_closed_port_is_told_to_the_client() {
    let (_keeper, target) = crate::closed();
    let config = RelayConfig {
        there: LinkConfig {
            delay: Duration::from_millis(5),
            ..LinkConfig::PERFECT
        },
        ..RelayConfig::default()
    };
    let relay = Running::start(target, config);

    let client =
        Endpoint::client_to(relay.address, EndpointOptions::default()).expect("a free port");
    let connected = timeout(LONG, client.connect(relay.address)).await;

    let refused = ConnectError::Closed(CloseReason::Lost(Lost::Refused));
    let error = connected.expect("not silence").expect_err("no server");
    assert_eq!(error, refused);
    assert!(relay.control.counters().unreachable >= 1);
}

#[tokio::test]
async fn a_blackout_swallows_everything_until_it_ends() {
    let relay = Running::start(echo().await, RelayConfig::default());
    let client = client_of(&relay).await;
    client.send(b"before").await.expect("sent");
    assert_eq!(receive(&client).await, b"before");

    relay.control.black_out(Duration::from_secs(3_600));
    client.send(b"in the dark").await.expect("sent");
    relay.until(|now| now.there.lost_blackout == 1).await;
    let newcomer = client_of(&relay).await;
    newcomer.send(b"in the dark, too").await.expect("sent");
    relay.until(|now| now.there.lost_blackout == 2).await;

    relay.control.black_out(Duration::ZERO);
    client.send(b"after").await.expect("sent");
    assert_eq!(receive(&client).await, b"after");
}

#[tokio::test]
async fn settings_change_for_flows_that_exist_and_flows_that_come() {
    let relay = Running::start(echo().await, RelayConfig::default());
    let (old, new) = (client_of(&relay).await, client_of(&relay).await);
    old.send(b"1").await.expect("sent");
    assert_eq!(receive(&old).await, b"1");

    let lost = LinkConfig {
        loss: Probability::ALWAYS,
        ..LinkConfig::PERFECT
    };
    let wrong = LinkConfig {
        rate: Some(0),
        ..LinkConfig::PERFECT
    };
    let control = &relay.control;
    assert!(control.set_config(lost.clone(), wrong).is_err());
    old.send(b"2").await.expect("sent");
    assert_eq!(receive(&old).await, b"2", "a refused setting is no setting");

    let changed = control.set_config(lost, LinkConfig::PERFECT);
    changed.expect("valid");
    old.send(b"3").await.expect("sent");
    new.send(b"4").await.expect("sent");
    relay.until(|now| now.there.lost_random == 2).await;
}

#[tokio::test]
async fn each_client_gets_its_own_answers_and_one_too_many_gets_none() {
    let config = RelayConfig {
        max_flows: 2,
        ..RelayConfig::default()
    };
    let relay = Running::start(echo().await, config);
    let clients = [client_of(&relay).await, client_of(&relay).await];
    for (client, word) in clients.iter().zip(["one", "two"]) {
        client.send(word.as_bytes()).await.expect("sent");
    }
    for (client, word) in clients.iter().zip(["one", "two"]) {
        assert_eq!(receive(client).await, word.as_bytes());
    }

    let third = client_of(&relay).await;
    third.send(b"three").await.expect("sent");
    relay.until(|now| now.no_flow == 1).await;
    let counters = relay.control.counters();
    assert_eq!((counters.flows, counters.there.entered), (2, 2));
}

#[tokio::test]
async fn an_idle_flow_makes_room_and_its_counts_stay() {
    let config = RelayConfig {
        max_flows: 1,
        idle_timeout: Duration::from_millis(20),
        ..RelayConfig::default()
    };
    let relay = Running::start(echo().await, config);
    let first = client_of(&relay).await;
    first.send(b"first").await.expect("sent");
    relay.until(|now| now.back.entered == 1).await;

    let second = client_of(&relay).await;
    let answered = async {
        let mut buffer = [0; 10];
        loop {
            second.send(b"second").await.expect("sent");
            let answer = timeout(Duration::from_millis(5), second.recv(&mut buffer));
            if answer.await.is_ok() {
                break;
            }
        }
    };
    let room = timeout(LONG, answered).await;
    room.expect("room, once the first is idle");
    let counters = relay.control.counters();
    assert!(counters.flows >= 2, "one more where a pause outlasts it");
    assert!(counters.there.entered >= 2, "the first flow's counts stay");
}

/// Sends so much through a relay; the client's counters and the relay's.
async fn transfer(config: RelayConfig, bytes: usize) -> (Stats, RelayCounters) {
    let mut options = EndpointOptions::default();
    options.config.max_datagram = Some(1_472); // which is many packets
    let server = Endpoint::bind(ANY_PORT, options.clone()).expect("a free port");
    let relay = Running::start(server.local_addr(), config);
    let client = Endpoint::client_to(relay.address, options);
    let client = client.expect("a free port");
    let transferred = async {
        let (connected, accepted) = tokio::join!(client.connect(relay.address), server.accept());
        let (connected, accepted) = (connected.expect("accepted"), accepted.expect("one"));
        let send = async {
            let (mut send, _recv) = connected.open_stream().await.expect("allowed");
            send.write_all(&vec![7; bytes]).await.expect("room");
            send.finish().expect("open");
            connected.close(0, "").await;
        };
        let receive = async {
            let (_send, mut recv) = accepted.accept_stream().await.expect("one");
            assert!(recv.read_to_end(bytes).await.expect("all of it") == vec![7; bytes]);
        };
        tokio::join!(send, receive);
        connected.stats()
    };
    let stats = timeout(LONG, transferred).await.expect("in time");
    (stats, relay.control.counters())
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_ecn_field_crosses_and_is_marked_and_bleached_on_the_way() {
    let plain = RelayConfig::default();
    let (stats, counters) = transfer(plain.clone(), 300_000).await;
    assert!(stats.ecn && stats.ecn_marked == 0, "{stats:?}");
    assert_eq!(counters.there.marked, 0);

    let mut marking = plain.clone();
    marking.there.rate = Some(20_000_000);
    marking.there.mark_above = Some(10_000);
    let (stats, counters) = transfer(marking, 300_000).await;
    assert!(counters.there.marked > 0, "{counters}");
    assert!(stats.ecn && stats.ecn_marked > 0, "{stats:?}");

    let mut bleaching = plain;
    bleaching.there.bleach_ecn = true;
    let (stats, _) = transfer(bleaching, 300_000).await;
    assert!(!stats.ecn, "{stats:?}");
}

#[tokio::test]
async fn links_count_the_headers_of_the_target_s_family() {
    for (ip, headers) in [
        (IpAddr::V4(Ipv4Addr::LOCALHOST), 28),
        (IpAddr::V6(Ipv6Addr::LOCALHOST), 48),
    ] {
        let Ok(target) = UdpSocket::bind((ip, 0)).await else {
            assert!(ip.is_ipv6(), "only IPv6 may be missing");
            continue;
        };
        let mut config = RelayConfig::default();
        config.there.mtu = Some(1_000);
        let relay = Running::start(target.local_addr().expect("bound"), config);
        let client = client_of(&relay).await;
        for bytes in [0, 1_000 - headers, 1_001 - headers] {
            client.send(&vec![7; bytes]).await.expect("sent");
        }
        assert_eq!(receive(&target).await, b"");
        assert_eq!(receive(&target).await.len(), 1_000 - headers);
        relay.until(|now| now.there.lost_mtu == 1).await;
        let counters = relay.control.counters().there;
        let bytes = [counters.entered_bytes, counters.delivered_bytes];
        assert_eq!(bytes, [headers as u64 + 2_001, headers as u64 + 1_000]);
    }
}
