//! Jobs of a queue (B19).

use backoff_policy::{Class, Failure, Hint, HintRule, Idempotency, Job, JobState, Policy, Reason};
use conformance::draws::{MIDDLE, splitmix64};
use conformance::time::{ns, s};
use proptest::prelude::*;
use std::time::Duration;

/// A day of 2027.
const NOW: Duration = s(1_800_000_000);

fn failed(job: &mut Job, policy: &Policy, now: Duration, class: Class) -> JobState {
    assert_eq!(job.start(policy, now), JobState::Running);
    job.handle_failed(policy, class.into(), now, MIDDLE)
}

/// As it would come back from a disk.
fn stored(job: Job) -> Job {
    let text = job.to_string();
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// (B19) A webhook fails five times: the waits are data, and then it is dead. Every step is stored.
#[test]
fn rule_backoff_b19_a_job_is_due_or_dead() {
    let policy = Policy::WEBHOOKS;
    let (mut job, mut now) = (Job::new(NOW), NOW);
    for wait in [s(5), s(10), s(20), s(40)] {
        job = stored(job);
        let state = failed(&mut job, &policy, now, Class::Transient);
        let due_at = now + wait;
        assert_eq!(job.last_failure(), Some(Class::Transient));
        assert_eq!(
            state,
            JobState::Waiting {
                due_at,
                delay: wait
            }
        );
        job = stored(job);
        assert_eq!(job.due_at(), Some(due_at));
        let early = due_at - ns(1);
        assert_eq!(job.start(&policy, early), state, "early is harmless");
        now = due_at;
    }
    let JobState::Dead(end) = failed(&mut job, &policy, now, Class::Transient) else {
        panic!("{job:?}");
    };
    assert_eq!((end.reason, end.attempts), (Reason::Attempts, 5));
    assert_eq!((end.elapsed, end.slept), (s(75), s(75)));
    let mut dead = stored(job);
    assert_eq!(dead.state(), JobState::Dead(end));
    assert_eq!((dead.due_at(), dead.attempts()), (None, 5));
    // Dead is dead, whatever comes.
    assert_eq!(dead.start(&policy, Duration::MAX), JobState::Dead(end));
    let again = dead.handle_failed(&policy, Class::Transient.into(), now, 0);
    assert_eq!(again, JobState::Dead(end));
    assert!(!dead.handle_clock(s(0)));
}

/// (B19) A job that ran when the program was killed may have been done.
#[test]
fn rule_backoff_b19_an_interrupted_job_may_have_been_done() {
    let policy = Policy::WEBHOOKS;
    let interrupted = |idempotency| {
        let mut job = Job::new(NOW).with_idempotency(idempotency);
        assert_eq!(job.start(&policy, NOW), JobState::Running);
        let mut job = stored(job);
        assert_eq!(job.state(), JobState::Running);
        job.handle_failed(&policy, Class::Timeout.into(), NOW + s(60), MIDDLE)
    };
    let due_at = NOW + s(65);
    let delay = s(5);
    assert_eq!(
        interrupted(Idempotency::Always),
        JobState::Waiting { due_at, delay }
    );
    for idempotency in [Idempotency::Conditionally, Idempotency::Never] {
        let JobState::Dead(end) = interrupted(idempotency) else {
            panic!("it would be done twice");
        };
        assert_eq!(end.reason, Reason::NotIdempotent);
    }
}

/// (B19) The deadline is read again when a job starts (B5): the program may have been away.
#[test]
fn rule_backoff_b19_a_job_that_starts_too_late_is_dead() {
    let policy = Policy {
        deadline: Some(s(60)),
        ..Policy::WEBHOOKS
    };
    let after = |away: Duration| {
        let mut job = Job::new(NOW);
        assert!(matches!(
            failed(&mut job, &policy, NOW, Class::Transient),
            JobState::Waiting { .. }
        ));
        stored(job).start(&policy, NOW + away)
    };
    assert_eq!(after(s(59)), JobState::Running);
    let JobState::Dead(end) = after(s(60)) else {
        panic!("it is over");
    };
    assert_eq!(end.reason, Reason::Deadline);
}

/// (B11) However far the clock is set back, the rest of a wait is never longer than planned.
#[test]
fn rule_backoff_b11_a_clock_set_back_makes_no_job_wait_longer() {
    for (back, rest) in [
        (s(0), s(5)), // not at all
        (s(3), s(5)), // to before the wait began
        (s(3_600), s(5)),
        (NOW, s(5)), // to 1970
    ] {
        let mut job = Job::new(NOW);
        _ = failed(&mut job, &Policy::WEBHOOKS, NOW, Class::Transient);
        let now = NOW - back;
        assert_eq!(job.handle_clock(now), !back.is_zero());
        assert_eq!(job.due_at(), Some(now + rest), "{back:?}");
        assert!(!job.handle_clock(now), "once");
    }
    // Set back inside the wait: the rest is longer than it was, but not longer than the wait.
    let mut job = Job::new(NOW);
    _ = failed(&mut job, &Policy::WEBHOOKS, NOW, Class::Transient);
    assert!(!job.handle_clock(NOW + s(4)));
    assert!(!job.handle_clock(NOW + s(1)));
    assert_eq!(job.due_at(), Some(NOW + s(5)));
}

/// (B19) What is no job is refused with the part that is wrong.
#[test]
fn rule_backoff_b19_what_is_no_job_is_refused() {
    let good = "waiting due=9ns delay=2ns attempts=1 last=timeout started=5ns failed=6ns slept=2ns series=4ns \
                idempotency=always layer=outermost";
    assert!(good.parse::<Job>().is_ok());
    for (from, to, found, expected) in [
        (
            "waiting",
            "sleeping",
            "sleeping",
            "waiting, running or dead",
        ),
        (
            "waiting due=9ns delay=2ns",
            "",
            "attempts=1",
            "waiting, running or dead",
        ),
        (
            "waiting due=9ns delay=2ns",
            "dead at=9ns",
            "attempts=1",
            "reason",
        ),
        (
            "waiting due=9ns delay=2ns",
            "dead at=9ns reason=bored",
            "reason=bored",
            "reason",
        ),
        (
            "waiting due=9ns delay=2ns",
            "dead at=9ns reason=hint-beyond-deadline",
            "reason=hint-beyond-deadline",
            "reason",
        ),
        (
            "waiting due=9ns delay=2ns",
            "dead at=9ns reason=attempts:5ns",
            "reason=attempts:5ns",
            "reason",
        ),
        ("due=9ns", "due=9", "due=9", "due"),
        ("due=9ns", "due=09ns", "due=09ns", "due"),
        ("due=9ns", "due=-9ns", "due=-9ns", "due"),
        (
            "due=9ns",
            "due=18446744073709551616ns",
            "due=18446744073709551616ns",
            "due",
        ),
        ("attempts=1", "attempts=+1", "attempts=+1", "attempts"),
        (
            "attempts=1",
            "attempts=4294967296",
            "attempts=4294967296",
            "attempts",
        ),
        ("series=4ns", "series=0ns", "series=0ns", "series"),
        ("always", "Always", "idempotency=Always", "idempotency"),
        ("last=timeout", "last=bad", "last=bad", "last"),
        (" layer=outermost", "", "", "layer"),
        ("outermost", "outermost\n", "layer=outermost\n", "layer"),
        ("outermost", "outermost more", "more", "its end"),
    ] {
        let bad = good.replace(from, to);
        let bad = bad.trim_start();
        let error = bad.parse::<Job>().expect_err(bad).to_string();
        assert_eq!(
            error,
            format!("expected {expected}, found {found:?} (B19)"),
            "{bad}"
        );
    }
}

proptest! {
    /// (B19) Whatever happens to a job, its text loses nothing.
    #[test]
    fn rule_backoff_b19_a_stored_job_is_the_same(
        started_at: u64,
        seed: u64,
        idempotency in prop::sample::select(vec![
            Idempotency::Always, Idempotency::Conditionally, Idempotency::Never,
        ]),
        failures in prop::collection::vec((0..4_u8, any::<u64>(), any::<Option<u64>>()), 0..9),
    ) {
        let (mut state, mut now) = (seed, ns(started_at));
        let policy = Policy { hint: HintRule::AtLeast, deadline: Some(s(1 << 33)), ..Policy::WEBHOOKS };
        let mut job = Job::new(now).with_idempotency(idempotency);
        for (class, step, hint) in failures {
            prop_assert_eq!(stored(job), job);
            let class = [Class::Transient, Class::Unsent, Class::Throttled, Class::Timeout][usize::from(class)];
            now = now.max(job.due_at().unwrap_or(now));
            _ = job.start(&policy, now);
            prop_assert_eq!(stored(job), job);
            now = now.saturating_add(ns(step));
            let hint = hint.map(|seconds| Hint::After(s(seconds)));
            let failure = Failure::from(class).hinted(hint);
            _ = job.handle_failed(&policy, failure, now, splitmix64(&mut state));
            prop_assert_eq!(stored(job), job);
        }
    }

    /// (B19) No text does harm.
    #[test]
    fn rule_backoff_b19_no_text_does_harm(text in "(waiting|running|dead|)( [a-z]{0,8}=?[0-9a-z:]{0,21}){0,9}") {
        _ = text.parse::<Job>();
    }
}
