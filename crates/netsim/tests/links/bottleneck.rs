//! Rate, queue and the bounds on memory: exact times, exact counts.

use crate::common::{drain, link, ms, packet, percent};
use netsim::{Link, LinkConfig, Policer};
use std::time::Duration;

/// 1 Mbit/s: 125 bytes, 1,000 bits, take 1 ms.
fn slow() -> LinkConfig {
    at_rate(1_000_000)
}

fn at_rate(bits_per_second: u64) -> LinkConfig {
    LinkConfig {
        rate: Some(bits_per_second),
        ..LinkConfig::PERFECT
    }
}

#[test]
fn packets_leave_one_after_the_other_at_the_rate() {
    let mut link = link(
        LinkConfig {
            delay: ms(40),
            ..slow()
        },
        1,
    );
    for _ in 0..10 {
        link.handle_packet(ms(5), vec![0; 125]);
    }
    let times: Vec<Duration> = drain(&mut link).into_iter().map(|(due, _)| due).collect();
    let expected: Vec<Duration> = (1..=10).map(|nth| ms(5 + nth + 40)).collect();
    assert_eq!(times, expected);
}

#[test]
fn rounding_does_not_add_up() {
    // 100 bytes at 7 Mbit/s are 114,285.7 ns; 10,000 of them 1,142,857,142.9 ns, rounded down once.
    let rate = Some(7_000_000);
    let mut link = link(
        LinkConfig {
            rate,
            queue: usize::MAX,
            ..slow()
        },
        1,
    );
    for _ in 0..10_000 {
        link.handle_packet(ms(0), vec![0; 100]);
    }
    let (last, _) = drain(&mut link).pop().expect("all arrive");
    assert_eq!(
        last,
        Duration::from_nanos(10_000 * 800 * 1_000_000_000 / 7_000_000)
    );
}

#[test]
fn an_idle_bottleneck_saves_no_time_up() {
    let mut link = link(slow(), 1);
    for sent_ms in [0, 10, 20] {
        link.handle_packet(ms(sent_ms), vec![0; 125]);
        assert_eq!(link.poll_timeout(), Some(ms(sent_ms + 1)));
        assert!(link.poll_packet(ms(sent_ms + 1)).is_some());
    }
}

#[test]
fn what_does_not_fit_the_queue_is_dropped_and_counted() {
    let mut link = link(
        LinkConfig {
            queue: 250,
            ..slow()
        },
        1,
    );
    // One is sent, two wait, two find no room.
    for _ in 0..5 {
        link.handle_packet(ms(0), vec![0; 125]);
    }
    assert_eq!((link.in_flight(), link.counters().lost_queue), (3, 2));
    assert_eq!(link.queued_bytes(ms(0)), 250);
    // A smaller one finds none either until the first has left, 1 ms later.
    let almost = ms(1) - Duration::from_nanos(1);
    assert_eq!(link.queued_bytes(almost), 250);
    link.handle_packet(almost, vec![0]);
    assert_eq!((link.in_flight(), link.counters().lost_queue), (3, 3));
    assert_eq!(link.queued_bytes(ms(1)), 125);
    link.handle_packet(ms(1), vec![0; 125]);
    assert_eq!((link.in_flight(), link.counters().lost_queue), (4, 3));
    assert_eq!(drain(&mut link).pop(), Some((ms(4), vec![0; 125])));
}

#[test]
fn the_queue_empties_on_time_after_a_clock_that_went_back() {
    let mut link = link(slow(), 1);
    (0..3).for_each(|_| link.handle_packet(ms(1_000), vec![0; 125]));
    link.handle_packet(ms(100), Vec::new());
    let waiting = [100, 101, 102].map(|at| link.queued_bytes(ms(at)));
    assert_eq!(waiting, [250, 125, 0]);
}

#[test]
fn without_a_queue_a_packet_passes_only_an_idle_bottleneck() {
    let mut link = link(LinkConfig { queue: 0, ..slow() }, 1);
    for sent_ms in [0, 0, 1, 1, 2] {
        link.handle_packet(ms(sent_ms), vec![0; 125]);
    }
    assert_eq!((link.in_flight(), link.counters().lost_queue), (3, 2));
}

#[test]
fn a_lost_packet_has_used_the_rate() {
    let mut link = link(
        LinkConfig {
            loss: percent(100),
            ..slow()
        },
        1,
    );
    link.handle_packet(ms(0), vec![0; 125]);
    link.set_config(slow()).expect("valid");
    link.handle_packet(ms(0), vec![0; 125]);
    assert_eq!(link.poll_timeout(), Some(ms(2)));
}

