//! Runs the vectors of `vectors/rto.json` and `vectors/kernel.json` against `rto` and
//! against the reference model.

use conformance::{
    model::Model,
    rto_vectors::{GaveUp, Limit, Subject, Vector},
    subject::Rto,
    vectors::load,
};
use rto::{Config, Limits};

/// Every miss of every step, with the vector's id.
fn run(vectors: &[Vector], mut subject: impl FnMut(&Vector) -> Box<dyn Subject>) {
    let mut misses = Vec::new();
    for vector in vectors {
        let mut subject = subject(vector);
        for (index, step) in vector.steps.iter().enumerate() {
            let reply = subject.apply(&step.event);
            let view = subject.view();
            for miss in step.expect.misses(&reply, &view, vector.tolerance_ns) {
                misses.push(format!(
                    "{}, step {index}: {miss}, expected {:?}",
                    vector.id, step.expect
                ));
            }
        }
    }
    assert!(misses.is_empty(), "{}", misses.join("\n"));
}

fn rto(vector: &Vector) -> Box<dyn Subject> {
    Box::new(Rto::new(&vector.config).expect("vectors have legal settings"))
}

fn model(vector: &Vector) -> Box<dyn Subject> {
    Box::new(Model::new(&vector.config))
}

#[test]
fn rto_gives_what_the_vectors_state() {
    run(&load("rto.json"), rto);
}

#[test]
fn the_reference_model_gives_what_the_vectors_state() {
    run(&load("rto.json"), model);
}

/// SRTT after each of 1,382 round trips of Linux, within its own microsecond.
#[test]
fn the_kernel_agrees_within_a_microsecond() {
    let vectors: Vec<Vector> = load("kernel.json");
    let steps = vectors.iter().flat_map(|vector| &vector.steps);
    assert_eq!(
        steps.filter(|step| step.expect.srtt_ns.is_some()).count(),
        1_382
    );
    run(&vectors, rto);
    run(&vectors, model);
}

/// What the vectors call by a preset's name is that preset.
#[test]
fn the_vectors_named_for_a_preset_have_its_settings() {
    let vectors: Vec<Vector> = load("rto.json");
    let settings = |id| &(vectors.iter().find(|vector| vector.id == id).expect(id)).config;
    for (id, preset) in [
        ("E1", Config::RFC6298),
        ("rfc2988", Config::RFC2988),
        ("rfc9260", Config::RFC9260),
        ("games", Config::GAMES),
    ] {
        assert_eq!(Config::from(settings(id)), preset, "{id}");
    }
    assert_eq!(Limits::from(settings("S16-syn").limits), Limits::RFC9293);
}

const GAVE_UP: GaveUp = GaveUp {
    limit: Limit::R2,
    retransmissions: 0,
    elapsed_ns: 0,
};

/// The runner itself must be able to fail: each stated value, one off, is a miss.
#[test]
fn a_wrong_expectation_is_a_miss() {
    for vector in &mut load::<Vector>("rto.json") {
        let mut subject = rto(vector);
        for step in &mut vector.steps {
            let reply = subject.apply(&step.event);
            let wrong = 1 + vector.tolerance_ns;
            let expect = &mut step.expect;
            let mut altered = 0;
            for value in [
                &mut expect.srtt_ns,
                &mut expect.rttvar_ns,
                &mut expect.deadline_ns,
            ] {
                if let Some(Some(value)) = value {
                    *value += 1 + wrong;
                    altered += 1;
                }
            }
            if let Some(value) = &mut expect.rto_ns {
                *value += wrong;
                altered += 1;
            }
            for value in [&mut expect.expired, &mut expect.r1].into_iter().flatten() {
                *value = !*value;
                altered += 1;
            }
            if let Some(value) = &mut expect.gave_up {
                match value {
                    Some(gave_up) => gave_up.elapsed_ns += 1,
                    None => *value = Some(GAVE_UP),
                }
                altered += 1;
            }
            let misses = expect.misses(&reply, &subject.view(), vector.tolerance_ns);
            assert_eq!(misses.len(), altered, "{}: {misses:?}", vector.id);
        }
    }
}
