//! How fast the transport is, how fair, and how soon it is back: each number within its bound, most
//! of them at the gate or better. Which are not, the rows say.

use std::collections::BTreeMap;

use conformance::matrix::{self, deadline, fairness, messages, outage};
use rudp_proto::{Config, Congestion};

const SEEDS: u64 = 5;

/// Prints what a row came to, and answers the row's name if that is not within its bounds.
fn judge(
    name: &'static str,
    measured: &impl std::fmt::Debug,
    allowed: bool,
) -> Option<&'static str> {
    println!("{name}: {measured:?}");
    (!allowed).then_some(name)
}

#[test]
fn no_transfer_is_slower_or_wastes_more_than_its_bounds() {
    let rows = matrix::rows();
    let out = rows.iter().filter_map(|row| {
        let measured = matrix::measure(row, SEEDS);
        judge(row.name, &measured, row.allows(&measured))
    });
    assert_eq!(out.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn every_datagram_in_which_a_bit_flipped_is_counted() {
    let row = row("i");
    let measured = matrix::measure(&row, SEEDS);
    assert!(measured.damaged > 50 * SEEDS, "{measured:?}");
    assert_eq!(measured.unnoticed, 0, "{measured:?}");
}

/// A queue that marks is never full, whoever fills it.
#[test]
fn where_the_queue_marks_nothing_is_lost() {
    for congestion in [Congestion::NewReno, Congestion::Cubic, Congestion::Bbr] {
        let mut row = row("m");
        row.config.congestion = congestion;
        let measured = matrix::measure(&row, 1);
        assert_eq!(measured.lost, 0, "{congestion}: {measured:?}");
        assert!(measured.goodput > 84_000, "{congestion}: {measured:?}");
    }
}

#[test]
fn no_message_takes_longer_or_more_bytes_than_its_bounds() {
    let mut p99s = BTreeMap::new();
    let out = messages::ROWS.iter().filter_map(|row| {
        let measured = messages::measure(row, SEEDS);
        p99s.insert(row.name, measured.p99);
        judge(row.name, &measured, row.allows(&measured))
    });
    assert_eq!(out.collect::<Vec<_>>(), [""; 0]);
    // Where many are lost, it shows that none waits for another.
    for (unordered, ordered) in [("u10", "m10"), ("u10-", "m10-")] {
        assert!(p99s[unordered] < p99s[ordered], "{p99s:?}");
    }
}

#[test]
fn no_message_arrives_late_and_the_fate_of_each_is_told() {
    let out = deadline::ROWS.iter().filter_map(|row| {
        let measured = deadline::measure(row, SEEDS);
        judge(row.name, &measured, row.allows(&measured))
    });
    assert_eq!(out.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn no_silence_after_an_outage_exceeds_its_bounds() {
    let out = outage::ROWS.iter().filter_map(|row| {
        let measured = outage::measure(row, SEEDS);
        judge(row.name, &measured, row.allows(&measured))
    });
    assert_eq!(out.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn two_flows_share_within_their_bounds() {
    let rows = fairness::rows();
    let mut dropped = BTreeMap::new();
    let out = rows.iter().filter_map(|row| {
        let measured = fairness::measure(row, SEEDS);
        dropped.insert(row.name, measured.dropped);
        judge(row.name, &measured, row.allows(&measured))
    });
    assert_eq!(out.collect::<Vec<_>>(), [""; 0]);
    let drops = 100 * dropped["2"] / dropped["2c"];
    assert!(fairness::DROPS.allows(drops), "{drops} % of CUBIC's drops");
}

/// Who takes every loss for congestion falls where losses are random, and who does not learn what
/// order the path keeps falls where it keeps none: the table can tell.
#[test]
fn senders_known_to_fail_do_fail() {
    let fails = |name: &str, config: Config, most: u64| {
        let row = matrix::Row {
            config,
            ..row(name)
        };
        let measured = matrix::measure(&row, 1);
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
    let bursty = row("h");
    assert_eq!(matrix::measure(&bursty, 1), matrix::measure(&bursty, 1));
}

fn row(name: &str) -> matrix::Row {
    let mut rows = matrix::rows().into_iter();
    rows.find(|row| row.name == name).expect("a row")
}
