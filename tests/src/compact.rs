//! The compact estimator and timer of `rto` as vectors and properties see them.

use std::time::Duration;

use rto::{
    Config,
    compact::{Estimator, Params, Progress, RetransmitTimer, Sample, Unsupported},
};

use crate::{
    model::whole,
    rto_vectors::{Covers, Event, Reply, Subject, Vector, View},
    settings::{Limits, Settings},
    subject::verdict,
};

/// Half the range of its clock, in ns.
const HALF_RANGE_NS: u128 = 1_000 << 31;

/// Timer and estimator, on a clock that shows any value when virtual time begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compact {
    params: Params,
    timer: RetransmitTimer,
    start_us: u32,
    /// The latest instant heard of: the deadline is told from there.
    now: Duration,
}

/// Why a vector says nothing about the compact estimator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Inexpressible {
    /// Its settings are refused.
    Settings,
    /// It has limits, which are the host's.
    Limits,
    /// It undoes, seeds or takes several samples per round trip: there is none of that.
    Companions,
    /// It is about the sampler, which has no compact form.
    Sampler,
    /// A time is no whole number of microseconds.
    Nanoseconds,
    /// A sample is above the largest one.
    LargeSample,
    /// Instants are half the range of the clock apart, or more.
    Range,
    /// More back-offs than are counted.
    Backoffs,
}

impl Compact {
    /// Without samples, the timer stopped.
    ///
    /// # Errors
    ///
    /// What the compact estimator refuses.
    pub fn new(settings: &Settings, start_us: u32) -> Result<Self, Unsupported> {
        let params = Params::new(Config::from(settings))?;
        Ok(Self {
            params,
            timer: RetransmitTimer::new(Estimator::new(&params)),
            start_us,
            now: Duration::ZERO,
        })
    }

    /// The timer itself.
    #[must_use]
    pub const fn timer(&self) -> &RetransmitTimer {
        &self.timer
    }

    /// The checked settings.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// What the clock shows: microseconds, the upper bits lost.
    #[must_use]
    pub fn ticks(&self, at: Duration) -> u32 {
        let low = at.as_micros() & u128::from(u32::MAX);
        (self.start_us).wrapping_add(u32::try_from(low).expect("masked"))
    }

    fn progress(&self, covers: Covers) -> Progress {
        match covers {
            Covers::None => Progress::None,
            Covers::Some => Progress::Some,
            Covers::SomeSince(sent) => Progress::SomeSince(self.ticks(sent)),
            Covers::All => Progress::All,
        }
    }

    fn tell(&mut self, at: Duration) -> u32 {
        self.now = at;
        self.ticks(at)
    }

    /// The timer keeps its estimator to itself, so a command to the estimator alone takes
    /// a new timer, which is stopped.
    fn command(&mut self, command: impl FnOnce(&mut Estimator)) {
        let mut estimator = *self.timer.estimator();
        command(&mut estimator);
        self.timer = RetransmitTimer::new(estimator);
    }
}

