//! How much may be in flight, and how fast it leaves (L10, G1 to G10).
//!
//! A [`Controller`] hears of every packet that leaves, every ACK and every expiry, and answers
//! with a window and a moment. What it knows is in its algorithm; measuring the delivery rate and
//! pacing are the same for all.

mod aggregation;
mod bbr;
mod cubic;
mod evidence;
mod hystart;
mod loss_based;
mod math;
mod pacer;
mod prr;
mod rate;
mod suspects;

use core::time::Duration;

use crate::Congestion;
use crate::loss::{Acked, SentPacket};
use crate::stats::add;
use crate::trace::CongestionPhase;
use crate::wire::BASE_DATAGRAM;
use bbr::Bbr;
use loss_based::LossBased;
use pacer::Pacer;
use rate::RateEstimator;
pub(crate) use rate::Snapshot;
use suspects::Suspects;

/// The size of a full packet (SMSS) until the path is known to carry more (U6).
const PACKET: u64 = BASE_DATAGRAM as u64;

/// What leaves at once at the start, in packets (RFC 6928),
const FIRST_BURST: u64 = 10;
/// and what a pacer spreads once there is a round trip (L10).
const FIRST_PACED: u64 = 32;
/// Bytes of the packets that these are meant for.
const USUAL_PACKET: u64 = 1_460;

/// So many packets, or fewer if they are large, but two (RFC 6928, 2).
fn initial_window(packets: u64, packet: u64) -> u64 {
    let most = packets.saturating_mul(USUAL_PACKET);
    let two = packet.saturating_mul(2);
    packet.saturating_mul(packets).min(most.max(two))
}

/// A window once packets of `before` bytes have `after`: it holds one, and as much as at the start
/// if it did so before (U6).
fn resized(window: u64, packets: u64, before: u64, after: u64) -> u64 {
    let began = window >= initial_window(packets, before);
    window.max(if began {
        initial_window(packets, after)
    } else {
        after
    })
}

/// What an ACK brought, as far as an algorithm wants to know. Bytes unless named otherwise.
#[derive(Copy, Clone, Debug, Default)]
struct Ack {
    now: Duration,
    /// Newly acknowledged, late ones included.
    acked: u64,
    /// Their highest packet number.
    largest: u64,
    /// Newly declared lost, and their highest packet number.
    lost: u64,
    largest_lost: u64,
    /// How many more packets the network has marked (E4).
    ce: u64,
    /// In flight before and after.
    flight_before: u64,
    flight: u64,
    /// The number of the next packet.
    next: u64,
    /// While `largest` was out, the window held something back, or the pacer with at least half
    /// of the window out.
    window_used: bool,
    rtt: Duration,
    srtt: Duration,
    /// The delivery rate (G3), and whether too little was sent to measure it.
    rate: Option<u64>,
    app_limited: bool,
    /// Delivered so far, when the newest packet left, and between.
    delivered: u64,
    prior_delivered: u64,
    delivered_in_flight: u64,
}

/// What surrounds an ACK.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) flight_before: u64,
    pub(crate) flight: u64,
    pub(crate) next: u64,
    pub(crate) srtt: Option<Duration>,
}

#[derive(Debug)]
enum Algorithm {
    LossBased(LossBased),
    Bbr(Bbr),
}

#[derive(Debug)]
pub(crate) struct Controller {
    choice: Congestion,
    algorithm: Algorithm,
    delivery: RateEstimator,
    pacer: Pacer,
    min_rtt: Option<Duration>,
    suspects: Suspects,
    /// How many reductions were taken back (G7).
    undone: u64,
    /// The latest sample, in bytes per second (G3).
    delivery_rate: Option<u64>,
    /// Packets with lower numbers were out when something was last held back.
    used_until: u64,
}

