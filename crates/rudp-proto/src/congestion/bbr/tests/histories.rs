//! An undo after whatever came before (G7).

use super::*;
use crate::Congestion;
use crate::congestion::Algorithm;
use crate::congestion::tests::{EXPIRY, MARK, World, steps};
use alloc::collections::BTreeSet;
use proptest::prelude::*;

fn model(world: &World) -> &Bbr {
    match &world.control.algorithm {
        Algorithm::Bbr(it) => it,
        Algorithm::LossBased(_) => panic!("it is no model"),
    }
}

fn lost(world: &World) -> BTreeSet<u64> {
    world.lost.iter().map(|(number, _)| *number).collect()
}

/// A recovery as it looks from outside.
#[derive(Default)]
struct Recovery {
    /// Losses of packets from this number on begin another.
    end: u64,
    /// Lost in it, and not seen since.
    suspects: BTreeSet<u64>,
    /// Before the first reduction that was not taken back.
    before: Option<Bounds>,
    /// No mistake.
    marked: bool,
}

impl Recovery {
    fn step(&mut self, world: &mut World, step: (u8, u16, u32)) -> Result<(), TestCaseError> {
        let (bounds, lost_before) = (model(world).bounds, lost(world));
        let undone_before = world.control.undone();
        let marked = model(world).round.is_marked() || step.0 == MARK;
        self.marked |= marked;
        world.step(step);
        let (now, lost) = (model(world).bounds, lost(world));
        let fresh: BTreeSet<_> = lost.difference(&lost_before).copied().collect();

        let suspects = self.suspects.len();
        self.suspects.retain(|number| lost.contains(number));
        let undone = world.control.undone() > undone_before;
        let cleared = suspects > 0 && self.suspects.is_empty();
        let begins = fresh.last() >= Some(&self.end) || (step.0 == EXPIRY && !fresh.is_empty());
        if let Some(before) = self.before.filter(|_| cleared && !self.marked) {
            if fresh.is_empty() {
                prop_assert_eq!(now, now.max(before));
            } else if begins {
                prop_assert!(undone, "late, and others lost at the same time");
            }
        }
        if begins {
            *self = Self {
                end: world.next,
                marked,
                ..Self::default()
            };
        }
        if (undone && !begins) || cleared {
            self.before = None;
        }
        self.suspects.extend(fresh);
        let fell = now.high < bounds.high || now.low < bounds.low || now.low_rate < bounds.low_rate;
        if !undone && (fell || (begins && step.0 == EXPIRY)) {
            self.before.get_or_insert(bounds);
        }
        Ok(())
    }
}

proptest! {
    /// When every packet has come that was lost since a recovery began, no bound is below what it was
    /// before the first reduction in it.
    #[test]
    fn an_undo_leaves_no_bound_reduced(steps in steps()) {
        let mut world = World::new(Congestion::Bbr);
        let mut recovery = Recovery::default();
        for step in steps {
            recovery.step(&mut world, step)?;
        }
    }
}
