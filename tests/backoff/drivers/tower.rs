//! `TowerPolicy` under `tower::ServiceBuilder`, in tokio's paused time.

use super::{STARTS, exact};
use ::tower::retry::RetryLayer;
use ::tower::{Service, ServiceBuilder, ServiceExt, service_fn};
use backoff_policy::{
    Admission, AwsQuota, Budget, Class, Cost, Counters, EnvoyBudget, Failure, Hint, Idempotency,
    Policy, Reason, TowerPolicy,
};
use conformance::time::{assert_close, ms, s};
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// A request, and the statuses that it gets in turn.
#[derive(Clone)]
struct Request {
    statuses: Arc<Mutex<VecDeque<u16>>>,
    starts: Arc<Mutex<Vec<Duration>>>,
    method: &'static str,
}

impl Request {
    fn new(method: &'static str, statuses: &[u16]) -> Self {
        let statuses = Arc::new(Mutex::new(statuses.iter().copied().collect()));
        let starts = Arc::default();
        Self {
            statuses,
            starts,
            method,
        }
    }

    fn starts(&self) -> Vec<Duration> {
        self.starts.lock().expect("no panic").clone()
    }
}

type Outcome = Result<u16, &'static str>;
type Retries = TowerPolicy<Request, u16, &'static str>;

fn policy(policy: Policy) -> Retries {
    TowerPolicy::new(policy)
        .classify(|result: &Outcome| match result {
            Ok(503) => Some(Failure::from(Class::Transient).hinted(Some(Hint::After(s(9))))),
            Ok(status) => Class::of_http(*status).map(Failure::from),
            Err(_) => Some(Class::Unsent.into()),
        })
        .idempotency(|request: &Request| Idempotency::of_method(request.method))
        .draws(|| 0)
}

/// The client of a server that answers at once.
fn client(
    policy: Retries,
) -> impl Service<Request, Response = u16, Error = &'static str, Future: Send> + Clone {
    #[expect(clippy::disallowed_methods, reason = "tokio's paused clock, in a test")]
    let start = Instant::now();
    let server = service_fn(move |request: Request| {
        request
            .starts
            .lock()
            .expect("no panic")
            .push(start.elapsed());
        let status = request.statuses.lock().expect("no panic").pop_front();
        async move { status.filter(|&status| status > 0).ok_or("refused") }
    });
    ServiceBuilder::new()
        .layer(RetryLayer::new(policy))
        .service(server)
}

/// (B7) The waits are those of the policy.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b7_a_tower_service_waits_as_planned() {
    let request = Request::new("GET", &[500; 9]);
    assert_eq!(
        client(policy(exact())).oneshot(request.clone()).await,
        Ok(500)
    );
    assert_close(&request.starts(), &STARTS);
}

/// (B6, B13) Classes, hints and idempotency count.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b13_a_tower_service_retries_what_it_may() {
    for (method, statuses, result, starts) in [
        ("GET", &[200][..], Ok(200), &[s(0)][..]),
        ("GET", &[404], Ok(404), &[s(0)]),
        ("GET", &[503, 200], Ok(200), &[s(0), s(9)]),
        ("GET", &[0, 500, 200], Ok(200), &[s(0), s(1), s(3)]),
        ("POST", &[500], Ok(500), &[s(0)]),
        ("POST", &[0, 200], Ok(200), &[s(0), s(1)]),
        ("POST", &[0; 5], Err("refused"), &STARTS),
    ] {
        let request = Request::new(method, statuses);
        let got = client(policy(exact())).oneshot(request.clone()).await;
        assert_eq!(got, result, "{method} {statuses:?}");
        assert_close(&request.starts(), starts);
    }
}

/// (B4, B7) Every request of a service, and of its copies, has its own attempts and its own stream.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b4_requests_of_a_tower_service_are_apart() {
    let requests: Vec<_> = (0..1_000)
        .map(|_| Request::new("GET", &[500, 200]))
        .collect();
    let own_draws = TowerPolicy::new(Policy::CALLS).classify(|result: &Outcome| match result {
        Ok(status) => Class::of_http(*status).map(Failure::from),
        Err(_) => Some(Class::Unsent.into()),
    });
    let client = client(own_draws);
    let mut tasks = tokio::task::JoinSet::new();
    for request in requests.clone() {
        let mut client = client.clone();
        tasks.spawn(async move {
            let early = client.ready().await?.call(request); // nothing waits for the answer yet
            drop(client);
            early.await
        });
    }
    for status in tasks.join_all().await {
        assert_eq!(status, Ok(200));
    }
    let delays: HashSet<_> = requests.iter().map(|request| request.starts()[1]).collect();
    // Tokio's timer has 1,000 ticks in the first ceiling: some of 1,000 share one.
    assert!(delays.len() > 500, "{}", delays.len());
}

