use grpc_faults::{Judge, Window};
use std::fmt;
use std::time::Duration;

/// The connections that one client makes between Start and Stop.
///
/// Times are spans since a moment of the caller's choice, by a clock that is never set back.
#[derive(Clone, Debug)]
pub struct Record {
    judge: Judge,
    last: Option<Duration>,
    gaps: Vec<Gap>,
    connections: usize,
}

/// The time from one connection to the next, in whole milliseconds as the protocol has them,
/// and where it should lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The time, rounded down.
    pub time: Duration,
    /// What is allowed.
    pub window: Window,
}

/// Why a record does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nobody connected, or once only: there is no gap to judge.
    TooFew {
        /// How many connections there were.
        connections: usize,
    },
    /// So many gaps are too short or too long.
    Outside {
        /// How many.
        gaps: usize,
    },
    /// The client had fallen silent by the end: this gap had not ended, and was too long already.
    Silent(Gap),
    /// There were more connections than a record holds.
    TooMany {
        /// How many there were.
        connections: usize,
    },
}

/// What a record holds: a client that backs off does not get there in a day, and no other may
/// fill the memory.
pub const MAX_GAPS: usize = 1_000;

impl Record {
    /// Begins a record.
    #[must_use]
    pub const fn new(judge: Judge) -> Self {
        Self {
            judge,
            last: None,
            gaps: Vec::new(),
            connections: 0,
        }
    }

    /// A connection was accepted: gives the gap since the one before, if there is one and the
    /// record has room for it.
    pub fn handle_accepted(&mut self, now: Duration) -> Option<Gap> {
        self.connections += 1;
        let gap = self.open_gap(now);
        self.last = Some(now);
        self.gaps.extend(gap);
        gap
    }

    /// All gaps, oldest first.
    #[must_use]
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// Judges the record as it stands. It passes where this is empty.
    #[must_use]
    pub fn faults(&self, now: Duration) -> Vec<Fault> {
        let connections = self.connections;
        let outside = self.gaps.iter().filter(|gap| !gap.is_allowed()).count();
        let open = self.open_gap(now);
        let faults = [
            (connections < 2).then_some(Fault::TooFew { connections }),
            (outside > 0).then_some(Fault::Outside { gaps: outside }),
            (open.filter(|gap| gap.time > gap.window.most)).map(Fault::Silent),
            (connections > MAX_GAPS + 1).then_some(Fault::TooMany { connections }),
        ];
        faults.into_iter().flatten().collect()
    }

    /// The gap that a connection now would end.
    fn open_gap(&self, now: Duration) -> Option<Gap> {
        let time = now.saturating_sub(self.last?);
        let room = self.gaps.len() < MAX_GAPS;
        let window = self.judge.windows().nth(self.gaps.len()).filter(|_| room)?;
        Some(Gap::new(time, window))
    }
}

impl Gap {
    /// A gap, rounded down to the millisecond.
    #[must_use]
    pub fn new(time: Duration, window: Window) -> Self {
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let time = Duration::from_millis(ms);
        Self { time, window }
    }

    /// Whether it lies in its window.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        (self.window.least..=self.window.most).contains(&self.time)
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Window { least, most } = self.window;
        let verdict = match self.time {
            time if time < least => "TOO SHORT",
            time if time > most => "TOO LONG",
            _ => "ok",
        };
        // Since the time is whole, so is what it is held to.
        let (least, most) = (least.as_nanos().div_ceil(1_000_000), most.as_millis());
        write!(
            f,
            "{:>6} ms in {least:>6}..={most:<6} {verdict}",
            self.time.as_millis()
        )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew { connections: 0 } => f.write_str("nobody connected"),
            Self::TooFew { .. } => f.write_str("a single connection leaves no gap to judge"),
            Self::Outside { gaps: 1 } => f.write_str("1 gap is outside its window"),
            Self::Outside { gaps } => write!(f, "{gaps} gaps are outside their windows"),
            Self::Silent(Gap { time, window }) => write!(
                f,
                "silent for the last {time:?}: another connection was due after {:?} at most",
                window.most
            ),
            Self::TooMany { connections } => {
                write!(
                    f,
                    "{connections} connections: a record holds {}",
                    MAX_GAPS + 1
                )
            }
        }
    }
}
