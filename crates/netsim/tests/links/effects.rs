//! Each effect of chance, measured against its setting. The bands are four standard deviations of
//! the number measured; seeds are fixed, so a run that passes always passes.

use crate::common::{PACKETS, drain, link, ms, packet, percent, run};
use netsim::{Counters, GilbertElliott, LinkConfig};
use std::{collections::HashSet, time::Duration};

const SEEDS: [u64; 3] = [1, 2, 3];

/// Checks a count of independent events among `PACKETS` against its share in percent.
fn assert_share(count: u64, share: u64, case: &str) {
    let n = u64::from(PACKETS);
    let expected = n * share / 100;
    let band = 4 * (n * share * (100 - share) / 10_000).isqrt();
    assert!(
        count.abs_diff(expected) <= band,
        "{case}: {count} of {n}, expected {expected} +- {band}"
    );
}

#[test]
fn a_perfect_link_delivers_at_once_in_order() {
    let arrivals = run(&mut link(LinkConfig::PERFECT, 1), 100, ms(1));
    let expected: Vec<_> = (0..100).map(|index| (ms(1) * index, index)).collect();
    assert_eq!(arrivals, expected);
}

#[test]
fn random_loss_takes_its_share() {
    for share in [0, 1, 5, 50, 100] {
        for seed in SEEDS {
            let loss = percent(share);
            let mut link = link(
                LinkConfig {
                    loss,
                    ..LinkConfig::PERFECT
                },
                seed,
            );
            let arrived = run(&mut link, PACKETS, ms(1)).len();
            let lost = link.counters().lost_random;
            assert_eq!(lost, u64::from(PACKETS) - arrived as u64);
            assert_share(lost, u64::from(share), &format!("loss, seed {seed}"));
        }
    }
}

#[test]
fn random_losses_are_independent() {
    let config = LinkConfig {
        loss: percent(10),
        ..LinkConfig::PERFECT
    };
    for seed in SEEDS {
        let lost = lost_packets(config.clone(), seed);
        let pairs = lost
            .windows(2)
            .filter(|pair| pair[1] == pair[0] + 1)
            .count();
        assert_share(pairs as u64, 1, &format!("two in a row, seed {seed}")); // 10 % of 10 %
    }
}

#[test]
fn bursts_have_their_mean_length_and_mean_loss() {
    for (mean_burst, mean_loss) in [(2, 5), (4, 5), (8, 20)] {
        let burst = GilbertElliott::from_means(mean_burst, percent(mean_loss)).expect("reachable");
        let config = LinkConfig {
            burst: Some(burst),
            ..LinkConfig::PERFECT
        };
        for seed in SEEDS {
            let lost = lost_packets(config.clone(), seed);
            let bursts = 1 + lost.windows(2).filter(|pair| pair[1] > pair[0] + 1).count();
            // Bursts last 1.9 to 8 packets in thousands of bursts: both means within 10 %.
            let length_percent = lost.len() * 100 / bursts / mean_burst as usize;
            assert!(
                (90..=110).contains(&length_percent),
                "seed {seed}: {length_percent} % of mean burst {mean_burst}"
            );
            let loss_percent = lost.len() * 10_000 / (PACKETS * mean_loss) as usize;
            assert!(
                (90..=110).contains(&loss_percent),
                "seed {seed}: {loss_percent} % of mean loss {mean_loss} %"
            );
        }
    }
}

#[test]
fn each_state_of_the_burst_channel_has_its_own_loss() {
    let mut burst = GilbertElliott::from_means(10, percent(50)).expect("reachable");
    burst.loss_in_good = percent(10);
    burst.loss_in_bad = percent(30);
    let mut link = link(
        LinkConfig {
            burst: Some(burst),
            ..LinkConfig::PERFECT
        },
        1,
    );
    let _ = run(&mut link, PACKETS, ms(1));
    // Half the time at 10 %, half at 30 %: 20 %, the bursts widen the band of one to within 1 %.
    let lost = link.counters().lost_burst;
    assert!((19_000..=21_000).contains(&lost), "{lost}");
}

