//! Section 5 of RFC 6298: when to retransmit.

use core::time::Duration;

use crate::{
    Estimator, Event, GiveUp, Limits, Observer, Outcome, Sample, Snapshot,
    clock::{NEVER, is_due, nanos},
    handshake::Handshake,
};

mod telling;

/// The retransmission timer of RFC 6298, one per connection. It knows times, not data: what was
/// sent stays with you.
///
/// ```text
/// handle_sent, handle_acked ─▶ RetransmitTimer ─▶ poll_timeout: the deadline
/// handle_timeout(now) ───────▶                 ─▶ Timeout: retransmit the earliest, or give up
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
/// The back-off lives in the estimator and so survives a stop. A new timer retransmits for ever,
/// see [`with_limits`](Self::with_limits), and tells nobody, see
/// [`observed_by`](Self::observed_by).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmitTimer<O = ()> {
    estimator: Estimator,
    limits: Limits,
    state: State,
    observer: O,
}

/// What changes beside the estimator, in 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    /// When the RTO is over, meaningful while the timer runs; the user timeout may come before it.
    rto_over_ns: u64,
    /// When the data outstanding was first sent, as far as is known; from here R1, R2 and the
    /// user timeout count. [`NEVER`] while nothing is outstanding.
    since_ns: u64,
    /// How often it was retransmitted since then.
    retransmissions: u32,
    running: bool,
    r1_reached: bool,
    handshake: Handshake,
}

/// What an ACK tells about the data outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It covers no new data: a duplicate, a window update. The timer is not moved.
    None,
    /// It covers new data and more is outstanding: the timer restarts (5.3-1).
    Some,
    /// As [`Some`](Self::Some), but the restarted timer counts from when the earliest segment
    /// outstanding was last sent (T6): an RTO after it, or an RTO from now if that is over.
    /// RFC 7765 asks for this where fewer than four segments are outstanding or waiting. A send that
    /// lies ahead counts as one of now.
    SomeSince(Duration),
    /// It covers new data and nothing is left outstanding: the timer stops (5.2-1).
    All,
}

/// The deadline has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// Retransmit the earliest unacknowledged segment now (5.4-1); the timer runs again.
    Retransmit(Expiry),
    /// A limit was reached: close the connection (T8, T9); the timer is stopped.
    GiveUp(GiveUp),
}

/// The timer has expired.
///
/// If the earliest segment was retransmitted lately for another reason (later ones were
/// acknowledged), take the earliest one whose last transmission is at least [`rto`](Self::rto)
/// ago: none may go out sooner (5-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// The RTO in force until now: the one that ran out, unless a sample changed it while the
    /// timer ran (D18).
    pub rto: Duration,
    /// The doubled RTO, with which the timer runs again (5.5-1), (5.6-1).
    pub next_rto: Duration,
    /// How often the RTO was doubled since the last sample, this time included.
    pub backoffs: u32,
    /// Whether R1 was reached now: the route may be stale (T7).
    pub r1: bool,
}

impl RetransmitTimer {
    /// Makes a stopped timer.
    #[must_use]
    pub const fn new(estimator: Estimator) -> Self {
        let state = State {
            rto_over_ns: NEVER,
            since_ns: NEVER,
            retransmissions: 0,
            running: false,
            r1_reached: false,
            handshake: Handshake::Over,
        };
        Self {
            estimator,
            limits: Limits::NONE,
            state,
            observer: (),
        }
    }
}

impl<O: Observer> RetransmitTimer<O> {
    /// The same timer with other limits, in place of [`Limits::NONE`]. If it runs, they hold for it
    /// at once: RFC 5482 lets the peer change the user timeout of a connection (T9).
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same timer, whose events another observer hears.
    pub fn observed_by<P: Observer>(self, observer: P) -> RetransmitTimer<P> {
        RetransmitTimer {
            estimator: self.estimator,
            limits: self.limits,
            state: self.state,
            observer,
        }
    }

