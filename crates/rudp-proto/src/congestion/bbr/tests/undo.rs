//! What the model takes back when all that a reduction answered was late (G7).

use super::*;

/// What a mistake may have changed.
fn state(world: &World) -> (Bounds, CongestionPhase, u64, Option<u64>) {
    let bbr = &world.bbr;
    (bbr.bounds, bbr.phase(), bbr.window(), bbr.rate())
}

#[test]
fn a_startup_that_a_mistake_ended_goes_on() {
    let mut world = World::new(RATE, RTT, 7);
    world.step();
    world.step();
    let before = world.bbr.bounds;
    world.handle(world.lossy());
    assert_eq!(world.phase(), Drain);
    assert!(world.bbr.bounds.high < u64::MAX);
    assert!(world.bbr.undo());
    let bounds = world.bbr.bounds;
    assert_eq!((bounds.high, bounds.low), (before.high, before.low));
    assert!(
        bounds.window >= before.window,
        "it has grown by what arrived"
    );
    assert_eq!(world.bbr.rate(), Some(RATE * 289 / 100));
    assert_eq!(world.until(Drain), 4, "a best round and three more");
    assert!(!world.bbr.undo(), "once");
}

#[test]
fn a_probe_of_the_round_trip_ends_before_the_startup_goes_on() {
    let mut world = World::new(RATE, RTT, 7);
    world.step();
    world.handle(world.lossy());
    world.bbr.phase = Phase::ProbeRtt(None);
    assert!(world.bbr.undo());
    assert_eq!(world.phase(), ProbeRtt);
    world.handle(Ack {
        flight: 0,
        ..world.ack()
    });
    world.until(Startup);
}

#[test]
fn a_startup_that_ended_by_itself_stays_ended() {
    let mut world = World::new(RATE, RTT, 7);
    world.steps(3);
    world.handle(world.lossy()); // the third round without more
    assert_eq!(world.phase(), Drain);
    assert!(world.bbr.undo());
    assert_eq!(world.phase(), Drain);
    assert_eq!(world.bbr.bounds.high, u64::MAX);
}

#[test]
fn a_probe_that_a_mistake_ended_is_not_resumed() {
    let mut world = World::at(ProbeUp);
    let before = world.bbr.bounds;
    world.handle(world.lossy());
    assert_eq!(world.phase(), ProbeDown);
    assert_ne!(world.bbr.bounds.high, before.high);
    assert!(world.bbr.undo());
    assert_eq!(world.bbr.bounds.high, before.high);
    assert_eq!(world.phase(), ProbeDown);
}

#[test]
fn between_probes_all_is_what_it_was_before_the_first_reduction_of_the_recovery() {
    let mut world = World::at(Cruise);
    world.steps(20);
    let before = state(&world);
    world.handle(world.lossy());
    let again = Ack {
        largest_lost: 0, // of the same recovery
        ..world.lossy()
    };
    world.handle(again);
    assert!(world.bbr.window() < before.2 * 6 / 10, "twice reduced");
    assert!(world.bbr.undo());
    assert_eq!(state(&world), before);
}

#[test]
fn an_expiry_that_was_a_mistake_leaves_no_trace() {
    let mut world = World::at(Cruise);
    world.steps(20);
    let before = state(&world);
    world.bbr.handle_timeout(world.next, false);
    world.bbr.handle_timeout(world.next, true);
    assert_eq!(world.bbr.window(), PACKET);
    assert!(world.bbr.undo());
    assert_eq!(state(&world), before);
}

#[test]
fn losses_that_were_late_are_no_evidence() {
    let mut world = World::finely_at(Cruise);
    let before = world.bbr.bounds;
    world.handle(world.lossy());
    assert!(
        !world.bbr.undo(),
        "the round is not over, nothing is reduced"
    );
    world.steps(100);
    assert_eq!((world.bbr.bounds.low, before.low), (u64::MAX, u64::MAX));
}

#[test]
fn what_has_grown_since_stays_and_a_mark_is_no_mistake() {
    let mut world = World::at(Cruise);
    world.handle(world.lossy());
    world.until(Refill); // forgets it
    world.bbr.before.as_mut().expect("kept").0.low = PIPE;
    assert!(world.bbr.undo());
    assert_eq!(world.bbr.bounds.low, u64::MAX);

    let mut world = World::at(Cruise);
    world.handle(Ack {
        ce: 1,
        ..world.lossy()
    });
    let reduced = world.bbr.bounds;
    assert!(reduced.low < u64::MAX);
    assert!(!world.bbr.undo());
    assert_eq!(world.bbr.bounds, reduced);
}
