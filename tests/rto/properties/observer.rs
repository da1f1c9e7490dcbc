//! What an observer hears is the whole story of a timer.

use conformance::{
    rto_vectors::{Reply, Subject},
    subject::Rto,
};
use rto::{Event, GiveUp, Observer};

use super::{events, *};

/// The state of a timer as told by its events, and what the last call told.
#[derive(Clone, Debug)]
struct Listener {
    deadline: Option<Duration>,
    rto: Duration,
    backoffs: u32,
    estimate: Option<(Duration, Duration)>,
    heard: Vec<(Duration, Event)>,
}

impl Listener {
    const fn new(settings: &Settings) -> Self {
        Self {
            deadline: None,
            rto: Duration::from_nanos(settings.initial_rto_ns),
            backoffs: 0,
            estimate: None,
            heard: Vec::new(),
        }
    }
}

impl Observer for Listener {
    fn observe(&mut self, now: Duration, event: Event) {
        self.heard.push((now, event));
        match event {
            Event::Armed { deadline } => {
                assert_eq!(self.deadline.replace(deadline), None, "it ran already");
            }
            Event::Restarted { deadline } => {
                assert!(self.deadline.replace(deadline).is_some(), "it was stopped");
            }
            Event::Stopped => assert!(self.deadline.take().is_some(), "it was stopped already"),
            Event::Expired { rto, .. } => assert_eq!(rto, self.rto, "another one ran out"),
            Event::BackedOff { rto, backoffs } => {
                assert_eq!(backoffs, self.backoffs + 1);
                (self.rto, self.backoffs) = (rto, backoffs);
            }
            Event::Sampled {
                srtt, rttvar, rto, ..
            } => (self.rto, self.estimate) = (rto, Some((srtt, rttvar))),
            Event::Collapsed { rto, undone } => {
                (self.rto, self.backoffs) = (rto, self.backoffs - undone);
            }
            Event::Cleared => assert!(self.estimate.take().is_some(), "nothing to clear"),
            Event::PostSyn { rto } => (self.rto, self.backoffs) = (rto, 0),
            Event::R1 { .. } | Event::GaveUp(_) => {}
            other => panic!("{other:?} is new: what does it say about the state?"),
        }
    }
}

/// What the events of one call say that it answered.
fn told(heard: &[(Duration, Event)]) -> (bool, bool, Option<GiveUp>) {
    let told = |fits: fn(&Event) -> bool| heard.iter().any(|(_, event)| fits(event));
    let gave_up = heard.iter().find_map(|(_, event)| match event {
        Event::GaveUp(give_up) => Some(*give_up),
        _ => None,
    });
    let expired = told(|event| matches!(event, Event::Expired { .. }));
    (
        expired,
        told(|event| matches!(event, Event::R1 { .. })),
        gave_up,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// After every call the state told by the events is the state; every event carries the time of
    /// its call; and an observed timer answers as an unobserved one.
    #[test]
    fn the_events_tell_everything(
        settings in settings(),
        calls in events::events(instant(), 1..100),
    ) {
        let mut plain = Rto::new(&settings).expect("legal");
        let mut observed = plain.observed_by(Listener::new(&settings));
        for call in &calls {
            let call = &events::punctual(call, plain.view().deadline_ns);
            let already = observed.observer().heard.len();
            let reply = observed.apply(call);
            prop_assert_eq!(reply, plain.apply(call), "{:?}", call);
            let (view, listener) = (observed.view(), observed.observer());
            prop_assert_eq!(&view, &plain.view(), "{:?}", call);

            let nanos = |time: Duration| time.as_nanos();
            prop_assert_eq!(listener.deadline.map(nanos), view.deadline_ns, "{:?}", call);
            prop_assert_eq!(nanos(listener.rto), view.rto_ns, "{:?}", call);
            prop_assert_eq!(listener.backoffs, view.backoffs, "{:?}", call);
            let estimator = observed.estimator();
            let estimate = estimator.srtt().zip(estimator.rttvar());
            prop_assert_eq!(listener.estimate, estimate, "{:?}", call);

            let heard = &listener.heard[already..];
            if let Some(at) = events::at(call) {
                prop_assert!(heard.iter().all(|(now, _)| *now == at), "{call:?}: {heard:?}");
            }
            let Reply { expired, r1, gave_up, .. } = reply;
            let (told_expired, told_r1, told_gave_up) = told(heard);
            prop_assert_eq!((told_expired, told_r1), (expired, r1));
            prop_assert_eq!(told_gave_up.map(conformance::subject::gave_up), gave_up);
        }
    }
}
