//! A server of limited capacity comes back: who lets it recover.

use std::time::Duration;

use storm::{
    Capacity,
    collapse::{Collapse, Outcome},
    fleet::Behaviour,
};

const PLAN: Collapse = Collapse {
    limit: Duration::from_secs(300),
    ..Collapse::EXAMPLE
};

fn policy(text: &str) -> Behaviour {
    text.parse().expect("valid")
}

fn growing(jitter: &str) -> Behaviour {
    policy(&format!("base=1s,multiplier=1.6,cap=120s,jitter={jitter}"))
}

fn every_second() -> Behaviour {
    policy("base=1s,cap=1s,jitter=none")
}

fn grpc() -> Behaviour {
    policy("grpc")
}

fn is_back(outcome: &Outcome) -> bool {
    outcome.recovery.len() == outcome.clients as usize
}

/// How many were back only in the second half of the time that was left to it.
fn late(outcome: &Outcome) -> usize {
    let half = PLAN.limit.as_nanos() as u64 / 2;
    outcome.recovery.iter().filter(|&&at| at > half).count()
}

#[test]
fn who_tries_again_at_once_keeps_the_server_down() {
    let outcome = PLAN.run(&policy("at-once"), 1);
    assert!(outcome.recovery.len() < 50, "{}", outcome.recovery.len());
    assert_eq!(late(&outcome), 0);
    let work = outcome.work;
    assert!(work.wasted() > 0.99, "{work:?}");
    assert!(
        work.arrivals > PLAN.limit * 9 / 10,
        "refusing is all it does: {work:?}"
    );
    assert!(
        work.arrivals <= PLAN.limit + Duration::from_secs(1),
        "time is finite: {work:?}"
    );
}

#[test]
fn who_tries_again_every_second_keeps_the_server_busy_for_nothing() {
    let outcome = PLAN.run(&every_second(), 1);
    assert!(outcome.recovery.len() < 1_000, "{}", outcome.recovery.len());
    assert_eq!(late(&outcome), 0);
    let work = outcome.work;
    assert!(
        work.abandoned > PLAN.limit * 9 / 10,
        "it serves those who have gone: {work:?}"
    );
}

#[test]
fn who_backs_off_lets_the_server_recover_from_every_outage() {
    let patient = [
        ("exponential", growing("none")),
        ("full", growing("full")),
        ("equal", growing("equal")),
        ("decorrelated", growing("decorrelated")),
        ("gRPC", grpc()),
    ];
    for outage in [0, 30] {
        for (name, behaviour) in &patient {
            for seed in 0..5 {
                let plan = Collapse {
                    outage: Duration::from_secs(outage),
                    ..PLAN
                };
                let outcome = plan.run(behaviour, seed);
                let back = outcome.recovery.len();
                assert!(is_back(&outcome), "{name}, {outage} s, seed {seed}: {back}");
            }
        }
    }
}

/// The queue takes up to 10 s, and gRPC's clients wait for 20 s: none goes away unserved.
#[test]
fn grpc_wastes_no_work_and_its_patience_is_why() {
    for seed in 0..5 {
        let outcome = PLAN.run(&grpc(), seed);
        assert_eq!(outcome.work.abandoned, Duration::ZERO);
        assert!(
            outcome.recovered(1.0) < Some(Duration::from_secs(30)),
            "seed {seed}"
        );
    }
    let hasty = grpc().with_connect_timeout(Duration::from_secs(2));
    let restart = Collapse {
        outage: Duration::ZERO,
        ..PLAN
    };
    let outcome = restart.run(&hasty.expect("not zero"), 1);
    assert!(is_back(&outcome), "it recovers all the same");
    assert!(outcome.work.wasted() > 0.5, "{:?}", outcome.work);
}

/// The same fleets harm no server that can take them all.
#[test]
fn a_server_with_room_for_everybody_recovers_from_anybody() {
    let server = Capacity {
        rate: 10_000,
        queue: 2_000,
        slowdown: 1,
        arrival: Duration::ZERO,
    };
    let plan = Collapse { server, ..PLAN };
    for behaviour in [policy("at-once"), every_second(), grpc()] {
        let outcome = plan.run(&behaviour, 1);
        assert!(is_back(&outcome), "{behaviour:?}");
        assert_eq!(
            outcome.work.useful,
            Duration::from_micros(100) * outcome.clients
        );
        assert_eq!(outcome.refused, 0);
    }
}

/// One client after another, so that each figure can be worked out.
#[test]
fn a_lone_client_is_served_in_the_time_of_a_round_trip_and_a_service() {
    let server = Capacity {
        rate: 100,
        queue: 1,
        slowdown: 5,
        arrival: Duration::from_millis(1),
    };
    let outage = Duration::from_millis(100);
    let plan = Collapse {
        clients: 1,
        outage,
        server,
        ..PLAN
    };
    let outcome = plan.run(&policy("at-once"), 1);
    // It arrives at 10, 30, 50, 70, 90 and 110 ms; only the last finds the server, which takes
    // 1 ms for the arrival and 10 x 5 ms (it fills the queue of one) for the service.
    assert_eq!(outcome.attempts, 6);
    let back = Duration::from_millis(110 + 1 + 50 + 10) - outage;
    assert_eq!(outcome.recovered(1.0), Some(back));
    assert_eq!(outcome.work.arrivals, Duration::from_millis(1));
    assert_eq!(outcome.work.useful, Duration::from_millis(50));
}
