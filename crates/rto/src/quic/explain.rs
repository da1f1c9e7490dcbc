//! One line that says what the probe timer waits for.

use core::{fmt, time::Duration};

use super::{Flight, ProbeTimer, Space};
use crate::{
    clock::nanos,
    explain::{Left, Millis, factor},
};

impl ProbeTimer {
    /// The timeout of the space that expires first, its reasons and the time left at `now`, in
    /// one line:
    /// `PTO 650 ms for Application Data = 2 x (SRTT 100 ms + 4 x 50 ms + max_ack_delay 25 ms), expires in 0.65 s`.
    #[must_use]
    pub fn explain(&self, now: Duration) -> impl fmt::Display + use<> {
        let timer = *self;
        fmt::from_fn(move |f| timer.describe(f, now))
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>, now: Duration) -> fmt::Result {
        if self.amplification_limit {
            return f.write_str("no PTO at the anti-amplification limit");
        }
        if self.loss_timer {
            return f.write_str("no PTO while a loss timer is set");
        }
        let Some((deadline_ns, space)) = self.earliest() else {
            return f.write_str(match self.spaces[Space::ApplicationData as usize] {
                Flight::Since(_) => "no PTO for Application Data before the handshake is confirmed",
                _ => "no PTO: nothing is in flight",
            });
        };
        let period_ns = self.period_ns(space);
        write!(f, "PTO {} for {space} = ", Millis(period_ns))?;
        self.describe_period(f, space, period_ns)?;
        if self.deadline_ns(space).is_none() {
            f.write_str(", nothing is in flight")?;
        }
        write!(f, ", {}", Left::until(deadline_ns, now))
    }

    fn describe_period(
        &self,
        f: &mut fmt::Formatter<'_>,
        space: Space,
        period_ns: u64,
    ) -> fmt::Result {
        let delay_ns = self.awaited_delay_ns(space);
        let base_ns = nanos(self.estimator().base_rto());
        let sum_ns = base_ns.saturating_add(delay_ns);
        let Some(factor) = factor(sum_ns, self.pto_count, period_ns) else {
            return f.write_str("cap");
        };
        let sum = fmt::from_fn(|f| {
            let estimator = self.estimator();
            if estimator.srtt().is_some() || estimator.was_cleared() {
                estimator.describe_base(f, base_ns, false)?;
            } else {
                write!(f, "{} initial", Millis(base_ns))?;
            }
            if delay_ns > 0 {
                write!(f, " + max_ack_delay {}", Millis(delay_ns))?;
            }
            Ok(())
        });
        match factor {
            1 => write!(f, "{sum}"),
            factor => write!(f, "{factor} x ({sum})"),
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Initial => "Initial",
            Self::Handshake => "Handshake",
            Self::ApplicationData => "Application Data",
        })
    }
}
