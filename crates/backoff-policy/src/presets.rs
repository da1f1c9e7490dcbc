//! What others publish, as policies (B16).

use crate::{DeadlineFrom, HintRule, Jitter, Policy, Ratio, Repeats, Schedule};
use core::num::NonZeroU32;
use core::time::Duration;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn s(s: u64) -> Duration {
    Duration::from_secs(s)
}

const TWICE: Ratio = Ratio::new(2, 1);
const CONSTANT: Ratio = Ratio::new(1, 1);

/// The compiler evaluates this: what a preset gets wrong does not build.
const fn preset(
    name: &'static str,
    base: Duration,
    multiplier: Ratio,
    cap: Duration,
    jitter: Jitter,
    attempts: Option<u32>,
) -> Policy {
    let Ok(schedule) = Schedule::new(base, multiplier, cap, jitter) else {
        panic!("a preset's schedule is valid");
    };
    Policy {
        name,
        attempts: match attempts {
            Some(attempts) => NonZeroU32::new(attempts),
            None => None,
        },
        ..Policy::new(schedule)
    }
}

/// # Presets
///
/// Each is what its source publishes, with the name by which [`preset`](Policy::preset) and the
/// text form know it.
impl Policy {
    /// `calls`: calls from one service to another. 5 attempts, 1 s to 30 s, doubled, full jitter:
    /// waits of 15 s at most, 7.5 s on average.
    pub const CALLS: Self = preset("calls", s(1), TWICE, s(30), Jitter::Full, Some(5));

    /// `webhooks`: delivery to somebody else's server. 5 attempts, 10 s to 1 h, doubled, full
    /// jitter; what fails then is dead. (The 10th wait would be the first at the cap.)
    pub const WEBHOOKS: Self = preset("webhooks", s(10), TWICE, s(3_600), Jitter::Full, Some(5));

    /// `grpc-connect`: gRPC's connection backoff. 1 s to 120 s, by 8/5, +-20 %, no limit. What
    /// connects should use the crate `grpc-backoff`, which knows the rest of that document.
    pub const GRPC_CONNECT: Self = preset(
        "grpc-connect",
        s(1),
        Ratio::new(8, 5),
        s(120),
        Jitter::Proportional(Ratio::new(1, 5)),
        None,
    );

    /// `grpc-call`: the values of the example in gRFC A6, with its jitter of +-20 % since August
    /// 2024. See [`grpc_call`](Self::grpc_call) for your own service config.
    pub const GRPC_CALL: Self = Self {
        hint: HintRule::Exact,
        ..preset(
            "grpc-call",
            ms(100),
            TWICE,
            s(1),
            Jitter::Proportional(Ratio::new(1, 5)),
            Some(4),
        )
    };

    /// `grpc-call-2023`: the same with the jitter before that: anywhere below the ceiling.
    pub const GRPC_CALL_2023: Self = Self {
        hint: HintRule::Exact,
        ..preset(
            "grpc-call-2023",
            ms(100),
            TWICE,
            s(1),
            Jitter::Full,
            Some(4),
        )
    };

    /// `gcs-python`: Google Cloud Storage's library for Python. 1 s to 60 s, doubled, full jitter,
    /// 120 s in total.
    pub const GCS_PYTHON: Self = Self {
        deadline: Some(s(120)),
        deadline_from: DeadlineFrom::Start,
        ..preset("gcs-python", s(1), TWICE, s(60), Jitter::Full, None)
    };

    /// `gcs-cpp`: the one for C++. 1 s to 5 min, doubled, between ceilings, 15 min in total;
    /// repeats what is not idempotent, too, unless told to be strict.
    pub const GCS_CPP: Self = Self {
        deadline: Some(s(900)),
        deadline_from: DeadlineFrom::Start,
        repeats: Repeats::Everything,
        ..preset(
            "gcs-cpp",
            s(1),
            TWICE,
            s(300),
            Jitter::BetweenCeilings,
            None,
        )
    };

    /// `gcloud`: its command line. 32 retries, 1 s to 32 s, doubled.
    pub const GCLOUD: Self = preset("gcloud", s(1), TWICE, s(32), Jitter::None, Some(33));

    /// `aws-no-jitter`: the article of AWS on backoff and jitter: 10 ms to 2 s, doubled.
    pub const AWS_NO_JITTER: Self =
        preset("aws-no-jitter", ms(10), TWICE, s(2), Jitter::None, None);

    /// `aws-full`: its full jitter.
    pub const AWS_FULL: Self = preset("aws-full", ms(10), TWICE, s(2), Jitter::Full, None);

    /// `aws-equal`: its equal jitter.
    pub const AWS_EQUAL: Self = preset("aws-equal", ms(10), TWICE, s(2), Jitter::Equal, None);

