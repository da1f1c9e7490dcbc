//! Any order of calls, at any times, with any settings, from any start of the clock.

use std::num::NonZeroU32;

use conformance::{
    rto_vectors::{Covers, Event, Subject, Verdict},
    settings::{AfterHandshake, CollapseOn, Settings},
    subject::Rto,
};
use proptest::{collection::vec, prelude::*};
use rto::compact::{Progress, elapsed};

use super::*;

/// Every configuration that the compact estimator takes.
fn settings() -> impl Strategy<Value = Settings> {
    let cap = prop_oneof![1_u64..1 << 31, 1_u64..120_000_000];
    let bounds = cap.prop_flat_map(|cap| (Just(cap), 1..=cap, 1..=cap, 0..=cap));
    let rest = (
        prop_oneof![Just(3_600_000_000_u64), 1_u64..1 << 32],
        proptest::option::of((1_u32..10).prop_map(|n| NonZeroU32::new(n).expect("positive"))),
        prop_oneof![
            Just(AfterHandshake::Raise),
            Just(AfterHandshake::Replace),
            Just(AfterHandshake::Keep)
        ],
        prop_oneof![Just(CollapseOn::OnSample), Just(CollapseOn::OnAnyAck)],
    );
    (bounds, any::<bool>(), rest).prop_map(|((cap, a, b, granularity), ticks, rest)| {
        let (max_sample, clear_after, post_syn, collapse) = rest;
        Settings {
            initial_rto_ns: 1_000 * a.max(b),
            min_rto_ns: 1_000 * a.min(b),
            max_rto_ns: Some(1_000 * cap),
            granularity_ns: if ticks { 1_000 * granularity } else { 0 },
            max_sample_ns: 1_000 * max_sample,
            clear_after,
            post_syn,
            collapse,
            ..Settings::default()
        }
    })
}

/// `count` times, `step` microseconds apart.
fn micros(count: u64, step: u64) -> impl Strategy<Value = Duration> + Clone {
    (0..count).prop_map(move |n| Duration::from_micros(n * step))
}

/// An event, its instants and round trips from these strategies.
fn event(
    instant: impl Strategy<Value = Duration> + Clone,
    rtt: impl Strategy<Value = Duration> + Clone,
) -> impl Strategy<Value = Event> {
    let covers = prop_oneof![
        Just(Covers::None),
        Just(Covers::Some),
        instant.clone().prop_map(Covers::SomeSince),
        Just(Covers::All)
    ];
    prop_oneof![
        2 => rtt.clone().prop_map(Event::sample),
        1 => (instant.clone(), instant.clone()).prop_map(|(sent, acked)| Event::RoundTrip { sent, acked }),
        3 => instant.clone().prop_map(|at| Event::Sent { at }),
        1 => instant.clone().prop_map(|at| Event::HandshakeSent { at }),
        1 => instant.clone().prop_map(|at| Event::DataPhase { at }),
        3 => (instant.clone(), covers, proptest::option::of(rtt.clone()))
            .prop_map(|(at, progress, rtt)| Event::Acked { at, progress, rtt }),
        6 => instant.clone().prop_map(|at| Event::Timeout { at }),
        1 => instant.prop_map(|at| Event::Stop { at }),
    ]
}

/// The clock's whole range, and the same again.
fn anywhere() -> impl Strategy<Value = Event> {
    event(micros(1 << 33, 1), micros(1 << 33, 1))
}

