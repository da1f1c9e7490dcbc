//! The estimator of the Linux kernel's TCP, bit for bit.
//!
//! Not RFC 6298, and no preset of [`crate::Config`]: arithmetic of its own, for simulations of
//! Linux peers and as an oracle beside a real one. It gives what `TCP_INFO` shows after the
//! same round trips, to the last eighth of a microsecond. How it differs from the RFC:
//!
//! | | RFC 6298 | Linux |
//! |---|---|---|
//! | floor | 1 s, of the RTO | 200 ms, of the variance term 4 x RTTVAR only: round trips of 1 s that never vary end at an RTO of 1.2 s and a jiffy (P57) |
//! | RTTVAR | smoothed deviation | largest smoothed deviation of the last round trip; falls by a quarter of the difference each round trip (P55, P56) |
//! | gain of a deviation | 1/4 | 1/4; 1/32 where a round trip shorter than SRTT would raise it (P54) |
//! | unit | any | microseconds; the RTO is rounded up to a jiffy (P50, P58) |
//! | cap | at least 60 s, optional | 120 s (P59) |
//! | SYN | doubles from the first timeout | the first four timeouts leave the RTO at 1 s (P62) |
//! | after a lost SYN | at least 3 s | exactly 3 s (P63) |
//!
//! ```
//! use {core::time::Duration, rto::linux::*};
//! let ms = Duration::from_millis;
//!
//! let mut linux = Estimator::new(Config::LINUX)?;
//! linux.sample(ms(100), Round::Ends);
//! assert_eq!(linux.rto(), ms(300)); // 100 + max(4 x 50, 200)
//! linux.back_off();
//! assert_eq!(linux.rto(), ms(600)); // kept until the next sample
//!
//! for _ in 0..100 {
//!     linux.sample(ms(1_000), Round::Ends);
//! }
//! assert_eq!(linux.rto(), ms(1_204)); // 1 s + 200.003 ms, in jiffies of 4 ms
//! # Ok::<(), ConfigError>(())
//! ```
//!
//! The rules (P50 to P69) are those of `spec/rto-family.md`.

mod config;

use core::time::Duration;

pub use config::{Config, ConfigError};
use config::{Params, round_up};

/// RTO after a handshake that gave no sample (P63).
const FALLBACK_US: u32 = 3_000_000;

/// 8 of it fit in 32 bits (P66).
const MAX_SAMPLE_US: u32 = (1 << 29) - 1;

/// The kernel's estimate and RTO: round trips and timeouts in, RTO out.
///
/// It has no timer. The kernel's own fires no earlier than the RTO, and later by the grain of its
/// wheel, at most an eighth of the RTO and a few milliseconds (P68).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimator {
    params: Params,
    estimate: Option<Estimate>,
    /// The RTO in force: whole jiffies, in microseconds.
    rto_us: u32,
    backoffs: u32,
    syn_timeouts: u32,
}

/// SRTT and its deviations, scaled so that the gains are shifts. All sums fit because of
/// [`Estimator::MAX_SAMPLE`]: 8 x SRTT stays below 2^32, 4 x MDEV below 2^31.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Estimate {
    /// 8 x SRTT in microseconds, never zero.
    srtt8: u32,
    /// 4 x the smoothed deviation, in microseconds.
    mdev4: u32,
    /// The largest `mdev4` of the round trip under way, at least `rto_min`.
    mdev4_max: u32,
    /// 4 x RTTVAR, the variance term, in microseconds.
    rttvar4: u32,
}

/// Whether the ACK of a sample ends a round trip (P56).
///
/// A round trip begins where the one before ended, and ends with the first ACK beyond what had
/// been sent by then. With one segment in flight at a time every ACK ends one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// There was a sample of this round trip, and there may be more.
    Continues,
    /// This is the last sample of its round trip.
    Ends,
}

impl Estimator {
    /// Larger samples count as this: 2^29 - 1 microseconds, 536 s. The kernel's sums
    /// would wrap beyond it (P66).
    pub const MAX_SAMPLE: Duration = Duration::from_micros(MAX_SAMPLE_US as u64);

