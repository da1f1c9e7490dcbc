use grpc_backoff::Timing;
use std::fmt;
use std::time::Duration;

/// The verdict on a record of connection attempts: are they spaced as the backoff asks?
///
/// The expected delay begins with `initial` and grows by 8/5 up to `max`, whole nanoseconds,
/// rounded down. Each gap between two starts must lie within a fifth of it, and within the
/// slack, which is for the network and the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judge {
    /// The first delay.
    pub initial: Duration,
    /// The greatest delay before jitter.
    pub max: Duration,
    /// How long each attempt lasts before it fails: zero where it fails at once, the client's
    /// connect deadline where the server never answers.
    pub attempt: Duration,
    /// What the client counts its delays from.
    pub timing: Timing,
    /// How much too early a connection may come.
    pub early: Duration,
    /// How much too late.
    pub late: Duration,
}

/// The least and the greatest gap that is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Accepted, and nothing below.
    pub least: Duration,
    /// Accepted, and nothing above.
    pub most: Duration,
}

/// Why a record was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// There is no gap to judge: an empty record, or a single connection, proves nothing.
    TooFewConnections(usize),
    /// A connection came too early: this is what hurts servers.
    TooEarly(Gap),
    /// A connection came too late: the official test rejects that too, the document allows it.
    TooLate(Gap),
}

/// A gap between the starts of two attempts that is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Which one, counted from 0.
    pub nth: usize,
    /// How long it was.
    pub gap: Duration,
    /// How long it should be.
    pub window: Window,
}

impl Judge {
    /// The limits of gRPC's interop test: 1 s up to 120 s, and 100 ms to either side.
    pub const OFFICIAL: Self = Self {
        initial: Duration::from_secs(1),
        max: Duration::from_secs(120),
        attempt: Duration::ZERO,
        timing: Timing::FromStart,
        early: Duration::from_millis(100),
        late: Duration::from_millis(100),
    };

    /// The same, but 10 ms too early at most: what a local clock and accept queue may take.
    pub const STRICT: Self = Self {
        early: Duration::from_millis(10),
        ..Self::OFFICIAL
    };

    /// The window of each gap in turn, without end.
    pub fn windows(self) -> impl Iterator<Item = Window> {
        let next = move |expected: &Duration| Some((expected.saturating_mul(8) / 5).min(self.max));
        std::iter::successors(Some(self.initial), next).map(move |expected| self.window(expected))
    }

    fn window(&self, expected: Duration) -> Window {
        let delayed = |delay: Duration| match self.timing {
            Timing::FromStart => delay.max(self.attempt),
            Timing::FromFailure => delay.saturating_add(self.attempt),
        };
        Window {
            least: delayed(expected.saturating_mul(4) / 5).saturating_sub(self.early),
            most: delayed(expected.saturating_mul(6) / 5).saturating_add(self.late),
        }
    }

    /// Judges the starts of attempts, in order, by any clock that is never set back.
    ///
    /// # Errors
    ///
    /// The first gap out of its window, or that there are fewer than two starts.
    pub fn judge(self, starts: &[Duration]) -> Result<(), Rejected> {
        if starts.len() < 2 {
            return Err(Rejected::TooFewConnections(starts.len()));
        }
        let gaps = starts
            .windows(2)
            .map(|pair| pair[1].saturating_sub(pair[0]));
        self.judge_gaps(gaps)
    }

    /// The same of the gaps between them.
    ///
    /// # Errors
    ///
    /// As [`judge`](Self::judge); no gap stands for a single connection.
    pub fn judge_gaps(self, gaps: impl IntoIterator<Item = Duration>) -> Result<(), Rejected> {
        let mut gaps = gaps.into_iter().peekable();
        if gaps.peek().is_none() {
            return Err(Rejected::TooFewConnections(1));
        }
        for (nth, (gap, window)) in gaps.zip(self.windows()).enumerate() {
            if gap < window.least {
                return Err(Rejected::TooEarly(Gap { nth, gap, window }));
            }
            if gap > window.most {
                return Err(Rejected::TooLate(Gap { nth, gap, window }));
            }
        }
        Ok(())
    }

    /// The verdict as gRPC's own test server gives it: its record starts as passed, so nobody
    /// who stays away, or comes once, is rejected.
    #[must_use]
    pub fn officially_passes(self, gaps: impl IntoIterator<Item = Duration>) -> bool {
        matches!(
            self.judge_gaps(gaps),
            Ok(()) | Err(Rejected::TooFewConnections(_))
        )
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} to {:?}", self.least, self.most)
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewConnections(count) => {
                write!(f, "no gap to judge; connections: {count}")
            }
            Self::TooEarly(gap) => write!(f, "too early: {gap}"),
            Self::TooLate(gap) => write!(f, "too late: {gap}"),
        }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nth, gap, window } = self;
        write!(f, "gap {nth} is {gap:?}, {window} is due")
    }
}

impl std::error::Error for Rejected {}
