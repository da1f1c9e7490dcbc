use super::AwsQuota;
use super::cubic::{after_throttling, recovering, recovery, saturate};
use crate::nanos::nanos;
use crate::{Admission, Budget, Class, Cost, Outcome};
use core::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use core::time::Duration;

const SECOND: u64 = 1_000_000_000;
/// One request per second, in the unit of rates.
const ONE: u64 = 1_000_000_000;
/// The least rate of the bucket: one request in 2 s.
const LEAST_RATE: u64 = ONE / 2;

/// The adaptive mode of the AWS SDKs: the standard [quota](AwsQuota), and before every attempt a
/// token of a bucket whose rate follows what the server bears (B25).
///
/// The bucket does nothing before the first answer with [`Class::Throttled`]. That cuts the rate to
/// 0.7 of what was measured, and from then on it grows along the cubic curve of CUBIC, at most to
/// twice the measured rate and at least 0.5 per second. The measured rate is that of answers, in
/// half-seconds, smoothed by 0.8. The bucket holds what comes in a second, but at least 1 token.
///
/// Whoever finds no token gets an instant of its own, in the order of asking; a rate that changes
/// later does not move it. One limiter is for one resource of a server: it slows everything down.
///
/// # Exactness
///
/// Integers: rates in billionths of a request per second, times in ns, everything rounded down. A
/// measured rate is at most 3 of those units below the exact one. Where it is half a request per
/// second or more, the rate of the bucket differs from the exact one by at most 10^-8 of itself, and
/// as much for each throttling so far. A token takes up to 1 ns longer than exactly, and an answer
/// takes up to 1 ns from what the bucket holds.
///
/// # Threads
///
/// An attempt takes its token with one compare-and-swap of one word. The rate depends on several
/// numbers: of answers that arrive at the same instant one computes it, and the others only leave
/// their count. A throttling among those counts with the next answer, instead of waiting for a lock.
///
/// Source: "Retry behavior" in the AWS SDKs and Tools reference guide; botocore's
/// `retries/adaptive.py`, `bucket.py` and `throttling.py`. The place in the queue is that of the AWS SDK
/// for Java 2.
#[derive(Debug)]
pub struct AwsAdaptive {
    quota: AwsQuota,
    enabled: AtomicBool,
    /// Of the bucket; 0 before the first answer.
    rate: AtomicU64,
    /// When the bucket was empty last, or will be after all who wait: its whole content.
    empty_at: AtomicU64,
    /// Answers in this half-second.
    answers: AtomicU64,
    /// Whether a throttling answer waits to be taken into account.
    throttled: AtomicBool,
    /// Whether a thread computes the rate; what follows is its own.
    updating: AtomicBool,
    half_second: AtomicU64,
    measured: AtomicU64,
    /// The rate at which the server last throttled, when, and how long until it is reached again.
    throttled_rate: AtomicU64,
    throttled_at: AtomicU64,
    recovery: AtomicU64,
}

impl AwsAdaptive {
    /// Makes a limiter that does nothing yet, over a quota of retries. `start` is the time of its
    /// making.
    #[must_use]
    pub const fn new(quota: AwsQuota, start: Duration) -> Self {
        const fn zero() -> AtomicU64 {
            AtomicU64::new(0)
        }
        Self {
            quota,
            enabled: AtomicBool::new(false),
            rate: zero(),
            empty_at: zero(),
            answers: zero(),
            throttled: AtomicBool::new(false),
            updating: AtomicBool::new(false),
            half_second: AtomicU64::new(start.as_secs().saturating_mul(2)),
            measured: zero(),
            throttled_rate: zero(),
            throttled_at: AtomicU64::new(nanos(start)),
            recovery: zero(),
        }
    }

    /// The quota of retries.
    #[must_use]
    pub const fn quota(&self) -> &AwsQuota {
        &self.quota
    }

