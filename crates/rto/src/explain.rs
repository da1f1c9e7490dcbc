//! One line that says what the RTO is and why.

use core::{fmt, time::Duration};

use crate::{
    Estimator, Observer, RetransmitTimer,
    clock::{NEVER, nanos},
    config::Params,
};

impl Estimator {
    /// The RTO and its reasons in one line:
    /// `RTO 2 s = 2 x 1 s floor (raw 309 ms: SRTT 105 ms + 4 x 51 ms), backed off once`.
    #[must_use]
    pub fn explain(&self) -> impl fmt::Display + use<> {
        let estimator = *self;
        fmt::from_fn(move |f| estimator.describe(f))
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rto, base) = (nanos(self.rto()), nanos(self.base_rto()));
        write!(f, "RTO {} = ", Seconds(rto))?;
        match factor(base, self.backoffs(), rto) {
            None => f.write_str("cap")?,
            Some(1) => self.describe_base(f, base, false)?,
            Some(factor) => {
                write!(f, "{factor} x ")?;
                self.describe_base(f, base, true)?;
            }
        }
        match self.backoffs() {
            0 => Ok(()),
            1 => f.write_str(", backed off once"),
            2 => f.write_str(", backed off twice"),
            n => write!(f, ", backed off {n} times"),
        }
    }

    pub(crate) fn describe_base(
        &self,
        f: &mut fmt::Formatter<'_>,
        base: u64,
        factored: bool,
    ) -> fmt::Result {
        let Params { min_ns, max_ns, .. } = self.params;
        if base != self.computed_rto_ns() {
            return write!(f, "{} after a lost handshake", Seconds(base));
        }
        let (Some(srtt), Some(rttvar)) = (self.srtt(), self.rttvar()) else {
            let what = if self.was_cleared() {
                "of a cleared estimate"
            } else {
                "initial"
            };
            return write!(f, "{} {what}", Seconds(base));
        };
        let sum = fmt::from_fn(|f| {
            write!(f, "SRTT {} + ", Millis(nanos(srtt)))?;
            match self.granularity_in_force() {
                Some(ns) => write!(f, "G {}", Millis(ns)),
                None => write!(f, "{} x {}", self.params.k, Millis(nanos(rttvar))),
            }
        });
        let raw = self.raw_rto_ns();
        if raw < min_ns {
            write!(f, "{} floor (raw {}: {sum})", Seconds(base), Millis(raw))
        } else if raw > max_ns {
            write!(f, "{} cap (raw {}: {sum})", Seconds(base), Millis(raw))
        } else if factored {
            write!(f, "{} ({sum})", Seconds(base))
        } else {
            write!(f, "{sum}")
        }
    }
}

impl<O: Observer> RetransmitTimer<O> {
    /// The RTO, its reasons and the time left at `now`, in one line:
    /// `RTO 1.8 s = SRTT 600 ms + 4 x 300 ms, expires in 1.2 s`.
    #[must_use]
    pub fn explain(&self, now: Duration) -> impl fmt::Display + use<O> {
        let (estimator, deadline) = (*self.estimator(), self.poll_timeout());
        let clamped = self.is_clamped();
        fmt::from_fn(move |f| {
            estimator.describe(f)?;
            let Some(deadline) = deadline else {
                return f.write_str(", stopped");
            };
            let left = Left::until(nanos(deadline), now);
            match clamped {
                true => write!(f, ", user timeout {left}"), // (T9)
                false => write!(f, ", {left}"),
            }
        })
    }
}

/// Nanoseconds shown in seconds.
pub(crate) struct Seconds(pub(crate) u64);
/// Nanoseconds shown in milliseconds.
pub(crate) struct Millis(pub(crate) u64);
/// Nanoseconds left until a deadline, if it ever comes.
pub(crate) struct Left(Option<u64>);