#[test]
fn a_burst_channel_starts_good_and_starts_anew_after_a_time_without() {
    let bad_from_the_second_packet = LinkConfig {
        burst: Some(GilbertElliott {
            good_to_bad: percent(100),
            bad_to_good: percent(0),
            loss_in_good: percent(0),
            loss_in_bad: percent(100),
        }),
        ..LinkConfig::PERFECT
    };
    let mut link = link(LinkConfig::PERFECT, 1);
    for lost_before in [0, 2] {
        link.set_config(bad_from_the_second_packet.clone())
            .expect("valid");
        for lost in [0, 1, 2] {
            link.handle_packet(ms(0), packet(0));
            assert_eq!(link.counters().lost_burst, lost_before + lost);
        }
        link.set_config(LinkConfig::PERFECT).expect("valid");
    }
}

#[test]
fn jitter_spreads_evenly_over_its_whole_width() {
    let config = LinkConfig {
        delay: ms(40),
        jitter: ms(5),
        keep_order: false,
        ..LinkConfig::PERFECT
    };
    let mut tenths = [0; 10]; // arrivals by millisecond after 35 ms
    for (due, index) in run(&mut link(config, 1), PACKETS, ms(1)) {
        let delay = due - ms(1) * index;
        assert!((ms(35)..=ms(45)).contains(&delay), "{delay:?}");
        tenths[((delay - ms(35)).as_millis() as usize).min(9)] += 1;
    }
    for (tenth, count) in tenths.into_iter().enumerate() {
        assert_share(count, 10, &format!("tenth {tenth}"));
    }
}

#[test]
fn jitter_reorders_only_where_it_may() {
    for keep_order in [true, false] {
        let config = LinkConfig {
            delay: ms(40),
            jitter: ms(40),
            keep_order,
            duplicate: percent(10),
            ..LinkConfig::PERFECT
        };
        let arrivals = run(&mut link(config, 1), 10_000, ms(1));
        let ordered = arrivals.is_sorted_by_key(|(_, index)| *index);
        assert_eq!(ordered, keep_order);
    }
}

#[test]
fn order_is_kept_when_the_delay_shrinks() {
    let mut link = link(
        LinkConfig {
            delay: ms(100),
            ..LinkConfig::PERFECT
        },
        1,
    );
    link.handle_packet(ms(0), packet(0));
    link.set_config(LinkConfig::PERFECT).expect("valid");
    link.handle_packet(ms(10), packet(1));
    link.handle_packet(ms(200), packet(2));
    let expected = vec![
        (ms(100), packet(0)),
        (ms(100), packet(1)),
        (ms(200), packet(2)),
    ];
    assert_eq!(drain(&mut link), expected);
}

#[test]
fn a_share_of_packets_is_held_back_and_overtaken() {
    let config = LinkConfig {
        delay: ms(40),
        reorder: percent(10),
        reorder_delay: ms(3),
        ..LinkConfig::PERFECT
    };
    let mut link = link(config, 1);
    let arrivals = run(&mut link, PACKETS, ms(2));
    let mut held_back = 0;
    for (due, index) in &arrivals {
        let delay = *due - ms(2) * *index;
        assert!(delay == ms(40) || delay == ms(43), "{delay:?}");
        held_back += u64::from(delay == ms(43));
    }
    assert_eq!(held_back, link.counters().reordered);
    assert_share(held_back, 10, "held back");
    // Sent 2 ms apart, one held back for 3 ms is overtaken by the next unless that is held back too.
    let overtaken = arrivals
        .windows(2)
        .filter(|pair| pair[1].1 < pair[0].1)
        .count();
    assert_share(overtaken as u64, 9, "overtaken");
}

