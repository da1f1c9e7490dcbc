//! Section 5 and the limits, for any estimator: whoever asks says what its RTO is.

use std::time::Duration;

use crate::{
    rto_vectors::{Covers, GaveUp, Limit},
    settings::{Limits, Threshold},
};

/// The end of the clock in ns: a deadline there never comes (D17).
pub const NEVER: u128 = u64::MAX as u128;

/// Whether a deadline has come.
#[must_use]
pub fn is_due(deadline_ns: u128, at: Duration) -> bool {
    deadline_ns <= at.as_nanos() && deadline_ns < NEVER
}

/// A timer and what it counts.
#[derive(Clone, Debug)]
pub struct Timer {
    limits: Limits,
    /// When it expires, if it runs.
    pub deadline_ns: Option<u128>,
    /// When what is outstanding was first sent, as far as is known.
    since_ns: Option<u128>,
    retransmissions: u32,
    r1_told: bool,
    handshake: bool,
    /// Whether it expired in the handshake, with no valid sample since.
    handshake_expired: bool,
}

/// What a timeout call comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// The deadline has not come.
    Nothing,
    /// Back off, [arm](Timer::arm) the timer and retransmit.
    Retransmit {
        /// Whether R1 is reached.
        r1: bool,
    },
    /// A limit is reached.
    GiveUp(GaveUp),
}

impl Timer {
    /// A stopped one.
    #[must_use]
    pub const fn new(limits: Limits) -> Self {
        Self {
            limits,
            deadline_ns: None,
            since_ns: None,
            retransmissions: 0,
            r1_told: false,
            handshake: false,
            handshake_expired: false,
        }
    }

    /// An RTO from an instant, but no later than the user timeout (T9).
    pub fn arm(&mut self, from: Duration, rto_ns: u128) {
        let user_timeout = (self.limits.user_timeout_ns).zip(self.since_ns);
        let given_up_ns = user_timeout.map_or(NEVER, |(ns, since_ns)| since_ns + u128::from(ns));
        let deadline_ns = clock(from) + rto_ns;
        self.deadline_ns = Some(deadline_ns.min(given_up_ns).min(NEVER));
    }

    /// Rule 5.1-1.
    pub fn sent(&mut self, at: Duration, rto_ns: u128) {
        if self.deadline_ns.is_none() {
            if self.since_ns.is_none_or(|since_ns| since_ns == NEVER) {
                self.since_ns = Some(clock(at));
            }
            self.arm(at, rto_ns);
        }
    }

    /// The same for a SYN (5.7-1).
    pub fn handshake_sent(&mut self, at: Duration, rto_ns: u128) {
        self.handshake = true;
        self.sent(at, rto_ns);
    }

    /// Ends the handshake; tells whether it expired.
    pub fn begin_data(&mut self) -> bool {
        self.handshake = false;
        std::mem::take(&mut self.handshake_expired)
    }

    /// A valid sample was taken (D2).
    pub fn sampled(&mut self) {
        self.handshake_expired = false;
    }

    /// Rules 5.2-1, 5.3-1 and T6.
    pub fn acked(&mut self, at: Duration, covers: Covers, rto_ns: u128) {
        let from = match covers {
            Covers::None => return,
            Covers::All => {
                self.count_from(None);
                return self.stop();
            }
            Covers::Some => at,
            Covers::SomeSince(sent) => sent.min(at),
        };
        self.count_from(Some(clock(from)));
        self.arm(from, rto_ns);
        if self.deadline_ns <= Some(clock(at)) {
            self.arm(at, rto_ns);
        }
    }

    fn count_from(&mut self, since_ns: Option<u128>) {
        self.since_ns = since_ns;
        self.retransmissions = 0;
        self.r1_told = false;
    }

    /// Counts an RTO from an instant, if it runs.
    pub fn moved(&mut self, from: Duration, rto_ns: u128) {
        if self.deadline_ns.is_some() {
            self.arm(from, rto_ns);
        }
    }

    /// Stops.
    pub const fn stop(&mut self) {
        self.deadline_ns = None;
    }

    /// Rules 5.4-1 and T7 to T9: what is to be done at this instant.
    pub fn timeout(&mut self, at: Duration) -> Due {
        if !self.deadline_ns.is_some_and(|due_ns| is_due(due_ns, at)) {
            return Due::Nothing;
        }
        let elapsed_ns = clock(at).saturating_sub(self.since_ns.expect("something was sent"));
        if let Some(limit) = self.limit_reached(elapsed_ns) {
            let gave_up = GaveUp {
                limit,
                retransmissions: self.retransmissions,
                elapsed_ns: elapsed_ns.try_into().expect("the clock has 64 bits"),
            };
            self.count_from(None);
            self.stop();
            return Due::GiveUp(gave_up);
        }
        self.retransmissions += 1;
        self.handshake_expired |= self.handshake;
        let r1 = !self.r1_told && self.reached(self.limits.r1, elapsed_ns);
        self.r1_told |= r1;
        Due::Retransmit { r1 }
    }

    fn limit_reached(&self, elapsed_ns: u128) -> Option<Limit> {
        let Limits {
            r2,
            handshake_r2,
            user_timeout_ns,
            ..
        } = self.limits;
        let r2 = if self.handshake { handshake_r2 } else { r2 };
        if user_timeout_ns.is_some_and(|ns| elapsed_ns >= ns.into()) {
            Some(Limit::UserTimeout)
        } else {
            self.reached(r2, elapsed_ns).then_some(Limit::R2)
        }
    }

    fn reached(&self, threshold: Option<Threshold>, elapsed_ns: u128) -> bool {
        match threshold {
            None => false,
            Some(Threshold::Retransmissions(count)) => self.retransmissions >= count,
            Some(Threshold::AfterNs(ns)) => elapsed_ns >= ns.into(),
        }
    }
}

/// What the clock shows: it ends with 64 bits.
fn clock(at: Duration) -> u128 {
    at.as_nanos().min(NEVER)
}