/// (B10) Dropped in its wait: no other attempt, and what was paid comes back.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b10_a_dropped_request_returns_its_permits() {
    let (quota, counters) = (Arc::new(AwsQuota::standard_2_0()), Counters::default());
    let policy = policy(exact()).budget(quota.clone()).counters(&counters);
    let request = Request::new("GET", &[500; 5]);
    let answer = client(policy).oneshot(request.clone());
    timeout(ms(2_500), answer).await.expect_err("it waits");
    assert_eq!(quota.available(), 500 - 5);
    assert_eq!((counters.attempts(), counters.retries()), (2, 1));
    sleep(s(3_600)).await;
    assert_eq!(request.starts().len(), 2);
}

/// (B9, B12) A budget counts what is in flight, and ends it.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b9_a_budget_ends_a_tower_request() {
    let envoy = Arc::new(EnvoyBudget::new(backoff_policy::Ratio::new(0, 1), 1).expect("valid"));
    let counters = Counters::default();
    let mut client = client(policy(exact()).budget(envoy.clone()).counters(&counters));
    let idle = client.clone();
    let first = client
        .ready()
        .await
        .expect("ready")
        .call(Request::new("GET", &[500, 200]));
    assert_eq!(
        (envoy.attempts(), envoy.retries()),
        (1, 0),
        "an idle copy is nothing"
    );
    let mut first = Box::pin(first);
    timeout(ms(500), &mut first).await.expect_err("it waits");
    assert_eq!((envoy.attempts(), envoy.retries()), (0, 1));

    // The only permit is taken.
    assert_eq!(
        idle.oneshot(Request::new("GET", &[500, 200])).await,
        Ok(500)
    );
    assert_eq!(counters.give_ups_by(Reason::Budget), 1);
    assert_eq!(first.await, Ok(200));
    assert_eq!((envoy.attempts(), envoy.retries()), (0, 0));
    assert_eq!(counters.successes(), 1);
}

/// Admits so many attempts, each at this time at the earliest, and then none.
struct Admits(AtomicU32, Duration);

impl Budget for Admits {
    fn admit(&self, now: Duration, _draw: u64) -> Admission {
        let one_less = |left: u32| left.checked_sub(1);
        match self.0.try_update(Relaxed, Relaxed, one_less) {
            Ok(_) if self.1.is_zero() => Admission::Now,
            Ok(_) => Admission::At(now + self.1),
            Err(_) => Admission::Rejected,
        }
    }

    fn withdraw(&self, _now: Duration, _class: Class) -> Option<Cost> {
        Some(Cost::new(1))
    }
}

/// (B9) An attempt that the budget refuses is the last, and its wait for the budget is waited.
#[tokio::test(start_paused = true)]
async fn rule_backoff_b9_a_refused_attempt_is_the_last() {
    for (admitted, wait, starts) in [
        (0, s(0), &[s(0)][..]),
        (1, s(0), &[s(0), s(1)]),
        (3, s(0), &[s(0), s(1), s(3), s(7)]),
        (
            3,
            s(5),
            &[s(0), s(1 + 5), s(1 + 5 + 2 + 5), s(1 + 5 + 2 + 5 + 4)],
        ),
    ] {
        let counters = Counters::default();
        let budget = Arc::new(Admits(AtomicU32::new(admitted), wait));
        let policy = policy(exact()).budget(budget).counters(&counters);
        let request = Request::new("GET", &[500; 9]);
        assert_eq!(client(policy).oneshot(request.clone()).await, Ok(500));
        assert_close(&request.starts(), starts);
        assert_eq!(counters.give_ups_by(Reason::Budget), 1);
        assert_eq!(counters.attempts(), u64::from(admitted) + 1);
    }
}
