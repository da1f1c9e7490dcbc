use crate::clock::{NEVER, duration, nanos};
use crate::{Config, ConfigError, FirstDelay, FlapGuard, Ratio, Reset, Schedule, Timing};
use backoff_policy::Jitter;
use core::num::NonZeroU32;

/// A [`Config`] that has been checked, as the machine computes with it: spans in ns.
#[derive(Clone, Debug)]
pub(crate) struct Params {
    pub(crate) schedule: Schedule,
    pub(crate) min_connect_timeout: u64,
    pub(crate) connection_attempt_delay: u64,
    /// How long a connection must have been up for the series to restart; zero: no time.
    pub(crate) stable_time: u64,
    /// [`NEVER`]: no limit.
    pub(crate) max_elapsed: u64,
    pub(crate) max_attempts: Option<NonZeroU32>,
    pub(crate) first_delay: FirstDelay,
    pub(crate) timing: Timing,
    pub(crate) flap_guard: FlapGuard,
}

impl Params {
    pub(crate) const fn new(config: &Config) -> Result<Self, ConfigError> {
        let schedule = match config.schedule() {
            Ok(schedule) => schedule,
            Err(error) => return Err(error),
        };
        let stable_time = match config.reset {
            Reset::OnSettings => 0,
            Reset::AfterStable(time) => nanos(time),
        };
        let max_elapsed = match config.max_elapsed {
            None => NEVER,
            Some(time) => nanos(time),
        };
        Ok(Self {
            schedule,
            min_connect_timeout: nanos(config.min_connect_timeout),
            connection_attempt_delay: nanos(config.connection_attempt_delay),
            stable_time,
            max_elapsed,
            max_attempts: config.max_attempts,
            first_delay: config.first_delay,
            timing: config.timing,
            flap_guard: config.flap_guard,
        })
    }

    pub(crate) const fn config(&self) -> Config {
        Config {
            initial_backoff: self.schedule.base(),
            multiplier: self.schedule.multiplier(),
            jitter: match self.schedule.jitter() {
                Jitter::Proportional(ratio) => ratio,
                _ => Ratio::new(0, 1), // no config makes such a schedule
            },
            max_backoff: self.schedule.cap(),
            min_connect_timeout: duration(self.min_connect_timeout),
            connection_attempt_delay: duration(self.connection_attempt_delay),
            first_delay: self.first_delay,
            timing: self.timing,
            reset: match self.stable_time {
                0 => Reset::OnSettings,
                time => Reset::AfterStable(duration(time)),
            },
            flap_guard: self.flap_guard,
            max_attempts: self.max_attempts,
            max_elapsed: match self.max_elapsed {
                NEVER => None,
                time => Some(duration(time)),
            },
        }
    }
}
