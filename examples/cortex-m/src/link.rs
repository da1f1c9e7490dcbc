//! A link that loses and delays, the same way in every run.

use rto::compact::elapsed;

/// What crosses the link; `sent_at` is a timestamp, which the ACK echoes.
#[derive(Clone, Copy)]
pub(crate) enum Packet {
    Segment { number: u32, sent_at: u32 },
    Ack { upto: u32, sent_at: u32 },
}

/// Both directions between sender and receiver.
pub(crate) struct Link {
    state: u32,
    dark: [u32; 2],
    /// Packets under way, by their arrival; a packet too many is lost, as in any queue.
    under_way: [Option<(u32, Packet)>; 16],
    pub(crate) lost: u32,
}

impl Link {
    /// Nothing arrives that is sent from the first to the second instant of `dark`.
    pub(crate) const fn new(seed: u32, dark: [u32; 2]) -> Self {
        Self {
            state: seed,
            dark,
            under_way: [None; 16],
            lost: 0,
        }
    }

    /// One packet in 16 is lost, the others take 40 to 100 ms.
    pub(crate) fn send(&mut self, now: u32, packet: Packet) {
        let draw = self.draw();
        let dark = elapsed(self.dark[0], now).is_some() && elapsed(self.dark[1], now).is_none();
        let slot = self.under_way.iter_mut().find(|slot| slot.is_none());
        match slot {
            Some(slot) if !draw.is_multiple_of(16) && !dark => {
                let delay = 40_000 + (draw >> 16) % 60_000;
                *slot = Some((now.wrapping_add(delay), packet));
            }
            _ => self.lost += 1,
        }
    }

    /// Takes out the packet that arrives first, if it does by `until`.
    pub(crate) fn arrival(&mut self, until: u32) -> Option<(u32, Packet)> {
        let (mut first, mut soonest) = (None, until);
        for slot in &mut self.under_way {
            if let Some((at, _)) = *slot
                && elapsed(at, soonest).is_some()
            {
                (first, soonest) = (Some(slot), at);
            }
        }
        first.and_then(Option::take)
    }

    /// Marsaglia's xorshift: three shifts, and a period of 2^32 - 1.
    fn draw(&mut self) -> u32 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 17;
        self.state ^= self.state << 5;
        self.state
    }
}
