//! What holds of every control, whatever happens to it.
//!
//! The least window is a packet: of every control after an expiry, and of the loss-based ones while a
//! recovery shrinks what is in flight. Losses alone leave those two packets, and the model four.

use super::math::percent;
use super::*;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use proptest::prelude::*;

mod undo;

const ALL: [Congestion; 3] = [Congestion::NewReno, Congestion::Cubic, Congestion::Bbr];

const RTT: Duration = Duration::from_millis(30);
/// The last of the kinds of steps.
pub(super) const MARK: u8 = 14;
pub(super) const EXPIRY: u8 = 15;

/// A control, and what is in flight.
pub(super) struct World {
    pub(super) control: Controller,
    now: Duration,
    pub(super) next: u64,
    packet: u64,
    flight: VecDeque<(u64, SentPacket)>,
    /// Declared lost, and perhaps only late.
    pub(super) lost: VecDeque<(u64, SentPacket)>,
    srtt: Option<Duration>,
}

impl World {
    pub(super) fn new(choice: Congestion) -> Self {
        Self {
            control: Controller::new(choice, 7),
            now: Duration::from_secs(1),
            next: 0,
            packet: PACKET,
            flight: VecDeque::new(),
            lost: VecDeque::new(),
            srtt: Some(RTT),
        }
    }

    fn bytes(&self) -> u64 {
        let bytes = self.flight.iter().map(|(_, packet)| packet.bytes);
        bytes.fold(0, u64::saturating_add)
    }

    fn send(&mut self, bytes: u64) {
        let flight = self.bytes();
        let packet = SentPacket {
            sent_at: self.now,
            bytes,
            snapshot: self.control.handle_sent(self.now, bytes, flight),
            ..SentPacket::default()
        };
        self.flight.push_back((self.next, packet));
        self.next += 1;
    }

    /// Loses so many of the oldest packets, and acknowledges so many after them.
    fn answer(&mut self, lost: usize, acked: usize) {
        self.handle_ack(0, lost, acked, 0);
    }

    /// Acknowledges so many packets that were thought to be lost.
    fn answer_late(&mut self, count: usize) {
        self.handle_ack(count, 0, 0, 0);
    }

    fn handle_ack(&mut self, late: usize, lost: usize, acked: usize, ce: u64) {
        let flight_before = self.bytes();
        let mut packets = take(&mut self.lost, late);
        let lost = take(&mut self.flight, lost);
        packets.extend(take(&mut self.flight, acked));
        let largest = |packets: &[(u64, SentPacket)]| {
            let numbers = packets.iter().map(|(number, _)| *number);
            numbers.max().unwrap_or_default()
        };
        let acked = Acked {
            largest: largest(&packets),
            largest_lost: largest(&lost),
            packets: packets.into_iter().map(|(_, packet)| packet).collect(),
            lost: lost.iter().map(|(_, packet)| packet.clone()).collect(),
            ce,
            ..Acked::default()
        };
        let around = Surroundings {
            flight_before,
            flight: self.bytes(),
            next: self.next,
            srtt: self.srtt,
        };
        self.control.handle_acked(self.now, &acked, around);
        lost.into_iter().for_each(|it| self.handle_lost(it));
    }

    /// It may come late.
    fn handle_lost(&mut self, (number, mut packet): (u64, SentPacket)) {
        packet.declared_lost = true;
        self.lost.push_back((number, packet));
    }

    /// Sends what may leave with so much in flight at most, and lets time pass to the next moment;
    /// what was sent is acknowledged a round trip later, but for the first of it if that `is_lost`.
    fn send_within(&mut self, flow_window: u64, is_lost: bool) {
        let mut wakes_at = Duration::MAX;
        while self.bytes() + PACKET <= flow_window {
            match (self.control).admit(self.now, self.next, PACKET, self.bytes()) {
                Admission::Now => self.send(PACKET),
                Admission::Full => break,
                Admission::Wait(until) => {
                    wakes_at = until;
                    break;
                }
            }
        }
        if self.bytes() + PACKET > flow_window {
            self.control.handle_app_limited(self.bytes());
        }
        let oldest = self.flight.front();
        let acked_at = oldest.map_or(Duration::MAX, |(_, packet)| packet.sent_at + RTT);
        self.now = wakes_at.min(acked_at);
        let is_due = |(_, packet): &&(u64, SentPacket)| packet.sent_at + RTT <= self.now;
        let due = self.flight.iter().take_while(is_due).count();
        if due > 0 {
            let lost = usize::from(is_lost);
            self.answer(lost, due - lost);
        }
    }

