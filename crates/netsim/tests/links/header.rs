//! What hangs on a packet's headers: its length and its ECN field.

use crate::common::{link, ms, percent};
use netsim::{Ecn, LinkConfig, Policer};

/// 125 bytes take 1 ms; 250 bytes may wait unmarked.
fn marking() -> LinkConfig {
    LinkConfig {
        rate: Some(1_000_000),
        mark_above: Some(250),
        ..LinkConfig::PERFECT
    }
}

/// The fields of six packets of 125 bytes that enter at once with this one.
fn fields(config: LinkConfig, ecn: Ecn) -> Vec<Ecn> {
    let mut link = link(config, 1);
    (0..6).for_each(|_| link.handle_ecn_packet(ms(0), vec![0; 125], ecn));
    let arrived = core::iter::from_fn(|| link.poll_ecn_packet(ms(10)));
    arrived.map(|(_, ecn)| ecn).collect()
}

#[test]
fn a_queue_marks_what_takes_marks_and_finds_too_much_waiting() {
    use Ecn::{Capable0, Capable1, Marked, NotCapable};
    // The first leaves at once, two wait unmarked.
    for (ecn, above) in [
        (Capable0, Marked),
        (Capable1, Marked),
        (NotCapable, NotCapable),
        (Marked, Marked),
    ] {
        let expected = [ecn, ecn, ecn, above, above, above];
        assert_eq!(fields(marking(), ecn), expected);
        assert_eq!(fields(LinkConfig::PERFECT, ecn), [ecn; 6], "handed on");
    }
}

#[test]
fn marks_are_counted_once_and_a_full_queue_still_drops() {
    let queue = 375;
    let mut link = link(LinkConfig { queue, ..marking() }, 1);
    for ecn in [Ecn::Capable0; 6].into_iter().chain([Ecn::Marked]) {
        link.handle_ecn_packet(ms(0), vec![0; 125], ecn);
    }
    let counters = link.counters();
    assert_eq!((counters.marked, counters.lost_queue), (1, 3));
}

#[test]
fn a_bleached_field_is_empty_and_so_is_that_of_a_plain_packet() {
    let bleach_ecn = true;
    let bleaching = || LinkConfig {
        bleach_ecn,
        ..marking()
    };
    for ecn in [Ecn::Capable0, Ecn::Marked] {
        assert_eq!(fields(bleaching(), ecn), [Ecn::NotCapable; 6]);
    }
    let mut link = link(LinkConfig::PERFECT, 1);
    link.handle_packet(ms(0), vec![1]);
    let plain = Some((vec![1], Ecn::NotCapable));
    assert_eq!(link.poll_ecn_packet(ms(0)), plain);
}

#[test]
fn a_copy_has_the_field_of_its_packet() {
    let mut link = link(
        LinkConfig {
            duplicate: percent(100),
            ..LinkConfig::PERFECT
        },
        1,
    );
    link.handle_ecn_packet(ms(0), vec![1], Ecn::Capable1);
    for _ in 0..2 {
        let arrived = link.poll_ecn_packet(ms(0));
        assert_eq!(arrived, Some((vec![1], Ecn::Capable1)));
    }
}

#[test]
fn a_packet_longer_than_the_mtu_is_dropped_and_takes_no_time() {
    let mtu = Some(100);
    let mut link = link(LinkConfig { mtu, ..marking() }, 1);
    link.handle_packet(ms(0), vec![0; 101]);
    link.handle_packet(ms(0), vec![0; 100]);
    assert_eq!(link.counters().lost_mtu, 1);
    assert_eq!(link.poll_timeout(), Some(ms(1) * 4 / 5));
}

#[test]
fn headers_that_are_left_out_count_wherever_bytes_do() {
    let with_headers = LinkConfig {
        queue: 250,
        mark_above: Some(125),
        mtu: Some(125),
        overhead: 28,
        ..marking()
    };
    let mut long = link(with_headers.clone(), 1);
    for bytes in [98, 97, 97, 97, 97] {
        long.handle_ecn_packet(ms(0), vec![0; bytes], Ecn::Capable0);
    }
    let arrived = core::iter::from_fn(|| {
        let due = long.poll_timeout()?;
        let (packet, ecn) = long.poll_ecn_packet(due)?;
        Some((due, packet.len(), ecn))
    });
    let expected = [
        (ms(1), 97, Ecn::Capable0),
        (ms(2), 97, Ecn::Capable0),
        (ms(3), 97, Ecn::Marked),
    ];
    assert!(arrived.eq(expected));
    let counters = long.counters();
    assert_eq!((counters.lost_mtu, counters.lost_queue), (1, 1));
    assert_eq!(counters.entered_bytes, 126 + 4 * 125);
    assert_eq!(counters.delivered_bytes, 3 * 125);

    for (burst, lost) in [(125, 0), (124, 1)] {
        let rate = 1_000_000;
        let policer = Some(Policer { rate, burst });
        let mut policed = link(
            LinkConfig {
                policer,
                ..with_headers.clone()
            },
            1,
        );
        policed.handle_packet(ms(0), vec![0; 97]);
        assert_eq!(policed.counters().lost_policer, lost);
    }
}
