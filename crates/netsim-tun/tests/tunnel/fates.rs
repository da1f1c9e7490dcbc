//! The same packets meet the same fate over the devices as in virtual time.

use std::{
    collections::HashSet,
    net::UdpSocket,
    ops::Range,
    time::{Duration, Instant},
};

use netsim::{Link, LinkConfig};
use netsim_tun::{TunnelConfig, TunnelCounters};
use socket2::SockRef;

use crate::network::{LONG, ends, open, path, socket};

/// Datagrams that cross each way, and the bytes in each.
const COUNT: u32 = 400;
const SIZE: usize = 1_000;
/// Bytes of the IP and UDP headers.
const HEADERS: usize = 28;
/// What of them the tunnel does not carry: the checksum of UDP.
const CHECKSUM: Range<usize> = 26..28;
/// How often a seed is begun on a machine that disturbs it.
const TRIES: usize = 6;

/// All that may happen to a packet. Held back, it arrives after all those that are not, as long as
/// they enter within `reorder_delay`.
fn link() -> LinkConfig {
    let share = |text: &str| text.parse().expect("a share");
    LinkConfig {
        delay: Duration::from_millis(20),
        loss: share("10%"),
        burst: Some(netsim::GilbertElliott::from_means(3, share("5%")).expect("a channel")),
        reorder: share("10%"),
        reorder_delay: Duration::from_millis(500),
        duplicate: share("10%"),
        corrupt: share("10%"),
        ..LinkConfig::PERFECT
    }
}

fn datagram(index: u32) -> Vec<u8> {
    let mut datagram = vec![0; SIZE];
    datagram[..4].copy_from_slice(&index.to_be_bytes());
    datagram
}

/// What arrives in virtual time when all datagrams enter at once, in its order; and the numbers of
/// those whose headers were hit, about which the kernel has its own say.
fn in_virtual_time(seed: u64) -> (Vec<Vec<u8>>, HashSet<u32>) {
    let mut link = Link::new(link(), seed).expect("the settings make sense");
    for index in 0..COUNT {
        let packet = [vec![0; HEADERS], datagram(index)].concat();
        link.handle_packet(Duration::ZERO, packet);
    }
    let mut hit = HashSet::new();
    let mut arrived = Vec::new();
    while let Some(mut packet) = link.poll_packet(Duration::MAX) {
        packet[CHECKSUM].fill(0);
        let datagram = packet.split_off(HEADERS);
        if packet.iter().any(|&byte| byte != 0) {
            hit.insert(number(&datagram));
        }
        arrived.push(datagram);
    }
    (arrived, hit)
}

fn number(datagram: &[u8]) -> u32 {
    let bytes = datagram.first_chunk().expect("it is long enough");
    u32::from_be_bytes(*bytes)
}

/// Those that are whole and had sound headers.
fn comparable(datagrams: Vec<Vec<u8>>, hit: &HashSet<u32>) -> Vec<Vec<u8>> {
    let sound = |datagram: &Vec<u8>| datagram.len() == SIZE && !hit.contains(&number(datagram));
    datagrams.into_iter().filter(sound).collect()
}

/// Sends all datagrams and takes what arrives, until nothing more is under way; `None` if the
/// sender was too slow for the order to be certain.
fn across(from: &UdpSocket, to: &UdpSocket, is_over: impl Fn() -> bool) -> Option<Vec<Vec<u8>>> {
    let address = to.local_addr().expect("bound");
    let begun = now();
    for index in 0..COUNT {
        let sent = from.send_to(&datagram(index), address);
        assert_eq!(sent.expect("the device takes all"), SIZE);
    }
    let punctual = begun.elapsed() < link().reorder_delay / 2;
    let mut arrived = Vec::new();
    let mut buffer = [0; 2 * SIZE];
    to.set_read_timeout(Some(Duration::from_millis(5)))
        .expect("a timeout");
    loop {
        let over = is_over();
        while let Ok(length) = to.recv(&mut buffer) {
            arrived.push(buffer[..length].to_vec());
        }
        if over {
            return punctual.then_some(arrived);
        }
        assert!(begun.elapsed() < LONG, "packets stay in the link");
    }
}

#[test]
fn packets_meet_the_same_fate_as_in_virtual_time() {
    let test = "fates";
    let config = TunnelConfig {
        udp_checksums: false,
        ..TunnelConfig::new(link(), 0)
    };
    let Some(tunnel) = open(test, config) else {
        return;
    };
    let ends = ends(test);
    let [a, b] = [socket(&ends[0]), socket(&ends[1])];
    for socket in [&a, &b] {
        // Room for all datagrams, whatever the receiver does meanwhile.
        SockRef::from(socket)
            .set_recv_buffer_size(4 << 20)
            .expect("a size");
    }
    for seed in [1, 1, 2] {
        for direction in [0, 1] {
            let [from, to] = if direction == 0 { [&a, &b] } else { [&b, &a] };
            let arrived = (0..TRIES).find_map(|_| {
                tunnel
                    .restart(link(), link(), seed)
                    .expect("the settings make sense");
                across(from, to, || {
                    let TunnelCounters { there, back, .. } = tunnel.counters();
                    let link = [there, back][direction];
                    link.entered >= u64::from(COUNT)
                        && link.entered + link.duplicated == link.delivered + link.lost()
                })
            });
            let seed_of_link = seed + u64::from(direction == 1);
            let arrived = arrived.expect("one of the tries is undisturbed");
            let (expected, hit) = in_virtual_time(seed_of_link);
            let (arrived, expected) = (comparable(arrived, &hit), comparable(expected, &hit));
            let flipped = |datagrams: &[Vec<u8>]| {
                datagrams
                    .iter()
                    .filter(|it| datagram(number(it)) != **it)
                    .count()
            };
            assert!(
                flipped(&expected) > 10 && hit.len() < 20,
                "there is something to see"
            );
            let numbers = |datagrams: &[Vec<u8>]| -> Vec<_> {
                datagrams.iter().map(|it| number(it)).collect()
            };
            assert_eq!(numbers(&arrived), numbers(&expected), "seed {seed_of_link}");
            assert!(
                arrived == expected,
                "seed {seed_of_link}: other bits are flipped"
            );
        }
    }
    drop(tunnel);
    for end in &ends {
        assert!(!path(end).exists(), "{} is left", end.namespace);
    }
}

#[test]
fn a_queue_marks_what_takes_marks_and_the_kernel_takes_that() {
    let test = "marks";
    let marking = LinkConfig {
        rate: Some(50_000), // the first of two datagrams takes 160 ms
        mark_above: Some(0),
        ..LinkConfig::PERFECT
    };
    let Some(tunnel) = open(test, TunnelConfig::new(marking, 0)) else {
        return;
    };
    let [a, b] = ends(test).map(|end| socket(&end));
    let address = b.local_addr().expect("bound");
    for (field, marked) in [(0b00, 0), (0b10, 1), (0b01, 2), (0b11, 2)] {
        for (field, size) in [(0b00, SIZE), (field, 7)] {
            SockRef::from(&a).set_tos_v4(field).expect("a field");
            a.send_to(&[0; SIZE][..size], address)
                .expect("the device takes it");
        }
        for size in [SIZE, 7] {
            // A packet whose header has a wrong checksum would be dropped.
            let arrived = b.recv(&mut [0; SIZE]);
            assert_eq!(arrived.expect("it arrives"), size, "{field:02b}");
        }
        assert_eq!(tunnel.counters().there.marked, marked, "{field:02b}");
    }
}

#[expect(clippy::disallowed_methods, reason = "the devices are in real time")]
fn now() -> Instant {
    Instant::now()
}