    pub(super) fn step(&mut self, (what, size, wait): (u8, u16, u32)) {
        self.now = self.now.saturating_add(Duration::from_micros(wait.into()));
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
            12 => self.answer_late(count),
            13 => self.handle_ack(count, count / 4, count, 0),
            MARK => self.handle_ack(0, 0, count, 1),
            _ => {
                let flight = self.bytes();
                if let Some((number, packet)) = self.flight.pop_front() {
                    self.control
                        .handle_timeout(self.next, flight, &packet, packet.by_timer);
                    self.handle_lost((number, packet));
                }
            }
        }
    }
}

/// The oldest of them, so many if there are.
fn take(packets: &mut VecDeque<(u64, SentPacket)>, count: usize) -> Vec<(u64, SentPacket)> {
    let count = count.min(packets.len());
    packets.drain(..count).collect()
}

/// A moment, a size or a round trip at the ends of what there is.
fn extreme() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(u64::MAX),
        Just(u64::MAX - 1),
        Just(1 << 62),
        any::<u64>()
    ]
}

pub(super) fn steps() -> impl Strategy<Value = Vec<(u8, u16, u32)>> {
    prop::collection::vec((0..=EXPIRY, any::<u16>(), 0_u32..3_000_000), 1..300)
}

proptest! {
    #[test]
    fn a_window_never_holds_less_than_a_packet_and_a_pacer_never_stops(steps in steps()) {
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

    #[test]
    fn losses_alone_leave_two_packets_or_four(steps in steps()) {
        for choice in ALL {
            let mut world = World::new(choice);
            for (what, size, wait) in &steps {
                world.step((what % 10, *size, *wait)); // no expiry, no other size
                let phase = world.control.phase();
                let least = match choice {
                    Congestion::Bbr => 4,
                    _ if phase == CongestionPhase::Recovery => 1,
                    _ => 2,
                };
                prop_assert!(world.control.window() >= least * PACKET, "{choice}: {phase:?}");
            }
        }
    }

    /// Clocks that jump, go back or end, sizes and round trips of 64 bits: nothing overflows.
    #[test]
    fn nothing_is_too_large_too_late_or_too_early(
        steps in prop::collection::vec(
            (0..=EXPIRY, any::<u16>(), prop::option::of((extreme(), extreme(), extreme()))),
            1..100,
        )
    ) {
        for choice in ALL {
            let mut world = World::new(choice);
            for (what, size, jump) in &steps {
                if let Some((now, bytes, srtt)) = *jump {
                    let nanos = u32::try_from(now % 1_000_000_000).expect("below a second");
                    world.now = Duration::new(now, nanos);
                    world.srtt = (srtt > 0).then(|| Duration::from_secs(srtt));
                    world.send(bytes);
                }
                world.step((*what, *size, u32::MAX));
                prop_assert!(world.control.window() >= world.packet, "{choice}");
                let _ = world.control.admit(world.now, world.next, u64::MAX, u64::MAX);
            }
        }
    }

    /// What is in flight is bounded by the peer's window; then the congestion window stays within
    /// twice that (G1), or for the model what it may be in a probe and a bunch of ACKs (G8), or what
    /// it was at first, however long it lasts and whatever is lost.
    #[test]
    fn a_window_does_not_outgrow_what_flow_control_lets_out(
        packets in 2_u64..200,
        lost in prop::collection::vec(prop::bool::weighted(0.1), 1..200),
    ) {
        let flow_window = packets * PACKET;
        for choice in ALL {
            let mut world = World::new(choice);
            let end = world.now + 100 * RTT;
            let mut lost = lost.iter().cycle();
            while world.now < end {
                world.send_within(flow_window, lost.next() == Some(&true));
                let (most, first) = match choice {
                    Congestion::Bbr => (percent(flow_window, 325) + PACKET, FIRST_PACED),
                    _ => (2 * flow_window, FIRST_BURST),
                };
                let most = most.max(initial_window(first, PACKET));
                prop_assert!(world.control.window() <= most, "{choice}: {packets} packets");
            }
        }
    }
}
