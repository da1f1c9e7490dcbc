//! The crate `rto` as vectors and properties see it.

use std::time::Duration;

use rto::{Config, ConfigError, Estimator, Outcome, Progress, RetransmitTimer, Sample, Sampler};

use crate::{
    model::whole,
    rto_vectors::{Covers, Event, Reply, Subject, Verdict, View},
    settings::Settings,
};

/// Timer, estimator and sampler of `rto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rto {
    timer: RetransmitTimer,
    sampler: Sampler,
}

impl Rto {
    /// Without samples, the timer stopped.
    ///
    /// # Errors
    ///
    /// What `rto` refuses.
    pub fn new(settings: &Settings) -> Result<Self, ConfigError> {
        let estimator = Estimator::new(Config::from(settings))?;
        Ok(Self {
            timer: RetransmitTimer::new(estimator),
            sampler: Sampler::new(),
        })
    }

    /// The estimator inside the timer.
    #[must_use]
    pub const fn estimator(&self) -> &Estimator {
        self.timer.estimator()
    }

    /// The timer in one line.
    #[must_use]
    pub fn explain(&self, now: Duration) -> String {
        self.timer.explain(now).to_string()
    }

    /// The timer keeps its estimator to itself, so a command to the estimator alone takes
    /// a new timer, which is stopped.
    fn command(&mut self, command: impl FnOnce(&mut Estimator)) {
        let mut estimator = *self.estimator();
        command(&mut estimator);
        self.timer = RetransmitTimer::new(estimator);
    }
}

impl Subject for Rto {
    fn apply(&mut self, event: &Event) -> Reply {
        let mut reply = Reply::default();
        let timer = &mut self.timer;
        match *event {
            Event::Sample { rtt } => {
                reply.outcome = Some(verdict(
                    timer.handle_sample(Duration::ZERO, Sample::measured(rtt)),
                ));
            }
            Event::RoundTrip { sent, acked } => {
                let sample = Sample::of_transmission(sent, acked);
                reply.outcome = Some(verdict(timer.handle_sample(acked, sample)));
            }
            Event::BackOff { times } => {
                self.command(|estimator| (0..times).for_each(|_| estimator.back_off()));
            }
            Event::Clear => self.command(Estimator::clear),
            Event::Sent { at } => timer.handle_sent(at),
            Event::HandshakeSent { at } => timer.handle_handshake_sent(at),
            Event::DataPhase => timer.handle_data_phase(Duration::ZERO),
            Event::Acked { at, progress, rtt } => {
                let sample = rtt.map(Sample::measured);
                let outcome = timer.handle_acked(at, progress_of(progress), sample);
                reply.outcome = outcome.map(verdict);
            }
            Event::FastRetransmit { at } => timer.handle_fast_retransmit(at),
            Event::Timeout { at } => reply.expired = timer.handle_timeout(at).is_some(),
            Event::Stop => timer.stop(Duration::ZERO),
            Event::SegmentSent { at, start, end } => self.sampler.handle_sent(at, start..end),
            Event::SegmentAcked { at, upto } => {
                let sample = self.sampler.handle_acked(at, upto);
                reply.sample = sample.and_then(|sample| sample.rtt().ok());
            }
        }
        reply
    }

    fn view(&self) -> View {
        let estimator = self.estimator();
        View {
            srtt: estimator.srtt().map(|srtt| whole(srtt.as_nanos())),
            rttvar: estimator.rttvar().map(|rttvar| whole(rttvar.as_nanos())),
            rto_ns: estimator.rto().as_nanos(),
            backoffs: estimator.backoffs(),
            deadline_ns: self.timer.poll_timeout().map(|due| due.as_nanos()),
        }
    }
}

pub(crate) const fn progress_of(covers: Covers) -> Progress {
    match covers {
        Covers::None => Progress::None,
        Covers::Some => Progress::Some,
        Covers::All => Progress::All,
    }
}

pub(crate) const fn verdict(outcome: Outcome) -> Verdict {
    match outcome {
        Outcome::First => Verdict::First,
        Outcome::Accepted => Verdict::Accepted,
        Outcome::Rejected(_) => Verdict::Rejected,
    }
}
