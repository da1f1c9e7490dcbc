//! Runs `vectors/grpc.json`, through a connection and through several addresses of which there is one.

mod steps;

use conformance::draws::Draws;
use conformance::grpc::fail;
use conformance::time::ns;
use conformance::twin::Twin;
use conformance::vectors::load;
use grpc_backoff::{
    Action, Config, Connection, FirstDelay, FlapGuard, Ratio, Reset, Start, Timing, Verdict,
};
use serde::Deserialize;
use std::time::Duration;
use steps::Step;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    id: String,
    source: String,
    rules: Vec<String>,
    config: ConfigData,
    #[serde(default)]
    draws: Draws,
    #[serde(flatten)]
    body: Body,
}

/// A vector has one of these.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Body {
    CeilingsNs(Vec<u64>),
    BoundsNs(Vec<(u64, u64)>),
    /// Text that the refusal contains.
    Refused(String),
    /// Text that each lint contains, in order.
    Lints(Vec<String>),
    Drive(Drive),
    Fleet(Fleet),
    Steps(Vec<Step>),
}

/// Settings that differ from the document's.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigData {
    initial_backoff_ns: Option<u64>,
    multiplier: Option<(u32, u32)>,
    jitter: Option<(u32, u32)>,
    max_backoff_ns: Option<u64>,
    min_connect_timeout_ns: Option<u64>,
    first_delay: Option<FirstDelayData>,
    timing: Option<TimingData>,
    reset: Option<ResetData>,
    flap_guard: Option<FlapGuardData>,
    max_attempts: Option<u32>,
    max_elapsed_ns: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum FirstDelayData {
    Exact,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum TimingData {
    FromFailure,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ResetData {
    AfterStableNs(u64),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum FlapGuardData {
    Off,
}

impl ConfigData {
    fn config(&self) -> Config {
        let mut config = Config::GRPC;
        let set = |field: &mut Duration, nanos: Option<u64>| *field = nanos.map_or(*field, ns);
        set(&mut config.initial_backoff, self.initial_backoff_ns);
        set(&mut config.max_backoff, self.max_backoff_ns);
        set(&mut config.min_connect_timeout, self.min_connect_timeout_ns);
        let ratio = |(num, den)| Ratio::new(num, den);
        config.multiplier = self.multiplier.map_or(config.multiplier, ratio);
        config.jitter = self.jitter.map_or(config.jitter, ratio);
        if let Some(FirstDelayData::Exact) = self.first_delay {
            config.first_delay = FirstDelay::Exact;
        }
        if let Some(TimingData::FromFailure) = self.timing {
            config.timing = Timing::FromFailure;
        }
        if let Some(ResetData::AfterStableNs(time)) = self.reset {
            config.reset = Reset::AfterStable(ns(time));
        }
        if let Some(FlapGuardData::Off) = self.flap_guard {
            config.flap_guard = FlapGuard::Off;
        }
        config.max_attempts = self.max_attempts.map(|n| n.try_into().expect("not zero"));
        config.max_elapsed = self.max_elapsed_ns.map(ns);
        config
    }
}

/// The same outcome for every attempt. Each list holds the first values.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Drive {
    attempts: usize,
    outcome: Outcome,
    /// How long after its start.
    after_ns: u64,
    starts_ns: Vec<u64>,
    /// The gap between all later starts.
    then_every_ns: Option<u64>,
    #[serde(default)]
    backoffs_ns: Vec<u64>,
    #[serde(default)]
    connect_timeouts_ns: Vec<u64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Failed,
    /// No answer, ever.
    Silent,
    /// SETTINGS at once; then the connection is lost, and wanted again.
    Lost,
}

impl Drive {
    fn check(&self, id: &str, mut connection: Twin, mut draws: Draws) {
        let mut starts: Vec<(Duration, Start)> = Vec::new();
        connection.connect(Duration::ZERO);
        while starts.len() < self.attempts {
            let now = connection.poll_timeout().expect("never stuck");
            for action in connection.actions(now, || draws.draw()) {
                if let Action::Start(start) = action {
                    starts.push((now, start));
                    self.end(&mut connection, now, start);
                }
            }
        }

        for (n, (&(at, start), &expected)) in starts.iter().zip(&self.starts_ns).enumerate() {
            assert_eq!(at, ns(expected), "{id}: start of attempt {n}");
            assert_eq!(start.attempt.get(), n as u64, "{id}: id of attempt {n}");
        }
        for (n, (&(_, start), &expected)) in starts.iter().zip(&self.backoffs_ns).enumerate() {
            assert_eq!(start.backoff, ns(expected), "{id}: delay after attempt {n}");
        }
        for (n, (&(at, start), &expected)) in
            starts.iter().zip(&self.connect_timeouts_ns).enumerate()
        {
            assert_eq!(
                start.deadline - at,
                ns(expected),
                "{id}: connect timeout of attempt {n}"
            );
        }
        let later = &starts[self.starts_ns.len() - 1..];
        assert_eq!(
            self.then_every_ns.is_some(),
            later.len() > 1,
            "{id}: every start is stated"
        );
        for pair in later.windows(2) {
            let gap = pair[1].0 - pair[0].0;
            assert_eq!(
                Some(gap),
                self.then_every_ns.map(ns),
                "{id}: gap before {}",
                pair[1].1.attempt
            );
        }
    }

    fn end(&self, connection: &mut Twin, started_at: Duration, start: Start) {
        let now = started_at + ns(self.after_ns);
        match self.outcome {
            Outcome::Failed => accept(connection.handle_failed(now, start.attempt)),
            Outcome::Silent => {}
            Outcome::Lost => {
                accept(connection.handle_settings(started_at, start.attempt));
                accept(connection.handle_lost(now, start.attempt));
                connection.connect(now);
            }
        }
    }
}

fn accept(verdict: Verdict) {
    assert_eq!(verdict, Verdict::Accepted);
}

/// Clients that fail together at 0; the n-th draws from SplitMix64 seeded n.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fleet {
    clients: u64,
    least_ns: u64,
    most_ns: u64,
    bucket_ns: u64,
    most_per_bucket: usize,
}

impl Fleet {
    fn check(&self, id: &str, config: Config) {
        let mut buckets = vec![0; ((self.most_ns - self.least_ns) / self.bucket_ns) as usize + 1];
        for seed in 0..self.clients {
            let mut draws = Draws::Splitmix64(seed);
            let mut connection = Connection::new(config).expect("valid");
            connection.connect(Duration::ZERO);
            let Some(Action::Start(start)) =
                connection.poll_action(Duration::ZERO, || draws.draw())
            else {
                panic!("{id}: no start");
            };
            fail(&mut connection, Duration::ZERO, start.attempt);
            let retry = connection.poll_timeout().expect("wanted").as_nanos() as u64;
            assert!(
                (self.least_ns..=self.most_ns).contains(&retry),
                "{id}: seed {seed} retries at {retry}"
            );
            buckets[((retry - self.least_ns) / self.bucket_ns) as usize] += 1;
        }
        assert!(
            buckets.iter().all(|&n| n <= self.most_per_bucket),
            "{id}: {buckets:?}"
        );
        let empty = buckets[..buckets.len() - 1]
            .iter()
            .filter(|&&n| n == 0)
            .count();
        assert_eq!(empty, 0, "{id}: the whole interval is used: {buckets:?}");
    }
}

#[test]
fn every_vector_holds() {
    let vectors: Vec<Vector> = load("grpc.json");
    for vector in &vectors {
        let id = vector.id.as_str();
        assert!(
            !vector.source.is_empty() && !vector.rules.is_empty(),
            "{id} says where it comes from"
        );
        let config = vector.config.config();
        let connection = || Twin::new(config).unwrap_or_else(|error| panic!("{id}: {error}"));
        let schedule = || {
            config
                .schedule()
                .unwrap_or_else(|error| panic!("{id}: {error}"))
        };
        match &vector.body {
            Body::CeilingsNs(expected) => {
                for (n, &ceiling) in (0..).zip(expected) {
                    assert_eq!(schedule().ceiling(n), ns(ceiling), "{id}: ceiling {n}");
                }
            }
            Body::BoundsNs(expected) => {
                for (n, &(least, most)) in (0..).zip(expected) {
                    assert_eq!(
                        schedule().bounds(n),
                        ns(least)..=ns(most),
                        "{id}: bounds {n}"
                    );
                }
            }
            Body::Refused(text) => {
                let error = Connection::new(config).expect_err(id).to_string();
                assert!(
                    error.contains(text.as_str()) && error.contains("(D3)"),
                    "{id}: {error}"
                );
            }
            Body::Lints(expected) => {
                let lints: Vec<_> = config.lint().map(|lint| lint.to_string()).collect();
                assert_eq!(lints.len(), expected.len(), "{id}: {lints:?}");
                for (lint, text) in lints.iter().zip(expected) {
                    assert!(lint.contains(text.as_str()), "{id}: {lint}");
                }
            }
            Body::Drive(drive) => drive.check(id, connection(), vector.draws.clone()),
            Body::Fleet(fleet) => fleet.check(id, config),
            Body::Steps(steps) => steps::check(id, connection(), vector.draws.clone(), steps),
        }
    }
}

#[test]
fn every_case_is_among_the_vectors() {
    let vectors: Vec<Vector> = load("grpc.json");
    let ids: Vec<_> = vectors.iter().map(|vector| vector.id.as_str()).collect();
    let scripts = [
        1, 2, 3, 6, 7, 9, 10, 12, 13, 14, 16, 18, 20, 22, 23, 24, 25, 27, 33, 34, 35, 38, 45,
    ];
    let scripts = scripts.map(|n| format!("script-{n}"));
    let numbered = ["V0", "V0j", "V1", "V2", "V3", "V4", "V6", "V7"].map(String::from);
    for case in numbered.into_iter().chain(scripts) {
        let part = format!("{case}-");
        assert!(
            ids.iter().any(|id| *id == case || id.starts_with(&part)),
            "{case} is missing"
        );
    }
}