    /// A segment left, new or repeated, or would have left if the socket had taken it
    /// (D8). Starts a stopped timer and leaves a running one alone (5.1-1).
    #[inline]
    pub fn handle_sent(&mut self, now: Duration) {
        if !self.state.running {
            self.start(now);
        }
    }

    fn start(&mut self, now: Duration) {
        let now_ns = nanos(now);
        if self.state.since_ns == NEVER {
            self.state.since_ns = now_ns;
        }
        self.state.running = true;
        self.set_deadline(now_ns);
        self.tell(now, |deadline| Event::Armed { deadline });
    }

    #[inline]
    const fn set_deadline(&mut self, from_ns: u64) {
        self.state.rto_over_ns = from_ns.saturating_add(self.estimator.rto_ns());
    }

    /// The deadline is an RTO from an instant, or the user timeout (T9).
    #[inline]
    const fn deadline_ns(&self) -> u64 {
        (self.limits).clamp(self.state.rto_over_ns, self.state.since_ns)
    }

    /// Whether the user timeout comes before the RTO is over.
    pub(crate) const fn is_clamped(&self) -> bool {
        self.deadline_ns() < self.state.rto_over_ns
    }

    /// A SYN, or whatever opens the connection, was sent: as [`handle_sent`], and its
    /// expiry will count as one of the handshake (5.7-1).
    ///
    /// [`handle_sent`]: Self::handle_sent
    pub fn handle_handshake_sent(&mut self, now: Duration) {
        self.state.handshake.sent();
        self.handle_sent(now);
    }

    /// Data transmission begins: if the handshake timed out and no valid sample has come
    /// since (D2), the RTO is raised to 3 s (5.7-1). A running timer is not moved
    /// (D18), so call this before telling of the first data sent.
    pub fn handle_data_phase(&mut self, now: Duration) {
        if self.state.handshake.end() && self.estimator.begin_data_after_lost_handshake() {
            let rto = self.estimator.rto();
            self.tell(now, |_| Event::PostSyn { rto });
        }
    }

    /// An ACK arrived, with a sample if it gives one. The RTO is recomputed before the
    /// timer restarts with it; without a valid sample it stays backed off (5-N1, D6).
    ///
    /// Returns what became of the sample.
    #[inline]
    pub fn handle_acked(
        &mut self,
        now: Duration,
        progress: Progress,
        sample: Option<Sample>,
    ) -> Option<Outcome> {
        if progress != Progress::None {
            self.watch(now, Estimator::acknowledge);
        }
        let outcome = sample.map(|sample| self.handle_sample(now, sample));
        match progress {
            Progress::None => {}
            Progress::Some => self.restart(now, nanos(now)), // (5.3-1)
            Progress::SomeSince(sent_at) => self.restart(now, nanos(sent_at.min(now))), // (T6)
            Progress::All => {
                self.begin_count(NEVER);
                self.stop(now); // (5.2-1)
            }
        }
        outcome
    }

    #[inline]
    fn restart(&mut self, now: Duration, from_ns: u64) {
        self.begin_count(from_ns);
        let was_running = core::mem::replace(&mut self.state.running, true);
        self.set_deadline(from_ns);
        if self.state.rto_over_ns <= nanos(now) {
            self.set_deadline(nanos(now));
        }
        self.tell(now, |deadline| match was_running {
            true => Event::Restarted { deadline },
            false => Event::Armed { deadline },
        });
    }

    /// What the limits count begins anew, for the data outstanding since then, if any.
    #[inline]
    const fn begin_count(&mut self, since_ns: u64) {
        self.state.since_ns = since_ns;
        self.state.retransmissions = 0;
        self.state.r1_reached = false;
    }

    /// A sample came by itself, as timestamps give one with every ACK (3-3). A running
    /// timer is not moved (D18).
    #[inline]
    pub fn handle_sample(&mut self, now: Duration, sample: Sample) -> Outcome {
        self.take_sample(now, sample, |estimator| estimator.sample(sample))
    }

