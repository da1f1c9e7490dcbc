//! How much may be in flight: what the path needs (G8), and what congestion leaves of it (G9).

use super::*;

/// What the rate makes in 2 ms.
const BURST: u64 = RATE / 500;

#[test]
fn the_window_is_1_7_times_the_pipe_and_a_burst_and_2_25_times_in_a_probe() {
    let mut world = World::finely_at(Cruise);
    world.steps(100);
    assert_eq!(world.bbr.window(), PIPE * 170 / 100 + BURST);
    world.until(ProbeUp);
    world.steps(30);
    assert_eq!(world.phase(), ProbeUp);
    assert_eq!(world.bbr.window(), PIPE * 225 / 100 + BURST);
}

#[test]
fn a_fast_path_has_room_for_three_bursts() {
    let rate = 120_000_000;
    let mut world = World::new(rate, RTT, 7);
    world.spacing = ms(1); // ACKs in bunches would have more room still
    world.until(Cruise);
    world.steps(100);
    let pipe = bytes_in(RTT, rate);
    assert_eq!(world.bbr.window(), pipe * 170 / 100 + MOST_BURSTS);
}

/// (L10)
#[test]
fn a_first_window_is_larger_once_there_is_a_round_trip_to_pace_it_by() {
    let first = |packet, rtt: Option<Duration>| {
        let mut bbr = Bbr::new(7);
        bbr.set_packet(packet);
        if let Some(rtt) = rtt {
            bbr.handle_first_rtt(rtt);
        }
        (bbr.window(), bbr.rate())
    };
    let paced = |window| Some(window * 1_000 / 40 * 289 / 100);
    assert_eq!(first(PACKET, None), (10 * PACKET, None));
    assert_eq!(first(PACKET, Some(RTT)), (32 * PACKET, paced(32 * PACKET)));
    // Of large packets there are fewer, but two.
    assert_eq!(first(9_000, None), (18_000, None));
    assert_eq!(first(9_000, Some(RTT)), (46_720, paced(46_720)));
    assert_eq!(first(30_000, Some(RTT)), (60_000, paced(60_000)));

    // It may come with the first ACK as well, and grows with packets, but not once reduced.
    let mut world = World::new(500, RTT, 7);
    world.step();
    assert_eq!(world.bbr.window(), 32 * PACKET);
    let mut world = World::new(500, RTT, 7);
    world.bbr.handle_lost_handshake();
    world.step();
    assert_eq!(world.bbr.window(), PACKET + world.ack().acked);
    let mut bbr = Bbr::new(7);
    bbr.handle_first_rtt(RTT);
    bbr.set_packet(1_400);
    assert_eq!(bbr.window(), 32 * 1_400);
}

#[test]
fn a_startup_has_1_9_times_the_shortest_mean_of_a_round() {
    let mut world = World::new(RATE, RTT, 7);
    world.spacing = ms(1);
    let mut window = 0;
    while world.phase() == Startup {
        window = world.bbr.window();
        let is_odd = world.now.as_millis() % 2 == 1;
        world.rtt = if is_odd { ms(40) } else { ms(60) };
        world.step();
    }
    assert_eq!(world.bbr.path.min_rtt(), Some(RTT));
    let most = |rtt| bytes_in(rtt, RATE) * 190 / 100 + BURST;
    assert!((most(ms(49))..most(ms(51))).contains(&window), "{window}");
}

#[test]
fn the_window_has_room_for_what_acks_in_bunches_need() {
    let mut world = World::finely_at(Cruise);
    world.spacing = ms(30);
    world.step();
    world.spacing = ms(1);
    world.steps(100);
    assert_eq!(
        world.bbr.window(),
        PIPE * 170 / 100 + bytes_in(ms(30), RATE)
    );
    world.now += RTT; // nothing runs ahead any more
    world.steps(21 * 40);
    let usual = PIPE * 170 / 100 + BURST;
    assert_eq!(world.bbr.window(), usual, "20 rounds later");
}

#[test]
fn the_window_is_four_packets_at_least() {
    let mut world = World::new(10_000, RTT, 7);
    world.spacing = ms(1);
    world.until(Cruise);
    world.steps(100);
    assert_eq!(world.bbr.window(), 4 * PACKET + 20, "and a burst");
    let mut world = World::at(Cruise);
    world.bbr.bounds.high = 0;
    assert_eq!(world.bbr.window(), 4 * PACKET);
}

