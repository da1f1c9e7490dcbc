//! Section 5 of RFC 6298: when to retransmit.

use core::time::Duration;

use crate::{Estimator, Outcome, Sample};

/// The retransmission timer of RFC 6298, one per connection. It knows times, not data: what was
/// sent stays with you.
///
/// ```text
/// handle_sent, handle_acked ─▶ RetransmitTimer ─▶ poll_timeout: the deadline
/// handle_timeout(now) ───────▶                 ─▶ Expiry: retransmit the earliest
/// ```
///
/// ```
/// # use {core::time::Duration, rto::*};
/// let ms = Duration::from_millis;
/// let mut timer = RetransmitTimer::new(Estimator::new(Config::RFC6298)?);
/// timer.handle_sent(ms(0));
/// assert_eq!(timer.handle_timeout(ms(999)), None); // early is harmless
/// assert!(timer.handle_timeout(ms(1_000)).is_some());
/// assert_eq!(timer.poll_timeout(), Some(ms(3_000))); // then twice as long
/// assert_eq!(
///     timer.explain(ms(1_000)).to_string(),
///     "RTO 2 s = 2 x 1 s initial, backed off once, expires in 2 s",
/// );
/// # Ok::<(), ConfigError>(())
/// ```
///
/// The back-off lives in the estimator and so survives a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmitTimer {
    estimator: Estimator,
    schedule: Schedule,
}

/// What changes beside the estimator, in 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Schedule {
    /// `Some` exactly while the timer runs.
    deadline: Option<Duration>,
    handshake: Handshake,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handshake {
    /// None was sent, or data transmission has begun.
    Over,
    /// A SYN was sent.
    Waiting,
    /// The timer expired on a SYN, and no valid sample has come since (5.7-1).
    Expired,
}

/// What an ACK tells about the data outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It covers no new data: a duplicate, a window update. The timer is not moved.
    None,
    /// It covers new data and more is outstanding: the timer restarts (5.3-1).
    Some,
    /// It covers new data and nothing is left outstanding: the timer stops (5.2-1).
    All,
}

/// The timer has expired: retransmit the earliest unacknowledged segment now (5.4-1).
///
/// If that very segment was retransmitted lately for another reason (later ones were
/// acknowledged), take the earliest one whose last transmission is at least [`rto`](Self::rto)
/// ago: none may go out sooner (5-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// The RTO that ran out.
    pub rto: Duration,
    /// The doubled RTO, with which the timer runs again (5.5-1), (5.6-1).
    pub next_rto: Duration,
    /// How often the RTO was doubled since the last sample, this time included.
    pub backoffs: u32,
}

impl RetransmitTimer {
    /// Makes a stopped timer.
    #[must_use]
    pub const fn new(estimator: Estimator) -> Self {
        let schedule = Schedule {
            deadline: None,
            handshake: Handshake::Over,
        };
        Self {
            estimator,
            schedule,
        }
    }

    /// A segment left, new or repeated, or would have left if the socket had taken it
    /// (D8). Starts a stopped timer and leaves a running one alone (5.1-1).
    pub fn handle_sent(&mut self, now: Duration) {
        let rto = self.estimator.rto();
        self.schedule
            .deadline
            .get_or_insert_with(|| now.saturating_add(rto));
    }

    /// A SYN, or whatever opens the connection, was sent: as [`handle_sent`], and its
    /// expiry will count as one of the handshake (5.7-1).
    ///
    /// [`handle_sent`]: Self::handle_sent
    pub fn handle_handshake_sent(&mut self, now: Duration) {
        if self.schedule.handshake == Handshake::Over {
            self.schedule.handshake = Handshake::Waiting;
        }
        self.handle_sent(now);
    }

    /// Data transmission begins: if the handshake timed out and no valid sample has come
    /// since (D2), the RTO is raised to 3 s (5.7-1). A running timer is not moved
    /// (D18), so call this before telling of the first data sent.
    pub fn handle_data_phase(&mut self) {
        if self.schedule.handshake == Handshake::Expired {
            self.estimator.begin_data_after_lost_handshake();
        }
        self.schedule.handshake = Handshake::Over;
    }

    /// An ACK arrived, with a sample if it gives one. The RTO is recomputed before the
    /// timer restarts with it; without a valid sample it stays backed off (5-N1, D6).
    ///
    /// Returns what became of the sample.
    pub fn handle_acked(
        &mut self,
        now: Duration,
        progress: Progress,
        sample: Option<Sample>,
    ) -> Option<Outcome> {
        if progress != Progress::None {
            self.estimator.acknowledge();
        }
        let outcome = sample.map(|sample| self.handle_sample(sample));
        match progress {
            Progress::None => {}
            Progress::Some => {
                self.schedule.deadline = Some(now.saturating_add(self.estimator.rto())); // (5.3-1)
            }
            Progress::All => self.stop(), // (5.2-1)
        }
        outcome
    }

