//! What holds of every control, whatever happens to it.

use super::*;
use crate::loss::Content;
use alloc::collections::VecDeque;
use proptest::prelude::*;

const ALL: [Congestion; 3] = [Congestion::NewReno, Congestion::Cubic, Congestion::Bbr];

/// A control, and what is in flight.
struct World {
    control: Controller,
    now: Duration,
    next: u64,
    packet: u64,
    flight: VecDeque<(u64, SentPacket)>,
}

impl World {
    fn new(choice: Congestion) -> Self {
        Self {
            control: Controller::new(choice, 7),
            now: Duration::from_secs(1),
            next: 0,
            packet: PACKET,
            flight: VecDeque::new(),
        }
    }

    fn bytes(&self) -> u64 {
        self.flight.iter().map(|(_, packet)| packet.bytes).sum()
    }

    fn send(&mut self, bytes: u64) {
        let flight = self.bytes();
        let packet = SentPacket {
            number: 0,
            sent_at: self.now,
            bytes,
            content: Content::default(),
            acks_below: 0,
            by_timer: false,
            repeated: false,
            bundled: false,
            marked: false,
            declared_lost: false,
            snapshot: self.control.handle_sent(self.now, bytes, flight),
        };
        self.flight.push_back((self.next, packet));
        self.next += 1;
    }

    /// Loses so many of the oldest packets, and acknowledges so many after them.
    fn answer(&mut self, lost: usize, acked: usize) {
        let flight_before = self.bytes();
        let mut take = |count: usize| {
            let count = count.min(self.flight.len());
            self.flight.drain(..count).collect::<alloc::vec::Vec<_>>()
        };
        let (lost, packets) = (take(lost), take(acked));
        let largest =
            |packets: &[(u64, SentPacket)]| packets.last().map_or(0, |(number, _)| *number);
        let acked = Acked {
            largest: largest(&packets),
            largest_lost: largest(&lost),
            packets: packets.into_iter().map(|(_, packet)| packet).collect(),
            lost: lost.into_iter().map(|(_, packet)| packet).collect(),
            ..Acked::default()
        };
        let around = Surroundings {
            flight_before,
            flight: self.bytes(),
            next: self.next,
            srtt: Some(Duration::from_millis(30)),
        };
        self.control.handle_acked(self.now, &acked, around);
    }

    fn step(&mut self, (what, size, wait): (u8, u16, u32)) {
        self.now += Duration::from_micros(wait.into());
        let count = usize::from(size % 64);
        match what {
            0..4 => {
                for _ in 0..count {
                    self.send(u64::from(size % 1_200).max(31));
                }
            }
            4..7 => self.answer(0, count),
            7 => self.answer(count / 4, count),
            8 => self.answer(count, 0),
            9 => self.control.handle_app_limited(self.bytes()),
            10 if size % 2 == 0 => {
                self.packet = [PACKET, 1_472, 9_000, 65_507][usize::from(size / 2 % 4)];
                self.control.set_packet(self.packet);
            }
            10 => self.control.handle_idle(),
            11 => self.control.handle_lost_handshake(),
            _ => {
                let flight = self.bytes();
                if let Some((_, packet)) = self.flight.pop_front() {
                    self.control.handle_timeout(self.next, flight, &packet);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn a_window_never_holds_less_than_a_packet_and_a_pacer_never_stops(
        steps in prop::collection::vec((0_u8..13, any::<u16>(), 0_u32..3_000_000), 1..300)
    ) {
        for choice in ALL {
            let mut world = World::new(choice);
            for step in &steps {
                world.step(*step);
                prop_assert!(world.control.window() >= world.packet, "{choice}");
                prop_assert!(world.control.pacing_rate() != Some(0), "{choice}");
                let (now, next) = (world.now, world.next);
                if let Admission::Wait(until) = world.control.admit(now, next, world.packet, 0) {
                    prop_assert!(until > now, "{choice}: a wait of no length");
                }
            }
        }
    }
}
