//! The client-side rate limiter of the AWS SDKs in floating point, as their reference guide has it.

use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct RateLimiter {
    pub(crate) fill_rate: f64,
    pub(crate) measured: f64,
    pub(crate) throttlings: u32,
    max_capacity: f64,
    capacity: f64,
    refilled: Option<f64>,
    enabled: bool,
    answers: u32,
    half_second: u128,
    max_rate: f64,
    throttled_at: f64,
}

impl RateLimiter {
    /// How long the next request waits for its token, in seconds; it is taken.
    pub(crate) fn acquire(&mut self, now: Duration) -> f64 {
        if !self.enabled {
            return 0.0;
        }
        self.refill(now.as_secs_f64());
        let missing = (1.0 - self.capacity).max(0.0);
        self.capacity -= 1.0;
        missing / self.fill_rate
    }

    pub(crate) fn answered(&mut self, now: Duration, throttled: bool) {
        self.measure(now);
        let now = now.as_secs_f64();
        let rate = if throttled {
            self.max_rate = if self.enabled {
                self.measured.min(self.fill_rate)
            } else {
                self.measured
            };
            self.throttled_at = now;
            self.enabled = true;
            self.throttlings += 1;
            0.7 * self.max_rate
        } else {
            let window = (self.max_rate * (1.0 - 0.7) / 0.4).cbrt();
            0.4 * (now - self.throttled_at - window).powi(3) + self.max_rate
        };
        let rate = rate.min(2.0 * self.measured);
        self.refill(now);
        self.fill_rate = rate.max(0.5);
        self.max_capacity = rate.max(1.0);
        self.capacity = self.capacity.min(self.max_capacity);
    }

    fn refill(&mut self, now: f64) {
        let passed = now - self.refilled.unwrap_or(now);
        self.capacity = (self.capacity + passed * self.fill_rate).min(self.max_capacity);
        self.refilled = Some(now);
    }

    /// Half-seconds are counted in integers: their borders are no matter of rounding.
    fn measure(&mut self, now: Duration) {
        self.answers += 1;
        let half_second = now.as_nanos() / 500_000_000;
        if half_second > self.half_second {
            let passed = (half_second - self.half_second) as f64 / 2.0;
            let current = f64::from(self.answers) / passed;
            self.measured = 0.8 * current + 0.2 * self.measured;
            self.answers = 0;
            self.half_second = half_second;
        }
    }
}
