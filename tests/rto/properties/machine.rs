//! Any order of calls, at any times, with any settings.

use conformance::{
    model::{Model, NEVER, is_due},
    rto_vectors::{Covers, Event, Subject, Verdict, View},
    subject::Rto,
};
use proptest::collection::vec;
use rto::{Collapse, Estimator, Gain, PostSyn, VarianceFloor};

use super::*;

fn event(rtt: impl Strategy<Value = Duration> + Clone) -> impl Strategy<Value = Event> {
    let covers = prop_oneof![Just(Covers::None), Just(Covers::Some), Just(Covers::All)];
    prop_oneof![
        2 => rtt.clone().prop_map(|rtt| Event::Sample { rtt }),
        1 => (instant(), instant()).prop_map(|(sent, acked)| Event::RoundTrip { sent, acked }),
        3 => instant().prop_map(|at| Event::Sent { at }),
        1 => instant().prop_map(|at| Event::HandshakeSent { at }),
        1 => Just(Event::DataPhase),
        3 => (instant(), covers, proptest::option::of(rtt))
            .prop_map(|(at, progress, rtt)| Event::Acked { at, progress, rtt }),
        1 => instant().prop_map(|at| Event::FastRetransmit { at }),
        6 => instant().prop_map(|at| Event::Timeout { at }),
        1 => Just(Event::Stop),
    ]
}

