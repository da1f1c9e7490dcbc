//! Jittered delays of other crates, doing the same work as `policy.delay.drawn`: a doubled ceiling
//! from 100 ms to 60 s, a random number from their own generator, a delay out. Each has the jitter
//! that it offers.

use std::hint::black_box;
use std::time::{Duration, SystemTime};

use backoff::backoff::Backoff as _;
use backoff_policy::{Jitter, Schedule, Series};
use backon::BackoffBuilder;
use retry_policies::{RetryDecision, RetryPolicy};
use tower::retry::backoff::{Backoff as _, MakeBackoff};
use tower::util::rng::HasherRng;

use crate::Run;
use crate::loops::{INPUTS, each};
use crate::operations::doubling;

const BASE: Duration = Duration::from_millis(100);
const CAP: Duration = Duration::from_secs(60);

/// Something that gives delays for ever.
pub(crate) trait Delays: Sized + 'static {
    fn start() -> Self;
    fn next(&mut self) -> Duration;
}

pub(crate) fn run<D: Delays>() -> Run {
    let mut delays = D::start();
    Box::new(move |times| {
        let delays = black_box(&mut delays);
        each(times, &[(); INPUTS], |()| delays.next());
    })
}

/// Ours, with the generator that two of the peers have inside.
pub(crate) struct Ours(Schedule, State);
pub(crate) type State = (Series, fastrand::Rng);

impl Delays for Ours {
    fn start() -> Self {
        let schedule = doubling(BASE, CAP, Jitter::Full);
        Self(schedule, (Series::new(&schedule), fastrand::Rng::new()))
    }

    fn next(&mut self) -> Duration {
        let Self(schedule, (series, rng)) = self;
        series.next(schedule, rng.u64(..))
    }
}

pub(crate) type Backon = backon::ExponentialBackoff;

impl Delays for Backon {
    fn start() -> Self {
        let builder = backon::ExponentialBuilder::new().with_jitter();
        let builder = builder.with_min_delay(BASE).with_max_delay(CAP);
        builder.without_max_times().build()
    }

    fn next(&mut self) -> Duration {
        Iterator::next(self).expect("it has no limit")
    }
}

pub(crate) type TokioRetry = tokio_retry::strategy::ExponentialBackoff;

impl Delays for TokioRetry {
    fn start() -> Self {
        Self::from_millis(2).factor(50).max_delay(CAP)
    }

    fn next(&mut self) -> Duration {
        tokio_retry::strategy::jitter(Iterator::next(self).expect("it has no limit"))
    }
}

pub(crate) type ExponentialBackoff = exponential_backoff::IntoIter;

impl Delays for ExponentialBackoff {
    fn start() -> Self {
        exponential_backoff::Backoff::new(u32::MAX, BASE, CAP).into_iter()
    }

    fn next(&mut self) -> Duration {
        let attempt = Iterator::next(self).flatten();
        attempt.expect("it has 2^32 - 1 attempts")
    }
}

/// It has no state but the number of retries, so it counts from the start. It gives an instant.
pub(crate) struct RetryPolicies(retry_policies::policies::ExponentialBackoff, u32);

impl Delays for RetryPolicies {
    fn start() -> Self {
        let builder = retry_policies::policies::ExponentialBackoff::builder();
        let builder = builder.retry_bounds(BASE, CAP).base(2);
        let policy = builder.jitter(retry_policies::Jitter::Full);
        Self(policy.build_with_max_retries(u32::MAX), 0)
    }

    fn next(&mut self) -> Duration {
        self.1 = self.1.saturating_add(1);
        match self.0.should_retry(SystemTime::UNIX_EPOCH, self.1) {
            RetryDecision::Retry { execute_after } => execute_after
                .duration_since(SystemTime::UNIX_EPOCH)
                .expect("it lies ahead"),
            RetryDecision::DoNotRetry => unreachable!("it has 2^32 - 1 retries"),
        }
    }
}

pub(crate) type Backoff = backoff::ExponentialBackoff;

impl Delays for Backoff {
    fn start() -> Self {
        backoff::ExponentialBackoffBuilder::new()
            .with_initial_interval(BASE)
            .with_multiplier(2.0)
            .with_max_interval(CAP)
            .with_max_elapsed_time(None)
            .build()
    }

    fn next(&mut self) -> Duration {
        self.next_backoff().expect("it has no limit")
    }
}

/// It gives a sleep of tokio, which is made, and dropped at once.
pub(crate) struct Tower {
    runtime: tokio::runtime::Runtime,
    backoff: TowerState,
}
pub(crate) type TowerState = tower::retry::backoff::ExponentialBackoff;

impl Delays for Tower {
    fn start() -> Self {
        let maker =
            tower::retry::backoff::ExponentialBackoffMaker::new(BASE, CAP, 1.0, HasherRng::new());
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        Self {
            runtime: runtime
                .enable_time()
                .build()
                .expect("a runtime can be made"),
            backoff: maker.expect("valid").make_backoff(),
        }
    }

    fn next(&mut self) -> Duration {
        let _entered = self.runtime.enter();
        drop(black_box(self.backoff.next_backoff()));
        Duration::ZERO
    }
}