/// Why the compact estimator cannot say what this vector asks for, if so.
#[must_use]
pub fn inexpressible(vector: &Vector) -> Option<Inexpressible> {
    if Compact::new(&vector.config, 0).is_err() {
        return Some(Inexpressible::Settings);
    }
    if vector.config.limits != Limits::default() {
        return Some(Inexpressible::Limits);
    }
    let (mut instants, mut spans) = (Vec::new(), Vec::new());
    for step in &vector.steps {
        match step.event {
            Event::Sample { rtt, expected } if expected.get() == 1 => spans.push(rtt),
            Event::RoundTrip { sent, acked } => {
                instants.extend([sent, acked]);
                spans.extend(acked.checked_sub(sent));
            }
            Event::Acked { at, progress, rtt } => {
                instants.push(at);
                if let Covers::SomeSince(sent) = progress {
                    instants.push(sent);
                }
                spans.extend(rtt);
            }
            Event::Sent { at }
            | Event::HandshakeSent { at }
            | Event::DataPhase { at }
            | Event::FastRetransmit { at }
            | Event::Timeout { at }
            | Event::Stop { at } => instants.push(at),
            Event::SegmentSent { .. } | Event::SegmentAcked { .. } => {
                return Some(Inexpressible::Sampler);
            }
            Event::BackOff { .. } | Event::Clear => {}
            Event::Sample { .. }
            | Event::UndoBackOff { .. }
            | Event::UndoBackOffs
            | Event::Seed { .. }
            | Event::Retransmitted { .. }
            | Event::Unreachable { .. }
            | Event::SpuriousTimeout { .. }
            | Event::SampleAfterSpurious { .. } => return Some(Inexpressible::Companions),
        }
    }
    let whole = |span: &Duration| span.as_nanos().is_multiple_of(1_000);
    if !instants.iter().chain(&spans).all(whole) {
        return Some(Inexpressible::Nanoseconds);
    }
    let largest = Duration::from_micros(Estimator::MAX_SAMPLE_US.into());
    let limit = Duration::from_nanos(vector.config.max_sample_ns);
    if spans.iter().any(|span| *span.min(&limit) > largest) {
        return Some(Inexpressible::LargeSample);
    }
    let (first, last) = (instants.iter().min(), instants.iter().max());
    if let (Some(first), Some(last)) = (first, last)
        && (*last - *first).as_nanos() >= HALF_RANGE_NS
    {
        return Some(Inexpressible::Range);
    }
    let counts = vector.steps.iter().filter_map(|step| step.expect.backoffs);
    (counts.max() > Some(u16::MAX.into())).then_some(Inexpressible::Backoffs)
}

/// Whole microseconds, as many as fit.
fn micros(span: Duration) -> u32 {
    u32::try_from(span.as_micros()).unwrap_or(u32::MAX)
}

impl Subject for Compact {
    fn apply(&mut self, event: &Event) -> Reply {
        let mut reply = Reply::default();
        let params = self.params;
        match *event {
            Event::Sample { rtt, .. } => {
                let sample = Sample::measured(micros(rtt));
                reply.outcome = Some(verdict(self.timer.handle_sample(&params, sample)));
            }
            Event::RoundTrip { sent, acked } => {
                let sample = Sample::of_transmission(self.ticks(sent), self.ticks(acked));
                reply.outcome = Some(verdict(self.timer.handle_sample(&params, sample)));
            }
            Event::BackOff { times } => {
                self.command(|estimator| (0..times).for_each(|_| estimator.back_off(&params)));
            }
            Event::Clear => self.command(Estimator::clear),
            Event::Sent { at } | Event::FastRetransmit { at } => {
                let now = self.tell(at);
                self.timer.handle_sent(now);
            }
            Event::HandshakeSent { at } => {
                let now = self.tell(at);
                self.timer.handle_handshake_sent(now);
            }
            Event::DataPhase { .. } => self.timer.handle_data_phase(&params),
            Event::Acked { at, progress, rtt } => {
                let (now, progress) = (self.tell(at), self.progress(progress));
                let sample = rtt.map(micros).map(Sample::measured);
                let outcome = self.timer.handle_acked(&params, now, progress, sample);
                reply.outcome = outcome.map(verdict);
            }
            Event::Timeout { at } => {
                let now = self.tell(at);
                reply.expired = self.timer.handle_timeout(&params, now).is_some();
            }
            Event::Stop { .. } => self.timer.stop(),
            _ => unreachable!("it is inexpressible"),
        }
        reply
    }

    fn view(&self) -> View {
        let estimator = self.timer.estimator();
        let nanos = |us: u32| u128::from(us) * 1_000;
        let now_us = self.ticks(self.now);
        let deadline_ns = |due_us: u32| {
            let ahead = i128::from(due_us.wrapping_sub(now_us).cast_signed()) * 1_000;
            (self.now.as_nanos().checked_add_signed(ahead)).expect("no vector has one before zero")
        };
        View {
            srtt: estimator.srtt_us().map(|us| whole(nanos(us))),
            rttvar: estimator.rttvar_us().map(|us| whole(nanos(us))),
            rto_ns: nanos(estimator.rto_us()),
            backoffs: estimator.backoffs().into(),
            deadline_ns: self.timer.poll_timeout().map(deadline_ns),
        }
    }
}
