//! (D10) The text of a snapshot.

use conformance::time::ms;
use grpc_backoff::Snapshot;
use proptest::prelude::*;
use std::time::Duration;

/// (D10) What a snapshot says is one line, which reads back as it was written, and is an error
/// wherever it is cut off.
#[test]
fn rule_grpc_d10_a_snapshot_is_one_line_of_text() {
    let snapshot = Snapshot {
        attempts: 9,
        failures: 8,
        backoff: Some(Duration::from_nanos(42_949_672_960)),
        wait: ms(1_200),
    };
    let line = "attempts=9 failures=8 backoff=42949672960ns wait=1200000000ns";
    assert_eq!(snapshot.to_string(), line);
    assert_eq!(line.parse(), Ok(snapshot));
    for cut in 0..line.len() {
        assert!(line[..cut].parse::<Snapshot>().is_err(), "{}", &line[..cut]);
    }
    let never = Duration::MAX;
    let greatest = Snapshot {
        backoff: None,
        wait: never,
        attempts: u64::MAX,
        failures: u32::MAX,
    };
    assert_eq!(greatest.to_string().parse(), Ok(greatest));
}

/// (D10) An error is short, however much stands there.
#[test]
fn rule_grpc_d10_a_text_that_is_no_snapshot_is_shown_by_its_beginning() {
    let error = "x"
        .repeat(1_000_000)
        .parse::<Snapshot>()
        .expect_err("no snapshot");
    assert_eq!(
        error.to_string(),
        format!("{:?} where a snapshot has attempts (D10)", "x".repeat(40))
    );
}

proptest! {
    /// (D10) No text makes it panic, and what it reads is what was written.
    #[test]
    fn rule_grpc_d10_whatever_reads_as_a_snapshot_was_written_so(
        text in "(attempts=[0-9+-]{0,21} failures=[0-9]{0,11} backoff=(none|[0-9]{0,30}ns) wait=[0-9]{0,30}(ns)?)|.{0,80}",
    ) {
        if let Ok(snapshot) = text.parse::<Snapshot>() {
            prop_assert_eq!(snapshot.to_string(), text);
        }
    }

    /// (D10) Any snapshot comes back from its text.
    #[test]
    fn rule_grpc_d10_every_snapshot_comes_back_from_its_text(
        attempts: u64, failures: u32, backoff: Option<Duration>, wait: Duration,
    ) {
        let snapshot = Snapshot { attempts, failures, backoff, wait };
        prop_assert_eq!(snapshot.to_string().parse(), Ok(snapshot));
    }
}
