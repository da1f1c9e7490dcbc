//! The timer of a message that waits for one answer: a request of CoAP or STUN, a flight of the
//! DTLS handshake.
//!
//! These protocols take over the doubling of RFC 6298 and leave out its average: a message is
//! too rare for one. What they have instead is a random factor, an end, or a timeout that
//! outlives the message. One timer does for all of them, its [`Config`] says which it is.
//!
//! Some names here are those of the crate's root as well, `Config` and `Timeout` among them: import
//! the module and write `transaction::Config` where you use both.
//!
//! ```text
//! handle_sent(now, draw) ──▶                   ──▶ poll_timeout: the deadline
//! handle_answered(now) ────▶ TransactionTimer  ──▶ the round trip, if it is unambiguous
//! handle_timeout(now) ─────▶                   ──▶ Timeout: send it again, or it has failed
//! ```
//!
//! ```
//! use {core::time::Duration, rto::transaction::*};
//! let ms = Duration::from_millis; // the clock: milliseconds since boot
//!
//! let mut timer = TransactionTimer::new(Config::RFC7252)?; // CoAP
//! let draw = 1 << 63; // a random number: here the middle, a factor of 1.25
//! timer.handle_sent(ms(0), draw);
//! assert_eq!(timer.poll_timeout(), Some(ms(2_500)));
//! assert!(matches!(timer.handle_timeout(ms(2_500)), Some(Timeout::Retransmit(_))));
//! assert_eq!(timer.poll_timeout(), Some(ms(7_500)));
//! timer.handle_answered(ms(2_600));
//! assert_eq!(timer.poll_timeout(), None);
//!
//! // What would happen without an answer can be seen before.
//! let schedule = timer.schedule(draw);
//! let sends = [0, 2_500, 7_500, 17_500, 37_500].map(ms);
//! assert!(schedule.sends().eq(sends));
//! assert_eq!(schedule.fails_after(), Some(ms(77_500)));
//! # Ok::<(), ConfigError>(())
//! ```

use core::{fmt, time::Duration};

use crate::{
    Rejection, Sample,
    clock::{is_due, nanos},
    explain::{Left, Seconds},
};

mod config;
mod schedule;

pub use config::{Config, ConfigError, LastWait, NextTimeout, Ratio, StaleAfter};
use schedule::Course;
pub use schedule::Schedule;

/// The timer of one message at a time; see [the module](self) for an example. The message stays
/// with you.
///
/// Several messages may wait at once: copy the timer for each of them, unless the timeout is to
/// outlive a message ([`Config::next_timeout`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionTimer {
    config: Config,
    /// What the next message begins with, before the random factor.
    timeout_ns: u64,
    /// Since when nothing waits, unless nothing ever did.
    idle_since_ns: Option<u64>,
    waiting: Option<Waiting>,
}

/// A message without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    sent_ns: u64,
    deadline_ns: u64,
    course: Course,
    /// Whether it was sent again for another reason than this timer.
    repeated: bool,
}

/// The deadline has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// Send the message again now; the timer runs again (P30).
    Retransmit(Retransmission),
    /// The last transmission got no answer either; the timer is stopped (P32).
    Failed(Failure),
}

/// What to send again, and what comes then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    /// How many transmissions there are with this one.
    pub transmissions: u32,
    /// How long it will be waited for the answer.
    pub wait: Duration,
    /// Whether it is the last one.
    pub is_last: bool,
}

/// Nobody answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// How many transmissions there were.
    pub transmissions: u32,
    /// The time since the first one.
    pub elapsed: Duration,
}

impl TransactionTimer {
    /// Makes a stopped timer.
    ///
    /// # Errors
    ///
    /// The first value of `config` that is out of bounds, see [`ConfigError`].
    pub const fn new(config: Config) -> Result<Self, ConfigError> {
        if let Err(error) = config.check() {
            return Err(error);
        }
        Ok(Self {
            config,
            timeout_ns: nanos(config.initial_timeout),
            idle_since_ns: None,
            waiting: None,
        })
    }