    /// The first sample of data sent after a timeout that proved spurious; `before` is the
    /// [`Estimator::snapshot`] from before that timeout (T4). If it is valid, a running timer
    /// restarts.
    pub fn handle_sample_after_spurious(
        &mut self,
        now: Duration,
        before: Snapshot,
        sample: Sample,
    ) -> Outcome {
        let outcome = self.take_sample(now, sample, |estimator| estimator.reseed(before, sample));
        if !matches!(outcome, Outcome::Rejected(_)) {
            self.move_deadline(now, now);
        }
        outcome
    }

    #[inline]
    fn take_sample(
        &mut self,
        now: Duration,
        sample: Sample,
        take: impl FnOnce(&mut Estimator) -> Outcome,
    ) -> Outcome {
        let backoffs = self.estimator.backoffs();
        let outcome = take(&mut self.estimator);
        if !matches!(outcome, Outcome::Rejected(_)) {
            self.state.handshake.sampled();
            if self.observer.listens() {
                self.tell_sampled(now, sample, backoffs);
            }
        }
        outcome
    }

    /// The segment that an [`Expiry`] asked for left, later than it was asked for: the timer
    /// counts from `now`, so that the next one comes an RTO after it (5.6-1), (5-1). There is no need
    /// to tell of one that left at once.
    pub fn handle_retransmitted(&mut self, now: Duration) {
        if self.state.running {
            self.move_deadline(now, now);
        } else {
            self.start(now);
        }
    }

    /// A segment was retransmitted because later ones were acknowledged; in place of
    /// [`handle_sent`](Self::handle_sent). That is no timeout, so nothing doubles; only a
    /// stopped timer starts (D10).
    pub fn handle_fast_retransmit(&mut self, now: Duration) {
        self.handle_sent(now);
    }

    /// An ICMP message tells that the retransmission of `sent_at`, the last one, met a broken
    /// path: one back-off is undone, and a running timer counts the shorter RTO from `sent_at`
    /// (T3). It may be due at once. Without a back-off nothing happens.
    pub fn handle_unreachable(&mut self, now: Duration, sent_at: Duration) {
        if self.estimator.backoffs() > 0 {
            self.watch(now, Estimator::undo_back_off);
            self.move_deadline(now, sent_at.min(now));
        }
    }

    /// The timeouts since the last sample proved spurious, see [`is_spurious`]: every
    /// back-off is undone, and a running timer counts from now (T4). The next sample of new data
    /// goes to [`handle_sample_after_spurious`](Self::handle_sample_after_spurious).
    ///
    /// [`is_spurious`]: crate::is_spurious
    pub fn handle_spurious_timeout(&mut self, now: Duration) {
        self.watch(now, Estimator::undo_back_offs);
        self.move_deadline(now, now);
    }

    fn move_deadline(&mut self, now: Duration, from: Duration) {
        if self.state.running {
            self.set_deadline(nanos(from));
            self.tell(now, |deadline| Event::Restarted { deadline });
        }
    }

    /// When the deadline has come, doubles the RTO (5.5-1), restarts from `now` (D7) and asks
    /// you to retransmit, or to give up if a limit is reached. Before it, and while stopped, does
    /// nothing. A late call is one expiry. A deadline 584 years after the clock's zero never comes.
    #[must_use]
    pub fn handle_timeout(&mut self, now: Duration) -> Option<Timeout> {
        let (now_ns, deadline_ns) = (nanos(now), self.deadline_ns());
        let State {
            since_ns,
            retransmissions,
            running,
            handshake,
            ..
        } = self.state;
        if !running || !is_due(deadline_ns, now_ns) {
            return None; // (5-1, D17)
        }
        let elapsed = Duration::from_nanos(now_ns.saturating_sub(since_ns));
        let opening = handshake != Handshake::Over;
        if let Some(limit) = self.limits.reached(opening, retransmissions, elapsed) {
            let give_up = GiveUp {
                limit,
                retransmissions,
                elapsed,
            };
            self.begin_count(NEVER);
            self.tell(now, |_| Event::GaveUp(give_up));
            self.stop(now);
            return Some(Timeout::GiveUp(give_up));
        }
        Some(Timeout::Retransmit(self.expire(now, elapsed)))
    }

