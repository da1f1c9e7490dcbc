//! Messages and answers a second time: each wait by its formula, from the first one and the
//! number of transmissions. Written from `spec/rto-family.md` alone.

use std::time::Duration;

use num_bigint::BigInt;
use num_rational::BigRational;

use super::{Answer, Event, Expiry, FORESEEN, Next, Settings};
use crate::model::{NEVER, gain, is_due, whole};

/// Times are whole nanoseconds.
#[derive(Clone, Debug)]
pub struct Model {
    settings: Settings,
    timeout: u128,
    /// Since when no message waits; none before the first.
    idle_since: Option<u128>,
    message: Option<Message>,
}

#[derive(Clone, Debug)]
struct Message {
    sent: u128,
    first_wait: u128,
    transmissions: u32,
    deadline: u128,
    ambiguous: bool,
}

impl Model {
    /// No message waits.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self {
            timeout: settings.initial_ns.into(),
            settings: settings.clone(),
            idle_since: None,
            message: None,
        }
    }

    /// P31.
    fn first_wait(&self, draw: u64) -> u128 {
        let (num, den) = self.settings.spread;
        let spread = BigRational::new(num.into(), den.into());
        let share = BigRational::new(BigInt::from(draw), BigInt::from(1_u128 << 64));
        let factor = whole(1) + spread * share;
        let wait = (whole(self.timeout) * factor).ceil().to_integer();
        (u128::try_from(wait).expect("positive")).min(self.settings.max_ns.into())
    }

    /// The wait after transmission `n`, from 1 on (P30, P32).
    fn wait(&self, first: u128, n: u32) -> u128 {
        match self.settings.last_wait_times {
            Some(times) if self.is_last(n) => first * u128::from(times),
            _ => (first << (n - 1).min(64)).min(self.settings.max_ns.into()),
        }
    }

    fn is_last(&self, n: u32) -> bool {
        self.settings
            .transmissions
            .is_some_and(|most| n >= most.into())
    }

    /// P33: the sends, and the failure if there is an end.
    fn schedule(&self, draw: u64) -> (Vec<u64>, Option<u64>) {
        let first = self.first_wait(draw);
        let until = |n: u32| (1..n).map(|n| self.wait(first, n)).sum::<u128>();
        let last = self.settings.transmissions.map(u32::from);
        let shown = u32::try_from(FORESEEN).expect("small");
        let sends = (1..=last.unwrap_or(shown).min(shown)).map(|n| narrow(until(n)));
        (sends.collect(), last.map(|last| narrow(until(last + 1))))
    }

    fn clamped(&self, timeout: u128) -> u128 {
        timeout.clamp(self.settings.min_ns.into(), self.settings.max_ns.into())
    }

    fn sent(&mut self, now: u128, draw: u64) {
        if self.message.is_some() {
            return;
        }
        let Settings {
            stale_after_ns,
            stale_after_timeouts,
            initial_ns,
            ..
        } = self.settings;
        if let Some(since) = self.idle_since {
            let idle = now.saturating_sub(since);
            let by_time = stale_after_ns.is_some_and(|most| idle >= most.into());
            let times = stale_after_timeouts.map(u128::from);
            if by_time || times.is_some_and(|times| idle >= times * self.timeout) {
                self.timeout = initial_ns.into();
            }
        }
        let first_wait = self.first_wait(draw);
        self.message = Some(Message {
            sent: now,
            first_wait,
            transmissions: 1,
            deadline: (now + self.wait(first_wait, 1)).min(NEVER),
            ambiguous: false,
        });
    }

    fn over(&mut self, now: u128) {
        if self.message.take().is_some() {
            self.idle_since = Some(now);
        }
    }

    fn answered(&mut self, now: u128) -> Option<u64> {
        let message = self.message.clone()?;
        self.over(now);
        if message.ambiguous || message.transmissions > 1 {
            return None;
        }
        let rtt = now.checked_sub(message.sent);
        match (self.settings.next, rtt) {
            (Next::Initial, _) => self.timeout = self.settings.initial_ns.into(),
            (Next::RoundTrip(num, den), Some(rtt)) => {
                let product = (whole(rtt) * gain((num, den))).ceil().to_integer();
                self.timeout = self.clamped(u128::try_from(product).expect("positive"));
            }
            (Next::Same, _) | (Next::RoundTrip(..), None) => {}
        }
        rtt.map(narrow)
    }

    fn expired(&mut self, now: u128) -> Option<Expiry> {
        let message = self.message.clone()?;
        if !is_due(message.deadline, Duration::from_nanos(narrow(now))) {
            return None;
        }
        if self.is_last(message.transmissions) {
            self.over(now);
            return Some(Expiry::Failed);
        }
        let transmissions = message.transmissions + 1;
        let deadline = (now + self.wait(message.first_wait, transmissions)).min(NEVER);
        self.message = Some(Message {
            transmissions,
            deadline,
            ..message
        });
        if self.settings.next != Next::Same {
            self.timeout = self.clamped(2 * self.timeout);
        }
        Some(if self.is_last(transmissions) {
            Expiry::RetransmitLast
        } else {
            Expiry::Retransmit
        })
    }

    /// Lets the event happen.
    pub fn apply(&mut self, event: &Event) -> Answer {
        let (mut expiry, mut rtt_ns, mut draw_ahead) = (None, None, 0);
        match *event {
            Event::Sent { at, draw } => self.sent(nanos(at), draw),
            Event::Answered { at } => rtt_ns = self.answered(nanos(at)),
            Event::Retransmitted { at } => {
                if let Some(mut message) = self.message.take() {
                    let wait = self.wait(message.first_wait, message.transmissions);
                    message.deadline = (nanos(at) + wait).min(NEVER);
                    message.ambiguous = true;
                    self.message = Some(message);
                }
            }
            Event::BeginWith { at, timeout } => {
                self.timeout = self.clamped(timeout.as_nanos());
                self.idle_since = Some(nanos(at));
            }
            Event::Stop { at } => self.over(nanos(at)),
            Event::Timeout { at } => expiry = self.expired(nanos(at)),
            Event::Schedule { draw } => draw_ahead = draw,
        }
        let (sends_ns, fails_ns) = self.schedule(draw_ahead);
        let message = self.message.as_ref();
        Answer {
            expiry,
            rtt_ns,
            timeout_ns: narrow(self.timeout),
            transmissions: message.map_or(0, |message| message.transmissions),
            deadline_ns: message.map(|message| narrow(message.deadline)),
            sends_ns,
            fails_ns,
        }
    }
}

fn narrow(ns: u128) -> u64 {
    u64::try_from(ns.min(NEVER)).expect("bounded")
}

/// An instant on a clock of 64 bits.
fn nanos(at: Duration) -> u128 {
    at.as_nanos().min(NEVER)
}