    /// A message left for the first time, or would have left if the socket had taken it. Starts
    /// the timer (P30) for the timeout times a random factor (P31): `draw` is a uniform random
    /// number, 0 for the least factor. Where [`Config::spread`] is 0 it does not matter.
    ///
    /// Nothing happens while a message waits.
    pub fn handle_sent(&mut self, now: Duration, draw: u64) {
        if self.waiting.is_some() {
            return;
        }
        let now_ns = nanos(now);
        self.timeout_ns = self.timeout_at(now_ns);
        let course = Course::begin(&self.config, self.timeout_ns, draw);
        self.waiting = Some(Waiting {
            sent_ns: now_ns,
            deadline_ns: now_ns.saturating_add(course.wait_ns()),
            course,
            repeated: false,
        });
    }

    /// What a message sent at this instant begins with, if none waits.
    fn timeout_at(&self, now_ns: u64) -> u64 {
        if self.is_stale(now_ns) {
            nanos(self.config.initial_timeout) // (P37, P43)
        } else {
            self.timeout_ns
        }
    }

    fn is_stale(&self, now_ns: u64) -> bool {
        let Some(idle_since_ns) = self.idle_since_ns else {
            return false;
        };
        let idle_ns = now_ns.saturating_sub(idle_since_ns);
        match self.config.stale_after {
            StaleAfter::Never => false,
            StaleAfter::Idle(most) => idle_ns >= nanos(most),
            StaleAfter::Timeouts(times) => (self.timeout_ns.checked_mul(u64::from(times)))
                .is_some_and(|most_ns| idle_ns >= most_ns),
        }
    }

    /// The message left again for another reason than this timer: the peer repeated its own, or
    /// acknowledged a part. A running timer counts from now, nothing doubles, and the answer
    /// gives no round trip (P44). There is no need to tell of what a [`Timeout`] asked for.
    pub fn handle_retransmitted(&mut self, now: Duration) {
        if let Some(waiting) = &mut self.waiting {
            waiting.deadline_ns = nanos(now).saturating_add(waiting.course.wait_ns());
            waiting.repeated = true;
        }
    }

    /// The answer arrived, or an ACK after which the message need not be sent again: the timer
    /// stops, and [`Config::next_timeout`] says what the next message begins with.
    ///
    /// Returns the round trip, rejected if the message was sent more than once (P38); `None` if no
    /// message waited.
    pub fn handle_answered(&mut self, now: Duration) -> Option<Sample> {
        let waiting = self.waiting?;
        self.stop(now);
        if waiting.course.transmissions() > 1 || waiting.repeated {
            return Some(Sample::rejected(Rejection::Retransmitted)); // the timeout stays (P40)
        }
        let [sent_at, acked_at] = [waiting.sent_ns, nanos(now)].map(Duration::from_nanos);
        let sample = Sample::of_transmission(sent_at, acked_at); // both on a clock of 64 bits
        match (self.config.next_timeout, sample.rtt()) {
            (NextTimeout::Same, _) | (NextTimeout::RoundTrip(_), Err(_)) => {}
            (NextTimeout::Initial, _) => {
                self.timeout_ns = nanos(self.config.initial_timeout); // (P41)
            }
            (NextTimeout::RoundTrip(ratio), Ok(rtt)) => {
                self.timeout_ns = self.bounded(ratio.of(nanos(rtt))); // (P42)
            }
        }
        Some(sample)
    }

    /// When the deadline has come, asks you to send the message again and doubles the wait
    /// (P30), or says that it has failed (P32). Before it, and with no message waiting, does
    /// nothing. A late call is one expiry, and the next one counts from `now`.
    #[must_use]
    pub fn handle_timeout(&mut self, now: Duration) -> Option<Timeout> {
        let now_ns = nanos(now);
        let waiting = self.waiting.as_mut()?;
        if !is_due(waiting.deadline_ns, now_ns) {
            return None; // (P46)
        }
        let Some(course) = waiting.course.next(&self.config) else {
            let failure = Failure {
                transmissions: waiting.course.transmissions(),
                elapsed: Duration::from_nanos(now_ns.saturating_sub(waiting.sent_ns)),
            };
            self.stop(now);
            return Some(Timeout::Failed(failure));
        };
        waiting.course = course;
        waiting.deadline_ns = now_ns.saturating_add(course.wait_ns());
        if self.config.next_timeout != NextTimeout::Same {
            self.timeout_ns = self.bounded(self.timeout_ns.saturating_mul(2)); // (P40)
        }
        Some(Timeout::Retransmit(Retransmission {
            transmissions: course.transmissions(),
            wait: Duration::from_nanos(course.wait_ns()),
            is_last: course.is_last(&self.config),
        }))
    }

