//! The crate `rto` as vectors and properties see it.

use std::time::Duration;

use rto::{
    Config, ConfigError, Estimator, Limits, Observer, Outcome, Progress, RetransmitTimer, Sample,
    Sampler, Snapshot, Timeout,
};

use crate::{
    model::whole,
    rto_vectors::{Covers, Event, GaveUp, Limit, Reply, Subject, Verdict, View},
    settings::Settings,
    time::to_ns,
};

/// Timer, estimator and sampler of `rto`, and whoever observes the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rto<O = ()> {
    timer: RetransmitTimer<O>,
    limits: Limits,
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
        let limits = Limits::from(settings.limits);
        Ok(Self {
            timer: RetransmitTimer::new(estimator).with_limits(limits),
            limits,
            sampler: Sampler::new(),
        })
    }

    /// The same, observed.
    #[must_use]
    pub fn observed_by<O: Observer>(self, observer: O) -> Rto<O> {
        Rto {
            timer: self.timer.observed_by(observer),
            limits: self.limits,
            sampler: self.sampler,
        }
    }
}

impl<O: Observer + Clone> Rto<O> {
    /// The estimator inside the timer.
    #[must_use]
    pub const fn estimator(&self) -> &Estimator {
        self.timer.estimator()
    }

    /// Whoever observes the timer.
    #[must_use]
    pub const fn observer(&self) -> &O {
        self.timer.observer()
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
        let observer = self.observer().clone();
        self.timer = RetransmitTimer::new(estimator)
            .with_limits(self.limits)
            .observed_by(observer);
    }

    /// What happens to the timer.
    fn happen(&mut self, event: &Event) -> Reply {
        let mut reply = Reply::default();
        let timer = &mut self.timer;
        match *event {
            Event::Sent { at } => timer.handle_sent(at),
            Event::HandshakeSent { at } => timer.handle_handshake_sent(at),
            Event::DataPhase { at } => timer.handle_data_phase(at),
            Event::Acked { at, progress, rtt } => {
                let sample = rtt.map(Sample::measured);
                let outcome = timer.handle_acked(at, progress_of(progress), sample);
                reply.outcome = outcome.map(verdict);
            }
            Event::FastRetransmit { at } => timer.handle_fast_retransmit(at),
            Event::Retransmitted { at } => timer.handle_retransmitted(at),
            Event::Unreachable { at, sent } => timer.handle_unreachable(at, sent),
            Event::SpuriousTimeout { at } => timer.handle_spurious_timeout(at),
            Event::SampleAfterSpurious {
                at,
                srtt_before: srtt,
                rttvar_before: rttvar,
                rtt,
            } => {
                let (before, sample) = (Snapshot { srtt, rttvar }, Sample::measured(rtt));
                let outcome = timer.handle_sample_after_spurious(at, before, sample);
                reply.outcome = Some(verdict(outcome));
            }
            Event::Timeout { at } => match timer.handle_timeout(at) {
                None => {}
                Some(Timeout::Retransmit(expiry)) => (reply.expired, reply.r1) = (true, expiry.r1),
                Some(Timeout::GiveUp(give_up)) => reply.gave_up = Some(gave_up(give_up)),
            },
            Event::Stop { at } => timer.stop(at),
            _ => unreachable!("it is for the estimator or the sampler"),
        }
        reply
    }
}

impl<O: Observer + Clone> Subject for Rto<O> {
    fn apply(&mut self, event: &Event) -> Reply {
        let mut reply = Reply::default();
        match *event {
            Event::Sample { rtt, expected } => {
                let sample = Sample::measured(rtt).one_of(expected);
                let outcome = self.timer.handle_sample(Duration::ZERO, sample);
                reply.outcome = Some(verdict(outcome));
            }
            Event::RoundTrip { sent, acked } => {
                let sample = Sample::of_transmission(sent, acked);
                reply.outcome = Some(verdict(self.timer.handle_sample(acked, sample)));
            }
            Event::BackOff { times } => {
                self.command(|estimator| (0..times).for_each(|_| estimator.back_off()));
            }
            Event::UndoBackOff { times } => {
                self.command(|estimator| (0..times).for_each(|_| estimator.undo_back_off()));
            }
            Event::UndoBackOffs => self.command(Estimator::undo_back_offs),
            Event::Clear => self.command(Estimator::clear),
            Event::Seed { srtt, rttvar } => {
                self.command(|estimator| estimator.seed(Snapshot { srtt, rttvar }));
            }
            Event::SegmentSent { at, start, end } => self.sampler.handle_sent(at, start..end),
            Event::SegmentAcked { at, upto } => {
                let sample = self.sampler.handle_acked(at, upto);
                reply.sample = sample.and_then(|sample| sample.rtt().ok());
            }
            _ => reply = self.happen(event),
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
        Covers::SomeSince(sent) => Progress::SomeSince(sent),
        Covers::All => Progress::All,
    }
}

/// The end of trying, in plain numbers.
///
/// # Panics
///
/// Never: the clock of `rto` has 64 bits.
#[must_use]
pub fn gave_up(give_up: rto::GiveUp) -> GaveUp {
    GaveUp {
        limit: match give_up.limit {
            rto::Limit::R2 => Limit::R2,
            rto::Limit::UserTimeout => Limit::UserTimeout,
        },
        retransmissions: give_up.retransmissions,
        elapsed_ns: to_ns(give_up.elapsed),
    }
}

pub(crate) const fn verdict(outcome: Outcome) -> Verdict {
    match outcome {
        Outcome::First => Verdict::First,
        Outcome::Accepted => Verdict::Accepted,
        Outcome::Rejected(_) => Verdict::Rejected,
    }
}