/// Instants in a quarter of the range, so that half of it holds the longest RTO besides; samples
/// whose updates stay whole: multiples of 2^16 microseconds, six at most of three bits each.
fn exact_events() -> impl Strategy<Value = Vec<Event>> {
    vec(event(micros(1 << 30, 1), micros(1 << 10, 1 << 16)), 1..60).prop_map(|mut events| {
        let mut samples = 0;
        events.retain(|event| {
            samples += usize::from(matches!(
                event,
                Event::Sample { .. } | Event::Acked { rtt: Some(_), .. }
            ));
            samples <= 6 && !matches!(event, Event::RoundTrip { .. })
        });
        events
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// No panic, no lost deadline, no expiry out of turn, and the RTO within its bounds.
    #[test]
    fn no_order_of_calls_breaks_the_timer(
        settings in settings(),
        start_us: u32,
        events in vec(anywhere(), 1..100),
    ) {
        let mut compact = Compact::new(&settings, start_us).expect("legal");
        let cap = settings.max_rto_ns.expect("always stated") / 1_000;
        let (floor, cap) = (settings.min_rto_ns / 1_000, cap);
        for event in &events {
            let old = compact;
            let reply = compact.apply(event);
            let (before, after) = (old.timer(), compact.timer());
            let (old_rto, rto) = (before.estimator().rto_us(), after.estimator().rto_us());
            prop_assert!((floor..=cap).contains(&rto.into()), "{event:?}: {after:?}");
            let base = after.estimator().base_rto_us(compact.params());
            prop_assert!((floor..=cap).contains(&base.into()), "{event:?}: {after:?}");
            let now = |at| compact.ticks(at);
            match *event {
                Event::Timeout { at } => {
                    let due = before.poll_timeout().is_some_and(|deadline| {
                        elapsed(deadline, now(at)).is_some()
                    });
                    prop_assert_eq!(reply.expired, due);
                    if due {
                        prop_assert_eq!(u64::from(rto), (2 * u64::from(old_rto)).min(cap));
                        prop_assert_eq!(after.poll_timeout(), Some(now(at).wrapping_add(rto)));
                    } else {
                        prop_assert_eq!(after, before); // early is harmless
                    }
                }
                Event::Sent { at } | Event::HandshakeSent { at } => {
                    let started = Some(now(at).wrapping_add(rto));
                    prop_assert_eq!(after.poll_timeout(), before.poll_timeout().or(started));
                }
                Event::Acked { at, progress: Covers::Some, .. } => {
                    prop_assert_eq!(after.poll_timeout(), Some(now(at).wrapping_add(rto)));
                }
                Event::Acked { at, progress: Covers::SomeSince(sent), .. } => {
                    let recent = elapsed(now(sent), now(at)).is_some_and(|age| age < rto);
                    let from = if recent { sent } else { at };
                    prop_assert_eq!(after.poll_timeout(), Some(now(from).wrapping_add(rto)));
                }
                Event::Acked { progress: Covers::All, .. } | Event::Stop { .. } => {
                    prop_assert_eq!(after.poll_timeout(), None);
                }
                _ => prop_assert_eq!(after.poll_timeout(), before.poll_timeout()),
            }
            match reply.outcome {
                Some(Verdict::Rejected) => prop_assert_eq!(after, before),
                Some(_) => prop_assert_eq!((rto, after.estimator().backoffs()), (base, 0)),
                None => {}
            }
        }
    }

    /// (P70) The results do not depend on where the clock started.
    #[test]
    fn the_start_of_the_clock_changes_nothing(
        settings in settings(),
        starts: (u32, u32),
        events in vec(anywhere(), 1..100),
    ) {
        let new = |start_us| Compact::new(&settings, start_us).expect("legal");
        let (mut one, mut other) = (new(starts.0), new(starts.1));
        let shift = starts.1.wrapping_sub(starts.0);
        for event in &events {
            prop_assert_eq!(one.apply(event), other.apply(event), "{:?}", event);
            prop_assert_eq!(one.timer().estimator(), other.timer().estimator(), "{:?}", event);
            let shifted = one.timer().poll_timeout().map(|due| due.wrapping_add(shift));
            prop_assert_eq!(shifted, other.timer().poll_timeout(), "{:?}", event);
        }
    }

    /// (P79) Where no update rounds and the clock's range suffices, the answers are those of the
    /// full timer.
    #[test]
    fn exact_inputs_give_what_the_full_timer_gives(
        settings in settings(),
        start_us: u32,
        events in exact_events(),
    ) {
        let cap = settings.max_rto_ns.expect("always stated").min(1_000 << 30);
        let settings = Settings {
            initial_rto_ns: settings.initial_rto_ns.min(cap),
            min_rto_ns: settings.min_rto_ns.min(cap),
            max_rto_ns: Some(cap),
            granularity_ns: settings.granularity_ns.min(cap),
            max_sample_ns: 1_000 << 26, // no bit below 2^16 from cutting either
            ..settings
        };
        let mut compact = Compact::new(&settings, start_us).expect("legal");
        let mut full = Rto::new(&settings).expect("legal");
        for event in &events {
            prop_assert_eq!(compact.apply(event), full.apply(event), "{:?}", event);
            let view = compact.view();
            let estimator = full.estimator();
            prop_assert_eq!(view.rto_ns, estimator.rto().as_nanos(), "{:?}", event);
            prop_assert_eq!(view.backoffs, estimator.backoffs());
            prop_assert_eq!(view.srtt, full.view().srtt);
            prop_assert_eq!(view.deadline_ns, full.view().deadline_ns, "{:?}", event);
        }
    }
}

/// One timer through a whole day of losses and answers, over twenty wraps of the clock.
#[test]
fn a_day_of_virtual_time_goes_by_without_a_lost_or_early_expiry() {
    let params = params(Config::RFC6298);
    let mut timer = timer(&params);
    let (mut now_us, mut day) = (0_u32, 0_u64);
    let mut expiries = 0_u32;
    while day < 24 * 3_600_000_000 {
        let sent_us = now_us;
        timer.handle_sent(sent_us);
        for _ in 0..expiries % 7 {
            let deadline = timer.poll_timeout().expect("it runs");
            assert_eq!(
                timer.handle_timeout(&params, deadline.wrapping_sub(1)),
                None
            );
            let expiry = timer.handle_timeout(&params, deadline).expect("it is due");
            assert_eq!(deadline.wrapping_sub(now_us), expiry.rto_us);
            day += u64::from(expiry.rto_us);
            now_us = deadline;
        }
        expiries += 1;
        let rtt_us = 20_000 + expiries % 1_000 * 100;
        now_us = now_us.wrapping_add(rtt_us);
        day += u64::from(rtt_us);
        timer.handle_acked(
            &params,
            now_us,
            Progress::All,
            Some(Sample::measured(rtt_us)),
        );
        assert_eq!(
            (timer.poll_timeout(), timer.estimator().backoffs()),
            (None, 0)
        );
    }
    assert!(expiries > 1_000, "{expiries}");
}
