//! What may be set, what is refused, and what each protocol sets.

use core::{
    fmt,
    num::{NonZeroU8, NonZeroU32},
    time::Duration,
};

use super::Schedule;
use crate::clock::nanos;

/// The parameters of a [`TransactionTimer`](super::TransactionTimer), checked by its
/// constructor.
///
/// ```
/// use {core::time::Duration, rto::transaction::*};
/// // DTLS-SRTP: voice does not wait for a second.
/// let srtp = Config {
///     initial_timeout: Duration::from_millis(400),
///     ..Config::RFC9147
/// };
/// assert!(TransactionTimer::new(srtp).is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// What the first message begins with, before the random factor; within
    /// `min_timeout..=max_timeout`.
    pub initial_timeout: Duration,
    /// The least that a message may begin with; positive.
    pub min_timeout: Duration,
    /// Cap of every wait that a transmission ends; at most [`LIMIT`](Self::LIMIT), which is as
    /// good as none.
    pub max_timeout: Duration,
    /// How far the random factor reaches above 1: it is 1 + spread x draw / 2^64 (P31).
    pub spread: Ratio,
    /// How often a message is sent at most, the first time included; `None` for no end.
    pub transmissions: Option<NonZeroU8>,
    /// How long it is waited after the last one (P32).
    pub last_wait: LastWait,
    /// What the next message begins with.
    pub next_timeout: NextTimeout,
    /// After how much idleness that is the initial timeout again.
    pub stale_after: StaleAfter,
}

/// An exact ratio, such as 3/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// Numerator.
    pub num: u16,
    /// Denominator.
    pub den: u16,
}

/// How long it is waited after the last transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastWait {
    /// As long as before another one: twice the wait before.
    Doubled,
    /// This many times the wait after the first one.
    Times(NonZeroU32),
}

/// What the next message begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextTimeout {
    /// What this one began with.
    Same,
    /// What this one doubled it to, until one is answered without a retransmission: then the
    /// initial timeout (P40, P41).
    Initial,
    /// The same, but then this many times the round trip (P40, P42).
    RoundTrip(Ratio),
}

/// After how much idleness a timeout that outlives a message is the initial one again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaleAfter {
    /// None is enough.
    Never,
    /// This much (P37).
    Idle(Duration),
    /// This many times the timeout, at least 10 (P43).
    Timeouts(u32),
}

impl Config {
    /// [RFC 7252](https://www.rfc-editor.org/rfc/rfc7252) (CoAP), a confirmable message: 2 s
    /// times 1 to 1.5, four retransmissions, and it fails a doubled wait after the last (P34).
    pub const RFC7252: Self = Self {
        initial_timeout: Duration::from_secs(2),
        spread: Ratio::new(1, 2),
        transmissions: NonZeroU8::new(5),
        ..Self::PLAIN
    };

    /// [RFC 8489](https://www.rfc-editor.org/rfc/rfc8489) (STUN) over UDP: 500 ms, seven
    /// requests, and it fails 16 x 500 ms after the last (P36). A timeout from elsewhere lasts
    /// for 10 min (P37).
    pub const RFC8489: Self = Self {
        initial_timeout: Duration::from_millis(500),
        transmissions: NonZeroU8::new(7),
        last_wait: match NonZeroU32::new(16) {
            Some(times) => LastWait::Times(times),
            None => LastWait::Doubled,
        },
        stale_after: StaleAfter::Idle(Duration::from_secs(600)),
        ..Self::PLAIN
    };

    /// [RFC 6347](https://www.rfc-editor.org/rfc/rfc6347) (DTLS 1.2), a flight of the
    /// handshake: 1 s, doubled up to 60 s without end (P39), kept from flight to flight until
    /// one arrives without loss, then 1 s again (P40, P41).
    pub const RFC6347: Self = Self {
        initial_timeout: Duration::from_secs(1),
        max_timeout: Duration::from_secs(60),
        next_timeout: NextTimeout::Initial,
        stale_after: StaleAfter::Timeouts(10),
        ..Self::PLAIN
    };

    /// [RFC 9147](https://www.rfc-editor.org/rfc/rfc9147) (DTLS 1.3): as DTLS 1.2, but after a
    /// flight without loss 1.5 times its round trip (P42), here at least 1 ms.
    pub const RFC9147: Self = Self {
        next_timeout: NextTimeout::RoundTrip(Ratio::new(3, 2)),
        ..Self::RFC6347
    };

    /// What most of them have in common.
    const PLAIN: Self = Self {
        initial_timeout: Duration::from_secs(1),
        min_timeout: Duration::from_millis(1),
        max_timeout: Self::LIMIT,
        spread: Ratio::new(0, 1),
        transmissions: None,
        last_wait: LastWait::Doubled,
        next_timeout: NextTimeout::Same,
        stale_after: StaleAfter::Never,
    };

    /// Largest `max_timeout`: 2^47 ns, about 39 hours, so that no product can overflow (P46).
    pub const LIMIT: Duration = Duration::from_nanos(1 << 47);

    /// The longest time from the first transmission to the last, over all draws; `None` without
    /// an end. CoAP's `MAX_TRANSMIT_SPAN` (P35).
    ///
    /// ```
    /// # use {core::time::Duration, rto::transaction::Config};
    /// const SPAN: Option<Duration> = Config::RFC7252.max_transmit_span();
    /// assert_eq!(SPAN, Some(Duration::from_secs(45)));
    /// ```
    #[must_use]
    pub const fn max_transmit_span(&self) -> Option<Duration> {
        self.schedule(u64::MAX).last_send()
    }

