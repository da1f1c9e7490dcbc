//! What a record makes of connections: the official limits, and where ours is stricter.

use grpc_backoff_interop::{Fault, Gap, MAX_GAPS, Record};
use grpc_faults::Judge;
use std::time::Duration;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A record of connections with these gaps, and when the last of them came.
fn record(gaps: &[u64]) -> (Record, Duration) {
    let mut record = Record::new(Judge::OFFICIAL);
    let mut now = ms(5);
    assert_eq!(record.handle_accepted(now), None, "the first ends no gap");
    for &gap in gaps {
        now += ms(gap);
        assert_eq!(
            record.handle_accepted(now).map(|gap| gap.time),
            Some(ms(gap))
        );
    }
    (record, now)
}

#[test]
fn the_official_limits_are_exact() {
    for (gap, faults) in [(699, 1), (700, 0), (1_300, 0), (1_301, 1)] {
        let (record, now) = record(&[gap]);
        assert_eq!(record.faults(now).len(), faults, "{gap} ms");
    }
}

#[test]
fn nobody_and_a_single_connection_fail() {
    let nobody = Record::new(Judge::OFFICIAL);
    assert_eq!(
        nobody.faults(ms(540_000)),
        [Fault::TooFew { connections: 0 }]
    );

    let (once, now) = record(&[]);
    assert_eq!(once.faults(now), [Fault::TooFew { connections: 1 }]);
}

/// The official server never looks at the time after the last connection.
#[test]
fn a_client_that_falls_silent_fails() {
    let (record, last) = record(&[1_000, 1_600]);
    assert_eq!(record.faults(last + ms(3_172)), []);
    let faults = record.faults(last + ms(3_173));
    let [Fault::Silent(Gap { time, window })] = faults[..] else {
        panic!("{faults:?}")
    };
    assert_eq!((time, window.most), (ms(3_173), ms(3_172)));
}

#[test]
fn a_flood_fails_in_bounded_memory() {
    let (mut record, now) = record(&[0; MAX_GAPS]);
    assert_eq!(record.handle_accepted(now), None);
    assert_eq!(record.gaps().len(), MAX_GAPS);
    let connections = MAX_GAPS + 2;
    assert!(record.faults(now).contains(&Fault::TooMany { connections }));
}

#[test]
fn a_gap_is_told_with_its_window_and_verdict() {
    let (record, now) = record(&[1_000, 2_500]);
    let gaps: Vec<String> = record.gaps().iter().map(Gap::to_string).collect();
    assert_eq!(
        gaps,
        [
            "  1000 ms in    700..=1300   ok",
            "  2500 ms in   1180..=2020   TOO LONG"
        ]
    );
    let faults: Vec<String> = record.faults(now).iter().map(Fault::to_string).collect();
    assert_eq!(faults, ["1 gap is outside its window"]);
}