    /// The deadline, while a message waits: call [`handle_timeout`](Self::handle_timeout) then.
    /// Every `handle_*` call and [`stop`](Self::stop) may change it.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<Duration> {
        match self.waiting {
            Some(waiting) => Some(Duration::from_nanos(waiting.deadline_ns)),
            None => None,
        }
    }

    /// No answer is waited for any more: the request was cancelled or rejected. What the next
    /// message begins with stays.
    pub const fn stop(&mut self, now: Duration) {
        if self.waiting.is_some() {
            self.waiting = None;
            self.idle_since_ns = Some(nanos(now));
        }
    }

    /// What is known from elsewhere is what the next message begins with (P37, P47), within
    /// [`Config::min_timeout`] and [`Config::max_timeout`]. A waiting message is not touched.
    ///
    /// ```
    /// # use {core::time::Duration, rto::transaction::*};
    /// # let ms = Duration::from_millis;
    /// // STUN: the RTO of an estimator that takes in what `handle_answered` returns.
    /// let mut estimator = rto::Estimator::new(rto::Config {
    ///     initial_rto: ms(500),
    ///     min_rto: ms(500),
    ///     ..rto::Config::RFC6298
    /// })?;
    /// let mut timer = TransactionTimer::new(Config::RFC8489).unwrap();
    /// timer.handle_sent(ms(0), 0);
    /// if let Some(sample) = timer.handle_answered(ms(400)) {
    ///     estimator.sample(sample);
    ///     timer.begin_with(ms(400), estimator.rto());
    /// }
    /// assert_eq!(timer.timeout(), ms(400 + 4 * 200));
    /// # Ok::<(), rto::ConfigError>(())
    /// ```
    pub fn begin_with(&mut self, now: Duration, timeout: Duration) {
        self.timeout_ns = self.bounded(nanos(timeout));
        self.idle_since_ns = Some(nanos(now));
    }

    fn bounded(&self, timeout_ns: u64) -> u64 {
        let (min, max) = (self.config.min_timeout, self.config.max_timeout);
        timeout_ns.max(nanos(min)).min(nanos(max))
    }

    /// What the next message begins with, before the random factor, unless it is stale by
    /// then.
    #[must_use]
    pub const fn timeout(&self) -> Duration {
        Duration::from_nanos(self.timeout_ns)
    }

    /// How often the waiting message was sent, as far as this timer asked for it; 0 if none waits.
    #[must_use]
    pub const fn transmissions(&self) -> u32 {
        match self.waiting {
            Some(waiting) => waiting.course.transmissions(),
            None => 0,
        }
    }

    /// When a message that begins with [`timeout`](Self::timeout) and this draw would be sent,
    /// and when it would fail, if it were never answered (P33).
    #[must_use]
    pub const fn schedule(&self, draw: u64) -> Schedule {
        Schedule::new(self.config, self.timeout_ns, draw)
    }

    /// What the timer waits for and the time left at `now`, in one line:
    /// `transmission 3 of 7 waits 2 s, expires in 1.2 s`.
    #[must_use]
    pub fn explain(&self, now: Duration) -> impl fmt::Display + use<> {
        let timer = *self;
        fmt::from_fn(move |f| {
            let Some(waiting) = timer.waiting else {
                let timeout = Seconds(timer.timeout_at(nanos(now)));
                return write!(f, "nothing waits, the next message begins with {timeout}");
            };
            write!(f, "transmission {}", waiting.course.transmissions())?;
            if let Some(most) = timer.config.transmissions {
                write!(f, " of {most}")?;
            }
            let wait = Seconds(waiting.course.wait_ns());
            let left = Left::until(waiting.deadline_ns, now);
            write!(f, " waits {wait}, {left}")
        })
    }
}