impl Left {
    pub(crate) fn until(deadline_ns: u64, now: Duration) -> Self {
        Self((deadline_ns != NEVER).then(|| deadline_ns.saturating_sub(nanos(now))))
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("never expires"),
            Some(0) => f.write_str("due"),
            Some(left) => write!(f, "expires in {}", Seconds(left)),
        }
    }
}

/// 2^`doublings`, unless the cap made something else of `base_ns` than that many times it.
pub(crate) fn factor(base_ns: u64, doublings: u32, result_ns: u64) -> Option<u64> {
    let factor = 1_u64.checked_shl(doublings)?;
    (base_ns.checked_mul(factor) == Some(result_ns)).then_some(factor)
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_decimal(f, self.0, 9)?;
        f.write_str(" s")
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_decimal(f, self.0, 6)?;
        f.write_str(" ms")
    }
}

/// `ns / 10^scale` with two decimals, or two significant digits where that is more, and
/// no trailing zeros.
fn write_decimal(f: &mut fmt::Formatter<'_>, ns: u64, scale: usize) -> fmt::Result {
    let power = |n: usize| 10_u128.saturating_pow(u32::try_from(n).unwrap_or(u32::MAX));
    let unit = power(scale);
    let mut decimals = 2;
    let scaled = |decimals| u128::from(ns).saturating_mul(power(decimals));
    while decimals < scale && scaled(decimals) < unit.saturating_mul(10) {
        decimals = decimals.saturating_add(1);
    }
    let mut digits = scaled(decimals).saturating_add(unit >> 1).div_euclid(unit);
    while decimals > 0 && digits.rem_euclid(10) == 0 {
        digits = digits.div_euclid(10);
        decimals = decimals.saturating_sub(1);
    }
    let (whole, fraction) = (
        digits.div_euclid(power(decimals)),
        digits.rem_euclid(power(decimals)),
    );
    if decimals == 0 {
        write!(f, "{whole}")
    } else {
        write!(f, "{whole}.{fraction:0decimals$}")
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::{String, ToString};

    use super::*;
    use crate::{Config, Sample};

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn explained(config: Config, samples_us: &[u64], backoffs: u32) -> String {
        let mut estimator = Estimator::new(config).unwrap();
        for &sample in samples_us {
            estimator.sample(Sample::measured(Duration::from_micros(sample)));
        }
        for _ in 0..backoffs {
            estimator.back_off();
        }
        estimator.explain().to_string()
    }

    #[test]
    fn a_backed_off_floor_with_the_time_left() {
        let mut timer = RetransmitTimer::new(Estimator::new(Config::RFC6298).unwrap());
        for us in [109_895, 70_735] {
            timer.handle_sample(ms(0), Sample::measured(Duration::from_micros(us)));
        }
        timer.handle_sent(ms(0));
        assert!(timer.handle_timeout(ms(1_000)).is_some());
        assert_eq!(
            timer.explain(ms(1_600)).to_string(),
            "RTO 2 s = 2 x 1 s floor (raw 309 ms: SRTT 105 ms + 4 x 51 ms), backed off once, \
             expires in 1.4 s",
        );
        assert!(timer.explain(ms(3_000)).to_string().ends_with(", due"));
        timer.stop(ms(1_600));
        assert!(timer.explain(ms(3_000)).to_string().ends_with(", stopped"));
    }

    #[test]
    fn every_reason_has_its_words() {
        let rfc = Config::RFC6298;
        let tick = Config {
            granularity: ms(500),
            min_rto: ms(0),
            ..rfc
        };
        let lan = Config {
            min_rto: ms(10),
            ..rfc
        };
        let clear = Config {
            clear_after: core::num::NonZeroU32::new(3),
            ..rfc
        };
        for (config, samples, backoffs, text) in [
            (rfc, &[][..], 0, "RTO 1 s = 1 s initial"),
            (rfc, &[], 2, "RTO 4 s = 4 x 1 s initial, backed off twice"),
            (rfc, &[600_000], 0, "RTO 1.8 s = SRTT 600 ms + 4 x 300 ms"),
            (
                rfc,
                &[600_000],
                1,
                "RTO 3.6 s = 2 x 1.8 s (SRTT 600 ms + 4 x 300 ms), backed off once",
            ),
            (
                rfc,
                &[30_000_000],
                0,
                "RTO 60 s = 60 s cap (raw 90000 ms: SRTT 30000 ms + 4 x 15000 ms)",
            ),
            (rfc, &[600_000], 9, "RTO 60 s = cap, backed off 9 times"),
            (rfc, &[600_000], 200, "RTO 60 s = cap, backed off 200 times"),
            (tick, &[35_000], 0, "RTO 0.54 s = SRTT 35 ms + G 500 ms"),
            (
                lan,
                &[50],
                0,
                "RTO 0.01 s = 0.01 s floor (raw 0.15 ms: SRTT 0.05 ms + 4 x 0.025 ms)",
            ),
            (
                clear,
                &[600_000],
                3,
                "RTO 14.4 s = 8 x 1.8 s of a cleared estimate, backed off 3 times",
            ),
            (clear, &[600_000], 9, "RTO 60 s = cap, backed off 9 times"),
        ] {
            assert_eq!(explained(config, samples, backoffs), text);
        }
    }

    #[test]
    fn a_lost_handshake_is_named() {
        let mut timer = RetransmitTimer::new(Estimator::new(Config::RFC6298).unwrap());
        timer.handle_handshake_sent(ms(0));
        assert!(timer.handle_timeout(ms(1_000)).is_some());
        timer.handle_acked(ms(1_100), crate::Progress::All, None);
        timer.handle_data_phase(ms(1_100));
        assert_eq!(
            timer.explain(ms(1_100)).to_string(),
            "RTO 3 s = 3 s after a lost handshake, stopped",
        );
        timer.handle_sent(ms(1_100));
        assert!(timer.handle_timeout(ms(4_100)).is_some());
        assert_eq!(
            timer.explain(ms(4_100)).to_string(),
            "RTO 6 s = 2 x 3 s after a lost handshake, backed off once, expires in 6 s",
        );
        while timer.estimator().backoffs() < 6 {
            let at = timer.poll_timeout().expect("it runs");
            assert!(timer.handle_timeout(at).is_some());
        }
        let text = timer.estimator().explain().to_string();
        assert_eq!(text, "RTO 60 s = cap, backed off 6 times");
    }

    #[test]
    fn a_user_timeout_that_comes_first_is_named() {
        let limits = crate::Limits {
            user_timeout: Some(ms(2_500)),
            ..crate::Limits::NONE
        };
        let timer = RetransmitTimer::new(Estimator::new(Config::RFC6298).unwrap());
        let mut timer = timer.with_limits(limits);
        timer.handle_sent(ms(0));
        let left = |timer: &RetransmitTimer, now| {
            let text = timer.explain(ms(now)).to_string();
            text.rsplit_once(", ").unwrap().1.to_string()
        };
        assert_eq!(left(&timer, 0), "expires in 1 s");
        assert!(timer.handle_timeout(ms(1_000)).is_some());
        assert_eq!(left(&timer, 1_000), "user timeout expires in 1.5 s");
        assert_eq!(left(&timer, 2_500), "user timeout due");
    }

    #[test]
    fn a_deadline_past_the_end_of_the_clock_is_never_due() {
        let mut timer = RetransmitTimer::new(Estimator::new(Config::RFC6298).unwrap());
        timer.handle_sent(Duration::MAX);
        let text = timer.explain(Duration::MAX).to_string();
        assert_eq!(text, "RTO 1 s = 1 s initial, never expires");
    }

    #[test]
    fn decimals_round_to_nearest() {
        for (ns, text) in [
            (0, "0 s"),
            (1, "0.000000001 s"),
            (9_949_999, "0.0099 s"),
            (1_994_999_999, "1.99 s"),
            (1_995_000_000, "2 s"),
            (u64::MAX, "18446744073.71 s"),
        ] {
            assert_eq!(Seconds(ns).to_string(), text);
        }
    }
}