    /// The longest time from the first transmission to the failure, over all draws; `None`
    /// without an end. CoAP's `MAX_TRANSMIT_WAIT` (P35).
    ///
    /// ```
    /// # use {core::time::Duration, rto::transaction::Config};
    /// const WAIT: Option<Duration> = Config::RFC7252.max_transmit_wait();
    /// assert_eq!(WAIT, Some(Duration::from_secs(93)));
    /// ```
    #[must_use]
    pub const fn max_transmit_wait(&self) -> Option<Duration> {
        self.schedule(u64::MAX).fails_after()
    }

    /// When a message that begins with the initial timeout and this draw would be sent, and
    /// when it would fail, if it were never answered (P33).
    #[must_use]
    pub const fn schedule(&self, draw: u64) -> Schedule {
        Schedule::new(*self, nanos(self.initial_timeout), draw)
    }

    /// (P45)
    pub(super) const fn check(&self) -> Result<(), ConfigError> {
        let (initial, min, max) = (self.initial_timeout, self.min_timeout, self.max_timeout);
        if min.is_zero() {
            return Err(ConfigError::NoFloor);
        }
        if max.as_nanos() > Self::LIMIT.as_nanos() {
            return Err(ConfigError::Max(max));
        }
        if min.as_nanos() > max.as_nanos() {
            return Err(ConfigError::MinAboveMax { min, max });
        }
        if initial.as_nanos() < min.as_nanos() || initial.as_nanos() > max.as_nanos() {
            return Err(ConfigError::InitialOutOfBounds { initial, min, max });
        }
        if self.spread.den == 0 {
            return Err(ConfigError::Spread(self.spread));
        }
        if let NextTimeout::RoundTrip(ratio) = self.next_timeout
            && (ratio.num == 0 || ratio.den == 0)
        {
            return Err(ConfigError::RoundTrip(ratio));
        }
        if let StaleAfter::Timeouts(times) = self.stale_after
            && times < 10
        {
            return Err(ConfigError::StaleAfter(times));
        }
        Ok(())
    }
}

impl Ratio {
    /// `num / den`, unchecked.
    #[must_use]
    pub const fn new(num: u16, den: u16) -> Self {
        Self { num, den }
    }

    /// The denominator is positive in every checked [`Config`].
    const fn divisor(self) -> u64 {
        if self.den == 0 { 1 } else { self.den as u64 }
    }

    /// This share of a span, rounded up; 2^48 or more if it is that much.
    pub(super) const fn of(self, ns: u64) -> u64 {
        ns.saturating_mul(self.num as u64).div_ceil(self.divisor())
    }

    /// This share of a span up to [`Config::LIMIT`], times `draw / 2^64`, rounded up (P31):
    /// 47 + 16 + 64 bits fit, and rounding up twice is rounding up once.
    pub(super) const fn drawn(self, ns: u64, draw: u64) -> u64 {
        let product = (ns as u128)
            .wrapping_mul(self.num as u128)
            .wrapping_mul(draw as u128);
        let rest = product << 64 != 0;
        ((product >> 64) as u64)
            .saturating_add(rest as u64)
            .div_ceil(self.divisor())
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.num, self.den)
    }
}

/// Why a [`Config`] is refused; each variant carries the offending values (P45).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The floor is zero: a timeout could be zero.
    NoFloor,
    /// The cap is above [`Config::LIMIT`].
    Max(Duration),
    /// The floor is above the cap.
    MinAboveMax {
        /// [`Config::min_timeout`].
        min: Duration,
        /// [`Config::max_timeout`].
        max: Duration,
    },
    /// The initial timeout is not between floor and cap.
    InitialOutOfBounds {
        /// [`Config::initial_timeout`].
        initial: Duration,
        /// [`Config::min_timeout`].
        min: Duration,
        /// [`Config::max_timeout`].
        max: Duration,
    },
    /// The spread has no denominator.
    Spread(Ratio),
    /// The multiple of the round trip is zero or has no denominator.
    RoundTrip(Ratio),
    /// Idleness of less than ten timeouts would reset the timeout.
    StaleAfter(u32),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFloor => f.write_str("min_timeout is 0: it must be positive (P45)"),
            Self::Max(max) => {
                let limit = Config::LIMIT;
                write!(f, "max_timeout {max:?} is above {limit:?} (P45)")
            }
            Self::MinAboveMax { min, max } => {
                write!(f, "min_timeout {min:?} is above max_timeout {max:?} (P45)")
            }
            Self::InitialOutOfBounds { initial, min, max } => write!(
                f,
                "initial_timeout {initial:?} is not within {min:?} to {max:?} (P45)"
            ),
            Self::Spread(ratio) => write!(f, "spread {ratio} has no denominator (P31)"),
            Self::RoundTrip(ratio) => {
                write!(
                    f,
                    "next_timeout of {ratio} round trips is not positive (P42)"
                )
            }
            Self::StaleAfter(times) => {
                write!(f, "stale_after {times} timeouts is below 10 (P43)")
            }
        }
    }
}

impl core::error::Error for ConfigError {}