#[test]
fn a_policer_judges_what_leaves_the_bottleneck_and_delays_nothing() {
    let policer = Policer {
        rate: 500_000,
        burst: 250,
    };
    let mut link = link(
        LinkConfig {
            policer: Some(policer),
            ..slow()
        },
        1,
    );
    for _ in 0..6 {
        link.handle_packet(ms(0), vec![0; 125]);
    }
    // They come at twice its rate: once the burst is spent, every second one passes.
    let arrivals = drain(&mut link).into_iter();
    let times: Vec<Duration> = arrivals.map(|(due, _)| due).collect();
    assert_eq!(times, [1, 2, 3, 5].map(ms));
    assert_eq!(link.counters().lost_policer, 2);
    // A clock that goes back takes the bucket along, so the first of these two finds it full.
    link.handle_packet(ms(1_000), vec![0; 1]);
    (0..2).for_each(|_| link.handle_packet(ms(100), vec![0; 250]));
    assert_eq!(link.counters().lost_policer, 3);
}

#[test]
fn a_new_rate_holds_for_packets_that_enter_from_then_on() {
    let mut link = link(slow(), 1);
    link.handle_packet(ms(0), vec![0; 125]);
    link.handle_packet(ms(0), vec![0; 125]);
    link.set_config(LinkConfig {
        rate: Some(2_000_000),
        ..slow()
    })
    .expect("valid");
    link.handle_packet(ms(0), vec![0; 250]);
    link.set_config(LinkConfig::PERFECT).expect("valid");
    link.handle_packet(ms(0), vec![0; 999]);
    let times: Vec<Duration> = drain(&mut link).into_iter().map(|(due, _)| due).collect();
    assert_eq!(times, [ms(1), ms(2), ms(3), ms(3)]);
}

#[test]
fn what_rounding_left_over_is_forgotten_with_the_old_rate() {
    // 1 byte at 7 Mbit/s takes 1,142 ns and 6/7 ns, at 8 bit/s exactly 1 s.
    let mut link = link(at_rate(7_000_000), 1);
    link.handle_packet(ms(0), vec![0]);
    link.set_config(at_rate(8)).expect("valid");
    link.handle_packet(ms(0), vec![0]);
    let (last, _) = drain(&mut link).pop().expect("both arrive");
    assert_eq!(last, Duration::from_nanos(1_142) + ms(1_000));
}

#[test]
fn what_rounding_left_over_is_forgotten_when_idle() {
    // 3 bytes take 3,428 ns and 4/7 ns: twice that is 6,857 ns only if sent without a pause.
    for (second_at_ns, last_ns) in [(3_428, 6_857), (3_500, 3_500 + 3_428)] {
        let mut link = link(at_rate(7_000_000), 1);
        link.handle_packet(ms(0), vec![0; 3]);
        link.handle_packet(Duration::from_nanos(second_at_ns), vec![0; 3]);
        let (last, _) = drain(&mut link).pop().expect("both arrive");
        assert_eq!(last, Duration::from_nanos(last_ns));
    }
}

#[test]
fn a_refused_setting_leaves_the_old_ones() {
    let mut link = link(slow(), 1);
    assert!(
        link.set_config(LinkConfig {
            rate: Some(0),
            ..slow()
        })
        .is_err()
    );
    assert_eq!(link.config(), &slow());
}

#[test]
fn the_number_of_packets_is_bounded_on_their_way_and_waiting() {
    for config in [
        LinkConfig::PERFECT,
        LinkConfig {
            rate: Some(1),
            queue: usize::MAX,
            ..LinkConfig::PERFECT
        },
    ] {
        let mut link = link(config, 1);
        link.handle_packet(ms(0), packet(0)); // the bottleneck sends this one
        for _ in 0..Link::MAX_PACKETS {
            link.handle_packet(ms(0), Vec::new());
        }
        assert_eq!(link.in_flight(), Link::MAX_PACKETS);
        assert_eq!(link.counters().lost_queue, 1);
    }
}

#[test]
fn lost_packets_that_wait_are_bounded_too() {
    let config = LinkConfig {
        rate: Some(1),
        loss: percent(100),
        ..LinkConfig::PERFECT
    };
    let mut link = link(config, 1);
    link.handle_packet(ms(0), packet(0));
    for _ in 0..Link::MAX_PACKETS + 7 {
        link.handle_packet(ms(0), Vec::new());
    }
    assert_eq!(link.counters().lost_queue, 7);
}

#[test]
fn the_number_of_bytes_is_bounded_and_room_comes_back() {
    let duplicate = percent(100);
    let mut link = link(
        LinkConfig {
            duplicate,
            ..LinkConfig::PERFECT
        },
        1,
    );
    link.handle_packet(ms(0), vec![0; Link::MAX_BYTES / 2]);
    assert_eq!((link.in_flight(), link.counters().lost_queue), (2, 0));
    link.handle_packet(ms(0), vec![0]); // and its copy
    assert_eq!((link.in_flight(), link.counters().lost_queue), (2, 2));
    assert!(link.poll_packet(ms(0)).is_some());
    link.handle_packet(ms(0), vec![0]);
    assert_eq!((link.in_flight(), link.counters().lost_queue), (3, 2));
    link.black_out(ms(0), ms(1));
    link.black_out(ms(0), ms(0));
    link.handle_packet(ms(0), vec![0; Link::MAX_BYTES / 2]);
    assert_eq!((link.in_flight(), link.counters().lost_queue), (2, 2));
}
