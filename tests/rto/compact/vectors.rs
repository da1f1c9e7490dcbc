//! The vectors of RFC 6298 in microseconds.

use std::collections::BTreeMap;

use conformance::{
    compact::{Inexpressible, inexpressible},
    rto_vectors::{Subject, Vector},
    vectors::load,
};

use super::*;

/// Later by less than 3 us (P76).
const TOLERANCE_NS: u64 = 2_999;

/// (P79) Every vector whose numbers fit gives what it states, wherever the clock starts; the
/// others are counted by what they lack.
#[test]
fn rule_family_p79_the_vectors_of_rfc6298_hold() {
    let mut skipped = BTreeMap::new();
    let mut run = 0;
    for vector in load::<Vector>("rto.json") {
        if let Some(why) = inexpressible(&vector) {
            *skipped.entry(why).or_insert(0) += 1;
            continue;
        }
        run += 1;
        for start_us in STARTS {
            let mut subject = Compact::new(&vector.config, start_us).expect("expressible");
            for (index, step) in vector.steps.iter().enumerate() {
                let reply = subject.apply(&step.event);
                let misses = (step.expect).misses(&reply, &subject.view(), TOLERANCE_NS);
                assert!(
                    misses.is_empty(),
                    "{}, step {index}, the clock from {start_us}: {misses:?}, expected {:?}",
                    vector.id,
                    step.expect,
                );
            }
        }
    }
    assert!(run >= 75, "{run} vectors were run");
    let expected = BTreeMap::from([
        (Inexpressible::Settings, 15),
        (Inexpressible::Limits, 24),
        (Inexpressible::Companions, 25),
        (Inexpressible::Sampler, 10),
        (Inexpressible::Nanoseconds, 15),
        (Inexpressible::Range, 2),
        (Inexpressible::Backoffs, 1),
    ]);
    assert_eq!(skipped, expected, "what the compact estimator cannot say");
}