impl Controller {
    /// `seed` spreads the probes of connections that share a path.
    pub(crate) fn new(choice: Congestion, seed: u64) -> Self {
        Self {
            choice,
            algorithm: match choice {
                Congestion::NewReno => Algorithm::LossBased(LossBased::new_reno()),
                Congestion::Cubic => Algorithm::LossBased(LossBased::cubic()),
                Congestion::Bbr => Algorithm::Bbr(Bbr::new(seed)),
            },
            delivery: RateEstimator::default(),
            pacer: Pacer::default(),
            min_rtt: None,
            suspects: Suspects::default(),
            undone: 0,
            delivery_rate: None,
            used_until: 0,
        }
    }

    pub(crate) fn choice(&self) -> Congestion {
        self.choice
    }

    pub(crate) fn window(&self) -> u64 {
        match &self.algorithm {
            Algorithm::LossBased(it) => it.window(),
            Algorithm::Bbr(it) => it.window(),
        }
    }

    pub(crate) fn phase(&self) -> CongestionPhase {
        match &self.algorithm {
            Algorithm::LossBased(it) => it.phase(),
            Algorithm::Bbr(it) => it.phase(),
        }
    }

    /// How many reductions were taken back (G7).
    pub(crate) fn undone(&self) -> u64 {
        self.undone
    }

    /// Bytes per second; `None` before a round trip is known.
    pub(crate) fn pacing_rate(&self) -> Option<u64> {
        self.pacer.rate()
    }

    /// Bytes per second, as the latest ACK showed it.
    pub(crate) fn delivery_rate(&self) -> Option<u64> {
        self.delivery_rate
    }

    /// Whether packet `number` of `bytes` bytes may leave while `flight` bytes are out.
    pub(crate) fn admit(
        &mut self,
        now: Duration,
        number: u64,
        bytes: u64,
        flight: u64,
    ) -> Admission {
        // One packet always fits, however long it is (L10).
        let window = self.window();
        let fits = flight == 0 || flight.saturating_add(bytes) <= window;
        let admission = if fits {
            let until = self.pacer.wait(now);
            until.map_or(Admission::Now, Admission::Wait)
        } else {
            self.pacer.release();
            Admission::Full
        };
        let half_out = flight.saturating_mul(2) >= window;
        if !fits || (admission != Admission::Now && half_out) {
            self.used_until = number;
        }
        admission
    }

    /// Full packets have so many bytes from now on (U6).
    pub(crate) fn set_packet(&mut self, bytes: u64) {
        self.pacer.set_packet(bytes);
        match &mut self.algorithm {
            Algorithm::LossBased(it) => it.set_packet(bytes),
            Algorithm::Bbr(it) => it.set_packet(bytes),
        }
    }

    /// There is nothing to send, while `flight` bytes are out.
    pub(crate) fn handle_app_limited(&mut self, flight: u64) {
        self.pacer.release();
        self.delivery.handle_app_limited(flight);
    }

    /// A packet that will be acknowledged leaves, while `flight` bytes are out.
    pub(crate) fn handle_sent(&mut self, now: Duration, bytes: u64, flight: u64) -> Snapshot {
        self.pacer.handle_sent(now, bytes);
        if let Algorithm::LossBased(it) = &mut self.algorithm {
            it.handle_sent(bytes);
        }
        self.delivery.handle_sent(now, flight)
    }

