use super::schedules;
use crate::*;
use core::time::Duration;
use proptest::prelude::*;
use std::string::ToString;

proptest! {
    #[test]
    fn every_delay_lies_within_its_bounds(schedule in schedules(), draws in prop::collection::vec(any::<u64>(), 1..40)) {
        let mut series = Series::new(&schedule);
        for (n, draw) in (0..).zip(draws) {
            let delay = series.next(&schedule, draw);
            prop_assert!(schedule.bounds(n).contains(&delay), "delay {n} {delay:?}");
        }
    }

    #[test]
    fn the_extreme_draws_give_the_bounds_themselves(schedule in schedules(), n in 0..40u32) {
        let (mut low, mut high) = (Series::new(&schedule), Series::new(&schedule));
        for _ in 0..n {
            _ = low.next(&schedule, 0);
            _ = high.next(&schedule, u64::MAX);
        }
        prop_assert_eq!(low.next(&schedule, 0), *schedule.bounds(n).start());
        prop_assert_eq!(high.next(&schedule, u64::MAX), *schedule.bounds(n).end());
    }

    #[test]
    fn ceilings_grow_until_the_cap(schedule in schedules(), n in 0..40u32) {
        let (this, next) = (schedule.ceiling(n), schedule.ceiling(n + 1));
        prop_assert!(this <= next && next <= schedule.cap());
        prop_assert!(*schedule.bounds(n).end() <= schedule.longest());
        let grows = schedule.multiplier.num > schedule.multiplier.den;
        prop_assert!(!grows || this < next || this == schedule.cap());
    }

    #[test]
    fn a_stored_position_resumes_where_it_was(schedule in schedules(), draws in prop::collection::vec(any::<u64>(), 0..10)) {
        let mut series = Series::new(&schedule);
        for draw in draws {
            _ = series.next(&schedule, draw);
        }
        prop_assert_eq!(Series::resume(&schedule, series.current()), series);
    }

    #[test]
    fn a_series_obeys_whatever_schedule_it_is_used_with(one in schedules(), other in schedules(), n in 0..10u32, draw: u64) {
        let mut series = Series::new(&one);
        for _ in 0..n {
            _ = series.next(&one, draw);
        }
        let delay = series.next(&other, draw);
        prop_assert!(delay <= other.longest(), "{delay:?}");
        prop_assert!(delay >= *other.bounds(0).start(), "{delay:?}");
        let limit = Duration::from_nanos(other.limit.get());
        prop_assert!((other.base()..=limit).contains(&series.current()));
    }
}

#[test]
fn nonsense_is_refused_and_named() {
    let s = Duration::from_secs;
    let make = |base, num, den, cap, jitter| {
        Schedule::new(base, Ratio::new(num, den), cap, jitter).map_err(|error| error.to_string())
    };
    let over = Jitter::Proportional(Ratio::new(6, 5));
    let by_zero = Jitter::Proportional(Ratio::new(0, 0));
    for (result, message) in [
        (
            make(s(0), 2, 1, s(1), Jitter::Full),
            "the base is zero (B1)",
        ),
        (
            make(s(2), 2, 1, s(1), Jitter::Full),
            "the cap 1s is below the base 2s (B1)",
        ),
        (
            make(s(1), 4, 5, s(2), Jitter::Full),
            "the multiplier 4/5 is not 1 or more (B1)",
        ),
        (
            make(s(1), 4, 0, s(2), Jitter::Full),
            "the multiplier 4/0 is not 1 or more (B1)",
        ),
        (
            make(s(1), 2, 1, s(2), over),
            "the jitter 6/5 is not in 0..=1 (B1)",
        ),
        (
            make(s(1), 2, 1, s(2), by_zero),
            "the jitter 0/0 is not in 0..=1 (B1)",
        ),
    ] {
        assert_eq!(result.expect_err("refused"), message);
    }
    assert!(make(s(1), 1, 1, s(1), Jitter::None).is_ok());
}

#[test]
fn the_state_of_a_client_is_eight_bytes() {
    assert_eq!(size_of::<Series>(), 8);
    assert_eq!(size_of::<Option<Series>>(), 8);
    assert_eq!(size_of::<Retry>(), 40);
}

#[test]
fn spans_end_at_64_bits() {
    let (long, most) = (Duration::MAX, Duration::from_nanos(u64::MAX));
    let forever = Schedule::new(long, Ratio::new(2, 1), long, Jitter::Equal).expect("valid");
    assert_eq!((forever.base(), forever.cap()), (most, most));
    let ends = Duration::from_nanos(u64::MAX >> 1)..=most;
    assert_eq!(forever.bounds(1), ends);
    let mut series = Series::resume(&forever, long);
    assert_eq!(series.next(&forever, u64::MAX), most);
    assert_eq!(series.current(), most);
}
