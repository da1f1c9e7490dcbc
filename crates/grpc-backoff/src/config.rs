use backoff_policy::{Jitter, Ratio, Schedule, ScheduleError};
use core::fmt;
use core::num::NonZeroU32;
use core::time::Duration;

/// Every parameter of the connection backoff. Start from [`Config::GRPC`] and change fields:
///
/// ```
/// # use {core::time::Duration, grpc_backoff::Config};
/// let config = Config { max_elapsed: Some(Duration::from_secs(600)), ..Config::GRPC };
/// ```
///
/// Nothing is checked here: [`Connection::new`](crate::Connection::new) refuses what makes no
/// sense, and [`lint`](Self::lint) lists what is legal but risky.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The first delay before jitter, INITIAL_BACKOFF: 1 s (S2).
    pub initial_backoff: Duration,
    /// The growth from delay to delay, MULTIPLIER: 8/5 (S2).
    pub multiplier: Ratio,
    /// The share of a delay that is added or taken away at random, JITTER: 1/5 (S2).
    pub jitter: Ratio,
    /// The greatest delay before jitter, MAX_BACKOFF: 120 s (S2, S8).
    pub max_backoff: Duration,
    /// The least time an attempt is given up to SETTINGS, MIN_CONNECT_TIMEOUT: 20 s (S2, S5).
    pub min_connect_timeout: Duration,
    /// How long one address has before the next is tried beside it, CONNECTION_ATTEMPT_DELAY:
    /// 250 ms, within 100 ms to 2 s (A3). A [`Connection`](crate::Connection) has no use for it.
    pub connection_attempt_delay: Duration,
    /// Whether the first delay is jittered: it is (D1).
    pub first_delay: FirstDelay,
    /// What a delay is counted from: the attempt's start (S3, D2).
    pub timing: Timing,
    /// When the series starts over: when SETTINGS arrives (S11, D9).
    pub reset: Reset,
    /// Whether a server that accepts and drops at once is dialled gently: it is (D9).
    pub flap_guard: FlapGuard,
    /// How many failures in a row end in giving up: no limit (D11). A connection that
    /// [`Reset::AfterStable`] finds too short is one too (D9).
    pub max_attempts: Option<NonZeroU32>,
    /// How long a connection may be wanted in vain before the machine gives up: no limit (D11).
    pub max_elapsed: Option<Duration>,
}

/// Whether the first delay of a series is jittered (D1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FirstDelay {
    /// Like every other delay, so that clients that lost their server together disperse.
    #[default]
    Jittered,
    /// Exactly INITIAL_BACKOFF, as in the document's pseudo-code. Its draw is taken all the same.
    Exact,
}

/// What a delay is counted from (D2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Timing {
    /// The start of the attempt before (S3).
    #[default]
    FromStart,
    /// The failure of the attempt before: slower, hence legal (S13).
    FromFailure,
}

/// When a success puts the series back to its first delay (S11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reset {
    /// As soon as the server's SETTINGS arrives.
    #[default]
    OnSettings,
    /// Once this connection has been up for so long. One that is lost sooner counts as a failed
    /// attempt: slower, hence legal (D9).
    AfterStable(Duration),
}

/// Whether a new run keeps its distance from the previous run's last start (D9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FlapGuard {
    /// It starts no earlier than a first delay after that start, so a server that sends SETTINGS
    /// and closes sees about one connection a second, not hundreds.
    #[default]
    On,
    /// It starts at once whatever happened before.
    Off,
}

impl Config {
    /// The document's values (S2) and this project's decisions. The two ratios are exact, so
    /// every platform gives the same delays to the nanosecond (D4).
    pub const GRPC: Self = Self {
        initial_backoff: Duration::from_secs(1),
        multiplier: Ratio::new(8, 5),
        jitter: Ratio::new(1, 5),
        max_backoff: Duration::from_secs(120),
        min_connect_timeout: Duration::from_secs(20),
        connection_attempt_delay: Duration::from_millis(250),
        first_delay: FirstDelay::Jittered,
        timing: Timing::FromStart,
        reset: Reset::OnSettings,
        flap_guard: FlapGuard::On,
        max_attempts: None,
        max_elapsed: None,
    };

    /// Checks everything and gives the schedule of delays; its first entry ignores
    /// [`FirstDelay::Exact`].
    ///
    /// # Errors
    ///
    /// See [`ConfigError`]; nothing is clamped silently (D3).
    pub const fn schedule(&self) -> Result<Schedule, ConfigError> {
        if self.min_connect_timeout.is_zero() {
            return Err(ConfigError::MinConnectTimeoutZero);
        }
        let delay = self.connection_attempt_delay;
        if delay.as_millis() < 100 || delay.as_nanos() > 2_000_000_000 {
            return Err(ConfigError::ConnectionAttemptDelay(delay));
        }
        if matches!(self.reset, Reset::AfterStable(Duration::ZERO)) {
            return Err(ConfigError::StableTimeZero);
        }
        if matches!(self.max_elapsed, Some(Duration::ZERO)) {
            return Err(ConfigError::MaxElapsedZero);
        }
        match Schedule::new(
            self.initial_backoff,
            self.multiplier,
            self.max_backoff,
            Jitter::Proportional(self.jitter),
        ) {
            Ok(schedule) => Ok(schedule),
            Err(error) => Err(ConfigError::Backoff(error)),
        }
    }

