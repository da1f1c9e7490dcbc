//! Did it go as the script says?

mod mistakes;

use std::{ops::RangeInclusive, time::Duration};

use grpc_backoff::{Config, Outcome};

use super::{Encore, Ended, Record, SCRIPT, Tally};
use crate::words::{bytes, count, span};

/// Something that the script promises, and whether it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it came.
    pub holds: bool,
    /// Whether the demo has failed if it did not: a hard fact, no matter of timing.
    pub hard: bool,
    /// What was promised, and what was seen.
    pub text: String,
}

/// How late a busy machine may be before it is worth a word. Nothing may ever be early.
const LATE: Duration = Duration::from_millis(250);

/// The delays that gRPC's document allows between the starts of two attempts, when so many had
/// failed in a row before the second: 1 s, 1.6 s, 2.56 s ... and 20 % either way. `None`: it may
/// start at once.
pub(super) fn window(failed_before: u32) -> Option<RangeInclusive<Duration>> {
    let retries = failed_before.checked_sub(1)?;
    let schedule = Config::GRPC.schedule().ok()?;
    Some(schedule.bounds(retries))
}

/// What the script promises, compared with what happened.
#[must_use]
pub fn findings(record: &Record) -> Vec<Finding> {
    let mut findings = vec![hashes(record), scenes(record)];
    findings.push(mistakes::undone(record));
    findings.push(mistakes::late(record));
    findings.push(expiries(record));
    findings.push(collapse(record));
    findings.push(found(record));
    findings.extend(refusals(record));
    findings.push(resumption(record));
    findings.push(repeats(record));
    findings
}

fn hard(holds: bool, text: String) -> Finding {
    Finding {
        holds,
        hard: true,
        text,
    }
}

fn soft(holds: bool, text: String) -> Finding {
    Finding {
        holds,
        hard: false,
        text,
    }
}

fn hashes(record: &Record) -> Finding {
    match record.hashes {
        Some((sent, received)) if sent == received => {
            let hash = sent.to_hex();
            hard(
                true,
                format!("what was received is what was sent: BLAKE3 {hash}"),
            )
        }
        Some((sent, received)) => hard(
            false,
            format!(
                "WRONG HASH: sent {}, received {}",
                sent.to_hex(),
                received.to_hex()
            ),
        ),
        None => hard(false, "the file never arrived".to_owned()),
    }
}

fn scenes(record: &Record) -> Finding {
    match SCRIPT.get(record.acts.len()) {
        None => hard(true, format!("all {} scenes were played", SCRIPT.len())),
        Some(scene) => hard(
            false,
            format!("the file was there before the scene \"{}\"", scene.title),
        ),
    }
}

/// Three expiries in the dark, 1, 3 and 7 s after the last send, give or take a round trip, since
/// the timer counts from the last ACK and the data was sent before it.
fn expiries(record: &Record) -> Finding {
    const DUE: [(u64, u64); 3] = [(1, 1), (2, 3), (4, 7)]; // RTO, seconds after the last send
    let in_the_dark: Vec<_> = match &record.dark {
        Some(dark) => {
            let after = record
                .expiries
                .iter()
                .skip_while(|expiry| expiry.at < dark.start);
            after.take(DUE.len()).collect()
        }
        None => Vec::new(),
    };
    let secs = Duration::from_secs;
    let on_time = in_the_dark.iter().zip(DUE).all(|(expiry, (rto, after))| {
        let silence = expiry.at.saturating_sub(expiry.last_sent_at);
        // The first RTO may exceed its floor of 1 s where round trips vary a lot.
        expiry.rto >= secs(rto) && silence >= secs(after) && silence <= secs(after) + 2 * LATE
    });
    let seen: Vec<_> = in_the_dark
        .iter()
        .map(|expiry| span(expiry.at.saturating_sub(expiry.last_sent_at)))
        .collect();
    let rtos: Vec<_> = in_the_dark.iter().map(|expiry| span(expiry.rto)).collect();
    soft(
        on_time && in_the_dark.len() == DUE.len(),
        format!(
            "the timer expires 1, 3 and 7 s after the last send into the dark: seen after {}; RTO {}",
            list(&seen),
            list(&rtos)
        ),
    )
}

fn collapse(record: &Record) -> Finding {
    let collapse = record.dark.as_ref().and_then(|dark| {
        let after = record.acts.iter().filter(|act| act.from >= dark.start);
        after.filter_map(|act| act.collapse).next()
    });
    let after = |(at, _)| record.samples.iter().find(|sample| sample.at == at);
    match collapse.and_then(after) {
        Some(sample) => hard(
            sample.rto < Duration::from_secs(2),
            format!(
                "one fresh sample undoes the back-off: RTO {} again",
                span(sample.rto)
            ),
        ),
        None => hard(false, "no fresh sample undid the back-off".to_owned()),
    }
}