/// What the timer must do, told from the RTO before and after the event.
fn expected_deadline(before: &View, event: &Event, after: &View) -> Option<u128> {
    let from = |at: Duration, view: &View| Some((at.as_nanos() + view.rto_ns).min(NEVER));
    match *event {
        Event::Sent { at } | Event::HandshakeSent { at } | Event::FastRetransmit { at } => {
            before.deadline_ns.or_else(|| from(at, before))
        }
        Event::Timeout { at } if before.deadline_ns.is_some_and(|due| is_due(due, at)) => {
            from(at, after)
        }
        Event::Acked {
            at,
            progress: Covers::Some,
            ..
        } => from(at, after),
        Event::Acked {
            progress: Covers::All,
            ..
        }
        | Event::Stop => None,
        _ => before.deadline_ns,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// No panic, no lost deadline, no expiry out of turn, and the RTO within its bounds.
    #[test]
    fn no_order_of_calls_breaks_the_timer(
        settings in settings(),
        events in vec(event(instant()), 1..100),
    ) {
        let mut rto = Rto::new(&settings).expect("legal");
        let cap = u128::from(settings.max_rto_ns.unwrap_or(u64::MAX));
        for event in &events {
            let (old, before) = (rto, rto.view());
            let reply = rto.apply(event);
            let after = rto.view();
            prop_assert!(after.rto_ns > 0 && after.rto_ns <= cap, "{event:?}: {after:?}");
            prop_assert!(after.rto_ns >= settings.min_rto_ns.into(), "{event:?}: {after:?}");
            let base = rto.estimator().base_rto().as_nanos();
            prop_assert!(base >= settings.min_rto_ns.into() && base <= cap);
            prop_assert_eq!(after.deadline_ns, expected_deadline(&before, event, &after));
            match *event {
                Event::Timeout { at } => {
                    let due = before.deadline_ns.is_some_and(|due| is_due(due, at));
                    prop_assert_eq!(reply.expired, due);
                    if due {
                        prop_assert_eq!(after.rto_ns, (2 * before.rto_ns).min(cap));
                        prop_assert_eq!(after.backoffs, before.backoffs + 1);
                    } else {
                        prop_assert_eq!(rto, old); // early is harmless
                    }
                }
                Event::RoundTrip { sent, acked } if acked < sent => {
                    prop_assert_eq!(reply.outcome, Some(Verdict::Rejected));
                    prop_assert_eq!(rto, old);
                }
                Event::Sample { .. } | Event::RoundTrip { .. } | Event::Acked { rtt: Some(_), .. } => {
                    prop_assert_eq!((after.rto_ns, after.backoffs), (base, 0));
                    prop_assert!(after.srtt.is_some());
                }
                Event::DataPhase => {
                    prop_assert_eq!((after.srtt, after.rttvar), (before.srtt, before.rttvar));
                }
                Event::Acked { progress, .. } if progress != Covers::None
                    && settings.collapse == CollapseOn::OnAnyAck => {
                    prop_assert_eq!((after.rto_ns, after.backoffs), (base, 0));
                }
                _ => prop_assert_eq!((after.rto_ns, after.backoffs), (before.rto_ns, before.backoffs)),
            }
        }
    }

    /// On inputs without rounding, `rto` and the model agree in everything, to the nanosecond.
    #[test]
    fn exact_inputs_give_what_the_model_gives(
        settings in settings(),
        gains in (0_u32..=3, 0_u32..=3),
        events in vec(event((0_u64..1 << 10).prop_map(|n| Duration::from_nanos(n << 25))), 1..60),
    ) {
        let settings = Settings {
            alpha: (1, 1 << gains.0),
            beta: (1, 1 << gains.1),
            max_sample_ns: 1 << 40, // no bit below 2^25 from cutting either
            ..settings
        };
        let mut rto = Rto::new(&settings).expect("legal");
        let mut model = Model::new(&settings);
        let mut samples = 0;
        for event in &events {
            // An instant has any bits, and eight samples are as many as fit without rounding.
            let sampled = matches!(event, Event::Sample { .. } | Event::Acked { rtt: Some(_), .. });
            samples += usize::from(sampled);
            if samples > 8 || matches!(event, Event::RoundTrip { .. }) {
                break;
            }
            prop_assert_eq!(rto.apply(event), model.apply(event), "{:?}", event);
            let (ours, exact) = (rto.view(), model.view());
            prop_assert_eq!(ours.rto_ns, exact.rto_ns, "{:?}", event);
            prop_assert_eq!(ours.backoffs, exact.backoffs, "{:?}", event);
            prop_assert_eq!(ours.deadline_ns, exact.deadline_ns, "{:?}", event);
            prop_assert_eq!(ours.srtt.is_some(), exact.srtt.is_some(), "{:?}", event);
        }
    }

    /// A back-off never shortens the RTO, doubles it exactly below the cap, and never wraps.
    #[test]
    fn back_off_is_monotone(settings in settings(), rtt in instant(), times in 1_usize..200) {
        let mut estimator = Estimator::new(Config::from(&settings)).expect("legal");
        estimator.sample(rto::Sample::measured(rtt));
        let cap = Duration::from_nanos(settings.max_rto_ns.unwrap_or(u64::MAX));
        for _ in 0..times {
            let before = estimator.rto();
            estimator.back_off();
            prop_assert_eq!(estimator.rto(), (2 * before).min(cap));
            prop_assert!(estimator.rto() >= before);
        }
    }

    /// The same events give the same state, from the start or from a copy half-way.
    #[test]
    fn a_replay_is_equal(
        settings in settings(),
        events in vec(event(instant()), 2..60),
        explained_at in instant(),
    ) {
        let mut whole = Rto::new(&settings).expect("legal");
        let mut copy = whole;
        let half = events.len() / 2;
        let replies: Vec<_> = events.iter().map(|event| whole.apply(event)).collect();
        events[..half].iter().for_each(|event| _ = copy.apply(event));
        let mut again = copy;
        let rest: Vec<_> = events[half..].iter().map(|event| again.apply(event)).collect();
        prop_assert_eq!(&replies[half..], rest);
        prop_assert_eq!(whole, again);
        prop_assert!(!whole.explain(explained_at).is_empty()); // nor does this panic
    }

    /// The constructor takes any values and refuses exactly the illegal ones.
    #[test]
    fn the_constructor_is_total(
        times in [edge(), edge(), edge(), edge(), edge()],
        gains in ((0_u16..5, 0_u16..5), (any::<u16>(), any::<u16>())),
        k in prop_oneof![0_u32..40, any::<u32>()],
    ) {
        let gains = [gains.0, gains.1];
        let [initial_rto, min_rto, max_rto, granularity, max_sample] = times;
        let config = Config {
            initial_rto,
            min_rto,
            max_rto,
            granularity,
            alpha: Gain::new(gains[0].0, gains[0].1),
            beta: Gain::new(gains[1].0, gains[1].1),
            k,
            max_sample,
            clear_after: None,
            variance_floor: VarianceFloor::Term,
            post_syn: PostSyn::Raise,
            collapse: Collapse::OnSample,
        };
        let legal = min_rto <= max_rto
            && (min_rto..=max_rto).contains(&initial_rto)
            && initial_rto > Duration::ZERO
            && (min_rto > Duration::ZERO || granularity > Duration::ZERO)
            && granularity <= max_rto.min(Config::LIMIT)
            && gains.iter().all(|&(num, den)| num > 0 && num <= den)
            && (1..=32).contains(&k)
            && max_sample > Duration::ZERO
            && max_sample <= Config::LIMIT;
        match Estimator::new(config) {
            Ok(estimator) => {
                prop_assert!(legal, "{config:?}");
                prop_assert_eq!(estimator.rto(), initial_rto.min(Duration::from_nanos(u64::MAX)));
            }
            Err(error) => {
                prop_assert!(!legal, "{config:?}: {error}");
                let names_a_rule = ["(2.", "(4-1)", "(D"];
                let message = error.to_string();
                prop_assert!(names_a_rule.iter().any(|rule| message.contains(rule)), "{message}");
            }
        }
        config.deviations().for_each(|deviation| assert!(!deviation.to_string().is_empty()));
    }
}

/// Times around the bounds.
fn edge() -> impl Strategy<Value = Duration> {
    let nanosecond = Duration::from_nanos(1);
    prop_oneof![
        2 => Just(Duration::ZERO),
        2 => Just(nanosecond),
        4 => (1_u64..90_000).prop_map(Duration::from_millis),
        1 => Just(Config::LIMIT - nanosecond),
        2 => Just(Config::LIMIT),
        1 => Just(Config::LIMIT + nanosecond),
        1 => any::<u64>().prop_map(Duration::from_nanos),
        1 => Just(Duration::MAX),
    ]
}