    /// Lists what is legal but risky (D3): nothing of a config that is refused.
    pub fn lint(&self) -> impl Iterator<Item = Lint> + use<> {
        let lints = self.schedule().map(|schedule| self.lints(&schedule));
        lints.unwrap_or_default().into_iter().flatten()
    }

    fn lints(&self, schedule: &Schedule) -> [Option<Lint>; 9] {
        let document = Self::GRPC;
        // The least time that an attempt has, and the least distance of two that hang (S5).
        let shortest = self.min_connect_timeout.max(*schedule.bounds(0).start());
        let flapping = match self.reset {
            Reset::OnSettings => true,
            Reset::AfterStable(time) => time < self.initial_backoff,
        };
        [
            less(self.jitter, document.jitter).then_some(Lint::NotDispersing("jitter")),
            (self.first_delay == FirstDelay::Exact).then_some(Lint::NotDispersing("first_delay")),
            (shortest < Duration::from_secs(1)).then_some(Lint::ShortConnectTimeout),
            (self.initial_backoff < document.initial_backoff)
                .then_some(Lint::Faster("initial_backoff")),
            self.grows_too_slowly(schedule)
                .then_some(Lint::Faster("multiplier")),
            less(document.jitter, self.jitter).then_some(Lint::Faster("jitter")),
            (self.max_backoff < document.max_backoff).then_some(Lint::Faster("max_backoff")),
            (shortest < document.min_connect_timeout)
                .then_some(Lint::Faster("min_connect_timeout")),
            (self.flap_guard == FlapGuard::Off && flapping).then_some(Lint::Flapping),
        ]
    }

    /// Whether the multiplier leaves some delay below the document's. Its eleventh growth is at
    /// the cap (D4), so a delay that is not below by then never is.
    fn grows_too_slowly(&self, schedule: &Schedule) -> bool {
        let below = |documents: Schedule| {
            (0..=11).any(|n| schedule.ceiling(n) < documents.ceiling(n).min(self.max_backoff))
        };
        less(self.multiplier, Self::GRPC.multiplier) && Self::GRPC.schedule().is_ok_and(below)
    }
}

/// Compares two ratios by their values.
fn less(a: Ratio, b: Ratio) -> bool {
    let product = |x: u32, y: u32| u64::from(x).saturating_mul(u64::from(y));
    product(a.num, b.den) < product(b.num, a.den)
}

impl Default for Config {
    /// [`Config::GRPC`].
    fn default() -> Self {
        Self::GRPC
    }
}

/// A setting that is legal but risky (D3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lint {
    /// The named setting disperses less than the document's value: clients that failed together
    /// return closer together (S13, D1).
    NotDispersing(&'static str),
    /// Attempts may be cut off under 1 s, before a slow network has answered (S5).
    ShortConnectTimeout,
    /// The named setting may connect more often than the document's value (S2, S13).
    Faster(&'static str),
    /// A server that accepts and drops is dialled without any pause, or with one below
    /// `initial_backoff` (D9).
    Flapping,
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDispersing(setting) => write!(f, "{setting} is not dispersing enough: clients that failed together return together (S13, D1)"),
            Self::ShortConnectTimeout => f.write_str("min_connect_timeout is under 1 s: slow networks never get through (S5)"),
            Self::Faster(setting) => write!(f, "{setting} may connect more often than the document's value (S2, S13)"),
            Self::Flapping => f.write_str("flap_guard is off: a server that accepts and drops is dialled without a pause of initial_backoff (D9)"),
        }
    }
}

/// Why a [`Config`] was refused, with the offending value (D3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The delays make no sense: `initial_backoff` zero or above `max_backoff`, a multiplier
    /// below 1, a jitter above 1.
    Backoff(ScheduleError),
    /// `min_connect_timeout` is zero: every attempt would be over before it began.
    MinConnectTimeoutZero,
    /// `connection_attempt_delay` is outside 100 ms to 2 s (A3).
    ConnectionAttemptDelay(Duration),
    /// `AfterStable` of zero; say `OnSettings`.
    StableTimeZero,
    /// `max_elapsed` of zero; there would be no attempt at all.
    MaxElapsedZero,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Backoff(ScheduleError::BaseZero) => f.write_str("initial_backoff is zero (D3)"),
            Self::Backoff(ScheduleError::CapBelowBase { base, cap }) => {
                write!(
                    f,
                    "max_backoff {cap:?} is below initial_backoff {base:?} (D3)"
                )
            }
            Self::Backoff(error) => write!(f, "{error} (D3)"),
            Self::MinConnectTimeoutZero => f.write_str("min_connect_timeout is zero (D3)"),
            Self::ConnectionAttemptDelay(delay) => write!(
                f,
                "connection_attempt_delay {delay:?} is outside 100 ms to 2 s (A3, D3)"
            ),
            Self::StableTimeZero => f.write_str("reset: AfterStable of zero; say OnSettings (D3)"),
            Self::MaxElapsedZero => f.write_str("max_elapsed is zero; say None for no limit (D3)"),
        }
    }
}

impl core::error::Error for ConfigError {}