    /// Makes an estimator without samples, its RTO the initial one (P60).
    ///
    /// # Errors
    ///
    /// The first value of `config` that is out of bounds, see [`ConfigError`].
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let params = Params::new(config)?;
        Ok(Self {
            params,
            estimate: None,
            rto_us: params.initial_us,
            backoffs: 0,
            syn_timeouts: 0,
        })
    }

    /// Takes in a valid round-trip sample, cut to whole microseconds (P50), recomputes the RTO
    /// and ends any back-off (P61).
    ///
    /// The kernel takes one of each ACK of new data: since the first send of the oldest segment
    /// it covers, if none that it covers was sent twice; otherwise by its timestamp, in
    /// milliseconds, if there are timestamps.
    pub fn sample(&mut self, rtt: Duration, round: Round) {
        let us = u32::try_from(rtt.as_micros()).map_or(MAX_SAMPLE_US, |us| us.min(MAX_SAMPLE_US));
        let floor = self.params.min_us;
        let estimate = match self.estimate {
            None => Estimate::first(us, floor),
            Some(estimate) => estimate.updated(us, round, floor),
        };
        self.estimate = Some(estimate);
        self.rto_us = round_up(estimate.rto_us(), self.params.jiffy_us).min(self.params.max_us); // (P59)
        self.backoffs = 0;
    }

    /// Data timed out: doubles the RTO, up to the cap (P61).
    pub fn back_off(&mut self) {
        self.rto_us = self.rto_us.saturating_mul(2).min(self.params.max_us);
        self.backoffs = self.backoffs.saturating_add(1);
    }

    /// The SYN timed out: doubles the RTO, but for the first
    /// [`Config::syn_linear_timeouts`] times (P62).
    pub fn back_off_syn(&mut self) {
        self.syn_timeouts = self.syn_timeouts.saturating_add(1);
        if self.syn_timeouts > u32::from(self.params.syn_linear_timeouts) {
            self.back_off();
        }
    }

    /// The handshake is complete: without a sample from it the RTO becomes exactly 3 s (P63).
    pub fn establish(&mut self) {
        if self.estimate.is_none() {
            self.rto_us = FALLBACK_US;
        }
    }

    /// The retransmission timeout in force.
    #[must_use]
    pub const fn rto(&self) -> Duration {
        Duration::from_micros(self.rto_us as u64)
    }

    /// The smoothed round-trip time, exact to its eighth of a microsecond; `None` before a
    /// sample. `tcpi_rtt` is this, cut to microseconds.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.estimate.map(|estimate| scaled(estimate.srtt8, 125))
    }

    /// The smoothed deviation, exact to its quarter of a microsecond; `None` before a sample.
    /// `tcpi_rttvar` is this, cut to microseconds: not the one that the RTO is made of (P69).
    #[must_use]
    pub fn mdev(&self) -> Option<Duration> {
        self.estimate.map(|estimate| scaled(estimate.mdev4, 250))
    }

    /// RTTVAR, a quarter of the variance term, exact to its quarter of a microsecond; `None`
    /// before a sample. The RTO without back-off is [`srtt`](Self::srtt) + 4 x this, rounded
    /// up to a jiffy.
    #[must_use]
    pub fn rttvar(&self) -> Option<Duration> {
        self.estimate.map(|estimate| scaled(estimate.rttvar4, 250))
    }

    /// How often the RTO was doubled since the last sample.
    #[must_use]
    pub const fn backoffs(&self) -> u32 {
        self.backoffs
    }
}

/// A value kept in parts of a microsecond, each of so many nanoseconds.
fn scaled(value: u32, part_ns: u64) -> Duration {
    Duration::from_nanos(u64::from(value).saturating_mul(part_ns))
}

impl Estimate {
    /// SRTT = R and RTTVAR = R/2, but 4 x RTTVAR is at least `floor` (P51, P57).
    fn first(us: u32, floor: u32) -> Self {
        let mdev4 = us.saturating_mul(2);
        let rttvar4 = mdev4.max(floor);
        Self {
            srtt8: us.saturating_mul(8).max(1), // (P64)
            mdev4,
            mdev4_max: rttvar4,
            rttvar4,
        }
    }

    fn updated(mut self, us: u32, round: Round, floor: u32) -> Self {
        let srtt = self.srtt8 >> 3;
        let error = us.abs_diff(srtt);
        let usual = self.mdev4 >> 2;
        if us >= srtt {
            self.srtt8 = self.srtt8.saturating_add(error); // (P52)
            self.mdev4 = self.mdev4.saturating_sub(usual).saturating_add(error); // (P53)
        } else {
            self.srtt8 = self.srtt8.saturating_sub(error).max(1); // (P52, P64)
            self.mdev4 = if error > usual {
                (self.mdev4).saturating_add(error.saturating_sub(usual) >> 3) // (P54)
            } else {
                self.mdev4.saturating_sub(usual.saturating_sub(error)) // (P53)
            };
        }
        self.mdev4_max = self.mdev4_max.max(self.mdev4);
        self.rttvar4 = self.rttvar4.max(self.mdev4_max); // (P55)
        if round == Round::Ends {
            let fall = self.rttvar4.saturating_sub(self.mdev4_max) >> 2;
            self.rttvar4 = self.rttvar4.saturating_sub(fall);
            self.mdev4_max = floor; // (P56)
        }
        self
    }

    /// SRTT, cut to microseconds, and the variance term (P58).
    fn rto_us(self) -> u32 {
        (self.srtt8 >> 3).saturating_add(self.rttvar4)
    }
}
