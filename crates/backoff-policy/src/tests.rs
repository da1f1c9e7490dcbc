//! Schedules, totals and whole policies together.

use crate::*;
use core::time::Duration;
use proptest::prelude::*;

mod policies;
mod schedules;
mod totals;

const KINDS: [Jitter; 8] = [
    Jitter::None,
    Jitter::Full,
    Jitter::Equal,
    Jitter::Decorrelated,
    Jitter::Proportional(Ratio::new(1, 5)),
    Jitter::Additive(Ratio::new(1, 10)),
    Jitter::BetweenCeilings,
    Jitter::ProportionalClipped(Ratio::new(1, 2)),
];

fn schedules() -> impl Strategy<Value = Schedule> {
    let nanos = prop_oneof![1..100u64, 1..u64::MAX];
    let ratio = (1..=u32::MAX, 1..=u32::MAX).prop_map(|(a, b)| Ratio::new(a.max(b), a.min(b)));
    (nanos, ratio, any::<u64>(), 0..KINDS.len()).prop_map(|(base, multiplier, room, kind)| {
        let base = Duration::from_nanos(base);
        let cap = base.saturating_add(Duration::from_nanos(room));
        Schedule::new(base, multiplier, cap, KINDS[kind]).expect("in range by construction")
    })
}
