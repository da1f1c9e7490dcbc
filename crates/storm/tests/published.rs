//! The simulations against figures that are known: exact ones, and published means within their
//! spread.

use std::time::Duration;

use storm::{
    collision::Collision, fleet::Behaviour, herd::Herd, occ::Occ, over_seeds, reconnect::Reconnect,
    stats::mean,
};

/// A policy, with this kind of jitter.
fn policy(text: &str, jitter: &str) -> Behaviour {
    format!("{text},jitter={jitter}").parse().expect("valid")
}

fn collision(jitter: &str) -> Behaviour {
    policy("base=10ms,cap=1s", jitter).from_ceiling(1)
}

fn dialling(jitter: &str) -> Behaviour {
    policy("base=1s,multiplier=1.6,cap=120s", jitter)
}

#[track_caller]
fn assert_near(what: &str, value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value - expected).abs() <= tolerance,
        "{what}: {value:.2} is not {expected} +- {tolerance:.2}"
    );
}

#[test]
fn without_jitter_clients_collide_for_ever() {
    let behaviour = collision("none");
    for seed in 0..3 {
        let outcome = Collision::PUBLISHED.run(&behaviour, seed);
        // At 0, 20, 60, 140, 300, 620 and 1,260 ms, then 198 times in the other 198,740 ms.
        assert_eq!(outcome.attempts, 100 * (7 + 198));
        assert_eq!(outcome.drained, []);
        assert_eq!(outcome.arrivals.len(), 205);
    }
}

#[test]
fn with_jitter_clients_drain_in_the_published_time() {
    // Jitter, mean time in ms and its tolerance, mean attempts.
    let cases = [
        ("full", 914.0, 20.0, 524.5),
        ("equal", 1_149.0, 25.0, 527.5),
        ("decorrelated", 722.0, 20.0, 527.0),
    ];
    for (jitter, time, tolerance, attempts) in cases {
        let behaviour = collision(jitter);
        let outcomes = over_seeds(0..1_000, |seed| Collision::PUBLISHED.run(&behaviour, seed));
        let last = outcomes.iter().map(|outcome| {
            assert_eq!(outcome.drained.len(), 100, "{jitter}");
            outcome.drained[99]
        });
        let last: Vec<_> = last.collect();
        assert!(
            last.iter().all(|&at| at < Duration::from_secs(3)),
            "{jitter}"
        );
        let ms = mean(last.iter().map(|at| at.as_secs_f64() * 1e3));
        assert_near(&format!("{jitter}, ms"), ms, time, tolerance);
        let mean = mean(outcomes.iter().map(|outcome| outcome.attempts as f64));
        assert_near(&format!("{jitter}, attempts"), mean, attempts, 1.5);
    }
}

/// Clients, then for none, exponential, full, equal and decorrelated: ms until the last has
/// written, and writes. Means of 100 runs.
const OCC: [(u32, [(f64, f64); 5]); 4] = [
    (
        10,
        [
            (378., 50.6),
            (3401., 50.4),
            (464., 39.3),
            (750., 42.8),
            (451., 37.9),
        ],
    ),
    (
        50,
        [
            (1140., 691.),
            (36626., 621.),
            (2925., 333.),
            (4221., 347.),
            (2272., 378.),
        ],
    ),
    (
        100,
        [
            (2030., 2420.),
            (63269., 1853.),
            (4946., 796.),
            (6630., 813.),
            (4613., 999.),
        ],
    ),
    (
        190,
        [
            (3539., 8010.),
            (101_215., 5169.),
            (7488., 1771.),
            (9432., 1759.),
            (7859., 2444.),
        ],
    ),
];

fn occ_behaviours() -> [Behaviour; 5] {
    let with = |jitter| policy("base=5ms,cap=2s", jitter).from_ceiling(1);
    [
        Behaviour::AtOnce,
        with("none"),
        with("full"),
        with("equal"),
        with("decorrelated"),
    ]
}

/// Mean ms and mean writes.
fn occ(behaviour: &Behaviour, clients: u32) -> (f64, f64) {
    let plan = Occ {
        clients,
        ..Occ::PUBLISHED
    };
    let outcomes = over_seeds(0..100, |seed| plan.run(behaviour, seed));
    (
        mean(
            outcomes
                .iter()
                .map(|outcome| outcome.completed.as_secs_f64() * 1e3),
        ),
        mean(outcomes.iter().map(|outcome| outcome.writes as f64)),
    )
}

#[test]
fn optimistic_writers_do_the_published_work_in_the_published_order() {
    for (clients, expected) in OCC {
        let found = occ_behaviours().map(|behaviour| occ(&behaviour, clients));
        for (index, (found, expected)) in found.into_iter().zip(expected).enumerate() {
            let what = format!("{clients} clients, kind {index}");
            assert_near(&what, found.0, expected.0, 0.06 * expected.0);
            assert_near(&what, found.1, expected.1, 0.04 * expected.1);
        }
        let [none, exponential, full, equal, decorrelated] = found;
        if clients == 100 {
            assert_near("none", none.1, 2423.0, 13.0);
            assert_near("exponential", exponential.1, 1857.0, 25.0);
            assert_near("full", full.1, 797.0, 4.0);
            assert_near("equal", equal.1, 813.0, 4.0);
            assert_near("decorrelated", decorrelated.1, 1000.0, 12.0);
            let writes = [full.1, equal.1, decorrelated.1, exponential.1, none.1];
            assert!(writes.is_sorted(), "by writes: {writes:?}");
            // Full jitter needs the fewest writes, and does not finish first.
            let times = [none.0, decorrelated.0, full.0, equal.0, exponential.0 / 5.0];
            assert!(times.is_sorted(), "by time: {times:?}");
        }
    }
}

