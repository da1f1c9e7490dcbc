//! What an undo restores, whatever happened before (G7).

use super::*;

impl World {
    /// Leaves nothing in flight, nor to be undone.
    fn end_recovery(&mut self) {
        for _ in 0..2 {
            self.send(self.packet);
            self.answer(0, usize::MAX);
        }
        self.lost.clear();
    }

    fn loss_based(&self) -> LossBased {
        match &self.control.algorithm {
            Algorithm::LossBased(it) => *it,
            Algorithm::Bbr(_) => panic!("it is a model"),
        }
    }

    /// Whether the control answers to ACKs as `other` does.
    fn goes_on_as(&self, mut other: LossBased, waits: &[u32]) -> Result<(), TestCaseError> {
        let mut ours = self.loss_based();
        prop_assert_eq!(ours.window(), other.window());
        let mut now = self.now;
        for (number, wait) in (self.next..).zip(waits) {
            now += Duration::from_micros((*wait).into());
            let ack = Ack {
                now,
                acked: self.packet,
                largest: number,
                next: number + 10,
                flight_before: ours.window(),
                window_used: true,
                rtt: RTT,
                srtt: RTT,
                ..Ack::default()
            };
            prop_assert_eq!(ours.handle_ack(&ack), other.handle_ack(&ack));
            prop_assert_eq!(ours.window(), other.window(), "after {}", number);
            prop_assert_eq!(ours.phase(), other.phase());
        }
        Ok(())
    }
}

#[test]
fn late_packets_count_before_losses_that_the_same_ack_shows() {
    for choice in ALL {
        let mut world = World::new(choice);
        (0..3).for_each(|_| world.send(PACKET));
        world.step((EXPIRY, 0, 0));
        (0..2).for_each(|_| world.send(PACKET));
        world.handle_ack(1, 3, 1, 0); // the repeated one; one lost that left after the expiry
        assert_eq!(world.control.undone(), 1, "{choice}");
        assert!(world.control.window() > PACKET, "{choice}");
    }
}

proptest! {
    /// When every packet that a reduction answered has come after all, the control goes on as one
    /// that was never reduced.
    #[test]
    fn an_undo_restores_window_threshold_and_curve(
        steps in steps(), lost in 1_usize..20, waits in prop::collection::vec(1_u32..100_000, 1..60)
    ) {
        for choice in [Congestion::NewReno, Congestion::Cubic] {
            let mut world = World::new(choice);
            steps.iter().for_each(|step| world.step(*step));
            world.end_recovery();
            for _ in 0..=lost {
                world.send(world.packet);
            }
            let before = world.loss_based();
            let undone = world.control.undone();
            world.answer(lost, 1);
            prop_assert!(world.loss_based().window() <= before.window().max(2 * world.packet));
            world.answer_late(lost);
            prop_assert_eq!(world.control.undone(), undone + 1);
            world.goes_on_as(before, &waits)?;
        }
    }

    /// The same of an expiry, for the model too.
    #[test]
    fn an_undo_of_an_expiry_restores_the_window(steps in steps()) {
        for choice in ALL {
            let mut world = World::new(choice);
            steps.iter().for_each(|step| world.step(*step));
            world.end_recovery();
            let (next, flight) = (world.next, world.bytes());
            let before = world.control.window();
            let undone = match &mut world.control.algorithm {
                Algorithm::LossBased(it) => {
                    it.handle_timeout(flight, next, false);
                    it.undo()
                }
                Algorithm::Bbr(it) => {
                    it.handle_timeout(next, false);
                    it.undo()
                }
            };
            prop_assert!(undone);
            prop_assert_eq!(world.control.window(), before, "{}", choice);
        }
    }
}
