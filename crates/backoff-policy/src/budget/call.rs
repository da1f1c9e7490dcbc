use super::{Admission, Budget, Cost, Outcome};
use crate::Class;
use core::ops::Deref;
use core::time::Duration;

/// One call under a budget: tells it of every attempt, and gives back on drop what the call holds
/// and has not used (B26).
///
/// ```text
/// admit ──Now──▶ the attempt ──┬─▶ succeeded
///   ▲                          └─▶ failed ──▶ retry ──false──▶ give up
///   └────────── wait ◀──true──────────────────┘
/// ```
///
/// `P` points to the budget: a reference, or an `Arc` where the call outlives its maker.
///
/// ```
/// # use {backoff_policy::*, core::time::Duration};
/// static QUOTA: AwsQuota = AwsQuota::standard_2_1(); // shared by every call
/// let s = Duration::from_secs;
///
/// let mut call = Call::new(&QUOTA);
/// assert_eq!(call.admit(s(0), 7), Admission::Now); // the first attempt
/// call.failed(s(1), Class::Throttled);
/// assert!(call.retry(s(1)));
/// assert_eq!(QUOTA.available(), 495);
/// drop(call); // while it waits to try again: the retry never started
/// assert_eq!(QUOTA.available(), 500);
/// ```
#[derive(Debug)]
pub struct Call<P: Deref<Target: Budget>> {
    budget: P,
    state: State,
    /// What the next attempt cost, or the one that runs. `None`: it is the first.
    paid: Option<Cost>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// An attempt may ask to be admitted.
    Ready,
    /// One is admitted, from this instant.
    Admitted(Duration),
    /// One runs, since then.
    Running(Duration),
    /// The last one failed, and nothing is paid for another.
    Failed(Class),
    Succeeded,
}

impl<P: Deref<Target: Budget>> Call<P> {
    /// Begins a call, which has made no attempt yet.
    pub const fn new(budget: P) -> Self {
        Self {
            budget,
            state: State::Ready,
            paid: None,
        }
    }

    /// Asks whether the next attempt may start. [`Admission::Now`] starts it: make it, and tell
    /// how it ends.
    ///
    /// After [`Admission::At`] ask again then; early or late is harmless, and the place is not
    /// taken twice. While an attempt runs, after a success, and after a failure for which
    /// [`retry`](Self::retry) did not say yes, the answer is [`Admission::Rejected`].
    pub fn admit(&mut self, now: Duration, draw: u64) -> Admission {
        let admission = match self.state {
            State::Ready => self.budget.admit(now, draw),
            State::Admitted(at) if now < at => Admission::At(at),
            State::Admitted(_) => Admission::Now,
            State::Running(_) | State::Failed(_) | State::Succeeded => Admission::Rejected,
        };
        match admission {
            Admission::Now => {
                self.state = State::Running(now);
                self.budget.start(now, self.paid);
            }
            Admission::At(at) => self.state = State::Admitted(at),
            Admission::Rejected => {}
        }
        admission
    }

    /// The attempt succeeded, and the call with it. Does nothing if none runs.
    pub fn succeeded(&mut self, now: Duration) {
        self.end(now, Outcome::Succeeded, State::Succeeded);
    }

    /// The attempt failed. Does nothing if none runs.
    pub fn failed(&mut self, now: Duration, class: Class) {
        self.end(now, Outcome::Failed(class), State::Failed(class));
    }

    /// Asks whether the attempt that failed may be followed by another, and pays for that one.
    /// Asking again does not pay twice. Never after [`Class::Permanent`].
    #[must_use]
    pub fn retry(&mut self, now: Duration) -> bool {
        if let State::Failed(class) = self.state
            && class != Class::Permanent
        {
            self.paid = self.budget.withdraw(now, class);
            if self.paid.is_some() {
                self.state = State::Ready;
            }
        }
        self.paid.is_some() && matches!(self.state, State::Ready | State::Admitted(_))
    }

    fn end(&mut self, now: Duration, outcome: Outcome, next: State) {
        if let State::Running(_) = self.state {
            self.state = next;
            self.budget.end(now, outcome, self.paid);
        }
    }
}

impl<P: Deref<Target: Budget>> Drop for Call<P> {
    fn drop(&mut self) {
        match self.state {
            State::Running(since) => self.budget.end(since, Outcome::Dropped, self.paid),
            State::Admitted(_) => self.budget.release(),
            State::Ready | State::Failed(_) | State::Succeeded => {}
        }
        if let (State::Ready | State::Admitted(_), Some(cost)) = (self.state, self.paid) {
            self.budget.refund(cost);
        }
    }
}
