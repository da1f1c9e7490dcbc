use super::*;
use crate::results::{Handshakes, Integrity, Messages, Shares};

const MISSED: &str = "**missed**";
const HOLDS: &str = "holds";
const REACHED: &str = "ambition reached";

fn gate_named(results: &Results, what: &str) -> Gate {
    let mut gates = of(results).into_iter();
    let found = gates.find(|gate| gate.what == what);
    found.unwrap_or_else(|| panic!("no gate {what}"))
}

fn shares(flows: [Protocol; 2], goodput: [f64; 2], drops: u64) -> Shares {
    let [(usual, _), ..] = plan::bottlenecks();
    Shares {
        bottleneck: usual.to_owned(),
        flows,
        seed: 1,
        goodput,
        drops,
    }
}

fn small(protocol: Protocol, p99: f64, wire: f64) -> Messages {
    Messages {
        loss: 10,
        protocol,
        seed: 1,
        latency: [Some(40.0), Some(p99), None],
        wire,
        missing: 3,
    }
}

#[test]
fn nothing_measured_is_nothing_held() {
    assert!(of(&Results::default()).is_empty());
}

#[test]
fn a_share_beside_cubic_is_neither_too_small_nor_too_large() {
    let verdict = |share: f64| {
        let beside = [Protocol::Rudp, Protocol::Cubic];
        let results = Results {
            fairness: vec![shares(beside, [share, 100.0 - share], 0)],
            ..Results::default()
        };
        gate_named(&results, "beside cubic: share, %").verdict()
    };
    for (share, expected) in [
        (29.0, MISSED),
        (31.0, HOLDS),
        (39.0, HOLDS),
        (41.0, REACHED),
        (59.0, REACHED),
        (61.0, HOLDS),
        (64.0, HOLDS),
        (66.0, MISSED),
        (70.0, MISSED),
    ] {
        assert_eq!(verdict(share), expected, "{share} %");
    }
}

#[test]
fn drops_of_two_of_ours_are_judged_by_those_of_two_cubics() {
    let verdict = |ours| {
        let [rudp, cubic] = [Protocol::Rudp, Protocol::Cubic];
        let results = Results {
            fairness: vec![
                shares([rudp, cubic], [50.0; 2], 90_000),
                shares([cubic, cubic], [50.0; 2], 100),
                shares([rudp, rudp], [50.0; 2], ours),
            ],
            ..Results::default()
        };
        gate_named(&results, "two of ours: drops, times those of two cubics").verdict()
    };
    assert_eq!(
        [200, 201, 500, 501].map(verdict),
        [REACHED, HOLDS, HOLDS, MISSED]
    );
}

#[test]
fn without_bundling_no_more_bytes_than_quinn() {
    let verdicts = |p99, wire| {
        let results = Results {
            messages: vec![
                small(Protocol::Rudp, 100.0, 350.0),
                small(Protocol::RudpUnbundled, p99, wire),
                small(Protocol::RudpMessages, p99, 2.0 * wire),
                small(Protocol::Quinn, 220.0, 200.0),
                small(Protocol::QuinnMessages, 220.0, 400.0),
                small(Protocol::QuinnBbr, 220.0, 999.0),
            ],
            ..Results::default()
        };
        ["p99, ms", "bytes on the wire, times quinn's"].map(|what| {
            let [stream, each] = ["a stream", "a message each"].map(|how| {
                let name = format!("messages, 10 %, unbundled, {how}: {what}");
                gate_named(&results, &name).verdict()
            });
            assert_eq!(stream, each);
            each
        })
    };
    assert_eq!(verdicts(160.0, 200.0), [HOLDS, HOLDS]);
    assert_eq!(verdicts(161.0, 201.0), [MISSED, MISSED]);
}

#[test]
fn a_message_that_never_came_back_misses_its_gate() {
    let results = Results {
        messages: vec![small(Protocol::Rudp, 100.0, 350.0)],
        ..Results::default()
    };
    let verdict = |what| gate_named(&results, what).verdict();
    assert_eq!(verdict("messages, 10 %: p99, ms"), HOLDS);
    assert_eq!(verdict("messages, 10 %: p99.9, ms"), MISSED);
}

#[test]
fn each_quantile_of_handshakes_is_held_to_tcps_within_noise() {
    let verdicts = |p90, p99| {
        let row = |protocol, [p50, p90, p99]: [f64; 3]| Handshakes {
            protocol,
            answered: [Some(p50), Some(p90), Some(p99)],
            count: 500,
            failed: 0,
        };
        let results = Results {
            handshakes: vec![
                row(Protocol::Cubic, [0.08, 1.0, 2.0]),
                row(Protocol::Rudp, [0.08, p90, p99]),
            ],
            ..Results::default()
        };
        ["p90", "p99"].map(|name| {
            gate_named(&results, &format!("handshakes, 10 %: {name}, times TCP's")).verdict()
        })
    };
    assert_eq!(verdicts(1.09, 2.19), [HOLDS, HOLDS]);
    assert_eq!(verdicts(1.11, 2.19), [MISSED, HOLDS]);
    assert_eq!(verdicts(1.0, 3.0), [HOLDS, MISSED]);
}

#[test]
fn a_flipped_bit_is_found_and_stops_no_run() {
    let run = |protocol, done, intact, found| Integrity {
        protocol,
        seed: 1,
        done,
        intact,
        flipped: 20,
        found,
    };
    let gates = |done, intact, found| {
        let results = Results {
            integrity: vec![
                run(Protocol::Kcp, false, false, None),
                run(Protocol::Rudp, true, true, found),
                run(Protocol::Rudp, done, intact, found),
            ],
            ..Results::default()
        };
        of(&results)
    };
    let verdicts = |done, intact, found| -> Vec<_> {
        let gates = gates(done, intact, found);
        gates.iter().map(Gate::verdict).collect()
    };
    assert_eq!(verdicts(true, true, Some(16)), [HOLDS, HOLDS]);
    assert_eq!(verdicts(true, false, Some(15)), [MISSED, MISSED]);
    assert_eq!(verdicts(false, true, Some(21)), [MISSED, HOLDS]);
    assert_eq!(verdicts(true, true, None), [HOLDS], "it does not count");
    assert_eq!(
        gates(false, false, None)[0].measured,
        1.0,
        "KCP's are its own"
    );
}
