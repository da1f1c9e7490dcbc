//! From nothing to the first answer over a link that loses, beside TCP over the same fates.

use std::{collections::BTreeMap, time::Duration};

use conformance::pair::{Pair, endpoint};
use conformance::time::{ms, s};
use netsim::{Link, LinkConfig};
use rudp_proto::Config;

const SEEDS: u64 = 10_000;
const PER_MILLE: [usize; 4] = [500, 750, 900, 990];

/// 10 % of loss, a round trip of 40 ms. A packet meets the same fate whoever sent it: that of its
/// number in its direction.
fn links(seed: u64) -> [Link; 2] {
    let config = LinkConfig {
        delay: ms(20),
        loss: "10%".parse().expect("a share"),
        ..LinkConfig::PERFECT
    };
    [1, 2].map(|direction| Link::new(config.clone(), seed * 2 + direction).expect("a valid link"))
}

/// When the answer to a request is there that was written at time 0, with the handshake before it.
fn ours(config: Config, seed: u64) -> Duration {
    let [up, down] = links(seed);
    let mut pair = Pair::of(endpoint(config, 1), endpoint(config, 2), up, down);
    let client = pair.connect();
    pair.client.send_all(client, b"request");
    let mut answered = false;
    pair.settle();
    while pair.client.bytes(client).is_empty() {
        assert!(pair.advance(s(600)), "seed {seed}: no answer");
        pair.settle();
        let server = pair.server.events.first().map(|(_, handle, _)| *handle);
        if let Some(server) = server.filter(|it| !answered && !pair.server.bytes(*it).is_empty()) {
            answered = true;
            pair.server.send_all(server, b"answer");
            pair.settle();
        }
    }
    pair.now
}

/// A side of a TCP connection sends something again until it hears what it waits for.
struct Repeats {
    what: u8,
    deadline: Duration,
    rto: Duration,
    /// How often it is repeated before the RTO doubles.
    linear: u32,
}

/// How a TCP repeats.
#[derive(Clone, Copy)]
struct Tcp {
    /// The RTO of what follows the handshake, and how many SYNs leave before theirs doubles.
    data_rto: Duration,
    linear_syns: u32,
}

const SYN: u8 = 0;
const SYN_ACK: u8 = 1;
const REQUEST: u8 = 2;
const ANSWER: u8 = 3;

/// The same of a TCP: SYN and SYN-ACK are repeated after 1, 2, 4 s ... each, the SYN a second apart
/// at first if it is `linear_syns`, what follows after `data_rto`, which doubles too. A SYN that
/// comes again is answered again.
fn tcp(how: Tcp, seed: u64) -> Duration {
    let mut links = links(seed);
    let mut now = Duration::ZERO;
    let mut sides: BTreeMap<usize, Repeats> = BTreeMap::new();
    let say = |sides: &mut BTreeMap<usize, Repeats>, links: &mut [Link; 2], now, side, what| {
        let rto = if what < REQUEST { s(1) } else { how.data_rto };
        let linear = if what == SYN { how.linear_syns } else { 0 };
        let deadline = now + rto;
        sides.insert(
            side,
            Repeats {
                what,
                deadline,
                rto,
                linear,
            },
        );
        links[side].handle_packet(now, vec![what]);
    };
    say(&mut sides, &mut links, now, 0, SYN);
    loop {
        let timers = sides.values().map(|it| it.deadline);
        let arrivals = links.iter().filter_map(Link::poll_timeout);
        now = arrivals.chain(timers).min().expect("somebody repeats");
        for from in 0..2 {
            while let Some(packet) = links[from].poll_packet(now) {
                let to = 1 - from;
                let known = sides.get(&to).map(|it| it.what);
                match (packet[0], known) {
                    (SYN, None | Some(SYN_ACK)) => say(&mut sides, &mut links, now, to, SYN_ACK),
                    (SYN_ACK, Some(SYN)) => say(&mut sides, &mut links, now, to, REQUEST),
                    (REQUEST, Some(SYN_ACK)) => say(&mut sides, &mut links, now, to, ANSWER),
                    (ANSWER, _) => return now,
                    _ => {} // it is known
                }
            }
        }
        for (side, it) in &mut sides {
            if it.deadline <= now {
                match it.linear.checked_sub(1) {
                    Some(fewer) => it.linear = fewer,
                    None => it.rto *= 2,
                }
                it.deadline = now + it.rto;
                links[*side].handle_packet(now, vec![it.what]);
            }
        }
    }
}

/// The medians and tails in ms, over all seeds.
fn measured(name: &str, one: impl Fn(u64) -> Duration) -> [u128; 4] {
    let mut times: Vec<Duration> = (0..SEEDS).map(one).collect();
    times.sort_unstable();
    let at = PER_MILLE.map(|share| times[times.len() * share / 1_000].as_millis());
    println!("{name}: p50, p75, p90, p99 in ms: {at:?}");
    at
}

#[test]
fn the_first_answer_comes_no_later_than_over_tcp() {
    let ours_at_once = measured("one exchange", |seed| ours(Config::DEFAULT, seed));
    let crowded = Config {
        max_half_open: 0,
        ..Config::DEFAULT
    };
    let challenged = measured("with a challenge", |seed| ours(crowded, seed));
    // SRTT and 200 ms, the floor that Linux has for the variance, and its `tcp_syn_linear_timeouts`;
    // 1 s is the floor of RFC 6298.
    let [linux, rfc] = [(ms(240), 4), (s(1), 0)].map(|(data_rto, linear_syns)| {
        let how = Tcp {
            data_rto,
            linear_syns,
        };
        measured(&format!("TCP, {linear_syns} SYNs in line"), |seed| {
            tcp(how, seed)
        })
    });
    for (ours, theirs) in ours_at_once.iter().zip(&linux) {
        assert!(ours <= theirs, "{ours_at_once:?} {linux:?}");
    }
    assert_eq!(
        ours_at_once[0], 80,
        "two round trips, one of them the handshake's"
    );
    assert_eq!(rfc[0], 80);
    assert_eq!(challenged[0], 120);
}
