use core::time::Duration;

/// The jittered exponential backoff of Polly 8 ("decorrelated jitter V2"), by its published formula:
/// with t = n + u, u uniform in 0..1, and x(t) = 2^t tanh(sqrt(4 t)), the n-th delay is
/// (x(t) - the previous x) / 1.4 of the first delay's median.
///
/// It has no cap, and is drawn in floating point, so that its last digits may differ between
/// platforms; that is why it is no kind of [`Jitter`](crate::Jitter). For a cap, take the lesser of
/// both as Polly does, and know that draws pile up there (B2).
///
/// ```
/// # use {backoff_policy::SmoothV2, core::time::Duration};
/// let mut delays = SmoothV2::new(Duration::from_secs(1));
/// let first = delays.next(1 << 63); // the middle: t = 0.5
/// assert_eq!(first.as_millis(), 897);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmoothV2 {
    first: Duration,
    /// x of the delay before.
    previous: f64,
    delays: u32,
}

impl SmoothV2 {
    /// Starts at the first delay, of about this median.
    #[must_use]
    pub const fn new(first: Duration) -> Self {
        Self {
            first,
            previous: 0.0,
            delays: 0,
        }
    }

    /// Gives the next delay by one draw, uniform over all of `u64` (B3). From the 62nd on it is
    /// [`Duration::MAX`]: by then it had grown by 2^61.
    #[expect(
        clippy::float_arithmetic,
        clippy::cast_precision_loss,
        reason = "the formula is published so"
    )]
    #[must_use]
    pub fn next(&mut self, draw: u64) -> Duration {
        if self.delays > 61 {
            return Duration::MAX;
        }
        let uniform = (draw >> 11) as f64 / (1u64 << 53) as f64;
        let t = f64::from(self.delays) + uniform;
        let x = t.exp2() * (4.0 * t).sqrt().tanh();
        let share = (x - self.previous).max(0.0) / 1.4;
        (self.previous, self.delays) = (x, self.delays.saturating_add(1));
        let delay = share * self.first.as_secs_f64();
        Duration::try_from_secs_f64(delay).unwrap_or(Duration::MAX)
    }
}
