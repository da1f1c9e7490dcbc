//! One line that says what the RTO is and why.

use core::{fmt, time::Duration};

use crate::{Estimator, Observer, RetransmitTimer, clock::nanos, config::Params};

impl Estimator {
    /// The RTO and its reasons in one line:
    /// `RTO 2 s = 2 x 1 s floor (raw 0.31 s: SRTT 105 ms + 4 x 51 ms), backed off once`.
    #[must_use]
    pub fn explain(&self) -> impl fmt::Display + use<> {
        let estimator = *self;
        fmt::from_fn(move |f| estimator.describe(f))
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rto, base) = (nanos(self.rto()), nanos(self.base_rto()));
        write!(f, "RTO {}", Seconds(rto))?;
        let doubled =
            (1_u64.checked_shl(self.backoffs())).and_then(|n| Some((n, base.checked_mul(n)?)));
        if self.was_cleared() {
            f.write_str(" kept since the estimate was cleared")?;
        } else if base != self.computed_rto_ns() {
            f.write_str(" since the handshake timed out")?;
        } else if let Some((factor, product)) = doubled
            && product == rto
        {
            f.write_str(" = ")?;
            if factor > 1 {
                write!(f, "{factor} x ")?;
            }
            self.describe_base(f, base, factor > 1)?;
        } else {
            f.write_str(" = cap")?;
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
        let (Some(srtt), Some(rttvar)) = (self.srtt(), self.rttvar()) else {
            return write!(f, "{} initial", Seconds(base));
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
            write!(f, "{} floor (raw {}: {sum})", Seconds(base), Seconds(raw))
        } else if raw > max_ns {
            write!(f, "{} cap (raw {}: {sum})", Seconds(base), Seconds(raw))
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
        fmt::from_fn(move |f| {
            estimator.describe(f)?;
            match deadline {
                Some(deadline) => write!(f, ", {}", Left(nanos(deadline.saturating_sub(now)))),
                None => f.write_str(", stopped"),
            }
        })
    }
}

/// Nanoseconds shown in seconds.
pub(crate) struct Seconds(pub(crate) u64);
/// Nanoseconds shown in milliseconds.
pub(crate) struct Millis(pub(crate) u64);
/// Nanoseconds left until a deadline.
pub(crate) struct Left(pub(crate) u64);

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("due"),
            left => write!(f, "expires in {}", Seconds(left)),
        }
    }
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
            "RTO 2 s = 2 x 1 s floor (raw 0.31 s: SRTT 105 ms + 4 x 51 ms), backed off once, \
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
                "RTO 60 s = 60 s cap (raw 90 s: SRTT 30000 ms + 4 x 15000 ms)",
            ),
            (rfc, &[600_000], 9, "RTO 60 s = cap, backed off 9 times"),
            (rfc, &[600_000], 200, "RTO 60 s = cap, backed off 200 times"),
            (tick, &[35_000], 0, "RTO 0.54 s = SRTT 35 ms + G 500 ms"),
            (
                lan,
                &[50],
                0,
                "RTO 0.01 s = 0.01 s floor (raw 0.00015 s: SRTT 0.05 ms + 4 x 0.025 ms)",
            ),
            (
                clear,
                &[600_000],
                3,
                "RTO 14.4 s kept since the estimate was cleared, backed off 3 times",
            ),
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
            "RTO 3 s since the handshake timed out, stopped",
        );
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
