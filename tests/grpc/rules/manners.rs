//! (S13) Whatever a client does for its server's sake, it never starts an attempt before the
//! document's algorithm would, with the same draws and a server that does the same.

use backoff_policy::Series;
use conformance::draws::Draws;
use conformance::grpc::{fail, lose, settle};
use conformance::time::{ms, s};
use grpc_backoff::{Action, Config, Connection, FlapGuard, Reset, Snapshot, Start, TokenBucket};
use proptest::prelude::*;
use std::time::Duration;

/// What the server does to one attempt.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// Fails it so long after its start, if its connect deadline does not.
    Fails(Duration),
    /// Sends SETTINGS so long after its start, and closes after having been up for so long.
    Flaps(Duration, Duration),
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let soon = prop_oneof![Just(0), 0..1_000u64, 0..30_000u64].prop_map(ms);
    let up = prop_oneof![Just(0), 0..100u64, 0..60_000u64].prop_map(ms);
    let turn = prop_oneof![
        3 => soon.prop_map(Turn::Fails),
        2 => (0..19_000u64, up).prop_map(|(after, up)| Turn::Flaps(ms(after), up)),
    ];
    prop::collection::vec(turn, 1..40)
}

/// When the document starts its attempts: its pseudo-code, line by line, with a first delay that
/// is jittered as every other (D1). A lost connection is wanted again at once (S14).
fn document(turns: &[Turn], mut draws: Draws) -> Vec<Duration> {
    let schedule = Config::GRPC.schedule().expect("valid");
    let mut series = Series::new(&schedule);
    let mut now = Duration::ZERO;
    let starts = turns.iter().map(|turn| {
        let start = now;
        let backoff_deadline = start + series.next(&schedule, draws.draw());
        let connect_deadline = backoff_deadline.max(start + s(20));
        now = match *turn {
            Turn::Fails(after) => (start + after).min(connect_deadline).max(backoff_deadline),
            Turn::Flaps(after, up) => {
                series = Series::new(&schedule);
                start + after + up
            }
        };
        start
    });
    starts.collect()
}

/// What a client does for its server's sake.
#[derive(Clone, Copy, Debug)]
enum Manner {
    /// Nothing: the document's algorithm and no more.
    None,
    /// A new run keeps its distance from the last start (D9).
    FlapGuard,
    /// The series restarts after a connection that was up for so long (D9).
    AfterStable(Duration),
    /// It shares a budget with so many others that ask whenever it does (D17).
    Budget(u32, Duration, u32),
    /// Its program is killed after each attempt and each connection, and starts again (D10).
    Restarts,
    /// The same, but it never finds what it saved (D10).
    Forgets,
}

fn manners() -> impl Strategy<Value = Manner> {
    prop_oneof![
        Just(Manner::FlapGuard),
        (1..120u64).prop_map(|stable| Manner::AfterStable(s(stable))),
        (1..4u32, 1..5_000u64, 0..4u32).prop_map(|(capacity, refill, others)| Manner::Budget(
            capacity,
            ms(refill),
            others
        )),
        Just(Manner::Restarts),
    ]
}

/// When a machine with this manner starts its attempts.
fn ours(manner: Manner, turns: &[Turn], mut draws: Draws) -> Vec<Duration> {
    let mut config = Config::GRPC;
    match manner {
        Manner::None => config.flap_guard = FlapGuard::Off,
        Manner::AfterStable(stable) => config.reset = Reset::AfterStable(stable),
        _ => {}
    }
    let mut budget = match manner {
        Manner::Budget(capacity, refill, _) => TokenBucket::new(capacity, refill).ok(),
        _ => None,
    };
    let mut connection = Connection::new(config).expect("valid");
    let mut now = Duration::ZERO;
    let mut starts = Vec::new();
    for turn in turns {
        connection.connect(now);
        let due = connection.poll_timeout().expect("it is wanted").max(now);
        now = match (&mut budget, manner) {
            (Some(budget), Manner::Budget(_, _, others)) => {
                (0..others).for_each(|_| _ = budget.reserve(due));
                budget.reserve(due)
            }
            _ => due,
        };
        let action = connection.poll_action(now, || draws.draw());
        let Some(Action::Start(start)) = action else {
            panic!("{action:?} at {now:?}: {}", connection.explain(now));
        };
        starts.push(now);
        now = end(&mut connection, now, &start, *turn);
        let snapshot = match manner {
            Manner::Restarts => connection
                .snapshot(now)
                .to_string()
                .parse()
                .expect("as written"),
            Manner::Forgets => Snapshot::unknown(&config, 0).expect("valid"),
            _ => continue,
        };
        connection = Connection::restore(config, now, snapshot).expect("valid");
    }
    starts
}

/// Plays the server's part in this attempt, and gives the instant at which that is over.
fn end(connection: &mut Connection, now: Duration, start: &Start, turn: Turn) -> Duration {
    match turn {
        Turn::Fails(after) if now + after < start.deadline => {
            fail(connection, now + after, start.attempt);
            now + after
        }
        Turn::Fails(_) => {
            let abort = connection.poll_action(start.deadline, || unreachable!("no start"));
            assert!(matches!(abort, Some(Action::Abort(_))), "{abort:?}");
            start.deadline
        }
        Turn::Flaps(after, up) => {
            settle(connection, now + after, start.attempt);
            lose(connection, now + after + up, start.attempt);
            now + after + up
        }
    }
}

proptest! {
    /// (S13) Without manners it is the document's algorithm, start by start.
    #[test]
    fn rule_grpc_s13_without_manners_the_starts_are_the_documents(turns in turns(), seed: u64) {
        let draws = Draws::Splitmix64(seed);
        prop_assert_eq!(ours(Manner::None, &turns, draws.clone()), document(&turns, draws));
    }

    /// (S13) With them no start comes sooner.
    #[test]
    fn rule_grpc_s13_no_manner_is_faster_than_the_document(
        manner in manners(), turns in turns(), seed: u64,
    ) {
        let draws = Draws::Splitmix64(seed);
        let (ours, document) = (ours(manner, &turns, draws.clone()), document(&turns, draws));
        for (n, (ours, document)) in ours.iter().zip(&document).enumerate() {
            prop_assert!(ours >= document, "start {n} at {ours:?}, the document's at {document:?}");
        }
    }
}

/// (S13) The comparison can fail: who forgets what it saved is faster than the document, though
/// never faster than a first delay.
#[test]
fn rule_grpc_s13_a_client_that_forgets_is_faster_than_the_document() {
    let turns = [Turn::Fails(ms(0)); 20];
    let forgetful = ours(Manner::Forgets, &turns, Draws::Middle);
    let document = document(&turns, Draws::Middle);
    assert!(forgetful.last() < document.last());
    let gaps = forgetful.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(gaps.into_iter().all(|gap| gap >= ms(800)));
}

/// (D9) A server that sends SETTINGS and closes at once, for a minute: the document dials as fast
/// as the network allows, this client once a second; with a stable time it backs off as if the
/// attempts had failed.
#[test]
fn rule_grpc_d9_a_flapping_server_is_dialled_once_a_second_or_less() {
    let turns = [Turn::Flaps(ms(5), ms(5)); 10_000];
    let minute = |starts: Vec<Duration>| starts.iter().filter(|&&start| start < s(60)).count();
    let draws = Draws::Middle;
    assert_eq!(minute(document(&turns, draws.clone())), 6_000);
    assert_eq!(minute(ours(Manner::FlapGuard, &turns, draws.clone())), 60);
    let stable = Manner::AfterStable(s(10));
    assert_eq!(minute(ours(stable, &turns[..20], draws)), 8);
}
