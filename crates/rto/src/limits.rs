//! When to stop trying: R1 and R2 of RFC 9293, the user timeout of RFC 5482.

use core::time::Duration;

use crate::clock::nanos;

/// When a connection that gets no answer is reported and when it is given up.
///
/// The time counts from the first transmission of the data that is still unacknowledged, as far as
/// the timer knows it: from the send that started the timer, from the last ACK of new data, or
/// from the instant in [`Progress::SomeSince`](crate::Progress::SomeSince).
///
/// ```
/// # use {core::time::Duration, rto::*};
/// // 1, 3, 7, 15, 31, 63, 123, 183 s: what R2 is worth can be seen before it is chosen.
/// let estimator = Estimator::new(Config::RFC6298)?;
/// let r2 = Duration::from_secs(100);
/// let given_up_at = estimator.schedule().find(|at| *at >= r2);
/// assert_eq!(given_up_at, Some(Duration::from_secs(123)));
/// # Ok::<(), ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// R1: the expiry that reaches it says so, once (T7). With
    /// [`Retransmissions(3)`](Threshold::Retransmissions) that is the third, which asks for
    /// the third retransmission.
    pub r1: Threshold,
    /// R2 for data: the expiry that reaches it gives the connection up (T8). With
    /// [`Retransmissions(3)`](Threshold::Retransmissions) that is the fourth: three are sent, and
    /// the third waits its RTO too.
    pub r2: Threshold,
    /// R2 for a handshake (T8).
    pub handshake_r2: Threshold,
    /// How long data may stay unacknowledged at most; no deadline lies beyond it, and the
    /// RTO does not change (T9). Default none.
    pub user_timeout: Option<Duration>,
}

/// A limit by count or by time, as RFC 9293 leaves it to you.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// No limit.
    Never,
    /// So many retransmissions of the same data.
    Retransmissions(u32),
    /// So much time since its first transmission.
    After(Duration),
}

/// The limit at which a connection was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::r2`] or [`Limits::handshake_r2`] (T8).
    R2,
    /// [`Limits::user_timeout`] (T9).
    UserTimeout,
}

/// The peer has not answered for too long: close the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GiveUp {
    /// Which limit was reached.
    pub limit: Limit,
    /// How often the data was retransmitted in vain.
    pub retransmissions: u32,
    /// How long it had been waiting.
    pub elapsed: Duration,
}

impl Limits {
    /// Never gives up.
    pub const NONE: Self = Self {
        r1: Threshold::Never,
        r2: Threshold::Never,
        handshake_r2: Threshold::Never,
        user_timeout: None,
    };

    /// The least that RFC 9293 section 3.8.3 asks for: R1 at 3 retransmissions, R2 at 100 s,
    /// 3 min for a SYN (T7, T8).
    pub const RFC9293: Self = Self {
        r1: Threshold::Retransmissions(3),
        r2: Threshold::After(Duration::from_secs(100)),
        handshake_r2: Threshold::After(Duration::from_secs(180)),
        user_timeout: None,
    };

    /// The limit that an expiry reaches, if it does.
    pub(crate) fn reached(
        &self,
        handshake: bool,
        retransmissions: u32,
        elapsed: Duration,
    ) -> Option<Limit> {
        let r2 = if handshake {
            self.handshake_r2
        } else {
            self.r2
        };
        if (self.user_timeout).is_some_and(|timeout| timeout <= elapsed) {
            Some(Limit::UserTimeout)
        } else if r2.reached(retransmissions, elapsed) {
            Some(Limit::R2)
        } else {
            None
        }
    }

    /// A deadline, kept from lying beyond the user timeout (T9).
    #[inline]
    pub(crate) const fn clamp(&self, deadline_ns: u64, since_ns: u64) -> u64 {
        let Some(timeout) = self.user_timeout else {
            return deadline_ns;
        };
        let timeout_ns = since_ns.saturating_add(nanos(timeout));
        if timeout_ns < deadline_ns {
            timeout_ns
        } else {
            deadline_ns
        }
    }
}

impl Threshold {
    pub(crate) fn reached(self, retransmissions: u32, elapsed: Duration) -> bool {
        match self {
            Self::Never => false,
            Self::Retransmissions(most) => retransmissions >= most,
            Self::After(most) => elapsed >= most,
        }
    }
}