/// A probe finds the path within a pause of 250 ms and a round trip, long before the next expiry.
fn found(record: &Record) -> Finding {
    const DUE: Duration = Duration::from_millis(250 + 100);
    let light = record.dark.as_ref().map(|dark| dark.end);
    let collapses = record.acts.iter().filter_map(|act| act.collapse);
    let found = light.and_then(|light| {
        let after = collapses.map(|(at, _)| at.saturating_sub(light));
        after.filter(|after| !after.is_zero()).min()
    });
    let dark = record
        .dark
        .as_ref()
        .map_or(Duration::MAX, |dark| dark.start);
    let probes = record.path_probes.iter().filter(|at| **at >= dark);
    soft(
        found.is_some_and(|after| after <= DUE + LATE),
        format!(
            "a probe finds the path soon after the dark: {}, after {}",
            found.map_or_else(|| "never".to_owned(), span),
            count(probes.count() as u64, "probe", "probes")
        ),
    )
}

/// Four refusals, seen as such, each in its window.
fn refusals(record: &Record) -> [Finding; 2] {
    let failed: Vec<_> = record
        .attempts
        .iter()
        .filter(|ended| !ended.connected())
        .collect();
    let silent = failed
        .iter()
        .filter(|ended| !matches!(&ended.attempt.outcome, Outcome::Failed(why) if why.contains("refused")))
        .count();
    let seen = format!(
        "a dead server is seen as refused, not as silence: {} refused, {silent} otherwise",
        failed.len() - silent
    );
    let spaced: Vec<_> = record
        .attempts
        .iter()
        .filter(|ended| ended.failed_before > 0)
        .collect();
    let delays: Vec<_> = spaced
        .iter()
        .filter_map(|ended| ended.attempt.actual)
        .map(span)
        .collect();
    [
        hard(failed.len() >= 4 && silent == 0, seen),
        soft(
            spaced.len() >= 3 && spaced.iter().all(|ended| in_window(ended)),
            format!(
                "attempts start 1, 1.6, 2.56 and 4.1 s ±20 % after the one before: seen {}",
                list(&delays)
            ),
        ),
    ]
}

/// Whether an attempt started when the rules and its plan allow.
fn in_window(ended: &Ended) -> bool {
    let (Some(planned), Some(actual)) = (ended.attempt.planned, ended.attempt.actual) else {
        return false;
    };
    let allowed = window(ended.failed_before).is_some_and(|window| window.contains(&planned));
    allowed && actual >= planned && actual <= planned + LATE
}

fn resumption(record: &Record) -> Finding {
    match record.resumed {
        Some(resumed) => {
            let offset = resumed.offset;
            let holds = offset > 0 && offset == resumed.on_disk && offset >= resumed.seen_before;
            let text = format!(
                "the file goes on from the last byte on disk: from {}, and {} were there",
                bytes(offset),
                bytes(resumed.on_disk)
            );
            hard(holds, text)
        }
        None => hard(
            false,
            "the file did not go on from what was on disk".to_owned(),
        ),
    }
}

/// Of messages that were lost, most were brought by the packet after; the rest of them wait as long
/// as all lost ones do without repeats.
fn repeats(record: &Record) -> Finding {
    let Some(Encore { with, without }) = &record.encore else {
        return soft(false, "no small messages were sent".to_owned());
    };
    let Tally {
        lost,
        repaired,
        repeated,
    } = with.tally;
    let sooner = with.delay(99) < without.delay(99);
    soft(
        repaired * 2 > lost && sooner,
        format!(
            "repeats save small messages: {repaired} of {lost} lost packets cost nothing, and 99 % of the \
             messages took {} at most, not {}; for that {} were sent again, {} bytes on the wire for each \
             message and not {}",
            span(with.delay(99)),
            span(without.delay(99)),
            bytes(repeated),
            with.bytes_per_message(),
            without.bytes_per_message()
        ),
    )
}

fn list(words: &[String]) -> String {
    match words {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attempt, demo::Network};

    fn record() -> Record {
        let network = Network::for_file(5 << 20);
        Record::new("file".into(), 5 << 20, 1, network)
    }

    #[test]
    fn nothing_holds_of_a_play_that_never_was() {
        let findings = findings(&record());
        assert!(findings.iter().all(|finding| !finding.holds));
        assert_eq!(findings.iter().filter(|finding| finding.hard).count(), 5);
    }

    #[test]
    fn another_hash_is_a_hard_fact() {
        let mut record = record();
        let (one, other) = (blake3::hash(b"1"), blake3::hash(b"2"));
        record.hashes = Some((one, one));
        assert!(findings(&record)[0].holds);
        record.hashes = Some((one, other));
        let finding = &findings(&record)[0];
        assert!(finding.hard && !finding.holds);
    }

    #[test]
    fn an_attempt_is_in_its_window_or_it_is_not() {
        let ms = Duration::from_millis;
        // failed before, planned, actual: in ms
        for (failed_before, planned, actual, holds) in [
            (1, 800, 800, true),
            (1, 799, 799, false),
            (1, 1_200, 1_450, true),
            (1, 1_200, 1_451, false),
            (1, 1_201, 1_201, false),
            (2, 1_600, 1_599, false),
            (3, 2_560, 2_560, true),
        ] {
            let ended = Ended {
                at: ms(9_000),
                attempt: Attempt {
                    number: 1,
                    planned: Some(ms(planned)),
                    actual: Some(ms(actual)),
                    started_at: ms(8_000),
                    backoff: ms(1_000),
                    outcome: Outcome::Connected,
                },
                failed_before,
            };
            assert_eq!(
                in_window(&ended),
                holds,
                "{failed_before}, {planned}, {actual}"
            );
        }
    }
}
