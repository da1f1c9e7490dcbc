//! What holds of both machines for every order of calls, against their models.

use conformance::{
    model::whole,
    quic::{self, Event, Pause, ProbeTimer, Role, Space},
    rto_vectors::Covers,
    transaction::{self, Next, Settings, TransactionTimer},
};
use num_traits::Signed;
use proptest::{collection::vec, prelude::*};

use super::*;

/// Any instant, near ones more often, up to the end of time.
fn instant() -> impl Strategy<Value = Duration> + Clone {
    prop_oneof![
        6 => (0_u64..90_000_000).prop_map(Duration::from_micros),
        1 => any::<u64>().prop_map(Duration::from_nanos),
        1 => any::<u64>().prop_map(Duration::from_secs),
        1 => Just(Duration::MAX),
    ]
}

fn space() -> impl Strategy<Value = Space> + Clone {
    prop_oneof![
        2 => Just(Space::Initial),
        2 => Just(Space::Handshake),
        3 => Just(Space::ApplicationData),
    ]
}

fn role() -> impl Strategy<Value = Role> {
    prop_oneof![Just(Role::Client), Just(Role::Server)]
}

/// Any event, with round trips and ACK delays of this kind.
fn quic_event(
    span: impl Strategy<Value = Duration> + Clone + 'static,
) -> impl Strategy<Value = Event> {
    let reason = prop_oneof![Just(Pause::AmplificationLimit), Just(Pause::LossTimer)];
    let progress = prop_oneof![Just(Covers::None), Just(Covers::Some), Just(Covers::All)];
    let rtt = proptest::option::weighted(0.8, span.clone());
    let acked = (instant(), space(), progress, rtt, span.clone());
    prop_oneof![
        6 => (instant(), space()).prop_map(|(at, space)| Event::Sent { at, space }),
        5 => acked.prop_map(|(at, space, progress, rtt, ack_delay)| Event::Acked {
            at, space, progress, rtt, ack_delay,
        }),
        6 => instant().prop_map(|at| Event::Timeout { at }),
        1 => (instant(), space()).prop_map(|(at, space)| Event::NoneInFlight { at, space }),
        1 => Just(Event::HandshakeKeys),
        1 => (instant(), span).prop_map(|(at, max_ack_delay)| Event::Confirmed {
            at, max_ack_delay,
        }),
        1 => (instant(), space()).prop_map(|(at, space)| Event::Discarded { at, space }),
        1 => Just(Event::Retry),
        1 => Just(Event::NewPath),
        1 => Just(Event::PersistentCongestion),
        1 => reason.clone().prop_map(|reason| Event::Paused { reason }),
        2 => (instant(), reason).prop_map(|(at, reason)| Event::Resumed { at, reason }),
    ]
}

/// Spans that leave room for three fraction bits in each of seven updates.
fn coarse() -> impl Strategy<Value = Duration> + Clone {
    prop_oneof![
        9 => (0_u64..800).prop_map(|multiple| Duration::from_nanos(multiple << 22)),
        1 => Just(Duration::MAX), // counts as 3600 s, which has 13 bits to spare
    ]
}

