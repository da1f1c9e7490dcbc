//! The tests, and how a scenario is run.

mod compare;
mod network;
mod peer;
mod scenarios;
mod segment;
mod settings;
mod tcp_info;

use std::{collections::BTreeMap, panic::resume_unwind, thread};

use conformance::{
    linux::{Mistake, Replica},
    skip,
    time::{ms, us},
};
use rto::linux::{Config, Estimator};

use compare::{misses, mistimed};
use peer::{Measured, Step};

/// Why a scenario came to no end.
#[derive(Debug)]
enum Interruption {
    /// This machine cannot run it.
    Unfit(String),
    /// The machine was too busy to keep to the script.
    Disturbed(&'static str),
}

type Trace = Result<Vec<Step>, Interruption>;

/// A connection to a kernel with these settings.
struct Scenario {
    name: &'static str,
    config: Config,
    run: fn(&Config) -> Trace,
}

/// How often a scenario is begun on a machine that disturbs it.
const TRIES: usize = 6;

impl Scenario {
    const fn new(name: &'static str, config: Config, run: fn(&Config) -> Trace) -> Self {
        Self { name, config, run }
    }

    /// Runs it until nothing disturbs it; an error is why it cannot run here.
    fn observe(&self) -> Result<Vec<Step>, String> {
        let mut obstacles = Vec::new();
        for _ in 0..TRIES {
            match (self.run)(&self.config) {
                Err(Interruption::Unfit(why)) => return Err(why),
                Err(Interruption::Disturbed(why)) => obstacles.push(why.to_owned()),
                Ok(trace) => {
                    let mistimed = mistimed(&trace, &self.config);
                    if mistimed.is_empty() {
                        return Ok(trace);
                    }
                    obstacles.extend(mistimed);
                }
            }
        }
        panic!("{}: {}", self.name, obstacles.join("\n"));
    }
}

/// Holds `rto::linux` against the kernel in all scenarios, run at once, and sees to it that the
/// same comparison finds each of these mistakes in one of them.
fn compare(test: &str, scenarios: &[Scenario], visible: &[Mistake]) {
    let outcomes: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = (scenarios.iter())
            .map(|scenario| scope.spawn(|| scenario.observe()))
            .collect();
        let joined = running.into_iter().map(thread::ScopedJoinHandle::join);
        joined
            .map(|outcome| outcome.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    let mut traces = Vec::new();
    let mut unfit = BTreeMap::<_, Vec<_>>::new();
    for (Scenario { name, config, .. }, outcome) in scenarios.iter().zip(outcomes) {
        match outcome {
            Err(why) => unfit.entry(why).or_default().push(*name),
            Ok(trace) => {
                let mut linux = Estimator::new(*config).expect("the settings are the kernel's");
                let misses = misses(&trace, &mut linux);
                assert!(misses.is_empty(), "{name}:\n{}", misses.join("\n"));
                traces.push((config, trace));
            }
        }
    }
    for (why, names) in unfit {
        skip(&format!("{test}, {}", names.join("; ")), &why);
    }
    for &mistake in visible.iter().filter(|_| traces.len() == scenarios.len()) {
        let mut found = traces
            .iter()
            .map(|(config, trace)| misses(trace, &mut Replica::new(config, Some(mistake))));
        assert!(
            found.any(|misses| !misses.is_empty()),
            "{mistake:?} would pass"
        );
    }
}

/// The settings of the kernel that runs this, or a line that says why there are none.
fn here(test: &str) -> Option<Config> {
    settings::here().inspect_err(|why| skip(test, why)).ok()
}

/// Up and down by steps, spikes and in between: the first is the handshake's.
const DELAYS_MS: [u64; 36] = [
    30, 40, 40, 40, 90, 40, 40, 40, 20, 20, 20, 20, 60, 20, 60, 20, 60, 20, 30, 40, 50, 60, 70, 80,
    70, 60, 50, 40, 30, 20, 25, 55, 35, 45, 20, 20,
];

#[test]
fn each_round_trip_gives_the_estimate_and_the_rto_of_the_kernel() {
    let test = "each_round_trip_gives_the_estimate_and_the_rto_of_the_kernel";
    let Some(here) = here(test) else { return };
    let floor = |rto_min| Config { rto_min, ..here };
    let scenarios = [
        Scenario::new("one in flight", here, |config| {
            scenarios::one_by_one(config, false, &DELAYS_MS)
        }),
        Scenario::new("one in flight with timestamps", here, |config| {
            scenarios::one_by_one(config, true, &DELAYS_MS)
        }),
        Scenario::new("variance above the floor", here, |config| {
            let delays_ms = [300, 100, 100, 100, 150, 100, 250, 60, 60];
            scenarios::one_by_one(config, false, &delays_ms)
        }),
        Scenario::new("a floor of 50 ms", floor(ms(50)), |config| {
            scenarios::one_by_one(config, false, &DELAYS_MS)
        }),
        Scenario::new("a floor of no whole jiffies", floor(us(50_500)), |config| {
            scenarios::one_by_one(config, false, &DELAYS_MS)
        }),
        Scenario::new("three in flight", floor(ms(100)), |config| {
            scenarios::three_in_flight(config, &DELAYS_MS)
        }),
    ];
    let visible = [
        Mistake::FallingGain,
        Mistake::FloorOfSum,
        Mistake::SmoothedDeviation,
        Mistake::EveryAckEnds,
        Mistake::Unrounded,
    ];
    compare(test, &scenarios, &visible);
}

#[test]
fn withheld_acks_double_the_rto_until_a_sample_ends_that() {
    let test = "withheld_acks_double_the_rto_until_a_sample_ends_that";
    let Some(here) = here(test) else { return };
    let rto_max = ms(1_000);
    let scenarios = [
        Scenario::new("without timestamps", here, |config| {
            scenarios::ambiguous_recovery(config, 3)
        }),
        Scenario::new("with timestamps", here, |config| {
            scenarios::timestamped_recovery(config, 5)
        }),
        Scenario::new("up to a cap", Config { rto_max, ..here }, |config| {
            scenarios::timestamped_recovery(config, 5)
        }),
    ];
    compare(test, &scenarios, &[Mistake::AnyAckCollapses]);
}

#[test]
fn lost_syns_double_the_rto_or_not_yet_and_data_starts_at_three_seconds() {
    let test = "lost_syns_double_the_rto_or_not_yet_and_data_starts_at_three_seconds";
    let Some(here) = here(test) else { return };
    let linear = Config {
        syn_linear_timeouts: Config::LINUX.syn_linear_timeouts,
        ..here
    };
    let rto_max = ms(2_000);
    let scenarios = [
        Scenario::new("linear", linear, |config| {
            scenarios::lost_syns(config, 6, Measured::Nothing)
        }),
        Scenario::new("doubling, answered with a timestamp", here, |config| {
            scenarios::lost_syns(config, 3, Measured::RoundTrip)
        }),
        Scenario::new("data lost too", here, scenarios::lost_syn_and_data),
        Scenario::new(
            "a cap below 3 s",
            Config { rto_max, ..here },
            scenarios::lost_syn_and_data,
        ),
    ];
    compare(
        test,
        &scenarios,
        &[Mistake::EarlySynBackOff, Mistake::NoFallback],
    );
}
