use super::*;

fn ack(acked: u64, largest: u64) -> Ack {
    Ack {
        acked: acked * PACKET,
        largest,
        next: largest + 10,
        flight_before: 100 * PACKET,
        window_used: true,
        rtt: Duration::from_millis(20),
        srtt: Duration::from_millis(20),
        ..Ack::default()
    }
}

/// Packet `largest` is lost while `flight` packets are out.
fn lost(largest: u64, next: u64, flight: u64) -> Ack {
    Ack {
        lost: PACKET,
        largest_lost: largest,
        largest: largest + 3,
        next,
        flight_before: flight * PACKET,
        flight: (flight - 2) * PACKET,
        ..ack(1, largest + 3)
    }
}

#[test]
fn slow_start_doubles_and_avoidance_adds_one_packet_a_round() {
    let mut reno = LossBased::new_reno();
    for number in 0..5 {
        reno.handle_ack(&ack(2, number));
    }
    assert_eq!(reno.window(), 20 * PACKET);
    reno.handle_ack(&lost(4, 30, 20));
    reno.handle_ack(&ack(1, 30));
    assert_eq!(reno.window(), 10 * PACKET);
    for number in 31..36 {
        reno.handle_ack(&ack(2, number));
    }
    assert_eq!(reno.window(), 11 * PACKET);
}

#[test]
fn one_round_is_reduced_once_by_the_share_of_each() {
    for (mut control, left) in [(LossBased::new_reno(), 5), (LossBased::cubic(), 7)] {
        assert!(control.handle_ack(&lost(3, 20, 10)));
        assert!(!control.handle_ack(&lost(9, 25, 9)));
        assert_eq!(control.threshold, left * PACKET);
        let unused = Ack {
            window_used: false,
            ..ack(1, 20)
        };
        control.handle_ack(&unused);
        assert_eq!(control.window(), left * PACKET);
        assert!(control.handle_ack(&lost(20, 40, left)));
    }
}

#[test]
fn an_expiry_leaves_one_packet_and_a_second_one_holds_the_threshold() {
    for (mut control, left) in [(LossBased::new_reno(), 5), (LossBased::cubic(), 7)] {
        control.handle_timeout(10 * PACKET, 10, false);
        assert_eq!(
            (control.window(), control.threshold),
            (PACKET, left * PACKET)
        );
        control.handle_timeout(PACKET, 11, true);
        assert_eq!(
            (control.window(), control.threshold),
            (PACKET, left * PACKET)
        );
        assert!(
            !control.handle_ack(&lost(7, 12, 3)),
            "the expiry answered this round"
        );
        assert_eq!(control.window(), PACKET);
    }
}

#[test]
fn slow_start_grows_by_two_packets_an_ack_at_most_unless_paced_by_hystart() {
    let mut reno = LossBased::new_reno();
    reno.handle_ack(&ack(9, 0));
    assert_eq!(reno.window(), 12 * PACKET);
    let mut cubic = LossBased::cubic();
    cubic.handle_ack(&ack(9, 0));
    assert_eq!(cubic.window(), 19 * PACKET);
}

#[test]
fn a_control_counts_in_packets_of_the_size_that_is_sent() {
    const LARGE: u64 = 9_000;
    let mut reno = LossBased::new_reno();
    reno.set_packet(LARGE);
    assert_eq!(reno.window(), 2 * LARGE, "RFC 6928 for large ones");
    reno.handle_ack(&ack(100, 0));
    assert_eq!(reno.window(), 4 * LARGE);
    reno.handle_timeout(reno.window(), 10, false);
    assert_eq!((reno.window(), reno.threshold), (LARGE, 2 * LARGE));
    for number in 10..14 {
        let acked = LARGE;
        reno.handle_ack(&Ack {
            acked,
            ..ack(0, number)
        });
    }
    let window = reno.window();
    assert_eq!(window, 3 * LARGE, "one more a round");
    reno.handle_idle();
    assert_eq!(reno.window(), 2 * LARGE);
}

#[test]
fn an_idle_path_starts_over_and_a_bad_one_with_a_packet() {
    let mut reno = LossBased::new_reno();
    reno.handle_timeout(10 * PACKET, 0, false);
    for number in 0..40 {
        reno.handle_ack(&ack(2, number));
    }
    let full = reno.window();
    reno.handle_idle();
    assert_eq!(
        (reno.window(), reno.threshold),
        (initial_window(FIRST_BURST, PACKET), full - full / 4)
    );
    reno.handle_ack(&Ack {
        flight_before: 2 * PACKET, // the most since then
        ..ack(20, 40)
    });
    assert_eq!(reno.window(), initial_window(FIRST_BURST, PACKET));
    reno.handle_lost_handshake();
    reno.handle_idle();
    assert_eq!(reno.window(), PACKET);
}

#[test]
fn a_mistake_is_undone_to_the_byte() {
    for mut control in [LossBased::new_reno(), LossBased::cubic()] {
        for number in 0..30 {
            control.handle_ack(&ack(2, number));
        }
        let before = (control.window, control.threshold, control.growth);
        control.handle_ack(&lost(40, 60, 20));
        control.handle_ack(&ack(2, 61));
        control.undo();
        assert_eq!((control.window, control.threshold, control.growth), before);
        control.handle_timeout(20 * PACKET, 80, false);
        control.undo();
        control.undo();
        assert_eq!((control.window, control.threshold, control.growth), before);
    }
}

#[test]
fn an_unused_window_does_not_grow_nor_any_beyond_twice_the_most_in_flight() {
    let mut reno = LossBased::new_reno();
    let unused = Ack {
        window_used: false,
        ..ack(2, 0)
    };
    reno.handle_ack(&unused);
    assert_eq!(reno.window(), initial_window(FIRST_BURST, PACKET));

    for mut control in [LossBased::new_reno(), LossBased::cubic()] {
        for flight in [4, 9, 7] {
            for number in 0..20 {
                control.handle_ack(&Ack {
                    flight_before: flight * PACKET,
                    ..ack(2, number)
                });
            }
            let most = if flight == 4 { 10 } else { 18 };
            assert_eq!(control.window(), most * PACKET, "{flight} packets");
        }
        control.handle_timeout(9 * PACKET, 0, false);
        for number in 0..20 {
            control.handle_ack(&Ack {
                flight_before: 2 * PACKET,
                ..ack(1, number)
            });
        }
        assert_eq!(control.window(), 4 * PACKET, "the most since the expiry");
    }
}
