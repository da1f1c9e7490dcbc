//! What holds for any order of calls at any times. A failing case is printed and shrunk.

use conformance::draws::Draws;
use conformance::grpc::{actions, fail};
use conformance::time::{ns, s};
use grpc_backoff::{
    Action, AttemptId, Config, Connection, FirstDelay, FlapGuard, Reset, Start, State, Timing,
    Verdict,
};
use proptest::prelude::*;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
enum Call {
    Connect,
    Withdraw,
    Reset,
    ResetWithin(Duration),
    Retarget,
    Shutdown,
    Settings(Whose),
    Failed(Whose),
    Lost(Whose),
    Poll,
    Restart,
}

/// Whose outcome is reported.
#[derive(Clone, Copy, Debug)]
enum Whose {
    Latest,
    Older(usize),
}

fn calls() -> impl Strategy<Value = Call> {
    let whose = prop_oneof![4 => Just(Whose::Latest), 1 => (1..4usize).prop_map(Whose::Older)];
    prop_oneof![
        6 => Just(Call::Connect),
        2 => Just(Call::Withdraw),
        1 => Just(Call::Reset),
        1 => (0..20u64).prop_map(|window| Call::ResetWithin(s(window))),
        1 => Just(Call::Retarget),
        4 => whose.clone().prop_map(Call::Settings),
        12 => whose.clone().prop_map(Call::Failed),
        4 => whose.prop_map(Call::Lost),
        8 => Just(Call::Poll),
        1 => Just(Call::Restart),
    ]
}

fn configs() -> impl Strategy<Value = Config> {
    let reset = prop_oneof![
        Just(Reset::OnSettings),
        (1..100u64).prop_map(|time| Reset::AfterStable(s(time)))
    ];
    let guard = prop_oneof![Just(FlapGuard::On), Just(FlapGuard::Off)];
    let timing = prop_oneof![Just(Timing::FromStart), Just(Timing::FromFailure)];
    let first = prop_oneof![Just(FirstDelay::Jittered), Just(FirstDelay::Exact)];
    (reset, guard, timing, first).prop_map(|(reset, guard, timing, first)| {
        let mut config = Config::GRPC;
        config.reset = reset;
        config.flap_guard = guard;
        config.timing = timing;
        config.first_delay = first;
        config
    })
}

fn limits() -> impl Strategy<Value = (Option<u32>, Option<Duration>)> {
    let elapsed = (1..400u64).prop_map(s);
    (prop::option::of(1..6u32), prop::option::of(elapsed))
}

/// A machine with a memory of the ids it gave.
struct Host {
    connection: Connection,
    ids: Vec<AttemptId>,
    draws: Draws,
}

impl Host {
    fn new(config: Config, seed: u64) -> Self {
        let connection = Connection::new(config).expect("valid by construction");
        Self {
            connection,
            ids: Vec::new(),
            draws: Draws::Splitmix64(seed),
        }
    }

    /// Makes the call, and gives whether an outcome was accepted.
    fn call(&mut self, now: Duration, call: Call) -> bool {
        let id = |whose| match whose {
            Whose::Latest => self.ids.last().copied(),
            Whose::Older(n) => self.ids.iter().rev().nth(n).copied(),
        };
        let connection = &mut self.connection;
        let verdict = match call {
            Call::Settings(whose) => id(whose).map(|id| connection.handle_settings(now, id)),
            Call::Failed(whose) => id(whose).map(|id| connection.handle_failed(now, id)),
            Call::Lost(whose) => id(whose).map(|id| connection.handle_lost(now, id)),
            _ => None,
        };
        match call {
            Call::Connect => connection.connect(now),
            Call::Reset => connection.reset(now),
            Call::ResetWithin(window) => connection.reset_within(now, window, self.draws.draw()),
            Call::Withdraw => _ = connection.withdraw(now),
            Call::Retarget => _ = connection.retarget(now),
            Call::Shutdown => _ = connection.shutdown(),
            Call::Restart => {
                let snapshot = connection.snapshot(now);
                let config = connection.config();
                *connection = Connection::restore(config, now, snapshot).expect("valid");
            }
            Call::Poll | Call::Settings(_) | Call::Failed(_) | Call::Lost(_) => {}
        }
        verdict == Some(Verdict::Accepted)
    }

    fn poll(&mut self, now: Duration) -> Vec<Action> {
        let draws = &mut self.draws;
        let actions = actions(&mut self.connection, now, || draws.draw());
        self.ids.extend(starts(&actions).map(|start| start.attempt));
        actions
    }
}

