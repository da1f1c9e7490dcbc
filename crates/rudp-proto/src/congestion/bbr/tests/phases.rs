//! What the model does, at which rate and for how long (G8).

use alloc::vec::Vec;

use super::*;

#[test]
fn a_startup_paces_2_89_times_the_best_rate_until_three_rounds_bring_less_than_a_quarter_more() {
    let mut world = World::new(0, RTT, 7);
    let mut best = 0;
    for rate in [
        1_000_000, 1_249_999, 1_249_999, 1_250_000, 1_562_499, 1_562_499,
    ] {
        world.rate = rate;
        world.step();
        best = rate.max(best);
        assert_eq!(world.phase(), Startup, "at {rate}");
        assert_eq!(world.bbr.rate(), Some(best * 289 / 100));
    }
    for _ in 0..3 {
        let too_little = Ack {
            app_limited: true,
            ..world.ack()
        };
        world.handle(too_little); // says nothing of the path (G3)
        assert_eq!(world.phase(), Startup);
    }
    world.step();
    assert_eq!(world.phase(), Drain);
}

#[test]
fn a_startup_paces_at_least_the_first_window_a_round_trip() {
    let mut world = World::new(500, RTT, 7);
    world.step();
    let first = 32 * PACKET * 1_000 / 40;
    assert_eq!(world.bbr.rate(), Some(first * 289 / 100));
    world.bbr.handle_timeout(world.next, false);
    assert_eq!(world.bbr.rate(), Some(first / 32 * 289 / 100), "a packet");
    world.until(Cruise);
    assert_eq!(world.bbr.rate(), Some(500), "once the path is known");
}

/// (G9)
#[test]
fn a_startup_goes_on_while_it_brings_a_quarter_more_whatever_is_lost() {
    let mut world = World::new(1_000_000, RTT, 7);
    for _ in 0..4 {
        world.handle(world.lossy());
        assert_eq!(world.phase(), Startup);
        world.rate = world.rate * 125 / 100;
    }
    world.rate -= 1;
    world.handle(world.lossy());
    assert_eq!(world.phase(), Drain);
}

#[test]
fn a_drain_paces_half_the_rate_until_the_queue_is_gone_or_for_two_rounds() {
    let mut world = World::at(Drain);
    assert_eq!(world.bbr.rate(), Some(RATE / 2));
    world.step();
    assert_eq!(world.phase(), ProbeDown);

    let mut world = World::at(Drain);
    let queued = |world: &World| Ack {
        flight: PIPE + 1,
        ..world.ack()
    };
    assert_eq!(world.until_with(ProbeDown, queued), 2);
}

#[test]
fn a_cycle_begins_at_nine_tenths_of_the_rate_until_the_queue_is_gone_or_for_four_rounds() {
    let flying = |flight| {
        move |world: &World| Ack {
            flight,
            ..world.ack()
        }
    };
    let mut world = World::at(ProbeDown);
    assert_eq!(world.bbr.rate(), Some(RATE * 9 / 10));
    assert_eq!(world.until_with(Cruise, flying(PIPE)), 1);
    let mut world = World::at(ProbeDown);
    assert_eq!(world.until_with(Cruise, flying(PIPE + 1)), 4);
    // What a probe left for others is free, too.
    for (flight, rounds) in [(85, 1), (86, 4)] {
        let mut world = World::at(ProbeDown);
        world.bbr.bounds.high = PIPE;
        assert_eq!(
            world.until_with(Cruise, flying(PIPE * flight / 100)),
            rounds
        );
    }
}

#[test]
fn a_cycle_has_as_many_rounds_as_the_pipe_has_packets_and_63_at_most() {
    for (packets, rounds) in [(20, 20), (62, 62), (64, 63), (1_000, 63)] {
        let rate = packets * PACKET * 1_000;
        let mut world = World::new(rate, ms(1), 7); // far from two seconds
        world.until(ProbeDown);
        assert_eq!(world.until(Refill), rounds, "{packets} packets");
    }
}

#[test]
fn a_cycle_lasts_2_to_3_seconds_differently_for_each_connection() {
    let lasts = |seed| {
        let mut world = World::new(RATE, ms(100), seed);
        world.spacing = ms(1);
        world.until(ProbeDown);
        world.until(Refill)
    };
    let lasts: Vec<_> = (0..100).map(|seed| lasts(seed * 0x9e37_79b9)).collect();
    let (least, most) = (lasts.iter().min(), lasts.iter().max());
    let (least, most) = least.zip(most).expect("a hundred");
    assert!((2_000..2_100).contains(least), "{least} ms");
    assert!((2_900..3_000).contains(most), "{most} ms");
}

#[test]
fn a_probe_comes_after_a_round_at_the_rate_that_forgets_what_losses_had_lowered() {
    let mut world = World::finely_at(Cruise);
    assert_eq!(world.bbr.rate(), Some(RATE));
    (world.bbr.bounds.low, world.bbr.bounds.low_rate) = (PIPE / 2, RATE / 2);
    assert_eq!(world.bbr.rate(), Some(RATE / 2));
    world.until(Refill);
    assert_eq!(world.bbr.rate(), Some(RATE));
    assert_eq!(world.bbr.bounds.low, u64::MAX);
    assert_eq!(world.until(ProbeUp), 40, "a round trip");
    assert_eq!(world.bbr.rate(), Some(RATE * 125 / 100));
}

