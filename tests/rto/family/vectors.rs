//! Runs the vectors of `vectors/family.json` against `rto` and against the models.

use std::{collections::BTreeSet, fmt::Debug};

use conformance::{
    quic::{self, ProbeTimer},
    transaction::{self, Preset, TransactionTimer},
    vectors::{Step, load},
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Vector {
    id: String,
    #[serde(flatten)]
    machine: Machine,
}

#[derive(Deserialize)]
#[serde(tag = "machine", rename_all = "snake_case")]
enum Machine {
    Quic(quic::Vector),
    Transaction(transaction::Vector),
}

fn vectors() -> Vec<Vector> {
    load("family.json")
}

/// Every miss of every step, given what an event does and what its answer misses.
fn misses<Event, Expect: Debug, Answer>(
    steps: &[Step<Event, Expect>],
    mut apply: impl FnMut(&Event) -> Answer,
    missed: impl Fn(&Expect, &Answer) -> Vec<String>,
) -> Vec<String> {
    let mut misses = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let answer = apply(&step.event);
        for miss in missed(&step.expect, &answer) {
            misses.push(format!("step {index}: {miss}, expected {:?}", step.expect));
        }
    }
    misses
}

fn quic_misses(
    vector: &quic::Vector,
    apply: impl FnMut(&quic::Event) -> quic::Answer,
) -> Vec<String> {
    misses(&vector.steps, apply, |expect, answer| {
        expect.misses(answer, vector.tolerance_ns)
    })
}

fn transaction_misses(
    vector: &transaction::Vector,
    apply: impl FnMut(&transaction::Event) -> transaction::Answer,
) -> Vec<String> {
    misses(&vector.steps, apply, transaction::Expect::misses)
}

/// A machine of the crate.
fn rto(machine: &Machine) -> Vec<String> {
    match machine {
        Machine::Quic(vector) => {
            let mut timer = ProbeTimer::new(vector.role);
            quic_misses(vector, |event| timer.apply(event))
        }
        Machine::Transaction(vector) => {
            let mut timer = TransactionTimer::new(&vector.config).expect("legal settings");
            transaction_misses(vector, |event| timer.apply(event))
        }
    }
}

/// Its model.
fn model(machine: &Machine) -> Vec<String> {
    match machine {
        Machine::Quic(vector) => {
            let mut model = quic::Model::new(vector.role);
            quic_misses(vector, |event| model.apply(event))
        }
        Machine::Transaction(vector) => {
            let mut model = transaction::Model::new(&vector.config);
            transaction_misses(vector, |event| model.apply(event))
        }
    }
}

fn assert_no_misses(run: impl Fn(&Machine) -> Vec<String>) {
    let vectors = vectors();
    assert!(vectors.len() >= 50, "{} vectors", vectors.len());
    let misses: Vec<_> = (vectors.iter())
        .flat_map(|vector| {
            let misses = run(&vector.machine).into_iter();
            misses.map(|miss| format!("{}, {miss}", vector.id))
        })
        .collect();
    assert!(misses.is_empty(), "{}", misses.join("\n"));
}

#[test]
fn rto_gives_what_the_vectors_state() {
    assert_no_misses(rto);
}

#[test]
fn the_models_give_what_the_vectors_state() {
    assert_no_misses(model);
}

/// The settings that a vector spells out are those of the preset that it names, and each preset
/// has a vector.
#[test]
fn the_presets_are_those_of_the_vectors() {
    let mut seen = BTreeSet::new();
    for vector in vectors() {
        if let Machine::Transaction(transaction) = vector.machine
            && let Some(preset) = transaction.preset
        {
            let stated = rto::transaction::Config::from(&transaction.config);
            assert_eq!(stated, preset.into(), "{}", vector.id);
            seen.insert(preset);
        }
    }
    let all = [
        Preset::Rfc7252,
        Preset::Rfc8489,
        Preset::Rfc6347,
        Preset::Rfc9147,
    ];
    assert_eq!(seen, all.into());
}

/// The runner itself must be able to fail: each stated value, put wrong, is a miss.
#[test]
fn a_wrong_expectation_is_a_miss() {
    for vector in vectors() {
        let mut machine = vector.machine;
        assert_eq!(rto(&machine), [""; 0], "{}", vector.id);
        let altered = match &mut machine {
            Machine::Quic(vector) => {
                let wrong = vector.tolerance_ns + 2;
                let steps = vector.steps.iter_mut();
                steps.map(|step| quic_wrong(&mut step.expect, wrong)).sum()
            }
            Machine::Transaction(vector) => {
                let steps = vector.steps.iter_mut();
                steps
                    .map(|step| transaction_wrong(&mut step.expect))
                    .sum::<usize>()
            }
        };
        assert!(altered > 0, "{}: states nothing", vector.id);
        assert_eq!(rto(&machine).len(), altered, "{}", vector.id);
        assert_eq!(model(&machine).len(), altered, "{}", vector.id);
    }
}

/// Puts a number wrong: another one, or one in place of none.
fn put_wrong(value: &mut Option<Option<u64>>, by: u64) -> usize {
    let Some(value) = value else { return 0 };
    *value = Some(value.map_or(0, |value| value.wrapping_add(by)));
    1
}

/// Puts a required number wrong.
fn put_number_wrong<N: From<u8> + std::ops::AddAssign>(value: &mut Option<N>) -> usize {
    let Some(value) = value else { return 0 };
    *value += N::from(3);
    1
}

/// Puts every value wrong, and counts them.
fn quic_wrong(expect: &mut quic::Expect, by: u64) -> usize {
    use conformance::rto_vectors::Verdict;
    let mut altered = 0;
    if let Some(outcome) = &mut expect.outcome {
        *outcome = match outcome {
            Verdict::First => Verdict::Accepted,
            _ => Verdict::First,
        };
        altered += 1;
    }
    if let Some(probe) = &mut expect.probe {
        *probe = match probe.take() {
            Some(probe) => Some(quic::Probe {
                anti_deadlock: !probe.anti_deadlock,
                ..probe
            }),
            None => Some(quic::Probe {
                space: quic::Space::Initial,
                spaces: vec![],
                anti_deadlock: false,
            }),
        };
        altered += 1;
    }
    for value in [
        &mut expect.srtt_ns,
        &mut expect.rttvar_ns,
        &mut expect.min_rtt_ns,
        &mut expect.latest_rtt_ns,
        &mut expect.deadline_ns,
    ] {
        altered += put_wrong(value, by);
    }
    altered
        + put_number_wrong(&mut expect.pto_count)
        + put_number_wrong(&mut expect.handshake_pto_ns)
        + put_number_wrong(&mut expect.application_pto_ns)
}

fn transaction_wrong(expect: &mut transaction::Expect) -> usize {
    use transaction::Expiry;
    let mut altered = 0;
    if let Some(expiry) = &mut expect.expiry {
        *expiry = match expiry {
            Some(Expiry::Failed) => None,
            _ => Some(Expiry::Failed),
        };
        altered += 1;
    }
    if let Some(sends) = &mut expect.sends_ns {
        *sends.last_mut().expect("the schema wants one") += 1;
        altered += 1;
    }
    for value in [
        &mut expect.rtt_ns,
        &mut expect.deadline_ns,
        &mut expect.fails_ns,
    ] {
        altered += put_wrong(value, 1);
    }
    altered + put_number_wrong(&mut expect.timeout_ns) + put_number_wrong(&mut expect.transmissions)
}
