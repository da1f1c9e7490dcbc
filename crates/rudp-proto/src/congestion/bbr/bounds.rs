//! What the model keeps to, beside what it knows of the path (G8, G9).

/// What congestion has reduced, and an undo restores.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) window: u64,
    /// What was in flight when the last probe went too far.
    pub(super) high: u64,
    /// Until the next probe: what is in flight, and bytes per second.
    pub(super) low: u64,
    pub(super) low_rate: u64,
    /// `high` leaves room for others, and only a probe that finds no congestion raises it.
    pub(super) gives_way: bool,
}

impl Bounds {
    /// Nothing but a first window.
    pub(super) fn of(window: u64) -> Self {
        Self {
            window,
            high: u64::MAX,
            low: u64::MAX,
            low_rate: u64::MAX,
            gives_way: false,
        }
    }

    /// The wider one of each.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            window: self.window.max(other.window),
            high: self.high.max(other.high),
            low: self.low.max(other.low),
            low_rate: self.low_rate.max(other.low_rate),
            gives_way: self.gives_way && other.gives_way,
        }
    }
}