    /// An ACK covered something new, or time proved a loss (L11). Says whether that begins a
    /// recovery: then one packet may leave whatever the window says (L10).
    pub(crate) fn handle_acked(
        &mut self,
        now: Duration,
        acked: &Acked,
        around: Surroundings,
    ) -> bool {
        let sample = self
            .delivery
            .handle_acked(now, &acked.packets, self.min_rtt);
        if let Some(sample) = sample {
            self.delivery_rate = sample.rate.or(self.delivery_rate);
            self.min_rtt = Some(self.min_rtt.map_or(sample.rtt, |min| min.min(sample.rtt)));
        } else if acked.lost.is_empty() {
            return false;
        }
        let bytes = |packets: &[SentPacket]| {
            let bytes = packets.iter().map(|packet| packet.bytes);
            bytes.fold(0, u64::saturating_add)
        };
        let rtt = sample.map(|sample| sample.rtt).or(around.srtt);
        let rtt = rtt.unwrap_or_default(); // a loss comes after a sample
        let srtt = around.srtt.unwrap_or(rtt);
        let sample = sample.unwrap_or_default();
        let ack = Ack {
            now,
            acked: bytes(&acked.packets),
            largest: acked.largest,
            lost: bytes(&acked.lost),
            largest_lost: acked.largest_lost,
            ce: acked.ce,
            flight_before: around.flight_before,
            flight: around.flight,
            next: around.next,
            window_used: acked.largest < self.used_until,
            rtt,
            srtt,
            rate: sample.rate,
            app_limited: sample.app_limited,
            delivered: sample.prior_delivered.saturating_add(sample.delivered),
            prior_delivered: sample.prior_delivered,
            delivered_in_flight: sample.delivered,
        };
        // What was late is of the recovery before, unless what is lost now is of the same one.
        let another = if acked.lost.is_empty() {
            acked.ce > 0
        } else {
            acked.largest_lost >= self.recovery_end()
        };
        if another {
            self.handle_late(&acked.packets);
        }
        let begins = match &mut self.algorithm {
            Algorithm::LossBased(it) => it.handle_ack(&ack),
            Algorithm::Bbr(it) => it.handle_ack(&ack),
        };
        self.suspects.handle_lost(&acked.lost, begins);
        if !another {
            self.handle_late(&acked.packets);
        }
        let rate = match &mut self.algorithm {
            Algorithm::LossBased(it) => Some(it.rate(srtt)),
            Algorithm::Bbr(it) => it.rate(),
        };
        self.pacer.set_rate(now, rate);
        begins
    }

    /// Losses from this number on begin another recovery.
    fn recovery_end(&self) -> u64 {
        match &self.algorithm {
            Algorithm::LossBased(it) => it.recovery_end(),
            Algorithm::Bbr(it) => it.recovery_end(),
        }
    }

    /// Takes back a reduction if all that it answered was late (G7).
    fn handle_late(&mut self, acked: &[SentPacket]) {
        if self.suspects.handle_acked(acked) {
            let undone = match &mut self.algorithm {
                Algorithm::LossBased(it) => it.undo(),
                Algorithm::Bbr(it) => it.undo(),
            };
            add(&mut self.undone, u64::from(undone));
        }
    }

    /// The handshake took a round trip, by which the first window is paced (L10).
    pub(crate) fn handle_handshake_rtt(&mut self, now: Duration, rtt: Duration) {
        if let Algorithm::Bbr(it) = &mut self.algorithm {
            it.handle_first_rtt(rtt);
            self.pacer.set_rate(now, it.rate());
        }
    }

    /// Nothing was sent for an RTO.
    pub(crate) fn handle_idle(&mut self) {
        match &mut self.algorithm {
            Algorithm::LossBased(it) => it.handle_idle(),
            Algorithm::Bbr(it) => it.handle_idle(),
        }
    }

    /// The handshake was repeated more than once: the path is bad (RFC 6928, 2).
    pub(crate) fn handle_lost_handshake(&mut self) {
        match &mut self.algorithm {
            Algorithm::LossBased(it) => it.handle_lost_handshake(),
            Algorithm::Bbr(it) => it.handle_lost_handshake(),
        }
    }

    /// The timer expired while `flight` bytes were out, and `packet` is to be repeated, `again` if
    /// an expiry had sent it; the next packet will be `next`.
    pub(crate) fn handle_timeout(
        &mut self,
        next: u64,
        flight: u64,
        packet: &SentPacket,
        again: bool,
    ) {
        self.suspects
            .handle_lost(core::slice::from_ref(packet), !again);
        match &mut self.algorithm {
            Algorithm::LossBased(it) => it.handle_timeout(flight, next, again),
            Algorithm::Bbr(it) => it.handle_timeout(next, again),
        }
    }
}

/// Whether a packet may leave.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Now,
    /// The window is full.
    Full,
    /// Ask again then.
    Wait(Duration),
}

#[cfg(test)]
mod tests;