    /// A sample came by itself, as timestamps give one with every ACK (3-3). A running
    /// timer is not moved (D18).
    pub fn handle_sample(&mut self, sample: Sample) -> Outcome {
        let outcome = self.estimator.sample(sample);
        if !matches!(outcome, Outcome::Rejected(_)) && self.schedule.handshake == Handshake::Expired
        {
            self.schedule.handshake = Handshake::Waiting;
        }
        outcome
    }

    /// A segment was retransmitted because later ones were acknowledged; in place of
    /// [`handle_sent`](Self::handle_sent). That is no timeout, so nothing doubles; only a
    /// stopped timer starts (D10).
    pub fn handle_fast_retransmit(&mut self, now: Duration) {
        self.handle_sent(now);
    }

    /// When the deadline has come, doubles the RTO (5.5-1), restarts from `now` (D7) and asks
    /// you to retransmit. Before it, and while stopped, does nothing. A late call is one
    /// expiry. A deadline that would lie beyond [`Duration::MAX`] never comes.
    #[must_use]
    pub fn handle_timeout(&mut self, now: Duration) -> Option<Expiry> {
        let due = |deadline: &Duration| *deadline <= now && *deadline < Duration::MAX;
        self.schedule.deadline.filter(due)?; // (5-1, D17)
        let rto = self.estimator.rto();
        self.estimator.back_off();
        if self.schedule.handshake == Handshake::Waiting {
            self.schedule.handshake = Handshake::Expired;
        }
        let next_rto = self.estimator.rto();
        self.schedule.deadline = Some(now.saturating_add(next_rto)); // (5.6-1)
        Some(Expiry {
            rto,
            next_rto,
            backoffs: self.estimator.backoffs(),
        })
    }

    /// The deadline, while the timer runs: call [`handle_timeout`](Self::handle_timeout)
    /// then. Every `handle_*` call and [`stop`](Self::stop) may change it.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<Duration> {
        self.schedule.deadline
    }

    /// Stops the timer, as when the connection is over; a later send or ACK of part of the
    /// data starts it again. The RTO and its back-off stay.
    pub fn stop(&mut self) {
        self.schedule.deadline = None;
    }

    /// SRTT, RTTVAR, RTO.
    #[must_use]
    pub const fn estimator(&self) -> &Estimator {
        &self.estimator
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn timer() -> RetransmitTimer {
        RetransmitTimer::new(Estimator::new(Config::RFC6298).unwrap())
    }

    #[test]
    fn the_schedule_is_24_bytes_beside_the_estimator() {
        assert!(size_of::<Schedule>() <= 24);
    }

    #[test]
    fn one_deadline_expires_once() {
        let mut timer = timer();
        timer.handle_sent(ms(0));
        let expiry = Expiry {
            rto: ms(1_000),
            next_rto: ms(2_000),
            backoffs: 1,
        };
        assert_eq!(timer.handle_timeout(ms(1_000)), Some(expiry));
        assert_eq!(timer.handle_timeout(ms(1_000)), None);
        timer.stop();
        assert_eq!(timer.handle_timeout(ms(1_000_000)), None);
        assert_eq!(timer.poll_timeout(), None);
    }

    #[test]
    fn a_late_call_is_one_expiry_and_counts_from_now() {
        let mut timer = timer();
        timer.handle_sent(ms(0));
        assert_eq!(timer.handle_timeout(ms(3_600_000)).unwrap().backoffs, 1);
        assert_eq!(timer.poll_timeout(), Some(ms(3_602_000)));
    }

    #[test]
    fn a_deadline_beyond_the_end_of_time_never_comes() {
        let mut timer = timer();
        let second_last = Duration::MAX - ms(1_001);
        timer.handle_sent(second_last);
        assert!(timer.handle_timeout(Duration::MAX).is_some());
        assert_eq!(timer.poll_timeout(), Some(Duration::MAX));
        assert_eq!(timer.handle_timeout(Duration::MAX), None);
    }

    #[test]
    fn a_sample_before_the_data_phase_spares_it_the_three_seconds() {
        let mut timer = timer();
        timer.handle_handshake_sent(ms(0));
        assert!(timer.handle_timeout(ms(1_000)).is_some());
        timer.handle_handshake_sent(ms(1_000));
        let sample = Some(Sample::measured(ms(100)));
        timer.handle_acked(ms(1_200), Progress::All, sample);
        timer.handle_data_phase();
        assert_eq!(timer.estimator().rto(), ms(1_000));
    }

    #[test]
    fn an_expiry_after_the_sample_counts_again() {
        let mut timer = timer();
        timer.handle_handshake_sent(ms(0));
        assert!(timer.handle_timeout(ms(1_000)).is_some());
        timer.handle_sample(Sample::measured(ms(100)));
        assert!(timer.handle_timeout(ms(4_000)).is_some());
        timer.handle_data_phase();
        assert_eq!(timer.estimator().rto(), ms(3_000));
    }
}