/// Without the round trips after so many.
fn with_few_samples(events: &mut [Event], most: usize) {
    let round_trips = events.iter_mut().filter_map(|event| match event {
        Event::Acked { rtt, .. } => Some(rtt),
        _ => None,
    });
    round_trips
        .filter(|rtt| rtt.is_some())
        .skip(most)
        .for_each(|rtt| *rtt = None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Where no update rounds, crate and model agree to the nanosecond in everything they show.
    #[test]
    fn the_probe_timer_is_its_model(
        role in role(),
        mut events in vec(quic_event(coarse()), 1..80),
    ) {
        with_few_samples(&mut events, 7);
        let (mut timer, mut model) = (ProbeTimer::new(role), quic::Model::new(role));
        for event in &events {
            let (ours, exact) = (timer.apply(event), model.apply(event));
            let ours = quic::Answer { srtt: None, rttvar: None, ..ours };
            let exact = quic::Answer { srtt: None, rttvar: None, ..exact };
            prop_assert_eq!(ours, exact, "{:?}", event);
        }
    }

    /// With any round trips the timeout is never below the formula, and the base less than 2 ns
    /// above it.
    #[test]
    fn a_probe_timeout_is_never_early(
        role in role(),
        mut events in vec(quic_event(instant()), 1..60),
    ) {
        let (mut timer, mut model) = (ProbeTimer::new(role), quic::Model::new(role));
        events.retain(|event| !matches!(event, Event::Timeout { .. })); // they may differ in time
        for event in &events {
            let (ours, _) = (timer.apply(event), model.apply(event));
            let late = whole(ours.handshake_pto_ns.into()) - model.exact_base();
            prop_assert!(!late.is_negative(), "{late} ns: early");
            prop_assert!(late < whole(2), "{late} ns late");
            prop_assert!(ours.application_pto_ns >= ours.handshake_pto_ns);
        }
    }

    /// Whatever happened, the deadline is the first instant at which the timer expires, and the
    /// next one lies after it.
    #[test]
    fn a_probe_timer_expires_at_its_deadline(
        role in role(),
        events in vec(quic_event(instant()), 1..60),
    ) {
        let mut timer = ProbeTimer::new(role);
        for event in &events {
            let answer = timer.apply(event);
            prop_assert!(answer.handshake_pto_ns >= 1_000_000, "G");
            prop_assert!(!timer.explain(Duration::ZERO).is_empty());
            let Some(deadline_ns) = answer.deadline_ns else {
                let mut never = timer;
                let late = never.apply(&Event::Timeout { at: Duration::MAX });
                prop_assert_eq!((late.probe, never), (None, timer));
                continue;
            };
            let at = |ns: u64| Event::Timeout { at: Duration::from_nanos(ns) };
            let mut early = timer;
            prop_assert_eq!(early.apply(&at(deadline_ns - 1)).probe, None);
            prop_assert_eq!(early, timer, "an early call changes nothing");
            let due = timer.clone().apply(&at(deadline_ns));
            prop_assert_eq!(due.probe.is_some(), deadline_ns < u64::MAX);
            if let Some(probe) = due.probe {
                prop_assert!(probe.spaces.contains(&probe.space));
                prop_assert_eq!(due.pto_count, answer.pto_count.saturating_add(1));
                prop_assert!(due.deadline_ns > Some(deadline_ns));
            }
        }
    }
}

/// Every legal configuration in plain numbers.
fn settings() -> impl Strategy<Value = Settings> {
    let most = 1_u64 << 47;
    let times = prop_oneof![
        3 => [1..=120_000_000_000_u64, 1..=120_000_000_000, 1..=120_000_000_000],
        1 => [1..=most, 1..=most, 1..=most],
    ];
    let ratio = || prop_oneof![Just((1, 2)), Just((3, 2)), (1..=u16::MAX, 1..=u16::MAX)];
    let next = prop_oneof![
        Just(Next::Same),
        Just(Next::Initial),
        ratio().prop_map(|(num, den)| Next::RoundTrip(num, den))
    ];
    let stale = prop_oneof![
        Just((None, None)),
        instant().prop_map(|idle| (u64::try_from(idle.as_nanos()).ok(), None)),
        (10..=u32::MAX).prop_map(|times| (None, Some(times))),
        (10..=20_u32).prop_map(|times| (None, Some(times))),
    ];
    let spread = prop_oneof![Just((0, 1)), ratio()];
    let end = proptest::option::of(prop_oneof![1..=9_u8, 1..=u8::MAX]);
    let last = proptest::option::of(prop_oneof![1..=20_u32, 1..=u32::MAX]);
    (times, spread, end, last, next, stale).prop_map(
        |(mut times, spread, transmissions, last_wait_times, next, stale)| {
            times.sort_unstable();
            let [min_ns, initial_ns, max_ns] = times;
            let (stale_after_ns, stale_after_timeouts) = stale;
            Settings {
                initial_ns,
                min_ns,
                max_ns,
                spread,
                transmissions,
                last_wait_times,
                next,
                stale_after_ns,
                stale_after_timeouts,
            }
        },
    )
}

fn transaction_event() -> impl Strategy<Value = transaction::Event> {
    use transaction::Event;
    let draw = || prop_oneof![Just(0), Just(u64::MAX), any::<u64>()];
    prop_oneof![
        4 => (instant(), draw()).prop_map(|(at, draw)| Event::Sent { at, draw }),
        6 => instant().prop_map(|at| Event::Timeout { at }),
        2 => instant().prop_map(|at| Event::Answered { at }),
        1 => instant().prop_map(|at| Event::Retransmitted { at }),
        1 => instant().prop_map(|at| Event::Stop { at }),
        1 => (instant(), instant()).prop_map(|(at, timeout)| Event::BeginWith { at, timeout }),
        1 => draw().prop_map(|draw| Event::Schedule { draw }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Crate and model agree to the nanosecond, for any settings and any order of calls.
    #[test]
    fn the_transaction_timer_is_its_model(
        settings in settings(),
        events in vec(transaction_event(), 1..60),
    ) {
        let mut timer = TransactionTimer::new(&settings).expect("legal");
        let mut model = transaction::Model::new(&settings);
        for event in &events {
            prop_assert_eq!(timer.apply(event), model.apply(event), "{:?}", event);
            prop_assert!(!timer.explain(Duration::ZERO).is_empty());
        }
    }

    /// Run at its deadlines, a message is sent and fails as its schedule says.
    #[test]
    fn a_schedule_is_what_happens(settings in settings(), draw in any::<u64>()) {
        use transaction::Event;
        let mut timer = TransactionTimer::new(&settings).expect("legal");
        let foreseen = timer.apply(&Event::Schedule { draw });
        let mut now = Duration::ZERO;
        let mut answer = timer.apply(&Event::Sent { at: now, draw });
        let mut sends = vec![0];
        while sends.len() < transaction::FORESEEN {
            let deadline_ns = answer.deadline_ns.expect("it waits");
            now = Duration::from_nanos(deadline_ns);
            let early = Event::Timeout { at: now - NANOSECOND };
            prop_assert_eq!(timer.apply(&early).expiry, None);
            answer = timer.apply(&Event::Timeout { at: now });
            if answer.deadline_ns.is_none() || answer.expiry.is_none() {
                let end = Some(answer.deadline_ns.unwrap_or(deadline_ns));
                prop_assert_eq!(foreseen.fails_ns, end);
                break;
            }
            sends.push(deadline_ns);
        }
        prop_assert_eq!(sends, foreseen.sends_ns);
    }
}
