//! How fast the transport is, how fair, and how soon it is back, held to what it was.

use std::time::Duration;

use conformance::matrix::{self, fairness, messages, outage};
use conformance::time::ms;
use rudp_proto::{Config, Congestion};

const SEEDS: u64 = 3;
/// A second hole after an outage, on a path of 40 ms.
const THREE_ROUND_TRIPS: Duration = ms(120);

#[test]
fn no_transfer_falls_below_its_floor() {
    for row in matrix::rows() {
        let measured = matrix::measure(&row, SEEDS);
        println!("{}: {measured:?}", row.name);
        let (name, floor) = (row.name, row.floor);
        assert!(
            measured.goodput >= floor,
            "{name}: below {floor} kbit/s: {measured:?}"
        );
    }
}

/// A queue that marks is never full, whoever fills it.
#[test]
fn where_the_queue_marks_nothing_is_lost() {
    let mut rows = matrix::rows().into_iter();
    let row = rows.find(|row| row.name == "m").expect("a row");
    for congestion in [Congestion::NewReno, Congestion::Cubic, Congestion::Bbr] {
        let mut row = row.clone();
        row.config.congestion = congestion;
        let measured = matrix::measure(&row, 1);
        assert_eq!(measured.lost, 0, "{congestion}: {measured:?}");
        assert!(measured.goodput >= row.floor, "{congestion}: {measured:?}");
    }
}

#[test]
fn no_message_takes_longer_than_its_ceiling() {
    for row in messages::ROWS {
        let measured = messages::measure(&row, SEEDS);
        println!("{}: {measured:?}", row.name);
        let [p99, p999] = row.ceiling;
        let quick = measured.p99 <= p99 && measured.p999 <= p999;
        let lean = measured.wire_bytes <= row.most_bytes;
        assert!(quick && lean, "{}: {measured:?}", row.name);
    }
}

#[test]
fn no_silence_after_an_outage_exceeds_its_ceiling() {
    for row in outage::ROWS {
        let measured = outage::measure(&row, SEEDS);
        println!("{}: {measured:?}", row.name);
        assert!(
            measured.silence <= row.ceiling && measured.later_gap <= THREE_ROUND_TRIPS,
            "{}: {measured:?}",
            row.name
        );
    }
}

#[test]
fn two_flows_share_as_they_did() {
    for row in fairness::rows() {
        let measured = fairness::measure(&row, 1);
        println!("{}: {measured:?}", row.name);
        assert!(
            row.held.contains(&measured.share),
            "{}: {measured:?}",
            row.name
        );
    }
}

/// Who takes every loss for congestion falls where losses are random, and who does not learn what
/// order the path keeps falls where it keeps none: the table can tell.
#[test]
fn senders_known_to_fail_do_fail() {
    let fails = |name: &str, config: Config, most: u64| {
        let rows = matrix::rows().into_iter();
        let row = rows
            .map(|row| matrix::Row { config, ..row })
            .find(|row| row.name == name);
        let measured = matrix::measure(&row.expect("a row"), 1);
        assert!(measured.goodput < most, "{name}: {measured:?}");
    };
    let ours = Config::DEFAULT;
    let newreno = Config {
        congestion: Congestion::NewReno,
        ..ours
    };
    fails("b", newreno, 10_000);
    // CUBIC with three later packets or an eighth of a round trip, whatever happens, is quinn's default.
    let fixed = Config {
        congestion: Congestion::Cubic,
        adapts_to_reordering: false,
        ..ours
    };
    fails("f2", fixed, 10_000);
}

#[test]
fn a_seed_gives_the_same_numbers_again() {
    let rows = matrix::rows();
    let bursty = rows.iter().find(|row| row.name == "h").expect("a row");
    assert_eq!(matrix::measure(bursty, 1), matrix::measure(bursty, 1));
}