    /// `aws-decorrelated`: its decorrelated jitter, from 5 ms.
    pub const AWS_DECORRELATED: Self = preset(
        "aws-decorrelated",
        ms(5),
        TWICE,
        s(2),
        Jitter::Decorrelated,
        None,
    );

    /// `aws-sdk-2.0`: the standard mode of the AWS SDKs. 3 attempts, 1 s to 20 s, doubled, full
    /// jitter; beside it goes the quota of 2.0. The adaptive mode adds a rate limiter.
    pub const AWS_SDK_2_0: Self = preset("aws-sdk-2.0", s(1), TWICE, s(20), Jitter::Full, Some(3));

    /// `aws-sdk-2.1`: its newer form. From 50 ms, or 1 s where throttled; a hint counts from the
    /// computed delay to 5 s more.
    pub const AWS_SDK_2_1: Self = Self {
        throttle_factor: NonZeroU32::new(20).expect("not zero"),
        hint: HintRule::Within(s(5)),
        hint_jitter_percent: 0,
        ..preset("aws-sdk-2.1", ms(50), TWICE, s(20), Jitter::Full, Some(3))
    };

    /// `resilience4j`: its exponential random interval. 3 attempts, from 500 ms by 1.5, +-50 %,
    /// clipped after the draw; its cap is the user's, and unlimited here.
    pub const RESILIENCE4J: Self = preset(
        "resilience4j",
        ms(500),
        Ratio::new(3, 2),
        Duration::MAX,
        Jitter::ProportionalClipped(Ratio::new(1, 2)),
        Some(3),
    );

    /// `polly`: the defaults of Polly 8 with its jitter on. 3 retries, 2 s each, +-25 %. Its
    /// exponential kind is `SmoothV2`.
    pub const POLLY: Self = preset(
        "polly",
        s(2),
        CONSTANT,
        s(2),
        Jitter::Proportional(Ratio::new(1, 4)),
        Some(4),
    );

    /// `client-go`: `DefaultBackoff` of Kubernetes' client for Go. 4 attempts, from 10 ms by 5, up
    /// to 10 % more. (`DefaultRetry` is `client-go,multiplier=1,attempts=5`.)
    pub const CLIENT_GO: Self = preset(
        "client-go",
        ms(10),
        Ratio::new(5, 1),
        Duration::MAX,
        Jitter::Additive(Ratio::new(1, 10)),
        Some(4),
    );

    /// `temporal`: an activity of Temporal. 1 s to 100 s, doubled, no jitter, no limit.
    pub const TEMPORAL: Self = preset("temporal", s(1), TWICE, s(100), Jitter::None, None);

    /// `envoy`: a route of Envoy. One retry, 25 ms to 250 ms, doubled, full jitter; beside it goes
    /// its budget.
    pub const ENVOY: Self = preset("envoy", ms(25), TWICE, ms(250), Jitter::Full, Some(2));

    /// All of them, in the order of this page.
    pub const PRESETS: [Self; 19] = [
        Self::CALLS,
        Self::WEBHOOKS,
        Self::GRPC_CONNECT,
        Self::GRPC_CALL,
        Self::GRPC_CALL_2023,
        Self::GCS_PYTHON,
        Self::GCS_CPP,
        Self::GCLOUD,
        Self::AWS_NO_JITTER,
        Self::AWS_FULL,
        Self::AWS_EQUAL,
        Self::AWS_DECORRELATED,
        Self::AWS_SDK_2_0,
        Self::AWS_SDK_2_1,
        Self::RESILIENCE4J,
        Self::POLLY,
        Self::CLIENT_GO,
        Self::TEMPORAL,
        Self::ENVOY,
    ];

    /// The preset of this name.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        Self::PRESETS.into_iter().find(|policy| policy.name == name)
    }

    /// The policy of a gRPC service config (gRFC A6): its pushback counts exactly, and attempts
    /// above 5 are 5.
    ///
    /// # Errors
    ///
    /// Delays that make no sense are refused, see [`ScheduleError`](crate::ScheduleError).
    pub const fn grpc_call(
        initial_backoff: Duration,
        multiplier: Ratio,
        max_backoff: Duration,
        max_attempts: NonZeroU32,
    ) -> Result<Self, crate::ScheduleError> {
        let jitter = Jitter::Proportional(Ratio::new(1, 5));
        let attempts = match max_attempts.get() {
            0..=5 => max_attempts,
            _ => NonZeroU32::MIN.saturating_add(4),
        };
        match Schedule::new(initial_backoff, multiplier, max_backoff, jitter) {
            Ok(schedule) => Ok(Self {
                name: "",
                schedule,
                attempts: Some(attempts),
                ..Self::GRPC_CALL
            }),
            Err(error) => Err(error),
        }
    }
}