    /// Whether the server has throttled, so that attempts wait for tokens.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Acquire)
    }

    /// The rate of the bucket, in billionths of a request per second; 0 before the first answer.
    #[must_use]
    pub fn fill_rate(&self) -> u64 {
        self.rate.load(Relaxed)
    }

    /// The rate of answers, smoothed, in billionths of one per second.
    #[must_use]
    pub fn measured_rate(&self) -> u64 {
        self.measured.load(Relaxed)
    }

    fn answered(&self, now: u64, throttled: bool) {
        self.answers.fetch_add(1, Relaxed);
        if throttled {
            self.throttled.store(true, Relaxed);
        }
        if !self.updating.swap(true, Acquire) {
            self.update(now, self.throttled.swap(false, Relaxed));
            self.updating.store(false, Release);
        }
    }

    /// One thread at a time.
    fn update(&self, now: u64, throttled: bool) {
        let measured = self.measure(now);
        let rate = if throttled {
            let most = if self.is_enabled() {
                measured.min(self.fill_rate())
            } else {
                measured
            };
            self.throttled_rate.store(most, Relaxed);
            self.throttled_at.store(now, Relaxed);
            self.recovery.store(recovery(most), Relaxed);
            after_throttling(most)
        } else {
            let elapsed = now.saturating_sub(self.throttled_at.load(Relaxed));
            let most = self.throttled_rate.load(Relaxed);
            recovering(most, elapsed, self.recovery.load(Relaxed))
        };
        let rate = rate.min(measured.saturating_mul(2)).max(LEAST_RATE);
        let before = self.rate.swap(rate, Relaxed);
        self.empty_at
            .update(Relaxed, Relaxed, |at| at_rate(at, now, before, rate));
        if throttled {
            self.enabled.store(true, Release);
        }
    }

    fn measure(&self, now: u64) -> u64 {
        let (half_second, before) = (now / (SECOND / 2), self.half_second.load(Relaxed));
        let measured = self.measured.load(Relaxed);
        let Some(passed) = half_second.checked_sub(before).filter(|&passed| passed > 0) else {
            return measured;
        };
        self.half_second.store(half_second, Relaxed);
        let answers = u128::from(self.answers.swap(0, Relaxed)).saturating_mul(2 * u128::from(ONE));
        let current = answers.checked_div(passed.into()).unwrap_or(0);
        // 0.8 x current + 0.2 x measured
        let smoothed = current.saturating_mul(4).saturating_add(measured.into()) / 5;
        let smoothed = saturate(smoothed);
        self.measured.store(smoothed, Relaxed);
        smoothed
    }
}

/// The ns from one token to the next.
fn spacing(rate: u64) -> u64 {
    const TOKEN: u64 = SECOND * ONE;
    TOKEN.div_ceil(rate.max(LEAST_RATE))
}

/// How long the bucket takes to fill: the capacity is the tokens of a second, but at least 1.
fn filling(rate: u64) -> u64 {
    spacing(rate).max(SECOND)
}

/// When a bucket that is empty `at` is or will be empty if it has the same tokens, or owes the
/// same, at another rate. What is more than it then holds is cut where tokens are taken.
fn at_rate(at: u64, now: u64, before: u64, rate: u64) -> u64 {
    let scale = |span: u64| {
        let tokens = u128::from(span).saturating_mul(before.into());
        saturate(tokens.checked_div(rate.into()).unwrap_or(0))
    };
    let at = at.max(now.saturating_sub(filling(before)));
    match now.checked_sub(at) {
        Some(filled) => now.saturating_sub(scale(filled)),
        None => now.saturating_add(scale(at.saturating_sub(now))),
    }
}

impl Budget for AwsAdaptive {
    fn admit(&self, now: Duration, _draw: u64) -> Admission {
        if !self.is_enabled() {
            return Admission::Now;
        }
        let (rate, instant) = (self.fill_rate(), nanos(now));
        let full = instant.saturating_sub(filling(rate));
        let less = |at: u64| at.max(full).saturating_add(spacing(rate));
        let ready = less(self.empty_at.update(Relaxed, Relaxed, less));
        if ready <= instant {
            Admission::Now
        } else {
            Admission::At(Duration::from_nanos(ready))
        }
    }

    /// At the present rate.
    fn release(&self) {
        if self.is_enabled() {
            let token = spacing(self.fill_rate());
            let more = |at: u64| at.saturating_sub(token);
            self.empty_at.update(Relaxed, Relaxed, more);
        }
    }

    fn withdraw(&self, now: Duration, class: Class) -> Option<Cost> {
        self.quota.withdraw(now, class)
    }

    fn refund(&self, cost: Cost) {
        self.quota.refund(cost);
    }

    fn end(&self, now: Duration, outcome: Outcome, paid: Option<Cost>) {
        self.quota.end(now, outcome, paid);
        match outcome {
            Outcome::Succeeded => self.answered(nanos(now), false),
            Outcome::Failed(class) => self.answered(nanos(now), class == Class::Throttled),
            Outcome::Dropped => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What would be there at one instant in a thousand, step by step.
    #[test]
    fn an_answer_that_finds_another_at_work_leaves_its_part() {
        let limiter = AwsAdaptive::new(AwsQuota::standard_2_1(), Duration::ZERO);
        limiter.updating.store(true, Relaxed); // by another thread
        limiter.answered(SECOND, true);
        assert!(!limiter.is_enabled());
        limiter.updating.store(false, Relaxed);
        limiter.answered(SECOND, false);
        assert!(limiter.is_enabled());
        // Both answers count: 2 in a second, smoothed.
        assert_eq!(limiter.measured_rate(), 2 * ONE * 4 / 5);
    }
}
