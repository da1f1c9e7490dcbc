//! What many clients do together: dispersed resets (D15) and shared budgets (D17).

use conformance::draws::{Draws, middle};
use conformance::grpc::{fail, fail_times, lose, machine, settle, started, with};
use conformance::time::{ms, ns, s};
use grpc_backoff::{BudgetError, Connection, State, TokenBucket};
use proptest::prelude::*;
use std::time::Duration;

const WINDOW: Duration = s(15);

/// A machine with nine failures, and the instant at which its wait of 42.9 s began.
fn waiting() -> (Connection, Duration) {
    let mut connection = machine();
    let now = fail_times(&mut connection, 9);
    assert_eq!(connection.poll_timeout(), Some(now + ns(42_949_672_960)));
    (connection, now)
}

/// (D15) The wait ends at a point of the window, and the series has restarted.
#[test]
fn rule_grpc_d15_a_wait_ends_at_a_point_of_the_window() {
    for (draw, point) in [(0, s(0)), (1 << 63, ms(7_500)), (u64::MAX, WINDOW)] {
        let (mut connection, now) = waiting();
        connection.reset_within(now, WINDOW, draw);
        let until = now + point;
        assert_eq!(connection.state(), State::TransientFailure { until });
        assert_eq!(connection.failures(), 0);
        assert_eq!(started(&mut connection, until).backoff, s(1));
    }
}

/// (D15) A wait that ends sooner keeps its end, wanted or not.
#[test]
fn rule_grpc_d15_no_wait_gets_longer() {
    let mut connection = machine();
    fail_times(&mut connection, 1);
    connection.reset_within(ms(100), WINDOW, u64::MAX);
    assert_eq!(connection.poll_timeout(), Some(s(1)));
    assert_eq!(connection.withdraw(ms(200)), None);
    connection.reset_within(ms(300), WINDOW, u64::MAX);
    connection.connect(ms(400));
    assert_eq!(connection.poll_timeout(), Some(s(1)));
}

/// (D15) An attempt in flight goes on. Should it fail, the next one starts at the point, or where
/// that is sooner, when it would have.
#[test]
fn rule_grpc_d15_an_attempt_in_flight_goes_on() {
    let in_flight = || {
        let (mut connection, _) = waiting();
        let now = connection.poll_timeout().expect("it waits");
        let tenth = started(&mut connection, now);
        (connection, now, tenth)
    };
    // It would have waited 68.7 s.
    for (fails_after, next_after) in [(s(1), ms(7_500)), (s(9), s(9))] {
        let (mut connection, now, tenth) = in_flight();
        connection.reset_within(now, WINDOW, middle());
        assert_eq!(connection.poll_timeout(), Some(tenth.deadline));
        fail(&mut connection, now + fails_after, tenth.attempt);
        assert_eq!(connection.poll_timeout(), Some(now + next_after));
        assert_eq!(started(&mut connection, now + next_after).backoff, s(1));
    }
    let (mut connection, now, tenth) = in_flight();
    connection.reset_within(now, s(1_000), u64::MAX);
    fail(&mut connection, now + s(1), tenth.attempt);
    assert_eq!(connection.poll_timeout(), Some(now + tenth.backoff));
}

/// (D15) Of two resets the earlier point counts.
#[test]
fn rule_grpc_d15_a_later_point_takes_nothing_back() {
    let mut connection = machine();
    connection.connect(s(0));
    let first = started(&mut connection, s(0));
    connection.reset(s(0));
    connection.reset_within(s(0), WINDOW, u64::MAX);
    fail(&mut connection, ms(10), first.attempt);
    assert_eq!(connection.poll_timeout(), Some(ms(10)), "at once (D5)");
}

/// (D15) What is READY stays so; its loss begins a new run as ever.
#[test]
fn rule_grpc_d15_a_connection_stays() {
    let mut connection = machine();
    connection.connect(s(0));
    let first = started(&mut connection, s(0));
    settle(&mut connection, s(0), first.attempt);
    connection.reset_within(s(5), WINDOW, u64::MAX);
    assert!(matches!(connection.state(), State::Ready { .. }));
    lose(&mut connection, s(6), first.attempt);
    connection.connect(s(6));
    assert_eq!(connection.poll_timeout(), Some(s(6)));
}

/// (D15) It leads out of GAVE_UP, where nothing starts before the point.
#[test]
fn rule_grpc_d15_one_that_gave_up_waits_for_its_point() {
    let mut connection = with(|config| config.max_attempts = 1.try_into().ok());
    fail_times(&mut connection, 1);
    connection.reset_within(s(60), WINDOW, middle());
    assert_eq!(connection.state(), State::Idle);
    connection.connect(s(60));
    assert_eq!(connection.poll_timeout(), Some(ms(67_500)));
}

/// (D15) A thousand clients that are reset together return over the whole window, evenly.
#[test]
fn rule_grpc_d15_a_fleet_that_is_reset_together_disperses() {
    let mut seconds = [0; 15];
    let mut draws = Draws::Splitmix64(15);
    let (client, now) = waiting();
    for _ in 0..1_500 {
        let mut client = client.clone();
        client.reset_within(now, WINDOW, draws.draw());
        let next = client.poll_timeout().expect("it waits") - now;
        seconds[next.as_secs() as usize] += 1;
    }
    // 100 on average, 9.7 the standard deviation.
    assert!(
        seconds.iter().all(|n| (60..=140).contains(n)),
        "{seconds:?}"
    );
}

