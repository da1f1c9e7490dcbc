//! Random events, at any times or in order.

use std::num::NonZeroU16;

use conformance::rto_vectors::{Covers, Event};
use proptest::collection::{SizeRange, vec};

use super::*;

/// Everything that can happen to a timer, its round trips and its earlier estimates from this
/// strategy. Half of the time the instants are in order, as those of a clock.
pub(super) fn events(
    rtt: impl Strategy<Value = Duration> + Clone,
    count: impl Into<SizeRange>,
) -> impl Strategy<Value = Vec<Event>> {
    (vec(event(rtt), count), any::<bool>()).prop_map(|(mut events, in_order)| {
        if in_order {
            sort(&mut events);
        }
        events
    })
}

fn event(rtt: impl Strategy<Value = Duration> + Clone) -> impl Strategy<Value = Event> {
    let covers = prop_oneof![
        Just(Covers::None),
        Just(Covers::Some),
        instant().prop_map(Covers::SomeSince),
        Just(Covers::All)
    ];
    let undone = prop_oneof![
        instant().prop_map(|at| Event::Retransmitted { at }),
        (instant(), instant()).prop_map(|(at, sent)| Event::Unreachable { at, sent }),
        instant().prop_map(|at| Event::SpuriousTimeout { at }),
        (instant(), [rtt.clone(), rtt.clone(), rtt.clone()]).prop_map(
            |(at, [srtt_before, rttvar_before, rtt])| Event::SampleAfterSpurious {
                at,
                srtt_before,
                rttvar_before,
                rtt,
            }
        ),
    ];
    prop_oneof![
        2 => sample(rtt.clone()),
        1 => (instant(), instant()).prop_map(|(sent, acked)| Event::RoundTrip { sent, acked }),
        3 => instant().prop_map(|at| Event::Sent { at }),
        1 => instant().prop_map(|at| Event::HandshakeSent { at }),
        1 => instant().prop_map(|at| Event::DataPhase { at }),
        3 => (instant(), covers, proptest::option::of(rtt))
            .prop_map(|(at, progress, rtt)| Event::Acked { at, progress, rtt }),
        1 => instant().prop_map(|at| Event::FastRetransmit { at }),
        3 => undone,
        9 => instant().prop_map(|at| Event::Timeout { at }),
        1 => instant().prop_map(|at| Event::Stop { at }),
    ]
}

/// Everything that can happen to an estimator by itself.
pub(super) fn estimator_event(
    rtt: impl Strategy<Value = Duration> + Clone,
) -> impl Strategy<Value = Event> {
    let at = Duration::ZERO;
    prop_oneof![
        4 => sample(rtt.clone()),
        4 => (0_u32..70).prop_map(|times| Event::BackOff { times }),
        4 => (0_u32..4).prop_map(|times| Event::BackOff { times }),
        3 => (0_u32..4).prop_map(|times| Event::UndoBackOff { times }),
        1 => Just(Event::UndoBackOffs),
        1 => Just(Event::Clear),
        1 => (rtt.clone(), rtt.clone()).prop_map(|(srtt, rttvar)| Event::Seed { srtt, rttvar }),
        1 => [rtt.clone(), rtt.clone(), rtt].prop_map(move |[srtt_before, rttvar_before, rtt]| {
            Event::SampleAfterSpurious { at, srtt_before, rttvar_before, rtt }
        }),
    ]
}

/// One of two at most, so that the gains stay powers of two and few bits are needed.
fn sample(rtt: impl Strategy<Value = Duration>) -> impl Strategy<Value = Event> {
    (rtt, 1_u16..=2).prop_map(|(rtt, expected)| Event::Sample {
        rtt,
        expected: NonZeroU16::new(expected).expect("positive"),
    })
}

/// The same, but every other timeout call comes at the deadline, as a host's do.
pub(super) fn punctual(event: &Event, deadline_ns: Option<u128>) -> Event {
    match (event, deadline_ns) {
        (Event::Timeout { at }, Some(due_ns)) if at.as_secs().is_multiple_of(2) => {
            let due_ns = u64::try_from(due_ns).expect("the clock has 64 bits");
            let at = Duration::from_nanos(due_ns);
            Event::Timeout { at }
        }
        _ => event.clone(),
    }
}

/// Whether a sample is in it.
pub(super) const fn samples(event: &Event) -> bool {
    matches!(
        event,
        Event::Sample { .. }
            | Event::RoundTrip { .. }
            | Event::SampleAfterSpurious { .. }
            | Event::Acked { rtt: Some(_), .. }
    )
}

/// When it happens, if it says so.
pub(super) fn at(event: &Event) -> Option<Duration> {
    at_mut(&mut event.clone()).copied()
}

const fn at_mut(event: &mut Event) -> Option<&mut Duration> {
    match event {
        Event::Sent { at }
        | Event::HandshakeSent { at }
        | Event::DataPhase { at }
        | Event::Acked { at, .. }
        | Event::FastRetransmit { at }
        | Event::Retransmitted { at }
        | Event::Unreachable { at, .. }
        | Event::SpuriousTimeout { at }
        | Event::SampleAfterSpurious { at, .. }
        | Event::Timeout { at }
        | Event::Stop { at } => Some(at),
        _ => None,
    }
}

/// Hands the instants out again in order.
fn sort(events: &mut [Event]) {
    let mut instants: Vec<_> = events.iter().filter_map(at).collect();
    instants.sort();
    for (slot, at) in events.iter_mut().filter_map(at_mut).zip(instants) {
        *slot = at;
    }
}
