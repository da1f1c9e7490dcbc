//! `rto::transaction` behind the events of the vectors.

use std::{
    num::{NonZeroU8, NonZeroU32},
    time::Duration,
};

use rto::transaction::{
    self, Config, ConfigError, LastWait, NextTimeout, Ratio, StaleAfter, Timeout,
};

use super::{Answer, Event, Expiry, FORESEEN, Next, Preset, Settings};
use crate::time::{ns, to_ns};

/// The timer of the crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionTimer(transaction::TransactionTimer);

impl TransactionTimer {
    /// No message waits.
    ///
    /// # Errors
    ///
    /// What the crate refuses.
    pub fn new(settings: &Settings) -> Result<Self, ConfigError> {
        transaction::TransactionTimer::new(settings.into()).map(Self)
    }

    /// The timer in one line.
    #[must_use]
    pub fn explain(&self, now: Duration) -> String {
        self.0.explain(now).to_string()
    }

    /// Lets the event happen.
    pub fn apply(&mut self, event: &Event) -> Answer {
        let timer = &mut self.0;
        let (mut expiry, mut sample, mut draw_ahead) = (None, None, 0);
        match *event {
            Event::Sent { at, draw } => timer.handle_sent(at, draw),
            Event::Answered { at } => sample = timer.handle_answered(at),
            Event::Retransmitted { at } => timer.handle_retransmitted(at),
            Event::BeginWith { at, timeout } => timer.begin_with(at, timeout),
            Event::Stop { at } => timer.stop(at),
            Event::Timeout { at } => expiry = timer.handle_timeout(at),
            Event::Schedule { draw } => draw_ahead = draw,
        }
        let schedule = timer.schedule(draw_ahead);
        Answer {
            expiry: expiry.map(|timeout| match timeout {
                Timeout::Retransmit(again) if again.is_last => Expiry::RetransmitLast,
                Timeout::Retransmit(_) => Expiry::Retransmit,
                Timeout::Failed(_) => Expiry::Failed,
            }),
            rtt_ns: sample.and_then(|sample| sample.rtt().ok()).map(to_ns),
            timeout_ns: to_ns(timer.timeout()),
            transmissions: timer.transmissions(),
            deadline_ns: timer.poll_timeout().map(to_ns),
            sends_ns: schedule.sends().take(FORESEEN).map(to_ns).collect(),
            fails_ns: schedule.fails_after().map(to_ns),
        }
    }
}

impl From<Preset> for Config {
    fn from(preset: Preset) -> Self {
        match preset {
            Preset::Rfc7252 => Self::RFC7252,
            Preset::Rfc8489 => Self::RFC8489,
            Preset::Rfc6347 => Self::RFC6347,
            Preset::Rfc9147 => Self::RFC9147,
        }
    }
}

impl From<&Settings> for Config {
    fn from(settings: &Settings) -> Self {
        let ratio = |(num, den)| Ratio::new(num, den);
        let stale = (settings.stale_after_ns, settings.stale_after_timeouts);
        Self {
            initial_timeout: ns(settings.initial_ns),
            min_timeout: ns(settings.min_ns),
            max_timeout: ns(settings.max_ns),
            spread: ratio(settings.spread),
            transmissions: settings.transmissions.and_then(NonZeroU8::new),
            last_wait: (settings.last_wait_times.and_then(NonZeroU32::new))
                .map_or(LastWait::Doubled, LastWait::Times),
            next_timeout: match settings.next {
                Next::Same => NextTimeout::Same,
                Next::Initial => NextTimeout::Initial,
                Next::RoundTrip(num, den) => NextTimeout::RoundTrip(Ratio::new(num, den)),
            },
            stale_after: match stale {
                (Some(idle), None) => StaleAfter::Idle(ns(idle)),
                (None, Some(times)) => StaleAfter::Timeouts(times),
                (None, None) => StaleAfter::Never,
                (Some(_), Some(_)) => panic!("one kind of staleness at most"),
            },
        }
    }
}
