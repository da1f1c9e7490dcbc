//! What is counted and told (B12).

use super::exact;
use backoff_policy::{Class, Counters, Event, Hint, Policy, Reason, retry, retry_blocking};
use conformance::listening::listen;
use conformance::time::s;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};

/// Ends by these errors in turn, and then succeeds.
fn fails(errors: &[Class], policy: Policy, counters: &Counters) {
    let mut errors = errors.iter();
    let _ = retry_blocking(policy, || errors.next().copied().map_or(Ok(()), Err))
        .classify(|&class| class)
        .hint(|&class| (class == Class::Throttled).then_some(Hint::After(s(3_600))))
        .counters(counters)
        .run_with(|| s(0), |_| ());
}

/// (B12) Retries are counted by class, ends by reason.
#[test]
fn rule_backoff_b12_retries_and_ends_are_counted() {
    let counters = Counters::default();
    assert_eq!(
        counters.to_string(),
        "0 attempts, 0 retries, 0 successes, 0 give-ups"
    );
    let policy = Policy {
        deadline: Some(s(600)),
        ..exact()
    };
    fails(&[], policy, &counters);
    fails(&[Class::Transient, Class::Timeout], policy, &counters);
    fails(&[Class::Transient, Class::Permanent], policy, &counters);
    fails(&[Class::Throttled], policy, &counters);
    fails(&[Class::Unsent; 5], policy, &counters);
    assert_eq!(counters.attempts(), 1 + 3 + 2 + 1 + 5);
    assert_eq!(counters.retries(), 2 + 1 + 4);
    assert_eq!(counters.retries_after(Class::Transient), 2);
    assert_eq!(counters.retries_after(Class::Timeout), 1);
    assert_eq!(counters.retries_after(Class::Unsent), 4);
    assert_eq!(counters.retries_after(Class::Throttled), 0);
    assert_eq!(counters.successes(), 2);
    assert_eq!(counters.give_ups(), 3);
    for reason in [
        Reason::Permanent,
        Reason::Attempts,
        Reason::HintBeyondDeadline(s(1)), // whichever hint
    ] {
        assert_eq!(counters.give_ups_by(reason), 1, "{reason}");
    }
    assert_eq!(counters.give_ups_by(Reason::Deadline), 0);
    assert_eq!(
        counters.to_string(),
        "12 attempts, 7 retries (2 transient, 1 timeout, 4 unsent), 2 successes, \
         3 give-ups (1 permanent, 1 attempts, 1 hint-beyond-deadline)"
    );
}

/// (B12) An observer hears each retry and the end, with the error.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b12_an_observer_hears_it() {
    let heard = Mutex::new(Vec::new());
    let mut answers = [Err("one"), Err("two"), Ok(())].into_iter();
    let answer = || std::future::ready(answers.next().expect("no fourth"));
    retry(exact(), answer)
        .observe(|event| {
            heard.lock().expect("no panic").push(match event {
                Event::Retrying { error, wait, .. } => format!("{error:?} {wait:?}"),
                other => format!("{other:?}"),
            });
        })
        .await
        .expect("the third");
    let heard = heard.into_inner().expect("no panic");
    assert!(
        heard[0].starts_with(r#"Some("one") Wait { delay: 1s, "#),
        "{heard:?}"
    );
    assert!(
        heard[1].starts_with(r#"Some("two") Wait { delay: 2s, "#),
        "{heard:?}"
    );
    assert_eq!(heard[2..], ["Succeeded { attempts: 3 }"]);
}

/// Keeps the fields of every event of this crate.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0 += &format!("{field}={value:?} ");
    }
}

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("backoff_policy")
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(format!("{} ", event.metadata().level()));
        event.record(&mut line);
        self.0.lock().expect("no panic").push(line.0);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// (B12) `tracing` is told the same in fields.
#[test]
fn rule_backoff_b12_tracing_is_told() {
    let kept = Kept::default();
    let mut answers = [Err("busy"), Ok(())].into_iter().chain([Err("gone")]);
    let _listening = listen(kept.clone());
    for _ in 0..2 {
        let _ = retry_blocking(exact(), || answers.next().expect("three"))
            .named("charge")
            .classify(|&error| match error {
                "busy" => Class::Throttled,
                _ => Class::Permanent,
            })
            .run_with(|| s(0), |_| ());
    }
    let lines = kept.0.lock().expect("no panic");
    let expected = [
        r#"DEBUG message=retrying operation="charge" class=Throttled hint=None delay=1s attempt=2 "#,
        r#"DEBUG message=succeeded after retries operation="charge" attempts=2 "#,
        r#"WARN message=gave up operation="charge" reason=it will fail again attempts=1 elapsed=0ns slept=0ns "#,
    ];
    assert_eq!(*lines, expected);
}
