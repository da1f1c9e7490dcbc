//! Any order of calls, at any times, with any settings.

use conformance::{
    model::{Due, Model, Timer},
    rto_vectors::{Covers, Event, Reply, Subject, Verdict, View},
    subject::Rto,
};
use proptest::collection::vec;
use rto::{Collapse, Estimator, Gain, PostSyn, VarianceFloor};

use super::{
    events::{estimator_event, events, punctual, samples},
    *,
};

/// What the timer must do and answer, told from what the event did to the estimator.
fn follow(timer: &mut Timer, event: &Event, before: &View, after: &View, reply: &Reply) -> Due {
    let rto_ns = after.rto_ns;
    if matches!(reply.outcome, Some(Verdict::First | Verdict::Accepted)) {
        timer.sampled();
    }
    match *event {
        Event::Sent { at } | Event::FastRetransmit { at } => timer.sent(at, rto_ns),
        Event::HandshakeSent { at } => timer.handshake_sent(at, rto_ns),
        Event::DataPhase { .. } => _ = timer.begin_data(),
        Event::Acked { at, progress, .. } => timer.acked(at, progress, rto_ns),
        Event::Retransmitted { at } => {
            timer.sent(at, rto_ns);
            timer.moved(at, rto_ns);
        }
        Event::Unreachable { at, sent } if before.backoffs > 0 => {
            timer.moved(sent.min(at), rto_ns);
        }
        Event::SpuriousTimeout { at } | Event::SampleAfterSpurious { at, .. } => {
            timer.moved(at, rto_ns);
        }
        Event::Timeout { at } => {
            let due = timer.timeout(at);
            if matches!(due, Due::Retransmit { .. }) {
                timer.arm(at, rto_ns);
            }
            return due;
        }
        Event::Stop { .. } => timer.stop(),
        _ => {}
    }
    Due::Nothing
}

/// The back-offs that must be left after an event that asked to retransmit or not; `None`
/// where the handshake decides, or whether the estimate was cleared (D9).
fn backoffs_left(settings: &Settings, event: &Event, before: &View, reply: &Reply) -> Option<u32> {
    let collapses = settings.collapse == CollapseOn::OnAnyAck;
    match *event {
        _ if reply.expired => Some(before.backoffs + 1),
        Event::DataPhase { .. } => None,
        Event::SpuriousTimeout { .. } => Some(0),
        Event::Unreachable { .. } => Some(before.backoffs.saturating_sub(1)),
        _ if matches!(reply.outcome, Some(Verdict::First | Verdict::Accepted)) => Some(0),
        Event::Acked { progress, .. } if progress != Covers::None && collapses => {
            let may_be_cleared = before.srtt.is_none() && settings.clear_after.is_some();
            (!may_be_cleared).then_some(0)
        }
        _ => Some(before.backoffs),
    }
}

/// Settings whose samples from [`exact_rtt`] need no bit below 2^-8 ns.
fn exact(settings: Settings, gains: (u32, u32)) -> Settings {
    Settings {
        alpha: (1, 1 << gains.0),
        beta: (1, 1 << gains.1),
        granularity_ns: settings.granularity_ns >> 25 << 25,
        max_sample_ns: 1 << 40,
        ..settings
    }
}

fn exact_rtt() -> impl Strategy<Value = Duration> + Clone {
    (0_u64..1 << 10).prop_map(|n| Duration::from_nanos(n << 25))
}

/// The longest beginning without rounding: an instant has any bits, and eight samples are as many
/// as fit.
fn exact_part(events: &[Event]) -> &[Event] {
    let mut left = 8;
    let end = events.iter().position(|event| {
        left -= i32::from(samples(event));
        left < 0 || matches!(event, Event::RoundTrip { .. })
    });
    &events[..end.unwrap_or(events.len())]
}

