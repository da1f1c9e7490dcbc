//! A second implementation of RFC 6298 and its companions in exact rational numbers, written
//! from `spec/` alone: slow, obvious, and without a line of `rto`.

mod estimator;
mod sampler;
mod timer;

use std::{num::NonZeroU16, time::Duration};

use crate::{
    rto_vectors::{Covers, Event, Reply, Subject, Verdict, View},
    settings::Settings,
};

use estimator::Estimator;
pub use estimator::{Estimate, gain, whole};
use sampler::Sampler;
pub use timer::{Due, NEVER, Timer, is_due};

/// Estimator, timer and sampler in one.
#[derive(Clone, Debug)]
pub struct Model {
    estimator: Estimator,
    timer: Timer,
    sampler: Sampler,
}

impl Model {
    /// A model without samples, its timer stopped.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self {
            estimator: Estimator::new(settings),
            timer: Timer::new(settings.limits),
            sampler: Sampler::default(),
        }
    }

    /// SRTT and RTTVAR, if there are any.
    #[must_use]
    pub const fn estimate(&self) -> Option<&Estimate> {
        self.estimator.estimate.as_ref()
    }

    fn sample(&mut self, rtt: Duration, expected: NonZeroU16) -> Verdict {
        self.timer.sampled();
        self.estimator.sample(rtt, expected)
    }

    fn acked(&mut self, at: Duration, covers: Covers, rtt: Option<Duration>) -> Option<Verdict> {
        if covers != Covers::None {
            self.estimator.acknowledged();
        }
        let verdict = rtt.map(|rtt| self.sample(rtt, NonZeroU16::MIN));
        self.timer.acked(at, covers, self.estimator.rto_ns());
        verdict
    }

    /// Rule T3.
    fn unreachable(&mut self, at: Duration, sent: Duration) {
        if self.estimator.backoffs > 0 {
            self.estimator.undo_back_offs(1);
            self.timer.moved(sent.min(at), self.estimator.rto_ns());
        }
    }

    fn timeout(&mut self, at: Duration) -> Reply {
        let mut reply = Reply::default();
        match self.timer.timeout(at) {
            Due::Nothing => {}
            Due::Retransmit { r1 } => {
                self.estimator.back_off();
                self.timer.arm(at, self.estimator.rto_ns());
                (reply.expired, reply.r1) = (true, r1);
            }
            Due::GiveUp(gave_up) => reply.gave_up = Some(gave_up),
        }
        reply
    }
}

impl Subject for Model {
    fn apply(&mut self, event: &Event) -> Reply {
        let mut reply = Reply::default();
        let rto_ns = self.estimator.rto_ns();
        match *event {
            Event::Sample { rtt, expected } => reply.outcome = Some(self.sample(rtt, expected)),
            Event::RoundTrip { sent, acked } => {
                let rtt = acked.checked_sub(sent);
                let taken = rtt.map(|rtt| self.sample(rtt, NonZeroU16::MIN));
                reply.outcome = Some(taken.unwrap_or(Verdict::Rejected));
            }
            Event::BackOff { times } => (0..times).for_each(|_| self.estimator.back_off()),
            Event::UndoBackOff { times } => self.estimator.undo_back_offs(times),
            Event::UndoBackOffs => self.estimator.undo_back_offs(u32::MAX),
            Event::Clear => self.estimator.clear(),
            Event::Seed { srtt, rttvar } => self.estimator.seed(srtt, rttvar),
            Event::Sent { at } | Event::FastRetransmit { at } => self.timer.sent(at, rto_ns),
            Event::HandshakeSent { at } => self.timer.handshake_sent(at, rto_ns),
            Event::DataPhase { .. } => {
                if self.timer.begin_data() {
                    self.estimator.begin_data();
                }
            }
            Event::Acked { at, progress, rtt } => reply.outcome = self.acked(at, progress, rtt),
            Event::Retransmitted { at } => {
                self.timer.sent(at, rto_ns);
                self.timer.moved(at, rto_ns);
            }
            Event::Unreachable { at, sent } => self.unreachable(at, sent),
            Event::SpuriousTimeout { at } => {
                self.estimator.undo_back_offs(u32::MAX);
                self.timer.moved(at, self.estimator.rto_ns());
            }
            Event::SampleAfterSpurious {
                at,
                srtt_before,
                rttvar_before,
                rtt,
            } => {
                self.estimator.reseed(srtt_before, rttvar_before, rtt);
                self.timer.sampled();
                self.timer.moved(at, self.estimator.rto_ns());
                reply.outcome = Some(Verdict::Accepted);
            }
            Event::Timeout { at } => return self.timeout(at),
            Event::Stop { .. } => self.timer.stop(),
            Event::SegmentSent { at, start, end } => self.sampler.sent(at, start..end),
            Event::SegmentAcked { at, upto } => reply.sample = self.sampler.acked(at, upto),
        }
        reply
    }

    fn view(&self) -> View {
        let estimate = self.estimate();
        View {
            srtt: estimate.map(|estimate| estimate.srtt.clone()),
            rttvar: estimate.map(|estimate| estimate.rttvar.clone()),
            rto_ns: self.estimator.rto_ns(),
            backoffs: self.estimator.backoffs,
            deadline_ns: self.timer.deadline_ns,
        }
    }
}
