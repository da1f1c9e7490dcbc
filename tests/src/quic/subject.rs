//! `rto::quic` behind the events of the vectors.

use std::time::Duration;

use rto::{
    Config, Estimator, Sample,
    quic::{self, RoundTrip},
};

use super::{Answer, Event, Pause, Probe, Role, Space};
use crate::{
    model::whole,
    subject::{progress_of, verdict},
    time::to_ns,
};

/// The timer of the crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeTimer(quic::ProbeTimer);

impl ProbeTimer {
    /// Nothing in flight.
    #[must_use]
    pub fn new(role: Role) -> Self {
        Self(match role {
            Role::Client => quic::ProbeTimer::client(fresh()),
            Role::Server => quic::ProbeTimer::server(fresh()),
        })
    }

    /// The timer in one line.
    #[must_use]
    pub fn explain(&self, now: Duration) -> String {
        self.0.explain(now).to_string()
    }

    /// Lets the event happen.
    pub fn apply(&mut self, event: &Event) -> Answer {
        let timer = &mut self.0;
        let (mut outcome, mut probe) = (None, None);
        match *event {
            Event::Sent { at, space } => timer.handle_sent(at, theirs(space)),
            Event::Acked {
                at,
                space,
                progress,
                rtt,
                ack_delay,
            } => {
                let latest = rtt.map(Sample::measured);
                let round_trip = latest.map(|latest| RoundTrip { latest, ack_delay });
                outcome = timer.handle_acked(at, theirs(space), progress_of(progress), round_trip);
            }
            Event::NoneInFlight { at, space } => timer.handle_none_in_flight(at, theirs(space)),
            Event::HandshakeKeys => timer.handle_handshake_keys(),
            Event::Confirmed { max_ack_delay, .. } => timer.handle_confirmed(max_ack_delay),
            Event::Discarded { at, space } => timer.handle_discarded(at, theirs(space)),
            Event::Retry => timer.handle_retry(),
            Event::NewPath => timer.handle_new_path(fresh()),
            Event::PersistentCongestion => timer.handle_persistent_congestion(),
            Event::Paused { reason } => timer.handle_paused(pause(reason)),
            Event::Resumed { at, reason } => timer.handle_resumed(at, pause(reason)),
            Event::Timeout { at } => probe = timer.handle_timeout(at),
        }
        self.answer(outcome, probe)
    }

    fn answer(&self, outcome: Option<rto::Outcome>, probe: Option<quic::Probe>) -> Answer {
        let timer = &self.0;
        let estimator = timer.estimator();
        let (handshake, application) = (quic::Space::Handshake, quic::Space::ApplicationData);
        Answer {
            outcome: outcome.map(verdict),
            probe: probe.map(|probe| Probe {
                space: ours(probe.space),
                spaces: probe.spaces().map(ours).collect(),
                anti_deadlock: probe.anti_deadlock,
            }),
            srtt: estimator.srtt().map(|srtt| whole(srtt.as_nanos())),
            rttvar: estimator.rttvar().map(|rttvar| whole(rttvar.as_nanos())),
            min_rtt_ns: timer.min_rtt().map(to_ns),
            latest_rtt_ns: timer.latest_rtt().map(to_ns),
            pto_count: timer.pto_count(),
            handshake_pto_ns: to_ns(timer.pto(handshake)),
            application_pto_ns: to_ns(timer.pto(application)),
            deadline_ns: timer.poll_timeout().map(to_ns),
        }
    }
}

fn fresh() -> Estimator {
    Estimator::new(Config::RFC9002).expect("the preset is legal")
}

const fn theirs(space: Space) -> quic::Space {
    match space {
        Space::Initial => quic::Space::Initial,
        Space::Handshake => quic::Space::Handshake,
        Space::ApplicationData => quic::Space::ApplicationData,
    }
}

const fn ours(space: quic::Space) -> Space {
    match space {
        quic::Space::Initial => Space::Initial,
        quic::Space::Handshake => Space::Handshake,
        quic::Space::ApplicationData => Space::ApplicationData,
    }
}

const fn pause(reason: Pause) -> quic::Pause {
    match reason {
        Pause::AmplificationLimit => quic::Pause::AmplificationLimit,
        Pause::LossTimer => quic::Pause::LossTimer,
    }
}