#[test]
fn a_probe_ends_when_a_quarter_of_the_pipe_waits_or_nothing_more_gets_through() {
    // What is in flight, in thousandths of the pipe; whether the window holds something back.
    for (flight, window_used, rounds) in [(1_250, true, 1), (1_249, true, 3), (1_000, false, 1)] {
        let mut world = World::at(ProbeUp);
        let probing = |world: &World| Ack {
            flight_before: PIPE * flight / 1_000,
            window_used,
            ..world.ack()
        };
        let took = world.until_with(ProbeDown, probing);
        assert_eq!(took, rounds, "{flight}, {window_used}");
    }
    // At once, if others fill the queue.
    for (percent, acks) in [(149, 40), (150, 1)] {
        let mut world = World::finely_at(ProbeUp);
        let queued = |world: &World| Ack {
            flight_before: PIPE * percent / 100,
            ..world.ack()
        };
        let took = world.until_with(ProbeDown, queued);
        assert_eq!(took, acks, "{percent} % of the pipe");
    }
    let mut world = World::at(ProbeUp);
    for _ in 0..5 {
        world.rate = world.rate * 125 / 100;
        world.step();
        assert_eq!(world.phase(), ProbeUp, "more gets through");
    }
}

#[test]
fn the_rate_is_the_best_of_two_cycles() {
    let mut world = World::at(Cruise);
    world.rate = RATE / 2;
    for rate in [RATE, RATE / 2] {
        world.until(ProbeUp);
        world.until(ProbeDown);
        assert_eq!(world.bbr.path.bandwidth(), rate);
    }
}

#[test]
fn what_leaves_while_there_is_too_little_to_send_forgets_nothing() {
    let mut world = World::at(Cruise);
    let thin = |world: &World| Ack {
        rate: Some(1_000),
        app_limited: true,
        window_used: false,
        ..world.ack()
    };
    for _ in 0..3 {
        world.until_with(ProbeUp, thin);
        world.until_with(ProbeDown, thin);
    }
    assert_eq!(world.bbr.path.bandwidth(), RATE);
    let faster = Ack {
        rate: Some(2 * RATE),
        ..thin(&world)
    };
    world.handle(faster);
    assert_eq!(world.bbr.path.bandwidth(), 2 * RATE);
}

#[test]
fn without_a_shorter_round_trip_for_5_s_half_of_the_pipe_is_in_flight_for_200_ms() {
    let mut world = World::finely_at(Cruise);
    let probed_at = world.now;
    world.rtt = RTT + ms(1);
    while world.now < probed_at + ms(5_000) {
        world.step();
        assert_ne!(world.phase(), ProbeRtt, "{:?}", world.now - probed_at);
    }
    world.step();
    assert_eq!(world.phase(), ProbeRtt);
    assert_eq!(
        (world.bbr.window(), world.bbr.rate()),
        (PIPE / 2, Some(RATE))
    );
    world.rtt += ms(1);
    let flying = |world: &World, flight| Ack {
        flight,
        ..world.ack()
    };
    for _ in 0..300 {
        world.handle(flying(&world, PIPE / 2 + 1)); // its time has not begun
        assert_eq!(world.phase(), ProbeRtt);
    }
    world.handle(flying(&world, PIPE / 2));
    assert_eq!(world.until(ProbeDown), 200);
    let ended_at = world.now;
    world.until(ProbeRtt);
    assert_eq!(world.now - ended_at, ms(5_001), "from its end");
}

#[test]
fn a_startup_goes_on_after_a_probe_of_the_round_trip() {
    let mut world = World::new(RATE, RTT, 7);
    let thin = |world: &World| Ack {
        app_limited: true,
        ..world.ack()
    };
    world.handle(thin(&world));
    world.rtt = RTT + ms(1);
    world.until_with(ProbeRtt, thin);
    world.handle(Ack {
        flight: 0,
        ..thin(&world)
    });
    world.until_with(Startup, thin);
}

#[test]
fn the_shortest_round_trip_of_10_s_counts() {
    let mut world = World::finely_at(Cruise);
    let seen_at = world.now;
    world.rtt = ms(50);
    while world.now < seen_at + ms(10_000) {
        world.step();
        assert_eq!(world.bbr.path.min_rtt(), Some(RTT));
    }
    world.step();
    assert_eq!(world.bbr.path.min_rtt(), Some(ms(50)));
}

#[test]
fn a_silence_leaves_window_and_rate_and_stands_for_a_probe_of_the_round_trip() {
    let mut world = World::finely_at(Cruise);
    world.steps(100);
    let before = (world.bbr.window(), world.bbr.rate());
    world.bbr.handle_idle();
    world.now += ms(6_000);
    assert_eq!((world.bbr.window(), world.bbr.rate()), before);
    world.step();
    assert_eq!(world.phase(), Refill, "it is time to probe the bandwidth");
    assert_eq!((world.bbr.window(), world.bbr.rate()), before);

    // It ends with the next ACK: what was in flight since was no silence.
    world.bbr.handle_idle();
    world.step();
    world.now += ms(6_000);
    world.step();
    assert_eq!(world.phase(), ProbeRtt);
}