fn starts(actions: &[Action]) -> impl Iterator<Item = Start> {
    actions.iter().filter_map(|action| match action {
        Action::Start(start) => Some(*start),
        Action::Abort(_) => None,
    })
}

proptest! {
    /// Any calls at any times, backwards too: no panic; a wanted connection always has a
    /// deadline, and so have CONNECTING and TRANSIENT_FAILURE (D7); one attempt in flight (D6).
    #[test]
    fn no_deadline_is_ever_lost(
        mut config in configs(),
        (max_attempts, max_elapsed) in limits(),
        script in prop::collection::vec((prop_oneof![20 => calls(), 1 => Just(Call::Shutdown)], 0..1u64 << 40), 1..80),
        seed: u64,
    ) {
        config.max_attempts = max_attempts.and_then(|n| n.try_into().ok());
        config.max_elapsed = max_elapsed;
        let mut host = Host::new(config, seed);
        for (call, now) in script {
            let now = ns(now);
            host.call(now, call);
            let in_flight = matches!(host.connection.state(), State::Connecting { .. });
            let done = host.poll(now);
            let aborted = matches!(done.first(), Some(Action::Abort(_)));
            prop_assert!(!in_flight || aborted || done.is_empty(), "two in flight: {done:?}");

            let timeout = host.connection.poll_timeout();
            match host.connection.state() {
                State::Connecting { deadline, .. } => prop_assert_eq!(timeout, Some(deadline)),
                State::TransientFailure { .. } => {
                    prop_assert!(timeout.is_some() && host.connection.is_wanted());
                }
                State::Idle => prop_assert_eq!(timeout.is_some(), host.connection.is_wanted()),
                State::Ready { .. } | State::GaveUp { .. } | State::Shutdown => {
                    prop_assert_eq!(timeout, None);
                }
            }
            prop_assert!(timeout.is_none_or(|due_at| due_at > now), "all that is due is done");
            prop_assert!(!host.connection.explain(now).to_string().is_empty());
        }
    }

    /// At the end of time itself nothing panics, and what is to be done comes to an end.
    #[test]
    fn the_end_of_time_is_survived(
        mut config in configs(),
        (max_attempts, max_elapsed) in limits(),
        script in prop::collection::vec((calls(), 0..4u32), 1..60),
        seed: u64,
    ) {
        let limits = (max_attempts.and_then(|n| n.try_into().ok()), max_elapsed);
        (config.max_attempts, config.max_elapsed) = limits;
        let mut host = Host::new(config, seed);
        for (call, time) in script {
            let now = match time {
                0 => s(1),
                1 => ns(u64::MAX - 1_000_000_000),
                2 => ns(u64::MAX - 1),
                _ => Duration::MAX,
            };
            host.call(now, call);
            host.poll(now);
            prop_assert_eq!(host.poll(now), [], "two actions at most");
            prop_assert!(!host.connection.explain(now).to_string().is_empty());
        }
    }

    /// No attempt starts earlier than the rules allow, whatever the host does short of a reset
    /// or a new target; and each delay lies in the bounds of its place in the series (S3, S7).
    #[test]
    fn attempts_never_start_early(
        config in configs(),
        script in prop::collection::vec((calls(), 0..3_000_000_000u64), 1..150),
        seed: u64,
    ) {
        let schedule = config.schedule().expect("valid");
        let mut host = Host::new(config, seed);
        let mut now = Duration::ZERO;
        let mut place = 0; // in the series
        let mut not_before = Duration::ZERO;
        let mut last: Option<(Duration, Start)> = None;
        let mut ready_at = None;
        for (call, passes) in script {
            if matches!(call, Call::Reset | Call::ResetWithin(_) | Call::Retarget | Call::Restart) {
                continue;
            }
            now += ns(passes);
            let accepted = host.call(now, call);
            if let (true, Some((started_at, start))) = (accepted, last) {
                let spaced = match config.timing {
                    Timing::FromStart => started_at + start.backoff,
                    Timing::FromFailure => now + start.backoff,
                };
                let soon = |at| matches!(config.reset, Reset::AfterStable(time) if now - at < time);
                match (call, ready_at.take()) {
                    (Call::Settings(_), _) => ready_at = Some(now),
                    (_, None) => (place, not_before) = (place + 1, spaced),
                    (_, Some(at)) if soon(at) => (place, not_before) = (place + 1, spaced),
                    _ => {
                        place = 0;
                        let guarded = config.flap_guard == FlapGuard::On;
                        not_before = if guarded { started_at + Duration::from_millis(800) } else { now };
                    }
                }
                if matches!((call, config.reset), (Call::Settings(_), Reset::OnSettings)) {
                    place = 0;
                }
            }
            if matches!(call, Call::Withdraw) && let Some((started_at, start)) = last {
                not_before = not_before.max(started_at + start.backoff.min(*schedule.bounds(place).start()));
            }
            for action in host.poll(now) {
                match action {
                    Action::Abort(_) => {
                        let (started_at, start) = last.expect("an attempt was in flight");
                        place += 1;
                        not_before = started_at + start.backoff;
                    }
                    Action::Start(start) => {
                        prop_assert!(now >= not_before, "{now:?} is before {not_before:?}");
                        prop_assert!(start.due_at <= now);
                        prop_assert!(schedule.bounds(place).contains(&start.backoff), "{place}: {start:?}");
                        last = Some((now, start));
                    }
                }
            }
        }
    }

    /// The same calls give the same actions, and calls that are early change nothing.
    #[test]
    fn a_replay_is_equal_and_early_calls_are_harmless(
        config in configs(),
        script in prop::collection::vec((calls(), 0..5_000_000_000u64), 1..80),
        seed: u64,
    ) {
        let run = |early: bool| {
            let mut host = Host::new(config, seed);
            let mut now = Duration::ZERO;
            let mut trace = Vec::new();
            for &(call, passes) in &script {
                let next = now + ns(passes);
                if early && let Some(due_at) = host.connection.poll_timeout() {
                    let before = due_at.saturating_sub(ns(1)).clamp(now, next);
                    if before < due_at {
                        assert_eq!(host.poll(before), [], "early at {before:?}");
                    }
                }
                now = next;
                let accepted = host.call(now, call);
                let actions = host.poll(now);
                trace.push((accepted, actions, host.connection.state(), host.connection.poll_timeout()));
            }
            trace
        };
        let once = run(false);
        prop_assert_eq!(&run(false), &once);
        prop_assert_eq!(&run(true), &once);
    }

    /// A machine restored under another clock starts when the old one would have, had its
    /// attempt or connection ended, with the same delay; and a second snapshot is the same.
    #[test]
    fn a_snapshot_goes_on_under_another_clock(
        config in configs(),
        script in prop::collection::vec((calls(), 0..5_000_000_000u64), 1..80),
        seed: u64,
        epoch in 0..1u64 << 50,
        draw: u64,
    ) {
        let mut host = Host::new(config, seed);
        let mut now = Duration::ZERO;
        for (call, passes) in script {
            now += ns(passes);
            host.call(now, call);
            host.poll(now);
        }
        let snapshot = host.connection.snapshot(now);
        let mut old = host.connection;
        if let State::Ready { attempt, .. } = old.state() {
            prop_assert_eq!(old.handle_lost(now, attempt), Verdict::Accepted);
        }
        let _ = old.withdraw(now);
        let mut new = Connection::restore(config, ns(epoch), snapshot).expect("valid");
        prop_assert_eq!(new.snapshot(ns(epoch)), snapshot);

        old.connect(now);
        new.connect(ns(epoch));
        let left = old.poll_timeout().expect("wanted") - now;
        prop_assert_eq!(new.poll_timeout(), Some(ns(epoch) + left));
        let backoff = |connection: &mut Connection, at| match connection.poll_action(at, || draw) {
            Some(Action::Start(start)) => Some(start.backoff),
            _ => None,
        };
        let expected = backoff(&mut old, now + left);
        prop_assert!(expected.is_some());
        prop_assert_eq!(backoff(&mut new, ns(epoch) + left), expected);
    }
}

/// Ten thousand clients lose their server together: no 10 ms sees many more than its share.
#[test]
fn ten_thousand_clients_disperse() {
    let mut buckets = vec![0; 41];
    for seed in 0..10_000 {
        let mut host = Host::new(Config::GRPC, seed);
        host.connection.connect(s(0));
        let [Action::Start(start)] = host.poll(s(0))[..] else {
            panic!("a start")
        };
        fail(&mut host.connection, s(0), start.attempt);
        let retry = host.connection.poll_timeout().expect("wanted").as_millis();
        assert!((800..=1_200).contains(&retry), "seed {seed}: {retry}");
        buckets[(retry as usize - 800) / 10] += 1;
    }
    // 250 on average, 15.6 the standard deviation.
    assert!(
        buckets[..40].iter().all(|n| (170..=350).contains(n)),
        "{buckets:?}"
    );
}