#[test]
fn a_share_of_packets_arrives_twice() {
    let config = LinkConfig {
        duplicate: percent(10),
        ..LinkConfig::PERFECT
    };
    let mut link = link(config, 1);
    let arrivals = run(&mut link, PACKETS, ms(1));
    let different: HashSet<_> = arrivals.iter().collect();
    assert_eq!(different.len(), PACKETS as usize);
    let copies = (arrivals.len() - different.len()) as u64;
    assert_eq!(copies, link.counters().duplicated);
    assert_share(copies, 10, "copies");
}

#[test]
fn a_copy_has_its_own_jitter_and_is_not_held_back() {
    let config = LinkConfig {
        delay: ms(40),
        jitter: ms(5),
        reorder: percent(100),
        reorder_delay: ms(1_000),
        duplicate: percent(100),
        ..LinkConfig::PERFECT
    };
    let mut link = link(config, 1);
    link.handle_packet(ms(0), packet(0));
    let arrivals = drain(&mut link);
    let times: Vec<Duration> = arrivals.into_iter().map(|(due, _)| due).collect();
    assert!(times[0] <= ms(45), "{times:?}");
    assert!((ms(1_035)..=ms(1_045)).contains(&times[1]), "{times:?}");
    assert_ne!(times[1] - times[0], ms(1_000));
}

#[test]
fn a_share_of_packets_has_one_bit_flipped_anywhere() {
    const BYTES: usize = 125; // 1,000 bits
    let config = LinkConfig {
        corrupt: percent(10),
        ..LinkConfig::PERFECT
    };
    let mut link = link(config, 1);
    let mut flips = vec![0; BYTES * 8];
    for _ in 0..PACKETS {
        link.handle_packet(ms(0), vec![0xA5; BYTES]);
        let packet = link.poll_packet(ms(0)).expect("due");
        let bits = (0..BYTES * 8).filter(|bit| (packet[bit / 8] ^ 0xA5) >> (bit % 8) & 1 == 1);
        let flipped: Vec<usize> = bits.collect();
        assert!(flipped.len() <= 1);
        flipped.into_iter().for_each(|bit| flips[bit] += 1);
    }
    let corrupted: u64 = flips.iter().sum();
    assert_eq!(corrupted, link.counters().corrupted);
    assert_share(corrupted, 10, "corrupted");
    // 10,000 flips over 1,000 bits: 10 each, and e^-10 of the bits missed, some 1 in 20,000.
    assert!(flips.iter().filter(|count| **count == 0).count() <= 3);
}

#[test]
fn an_empty_packet_cannot_be_corrupted() {
    let config = LinkConfig {
        corrupt: percent(100),
        ..LinkConfig::PERFECT
    };
    let mut link = link(config, 1);
    link.handle_packet(ms(0), Vec::new());
    assert_eq!(link.poll_packet(ms(0)), Some(Vec::new()));
    assert_eq!(link.counters().corrupted, 0);
}

#[test]
fn counters_are_one_line() {
    let counters = Counters {
        entered: 100,
        entered_bytes: 12_000,
        delivered: 89,
        delivered_bytes: 10_680,
        lost_random: 5,
        lost_burst: 4,
        lost_blackout: 2,
        lost_queue: 1,
        lost_policer: 3,
        lost_mtu: 1,
        duplicated: 4,
        corrupted: 3,
        reordered: 6,
        marked: 7,
    };
    assert_eq!(
        counters.to_string(),
        "entered 100 (12000 bytes), delivered 89 (10680 bytes), lost 16 (random 5, burst 4, \
         blackout 2, queue 1, policer 3, MTU 1), duplicated 4, corrupted 3, reordered 6, marked 7"
    );
}

/// The indices of the packets that a link loses out of `PACKETS`.
fn lost_packets(config: LinkConfig, seed: u64) -> Vec<u32> {
    let arrivals = run(&mut link(config, seed), PACKETS, ms(1)).into_iter();
    let arrived: HashSet<u32> = arrivals.map(|(_, index)| index).collect();
    (0..PACKETS)
        .filter(|index| !arrived.contains(index))
        .collect()
}