/// (D17) So many attempts at once; then one per refill time, each at an instant of its own.
#[test]
fn rule_grpc_d17_a_budget_spaces_what_exceeds_it() {
    let mut budget = TokenBucket::new(3, ms(100)).expect("valid");
    let burst = [(); 6].map(|()| budget.reserve(s(7)));
    let after = |n| s(7) + ms(n);
    assert_eq!(burst, [0, 0, 0, 100, 200, 300].map(after));
    // Nothing is left until 7.3 s; at 7.55 s two are back, and half of the third.
    assert_eq!(budget.reserve(after(300)), after(400));
    let later = [(); 3].map(|()| budget.reserve(after(650)));
    assert_eq!(later, [650, 650, 700].map(after));
}

/// (D17) Nothing accumulates beyond the capacity, however long nobody asks.
#[test]
fn rule_grpc_d17_idle_time_fills_no_more_than_the_bucket() {
    let mut budget = TokenBucket::new(2, s(1)).expect("valid");
    let starts = [(); 3].map(|()| budget.reserve(s(1_000_000)));
    assert_eq!(starts, [s(1_000_000), s(1_000_000), s(1_000_001)]);
}

/// (D17) (D7) At the end of time nothing panics, and what saturates never comes.
#[test]
fn rule_grpc_d17_the_end_of_time_never_comes() {
    let mut budget = TokenBucket::new(u32::MAX, Duration::MAX).expect("valid");
    assert_eq!(budget.reserve(s(1)), s(1));
    let mut budget = TokenBucket::new(1, Duration::MAX).expect("valid");
    assert_eq!(budget.reserve(s(1)), s(1));
    for now in [s(2), Duration::MAX] {
        assert_eq!(budget.reserve(now), Duration::MAX);
    }
}

/// (D17) What makes no budget is refused, by name.
#[test]
fn rule_grpc_d17_no_capacity_and_no_refill_time_are_errors() {
    let refused = |capacity, refill| {
        let error: BudgetError = TokenBucket::new(capacity, refill).expect_err("refused");
        error.to_string()
    };
    assert_eq!(
        refused(0, s(1)),
        "the budget's capacity is 0: no attempt could start (D17)"
    );
    assert_eq!(
        refused(1, s(0)),
        "the budget's refill time is 0 s: it would limit nothing (D17)"
    );
}

proptest! {
    /// (D15) (C4) Whatever has happened: a dispersed reset starts nothing before a plain one would,
    /// and nothing later than none at all.
    #[test]
    fn rule_grpc_d15_a_dispersed_reset_lies_between_a_plain_one_and_none(
        failures in 1..12u32, in_flight: bool, wanted: bool, passes in 0..150u64, window in 0..200u64, draw: u64,
    ) {
        let mut connection = machine();
        let mut now = fail_times(&mut connection, failures);
        let mut attempt = None;
        if in_flight {
            now = connection.poll_timeout().expect("it waits");
            attempt = Some(started(&mut connection, now).attempt);
        }
        now += ms(100 * passes);
        if !wanted {
            let _ = connection.withdraw(now);
        }
        let (mut plain, mut dispersed) = (connection.clone(), connection.clone());
        plain.reset(now);
        dispersed.reset_within(now, s(window), draw);
        let next_start = |mut connection: Connection| {
            if let (Some(attempt), true) = (attempt, wanted) {
                fail(&mut connection, now, attempt);
            }
            connection.connect(now);
            connection.poll_timeout().expect("wanted").max(now)
        };
        let [plain, dispersed, kept] = [plain, dispersed, connection].map(next_start);
        let latest = kept.min(now + s(window));
        prop_assert!((plain..=latest).contains(&dispersed), "{plain:?} {dispersed:?} {kept:?}");
    }

    /// (D17) In any span of time there are at most capacity + elapsed / refill starts; and each is
    /// at the first moment at which a bucket that fills steadily holds a token for it.
    #[test]
    fn rule_grpc_d17_no_window_holds_more_than_the_budget(
        capacity in 1..5u32,
        refill in 1..1_000u64,
        gaps in prop::collection::vec(prop_oneof![3 => Just(0), 2 => 0..1_500u64], 1..60),
    ) {
        let mut budget = TokenBucket::new(capacity, ns(refill)).expect("valid");
        let (refill, full) = (i128::from(refill), i128::from(u64::from(capacity) * refill));
        let (mut now, mut held) = (0, full); // in units of which a token has `refill`
        let (mut starts, mut waiting) = (Vec::new(), Vec::new());
        for gap in gaps {
            now += gap;
            held = full.min(held + i128::from(gap)) - refill;
            let start = budget.reserve(ns(now));
            prop_assert_eq!(start.as_nanos() as i128, i128::from(now) - held.min(0));
            starts.push(start.as_nanos() as i128);
            waiting.extend((start > ns(now)).then_some(start));
        }
        for (first, &from) in starts.iter().enumerate() {
            for (last, &to) in starts.iter().enumerate().skip(first) {
                let allowed = i128::from(capacity) + (to - from) / refill;
                prop_assert!((last - first + 1) as i128 <= allowed, "{from} to {to}");
            }
        }
        prop_assert!(waiting.is_sorted_by(|a, b| a < b), "each has an instant of its own");
    }
}