    fn expire(&mut self, now: Duration, elapsed: Duration) -> Expiry {
        let retransmissions = self.state.retransmissions.saturating_add(1);
        self.state.retransmissions = retransmissions;
        let rto = self.estimator.rto();
        self.tell(now, |_| Event::Expired {
            retransmissions,
            rto,
        });
        self.watch(now, Estimator::back_off);
        self.state.handshake.timed_out();
        self.set_deadline(nanos(now)); // (5.6-1)
        let r1 = !self.state.r1_reached && self.limits.r1.reached(retransmissions, elapsed);
        if r1 {
            self.state.r1_reached = true;
            self.tell(now, |_| Event::R1 { retransmissions });
        }
        self.tell(now, |deadline| Event::Restarted { deadline });
        Expiry {
            rto,
            next_rto: self.estimator.rto(),
            backoffs: self.estimator.backoffs(),
            r1,
        }
    }

    /// The deadline, while the timer runs: call [`handle_timeout`](Self::handle_timeout)
    /// then. Every `handle_*` call and [`stop`](Self::stop) may change it.
    #[must_use]
    #[inline]
    pub const fn poll_timeout(&self) -> Option<Duration> {
        if self.state.running {
            Some(Duration::from_nanos(self.deadline_ns()))
        } else {
            None
        }
    }

    /// Stops the timer, as when the connection is over; a later send or ACK of part of the
    /// data starts it again. The RTO and its back-off stay, and so does what the limits count.
    pub fn stop(&mut self, now: Duration) {
        if self.state.running {
            self.state.running = false;
            self.tell(now, |_| Event::Stopped);
        }
    }

    /// SRTT, RTTVAR, RTO.
    #[must_use]
    pub const fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    /// Whoever hears the events.
    #[must_use]
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// The same, to be changed.
    pub const fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
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
    fn the_state_is_24_bytes_beside_the_estimator() {
        assert_eq!(size_of::<State>(), 24);
    }

    #[test]
    fn one_deadline_expires_once() {
        let mut timer = timer();
        timer.handle_sent(ms(0));
        let expiry = Expiry {
            rto: ms(1_000),
            next_rto: ms(2_000),
            backoffs: 1,
            r1: false,
        };
        let timeout = timer.handle_timeout(ms(1_000));
        assert_eq!(timeout, Some(Timeout::Retransmit(expiry)));
        assert_eq!(timer.handle_timeout(ms(1_000)), None);
        timer.stop(ms(1_000));
        assert_eq!(timer.handle_timeout(ms(1_000_000)), None);
        assert_eq!(timer.poll_timeout(), None);
    }

    #[test]
    fn a_late_call_is_one_expiry_and_counts_from_now() {
        let mut timer = timer();
        timer.handle_sent(ms(0));
        assert!(timer.handle_timeout(ms(3_600_000)).is_some());
        assert_eq!(timer.estimator().backoffs(), 1);
        assert_eq!(timer.poll_timeout(), Some(ms(3_602_000)));
    }

    #[test]
    fn a_deadline_beyond_the_end_of_time_never_comes() {
        let mut timer = timer();
        let end = Duration::from_nanos(u64::MAX);
        timer.handle_sent(end - ms(1_001));
        assert!(timer.handle_timeout(Duration::MAX).is_some());
        assert_eq!(timer.poll_timeout(), Some(end));
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
        timer.handle_data_phase(ms(9_000));
        assert_eq!(timer.estimator().rto(), ms(1_000));
    }

    #[test]
    fn an_expiry_after_the_sample_counts_again() {
        let mut timer = timer();
        timer.handle_handshake_sent(ms(0));
        assert!(timer.handle_timeout(ms(1_000)).is_some());
        timer.handle_sample(ms(1_100), Sample::measured(ms(100)));
        assert!(timer.handle_timeout(ms(4_000)).is_some());
        timer.handle_data_phase(ms(9_000));
        assert_eq!(timer.estimator().rto(), ms(3_000));
    }
}
