use super::{FIRST, FROM, HINTS, JITTERS, REPEATS};
use crate::names::name_of;
use crate::{HintRule, Jitter, Policy};
use core::fmt;
use core::time::Duration;

/// Writes every field that differs from what reading starts from; reading it gives the same
/// policy.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schedule = &self.schedule;
        let (base, cap, multiplier) = (schedule.base(), schedule.cap(), schedule.multiplier());
        let start = match Self::preset(self.name) {
            Some(preset) if preset == *self => return f.write_str(self.name),
            Some(preset) => {
                write!(f, "{},", self.name)?;
                preset
            }
            None => Self::new(*schedule),
        };
        write!(
            f,
            "base={base:?},multiplier={multiplier},cap={cap:?},jitter="
        )?;
        match schedule.jitter() {
            Jitter::Proportional(ratio) => write!(f, "proportional:{ratio}")?,
            Jitter::Additive(ratio) => write!(f, "additive:{ratio}")?,
            Jitter::ProportionalClipped(ratio) => write!(f, "proportional-clipped:{ratio}")?,
            plain => f.write_str(name_of(JITTERS, plain))?,
        }
        self.write_limits(f, &start)
    }
}

impl Policy {
    fn write_limits(&self, f: &mut fmt::Formatter<'_>, start: &Self) -> fmt::Result {
        if self.first_delay != start.first_delay {
            write!(f, ",first={}", name_of(FIRST, self.first_delay))?;
        }
        if self.throttle_factor != start.throttle_factor {
            write!(f, ",throttle-factor={}", self.throttle_factor)?;
        }
        if self.attempts != start.attempts {
            match self.attempts {
                Some(attempts) => write!(f, ",attempts={attempts}")?,
                None => f.write_str(",attempts=unlimited")?,
            }
        }
        if self.deadline != start.deadline {
            write_span(f, "deadline", self.deadline)?;
        }
        if self.deadline_from != start.deadline_from {
            write!(f, ",from={}", name_of(FROM, self.deadline_from))?;
        }
        if self.hint != start.hint {
            match self.hint {
                HintRule::Within(most) => write!(f, ",hint=within:{most:?}")?,
                HintRule::Capped(most) => write!(f, ",hint=capped:{most:?}")?,
                plain => write!(f, ",hint={}", name_of(HINTS, plain))?,
            }
        }
        if self.hint_jitter_percent != start.hint_jitter_percent {
            write!(f, ",hint-jitter={}", self.hint_jitter_percent)?;
        }
        if self.healthy_time != start.healthy_time {
            write_span(f, "healthy", self.healthy_time)?;
        }
        if self.repeats != start.repeats {
            write!(f, ",repeats={}", name_of(REPEATS, self.repeats))?;
        }
        Ok(())
    }
}

fn write_span(f: &mut fmt::Formatter<'_>, key: &str, span: Option<Duration>) -> fmt::Result {
    match span {
        Some(span) => write!(f, ",{key}={span:?}"),
        None => write!(f, ",{key}=none"),
    }
}