/// Both answer alike and look alike, to the nanosecond.
fn agree(rto: &mut Rto, model: &mut Model, event: &Event) -> Result<(), TestCaseError> {
    let event = &punctual(event, rto.view().deadline_ns);
    prop_assert_eq!(rto.apply(event), model.apply(event), "{:?}", event);
    let (ours, exact) = (rto.view(), model.view());
    prop_assert_eq!(ours.rto_ns, exact.rto_ns, "{:?}", event);
    prop_assert_eq!(ours.backoffs, exact.backoffs, "{:?}", event);
    prop_assert_eq!(ours.deadline_ns, exact.deadline_ns, "{:?}", event);
    prop_assert_eq!(ours.srtt.is_some(), exact.srtt.is_some(), "{:?}", event);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// No panic, no lost deadline, no expiry out of turn, no limit missed, and the RTO within its
    /// bounds.
    #[test]
    fn no_order_of_calls_breaks_the_timer(
        settings in settings(),
        events in events(instant(), 1..100),
    ) {
        let mut rto = Rto::new(&settings).expect("legal");
        let mut timer = Timer::new(settings.limits);
        let cap = u128::from(settings.max_rto_ns.unwrap_or(u64::MAX));
        for event in &events {
            let (old, before) = (rto, rto.view());
            let event = &punctual(event, before.deadline_ns);
            let reply = rto.apply(event);
            let after = rto.view();
            prop_assert!(after.rto_ns > 0 && after.rto_ns <= cap, "{event:?}: {after:?}");
            prop_assert!(after.rto_ns >= settings.min_rto_ns.into(), "{event:?}: {after:?}");
            let base = rto.estimator().base_rto().as_nanos();
            prop_assert!(base >= settings.min_rto_ns.into() && base <= cap);
            prop_assert_eq!(after.rto_ns, (base << after.backoffs.min(64)).min(cap));
            let due = follow(&mut timer, event, &before, &after, &reply);
            prop_assert_eq!(after.deadline_ns, timer.deadline_ns, "{:?}", event);
            prop_assert_eq!(reply.expired, matches!(due, Due::Retransmit { .. }));
            prop_assert_eq!(reply.r1, due == Due::Retransmit { r1: true });
            prop_assert_eq!(reply.gave_up.map(Due::GiveUp), matches!(due, Due::GiveUp(_)).then_some(due));
            if let Some(backoffs) = backoffs_left(&settings, event, &before, &reply) {
                prop_assert_eq!(after.backoffs, backoffs, "{:?}", event);
            }
            let nothing_due = matches!(event, Event::Timeout { .. }) && due == Due::Nothing;
            if nothing_due || reply.outcome == Some(Verdict::Rejected) {
                prop_assert_eq!(rto, old, "{:?}", event); // early is harmless
            }
            if !samples(event) && after.srtt.is_some() {
                prop_assert_eq!((after.srtt, after.rttvar), (before.srtt, before.rttvar));
            }
        }
    }

    /// On inputs without rounding, `rto` and the model agree in everything, to the nanosecond.
    #[test]
    fn exact_inputs_give_what_the_model_gives(
        settings in settings(),
        gains in (0_u32..=3, 0_u32..=3),
        events in events(exact_rtt(), 1..100),
    ) {
        let settings = exact(settings, gains);
        let mut rto = Rto::new(&settings).expect("legal");
        let mut model = Model::new(&settings);
        for event in exact_part(&events) {
            agree(&mut rto, &mut model, event)?;
        }
    }

    /// The same for an estimator by itself: seeded, cleared, backed off and undone in any order.
    #[test]
    fn exact_commands_give_what_the_model_gives(
        settings in settings(),
        gains in (0_u32..=3, 0_u32..=3),
        events in vec(estimator_event(exact_rtt()), 1..60),
    ) {
        let settings = exact(settings, gains);
        let mut rto = Rto::new(&settings).expect("legal");
        let mut model = Model::new(&settings);
        for event in exact_part(&events) {
            agree(&mut rto, &mut model, event)?;
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
        events in events(instant(), 2..60),
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