#[test]
fn the_work_of_optimistic_writers_grows_slower_than_the_square() {
    let exponents = [1.84, 1.59, 1.25, 1.21, 1.40];
    for (behaviour, expected) in occ_behaviours().iter().zip(exponents) {
        let (few, many) = (occ(behaviour, 50).1, occ(behaviour, 190).1);
        let exponent = (many / few).ln() / (190_f64 / 50.0).ln();
        assert_near(&format!("{behaviour:?}"), exponent, expected, 0.03);
    }
}

#[test]
fn a_herd_comes_back_as_close_together_as_published() {
    let cases = [
        ("none", [500.0; 6]),
        ("equal", [118.3, 63.9, 36.6, 22.1, 14.1, 9.5]),
        ("full", [66.1, 37.0, 22.3, 14.2, 9.5, 6.9]),
        ("proportional:1/5", [143.7, 77.3, 43.3, 25.9, 16.2, 10.8]),
    ];
    for (jitter, expected) in cases {
        let behaviour = policy("base=1s,cap=32s", jitter);
        let runs = over_seeds(0..300, |seed| Herd::PUBLISHED.run(&behaviour, seed));
        for (wave, expected) in expected.into_iter().enumerate() {
            let most = mean(runs.iter().map(|peaks| peaks[wave] as f64));
            assert_near(
                &format!("{jitter}, wave {wave}"),
                most,
                expected,
                0.025 * expected,
            );
        }
    }
}

/// Peak, and recovery p50 and p99 in s where they are published.
#[test]
fn a_server_that_was_away_is_dialled_as_published() {
    let cases = [
        ("none", 10_000.0, Some(9.9), Some(9.9)),
        ("proportional:1/5", 2_555.0, Some(9.9), Some(18.6)),
        ("equal", 2_053.0, None, None),
        ("full", 1_716.0, Some(17.8), Some(94.4)),
        ("decorrelated", 650.0, Some(12.3), Some(74.3)),
    ];
    for (jitter, peak, p50, p99) in cases {
        let behaviour = dialling(jitter);
        let runs = over_seeds(0..20, |seed| Reconnect::PUBLISHED.run(&behaviour, seed));
        let name = jitter.to_owned();
        let most = mean(runs.iter().map(|run| run.peak() as f64));
        assert_near(&name, most, peak, 0.025 * peak);
        for (share, expected) in [(0.5, p50), (0.99, p99)] {
            let recovered = runs
                .iter()
                .map(|run| run.recovered(share).expect("all are back"));
            let s = mean(recovered.map(|at| at.as_secs_f64()));
            if let Some(expected) = expected {
                assert_near(&format!("{name}, {share}"), s, expected, 0.025 * expected);
            }
        }
    }
}

/// Attempts that fail at once are where gRPC's machine waits exactly as its schedule says.
#[test]
fn the_machine_of_grpc_and_its_schedule_make_the_same_storm() {
    let schedule = dialling("proportional:1/5");
    let machine = "grpc".parse().expect("valid");
    for seed in 0..3 {
        let [a, b] = [&schedule, &machine].map(|kind| Reconnect::PUBLISHED.run(kind, seed));
        assert_eq!(a, b);
    }
}

#[test]
fn an_outcome_depends_on_the_seed_and_not_on_the_threads() {
    let behaviour = collision("full");
    let run = |seed| Collision::PUBLISHED.run(&behaviour, seed);
    let one_by_one: Vec<_> = (0..40).map(run).collect();
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let outcomes = pool.expect("threads").install(|| over_seeds(0..40, run));
        assert_eq!(outcomes, one_by_one, "{threads} threads");
    }
    assert!(one_by_one.windows(2).all(|pair| pair[0] != pair[1]));
}

/// Five attempts take 15 s at most, and then nobody is left to see the server come back.
#[test]
fn clients_that_give_up_are_counted_and_stay_away() {
    let calls: Behaviour = "calls".parse().expect("a preset");
    let outcome = Reconnect::PUBLISHED.run(&calls, 1);
    assert_eq!((outcome.gave_up, outcome.recovery.len()), (10_000, 0));
    assert_eq!(outcome.attempts, 50_000);
    assert_eq!(outcome.recovered(0.5), None);

    let outage = Duration::from_secs(5);
    let outcome = Reconnect {
        outage,
        ..Reconnect::PUBLISHED
    }
    .run(&calls, 1);
    assert_eq!(outcome.gave_up as usize + outcome.recovery.len(), 10_000);
    assert!((1..5_000).contains(&outcome.gave_up), "{}", outcome.gave_up);
}