#[test]
fn an_expiry_leaves_a_packet_which_doubles_each_round_trip() {
    let mut world = World::finely_at(Cruise);
    world.steps(100);
    let before = world.bbr.window();
    world.bbr.handle_timeout(world.next, false);
    let mut window = PACKET;
    while window < before {
        assert_eq!(world.bbr.window(), window);
        world.spacing = RTT;
        world.handle(Ack {
            acked: window,
            ..world.ack()
        });
        window *= 2;
    }
    assert!(world.bbr.window() >= before);
}

#[test]
fn congestion_ends_a_startup_or_a_probe_and_what_was_delivered_bounds_the_window() {
    for (phase, then) in [(Startup, Drain), (ProbeUp, ProbeDown)] {
        for (delivered, high) in [(PIPE * 3 / 2, PIPE * 3 / 2), (PIPE / 2, PIPE)] {
            let mut world = World::new(RATE, RTT, 7);
            world.step();
            world.until(phase);
            world.handle(Ack {
                delivered_in_flight: delivered,
                flight: 2 * PIPE,
                ..world.lossy()
            });
            assert_eq!(world.phase(), then);
            assert_eq!(world.bbr.bounds.high, high);
        }
    }
}

#[test]
fn a_probe_raises_the_bound_by_a_quarter_of_what_arrives_and_the_rest_leaves_15_percent_free() {
    let mut world = World::finely_at(ProbeUp);
    world.bbr.bounds.high = PIPE;
    world.steps(8);
    let high = PIPE + 8 * RATE / 1_000 / 4;
    assert_eq!(world.bbr.bounds.high, high);
    world.handle(Ack {
        window_used: false,
        ..world.ack()
    });
    assert_eq!(world.bbr.bounds.high, high);
    assert_eq!(world.bbr.window(), high);
    world.until(ProbeDown);
    let high = world.bbr.bounds.high;
    assert_eq!(world.bbr.window(), high);
    world.until(Cruise);
    assert_eq!(world.bbr.window(), high * 85 / 100);
}

#[test]
fn congestion_between_probes_leaves_seven_tenths_but_not_less_than_the_pipe() {
    let mut world = World::at(Cruise);
    world.steps(20); // what the bunches need is known
    let window = world.bbr.window();
    let slower = |world: &World| Ack {
        rate: Some(RATE / 2),
        ..world.lossy()
    };
    world.handle(slower(&world));
    assert_eq!(world.bbr.window(), window * 7 / 10);
    assert_eq!(world.bbr.rate(), Some(RATE * 7 / 10));
    world.handle(world.lossy());
    assert_eq!(world.bbr.rate(), Some(RATE), "what was delivered");
    for _ in 0..5 {
        world.handle(world.lossy());
    }
    assert_eq!(world.bbr.window(), PIPE);
    world.until(Refill);
    assert_eq!(world.bbr.window(), window);
}

#[test]
fn few_losses_count_only_where_the_rate_has_stopped_growing() {
    // Eight are more than 2 % of a hundred, one is enough beside a queue.
    let few = |world: &World| Ack {
        lost: 8 * PACKET,
        ..world.ack()
    };
    let mut world = World::new(RATE, RTT, 7);
    world.step();
    (world.rate, world.rtt, world.spacing) = (2 * RATE, RTT * 2, RTT * 2);
    world.handle(few(&world));
    assert_eq!(
        world.phase(),
        Startup,
        "it grows, and so may the round trip"
    );
    (world.rtt, world.spacing) = (RTT, RTT);
    world.handle(few(&world));
    assert_eq!(world.phase(), Drain);

    let mut world = World::at(Cruise);
    world.handle(few(&world));
    assert_eq!(world.bbr.bounds.low, u64::MAX, "between probes");
    world.until(ProbeUp);
    world.handle(few(&world));
    assert_eq!(world.phase(), ProbeDown);
    assert!(world.bbr.bounds.high < u64::MAX);
}

/// Where the queue is too short to show them (G9).
#[test]
fn others_on_the_path_are_left_room_until_a_probe_finds_more() {
    let one_lost = |world: &World| Ack {
        lost: PACKET,
        ..world.ack()
    };
    let given = PIPE * 7 / 10;
    let mut world = World::at(Cruise);
    world.steps(30);
    for _ in 0..2 {
        world.handle(one_lost(&world));
        assert!(world.bbr.window() > given, "chance");
    }
    world.handle(one_lost(&world));
    assert_eq!(world.bbr.window(), given * 85 / 100);
    world.until(ProbeUp);
    world.handle(world.lossy());
    assert_eq!(world.phase(), ProbeDown);
    assert_eq!(world.bbr.window(), given, "as before the probe");
    world.until(ProbeUp);
    world.until(ProbeDown);
    assert!(world.bbr.window() > given);
}
