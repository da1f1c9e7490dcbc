//! Vectors that are a script: an event, then what the machine does and shows.

use conformance::draws::Draws;
use conformance::time::ns;
use conformance::twin::Twin;
use grpc_backoff::{Abort, Action, AttemptId, Connection, Start, State, Verdict};
use serde::Deserialize;
use std::time::Duration;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    at_ns: u64,
    event: Event,
    /// Whose outcome; the latest attempt's unless stated.
    attempt: Option<u64>,
    window_ns: Option<u64>,
    expect: Expect,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Event {
    Connect,
    Withdraw,
    Reset,
    /// Over `window_ns`; takes a draw.
    ResetWithin,
    Retarget,
    Shutdown,
    Settings,
    Failed,
    Lost,
    /// Nothing but the time.
    Poll,
    /// The program restarts: a new machine from a snapshot.
    Restore,
}

/// After the event and everything that is to be done at once.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    state: String,
    timeout_ns: Option<u64>,
    actions: Vec<ActionData>,
    #[serde(default)]
    verdict: VerdictData,
    failures: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum ActionData {
    Start {
        start: u64,
        deadline_ns: u64,
        backoff_ns: u64,
    },
    Abort {
        abort: u64,
    },
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum VerdictData {
    #[default]
    Accepted,
    Stale,
}

pub(crate) fn check(id: &str, mut connection: Twin, mut draws: Draws, steps: &[Step]) {
    let mut ids: Vec<AttemptId> = Vec::new();
    for step in steps {
        let (now, expect) = (ns(step.at_ns), &step.expect);
        let context = format!("{id} at {now:?}, {:?}", step.event);
        let abort = apply(&mut connection, step, now, &ids, &mut draws, &context);
        let polled = connection.actions(now, || draws.draw());

        let done: Vec<_> = abort.map(Action::Abort).into_iter().chain(polled).collect();
        assert_eq!(done.len(), expect.actions.len(), "{context}: {done:?}");
        for (action, expected) in done.iter().zip(&expect.actions) {
            check_action(action, expected, &context);
            if let Action::Start(start) = action {
                ids.push(start.attempt);
            }
        }
        assert_eq!(state_name(&connection), expect.state, "{context}");
        assert_eq!(
            connection.poll_timeout(),
            expect.timeout_ns.map(ns),
            "{context}"
        );
        if let Some(failures) = expect.failures {
            assert_eq!(connection.failures(), failures, "{context}");
        }
    }
}

fn apply(
    connection: &mut Twin,
    step: &Step,
    now: Duration,
    ids: &[AttemptId],
    draws: &mut Draws,
    context: &str,
) -> Option<Abort> {
    match step.event {
        Event::Connect => connection.connect(now),
        Event::Reset => connection.reset(now),
        Event::ResetWithin => {
            let window = step.window_ns.expect("it has a window");
            connection.reset_within(now, ns(window), draws.draw());
        }
        Event::Poll => {}
        Event::Withdraw => return connection.withdraw(now),
        Event::Retarget => return connection.retarget(now),
        Event::Shutdown => return connection.shutdown(now),
        Event::Restore => {
            connection.restart(now);
        }
        Event::Settings | Event::Failed | Event::Lost => {
            let attempt = match step.attempt {
                // An id of another machine stands for one that this machine never gave.
                Some(n) => ids
                    .get(n as usize)
                    .copied()
                    .unwrap_or_else(|| foreign_id(n)),
                None => *ids.last().expect("an attempt was started"),
            };
            let verdict = match step.event {
                Event::Settings => connection.handle_settings(now, attempt),
                Event::Failed => connection.handle_failed(now, attempt),
                _ => connection.handle_lost(now, attempt),
            };
            let expected = match step.expect.verdict {
                VerdictData::Accepted => Verdict::Accepted,
                VerdictData::Stale => Verdict::Stale,
            };
            assert_eq!(verdict, expected, "{context}");
        }
    }
    None
}

fn foreign_id(n: u64) -> AttemptId {
    let mut other = Connection::new(grpc_backoff::Config::GRPC).expect("valid");
    loop {
        other.reset(Duration::ZERO);
        other.connect(Duration::ZERO);
        match other.poll_action(Duration::ZERO, || 0) {
            Some(Action::Start(start)) if start.attempt.get() == n => return start.attempt,
            Some(Action::Start(start)) => {
                assert_eq!(
                    other.handle_failed(Duration::ZERO, start.attempt),
                    Verdict::Accepted
                );
            }
            other => panic!("a reset machine starts, but {other:?}"),
        }
    }
}

fn check_action(action: &Action, expected: &ActionData, context: &str) {
    match (action, expected) {
        (
            Action::Start(Start {
                attempt,
                deadline,
                backoff,
                ..
            }),
            ActionData::Start {
                start,
                deadline_ns,
                backoff_ns,
            },
        ) => {
            assert_eq!(attempt.get(), *start, "{context}: id");
            assert_eq!(*deadline, ns(*deadline_ns), "{context}: connect deadline");
            assert_eq!(*backoff, ns(*backoff_ns), "{context}: delay");
        }
        (Action::Abort(Abort { attempt }), ActionData::Abort { abort }) => {
            assert_eq!(attempt.get(), *abort, "{context}: id");
        }
        other => panic!("{context}: {other:?}"),
    }
}

fn state_name(connection: &Twin) -> &'static str {
    match connection.state() {
        State::Idle => "IDLE",
        State::Connecting { .. } => "CONNECTING",
        State::Ready { .. } => "READY",
        State::TransientFailure { .. } => "TRANSIENT_FAILURE",
        State::GaveUp { .. } => "GAVE_UP",
        State::Shutdown => "SHUTDOWN",
    }
}
