//! Blackouts, deadlines and clocks that misbehave.

use crate::common::{drain, link, ms, packet};
use netsim::LinkConfig;
use std::time::Duration;

const NS: Duration = Duration::from_nanos(1);

#[test]
fn a_packet_is_due_at_its_deadline_and_not_before() {
    let mut link = link(
        LinkConfig {
            delay: ms(40),
            ..LinkConfig::PERFECT
        },
        1,
    );
    assert_eq!(link.poll_timeout(), None);
    link.handle_packet(ms(0), packet(0));
    assert_eq!(link.poll_timeout(), Some(ms(40)));
    assert_eq!(link.poll_packet(ms(40) - NS), None);
    assert_eq!(link.poll_timeout(), Some(ms(40)));
    assert_eq!(link.poll_packet(ms(40)), Some(packet(0)));
    assert_eq!(link.poll_packet(ms(40)), None);
    assert_eq!(link.poll_timeout(), None);
}

#[test]
fn equal_deadlines_come_out_in_order_of_entry() {
    let mut link = link(
        LinkConfig {
            delay: ms(40),
            ..LinkConfig::PERFECT
        },
        1,
    );
    (0..1_000).for_each(|index| link.handle_packet(ms(0), packet(index)));
    let expected: Vec<_> = (0..1_000).map(|index| (ms(40), packet(index))).collect();
    assert_eq!(drain(&mut link), expected);
}

#[test]
fn a_blackout_holds_from_its_start_to_just_before_its_end() {
    let blackouts = vec![ms(10)..ms(20), ms(30)..ms(31)];
    for (at, dark) in [
        (ms(10) - NS, false),
        (ms(10), true),
        (ms(20) - NS, true),
        (ms(20), false),
        (ms(30) - NS, false),
        (ms(30), true),
        (ms(31), false),
    ] {
        let config = LinkConfig {
            blackouts: blackouts.clone(),
            ..LinkConfig::PERFECT
        };
        let mut link = link(config, 1);
        assert_eq!(link.is_dark(at), dark, "{at:?}");
        link.handle_packet(at, packet(0));
        assert_eq!(link.counters().lost_blackout, u64::from(dark), "{at:?}");
        assert_eq!(link.in_flight(), usize::from(!dark), "{at:?}");
    }
}

#[test]
fn a_packet_is_lost_by_the_time_it_leaves_the_bottleneck() {
    // 1 Mbit/s, so 125 bytes take 1 ms: these leave at 1, 2, 3 and 4 ms, and arrive 40 ms later.
    let config = LinkConfig {
        delay: ms(40),
        rate: Some(1_000_000),
        blackouts: vec![ms(2)..ms(4)],
        ..LinkConfig::PERFECT
    };
    let mut link = link(config, 1);
    (0..4).for_each(|_| link.handle_packet(ms(0), vec![0; 125]));
    let times: Vec<Duration> = drain(&mut link).into_iter().map(|(due, _)| due).collect();
    assert_eq!(times, [ms(41), ms(44)]);
    assert_eq!(link.counters().lost_blackout, 2);
}

#[test]
fn a_blackout_on_command_takes_what_waits_and_spares_what_has_left() {
    let config = LinkConfig {
        delay: ms(40),
        rate: Some(1_000_000),
        ..LinkConfig::PERFECT
    };
    let mut link = link(config, 1);
    (0..5).for_each(|_| link.handle_packet(ms(0), vec![0; 125])); // they leave at 1 to 5 ms
    link.black_out(ms(2), ms(4));
    let times: Vec<Duration> = drain(&mut link).into_iter().map(|(due, _)| due).collect();
    assert_eq!(times, [ms(41), ms(44), ms(45)]);
    assert_eq!(link.counters().lost_blackout, 2);
}

#[test]
fn a_blackout_on_command_outlives_new_settings_and_can_be_ended() {
    let mut link = link(LinkConfig::PERFECT, 1);
    link.black_out(ms(5), ms(10));
    link.set_config(LinkConfig::PERFECT).expect("valid");
    let dark = [ms(5) - NS, ms(5), ms(10) - NS, ms(10)].map(|at| link.is_dark(at));
    assert_eq!(dark, [false, true, true, false]);
    link.black_out(ms(7), ms(7));
    assert!(!link.is_dark(ms(7)));
}

#[test]
fn a_clock_that_went_back_is_a_clock_that_stood_still() {
    let config = LinkConfig {
        delay: ms(40),
        rate: Some(1_000_000),
        ..LinkConfig::PERFECT
    };
    let mut link = link(config, 1);
    link.handle_packet(ms(1_000), vec![0; 125]);
    link.handle_packet(ms(100), vec![0; 125]);
    link.handle_packet(ms(110), vec![0; 125]);
    let times: Vec<Duration> = drain(&mut link).into_iter().map(|(due, _)| due).collect();
    assert_eq!(times, [ms(141), ms(142), ms(151)]);
}

#[test]
fn a_blackout_finds_packets_where_a_clock_that_went_back_left_them() {
    let config = LinkConfig {
        delay: ms(40),
        ..LinkConfig::PERFECT
    };
    for (from, lost) in [(ms(100), 2), (ms(100) + NS, 0)] {
        let mut link = link(config.clone(), 1);
        link.handle_packet(ms(1_000), packet(0));
        link.handle_packet(ms(100), packet(1));
        link.black_out(from, ms(2_000));
        assert_eq!(link.counters().lost_blackout, lost, "{from:?}");
    }
}

#[test]
fn one_reading_at_the_end_of_time_does_not_stick() {
    let config = LinkConfig {
        delay: ms(40),
        rate: Some(1_000_000),
        ..LinkConfig::PERFECT
    };
    let mut link = link(config, 1);
    link.handle_packet(Duration::MAX, vec![0; 125]);
    assert_eq!(link.poll_timeout(), Some(Duration::MAX));
    link.handle_packet(ms(100), vec![1; 125]);
    link.handle_packet(ms(200), vec![2; 125]);
    let arrivals = drain(&mut link);
    let expected = vec![
        (ms(100), vec![0; 125]), // its delay ended at the end of time
        (ms(141), vec![1; 125]),
        (ms(241), vec![2; 125]),
    ];
    assert_eq!(arrivals, expected);
}
