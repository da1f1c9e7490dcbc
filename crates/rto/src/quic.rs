//! The probe timeout of [RFC 9002](https://www.rfc-editor.org/rfc/rfc9002) (QUIC), sections 5
//! and 6.2: the estimator of RFC 6298 with the peer's ACK delay taken out, and one timer over
//! three packet number spaces.
//!
//! A probe is no retransmission: when the timer expires, the sender asks for an ACK, and the ACK
//! tells what was lost. So nothing here says that a packet is lost.
//!
//! ```text
//! handle_sent, handle_acked ──▶            ──▶ poll_timeout: the deadline
//! keys, confirmation, pauses ─▶ ProbeTimer
//! handle_timeout(now) ────────▶            ──▶ Probe: send one packet or two that elicit an ACK
//! ```
//!
//! What a driver does, step by step; the numbers come back in the code:
//!
//! ```
//! use {core::time::Duration, rto::*, rto::quic::*};
//! let ms = Duration::from_millis; // the clock: milliseconds since boot
//!
//! let mut timer = ProbeTimer::client(Estimator::new(Config::RFC9002)?);
//! timer.handle_sent(ms(0), Space::Initial); // 1. an ack-eliciting packet left
//! assert_eq!(timer.poll_timeout(), Some(ms(999))); // 2. sleep until then: 3 x 333 ms
//!
//! let probe = timer.handle_timeout(ms(999)).unwrap(); // 3. nobody answered
//! assert_eq!(probe.space, Space::Initial);
//! timer.handle_sent(ms(999), Space::Initial); // 4. the probe left
//! assert_eq!(timer.poll_timeout(), Some(ms(999 + 2 * 999)));
//!
//! // 5. An ACK of all that is in flight, with the round trip of the largest packet it covers.
//! let round_trip = RoundTrip {
//!     latest: Sample::of_transmission(ms(999), ms(1_099)),
//!     ack_delay: ms(0),
//! };
//! timer.handle_acked(ms(1_099), Space::Initial, Progress::All, Some(round_trip));
//! timer.handle_handshake_keys();
//! // Nothing is in flight, but the server may wait for packets before it may send more.
//! assert_eq!(timer.poll_timeout(), Some(ms(1_099 + 2 * 300)));
//!
//! timer.handle_confirmed(DEFAULT_MAX_ACK_DELAY); // 6. the handshake is over
//! timer.handle_sent(ms(1_200), Space::ApplicationData);
//! assert_eq!(timer.pto(Space::ApplicationData), 2 * ms(100 + 4 * 50 + 25));
//! assert_eq!(timer.poll_timeout(), Some(ms(1_200 + 2 * 325)));
//! # Ok::<(), ConfigError>(())
//! ```
//!
//! What happens at no instant that matters, such as the confirmation, is told without one.

use core::time::Duration;

use crate::{
    Estimator, Outcome, Progress,
    clock::{is_due, nanos},
};

mod explain;
mod rtt;

pub use rtt::RoundTrip;
use rtt::RoundTrips;

/// What a peer may delay an ACK by if its transport parameters do not say: 25 ms (RFC 9000).
pub const DEFAULT_MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// A packet number space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 0-RTT and 1-RTT packets.
    ApplicationData,
}

impl Space {
    /// All of them, in order.
    pub const ALL: [Self; 3] = [Self::Initial, Self::Handshake, Self::ApplicationData];
}

/// Why no probe timeout is armed for now, though packets are in flight (P14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// A server may send nothing more before it receives something.
    AmplificationLimit,
    /// A timer of time-threshold loss detection is set, which comes first.
    LossTimer,
}

/// The timer has expired: send at least one ack-eliciting packet, at most two, in
/// [`space`](Self::space) and in each other one of [`spaces`](Self::spaces), coalesced if
/// possible; new data if there is some, else old, else a PING (P11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The space whose deadline came first.
    pub space: Space,
    /// How often the timer expired since the back-off last ended, this time included.
    pub pto_count: u32,
    /// Whether nothing was in flight: a client keeps the server from waiting for it (P13).
    pub anti_deadlock: bool,
    due: [bool; 3],
}

impl Probe {
    /// Every space whose deadline has come.
    pub fn spaces(&self) -> impl Iterator<Item = Space> + use<> {
        let due = self.due;
        Space::ALL
            .into_iter()
            .zip(due)
            .filter_map(|(space, due)| due.then_some(space))
    }
}

/// The probe timer of QUIC, one per connection; see [the module](self) for an example. What was
/// sent stays with you.
///
/// An [`Estimator`] with [`Config::RFC9002`](crate::Config::RFC9002) computes SRTT, RTTVAR and
/// the base of the timeout. The back-off is kept here, for an ACK does not always end it (P12):
/// of the estimator's settings, `clear_after`, `post_syn` and `collapse` have no part in it, and
/// `max_rto` caps the whole timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeTimer {
    round_trips: RoundTrips,
    spaces: [Flight; 3],
    pto_count: u32,
    /// Known once the handshake is confirmed.
    max_ack_delay_ns: Option<u64>,
    validation: Validation,
    amplification_limit: bool,
    loss_timer: bool,
}

/// What is in flight in a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flight {
    /// Nothing ack-eliciting.
    None,
    /// Something, last sent at this instant.
    Since(u64),
    /// Its keys are gone.
    Discarded,
}

/// Whether the peer has validated our address, as far as we know. It is the server that does:
/// for a server it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Validation {
    Done,
    Unknown {
        /// Whether a probe can be a Handshake packet.
        handshake_keys: bool,
        /// From where a probe counts with nothing in flight; none before the first send.
        since_ns: Option<u64>,
    },
}

impl ProbeTimer {
    /// A client's timer, nothing in flight.
    #[must_use]
    pub const fn client(estimator: Estimator) -> Self {
        Self::new(
            estimator,
            Validation::Unknown {
                handshake_keys: false,
                since_ns: None,
            },
        )
    }

    /// A server's timer, nothing in flight.
    #[must_use]
    pub const fn server(estimator: Estimator) -> Self {
        Self::new(estimator, Validation::Done)
    }

    const fn new(estimator: Estimator, validation: Validation) -> Self {
        Self {
            round_trips: RoundTrips::new(estimator),
            spaces: [Flight::None; 3],
            pto_count: 0,
            max_ack_delay_ns: None,
            validation,
            amplification_limit: false,
            loss_timer: false,
        }
    }

    /// An ack-eliciting packet left, a probe too, or would have left if the socket had taken it:
    /// the timeout of its space counts from now (P9). Nothing happens once the space is
    /// discarded.
    pub fn handle_sent(&mut self, now: Duration, space: Space) {
        let flight = &mut self.spaces[space as usize];
        if *flight == Flight::Discarded {
            return;
        }
        *flight = Flight::Since(nanos(now)); // (1.), (4.)
        if space != Space::ApplicationData {
            self.count_from(now);
        }
    }

    /// An ACK arrived that newly acknowledges packets of this space: some of the ack-eliciting
    /// ones in flight, or [`Progress::All`] if none is left. It ends the back-off (P12), sets the
    /// timer anew (P9), and its round trip updates the estimate.
    ///
    /// [`Progress::None`] changes nothing, a round trip with it neither (P1).
    /// [`Progress::SomeSince`] is as `Some`: the timer counts from the last send anyway.
    ///
    /// Returns what became of the sample.
    pub fn handle_acked(
        &mut self,
        now: Duration,
        space: Space,
        progress: Progress,
        round_trip: Option<RoundTrip>,
    ) -> Option<Outcome> {
        let flight = &mut self.spaces[space as usize];
        if progress == Progress::None || *flight == Flight::Discarded {
            return None;
        }
        if progress == Progress::All {
            *flight = Flight::None;
        }
        if space == Space::Handshake {
            self.validation = Validation::Done;
        }
        if self.validation == Validation::Done {
            self.pto_count = 0; // (P12)
        }
        self.count_from(now);
        let most_ns = self.max_ack_delay_ns;
        round_trip.map(|round_trip| self.round_trips.sample(space, round_trip, most_ns)) // (5.)
    }

    /// Nothing ack-eliciting is in flight in this space any more, and no ACK said so: everything
    /// was declared lost, or the server refused 0-RTT.
    pub fn handle_none_in_flight(&mut self, now: Duration, space: Space) {
        let flight = &mut self.spaces[space as usize];
        if matches!(flight, Flight::Since(_)) {
            *flight = Flight::None;
            self.count_from(now);
        }
    }

    /// A client has Handshake keys from now on: with nothing in flight, that is what it probes
    /// with (P13). Means nothing to a server.
    pub const fn handle_handshake_keys(&mut self) {
        if let Validation::Unknown { handshake_keys, .. } = &mut self.validation {
            *handshake_keys = true;
        }
    }

    /// The handshake is confirmed: Application Data has a timer from now on (P10), and the
    /// peer's `max_ack_delay` bounds the delays it states (P5) and is waited for (P8).
    pub const fn handle_confirmed(&mut self, max_ack_delay: Duration) {
        self.max_ack_delay_ns = Some(nanos(max_ack_delay)); // (6.)
        self.validation = Validation::Done;
    }

    /// The keys of Initial or Handshake packets are discarded: none of them is in flight any
    /// more, and the back-off ends (P15). The keys of Application Data stay: nothing happens.
    pub fn handle_discarded(&mut self, now: Duration, space: Space) {
        let flight = &mut self.spaces[space as usize];
        if space == Space::ApplicationData || *flight == Flight::Discarded {
            return;
        }
        *flight = Flight::Discarded;
        self.pto_count = 0;
        match space {
            Space::Initial => self.handle_handshake_keys(), // a client goes on with those
            _ => self.validation = Validation::Done,        // kept until confirmed
        }
        self.count_from(now);
    }

    /// A Retry arrived: what was sent is void, and the timer starts over with the next Initial
    /// packet (P16).
    pub fn handle_retry(&mut self) {
        for flight in &mut self.spaces {
            if matches!(flight, Flight::Since(_)) {
                *flight = Flight::None;
            }
        }
        self.pto_count = 0;
        if let Validation::Unknown { since_ns, .. } = &mut self.validation {
            *since_ns = None;
        }
    }

    /// The connection moved to another path: SRTT, RTTVAR and the least round trip are those
    /// of a new `estimator` (P16). What is in flight and the back-off stay.
    pub const fn handle_new_path(&mut self, estimator: Estimator) {
        self.round_trips = RoundTrips::new(estimator);
    }

    /// Persistent congestion is established: the newest round trip becomes the least (P7). Tell
    /// of the ACK that showed it first.
    pub const fn handle_persistent_congestion(&mut self) {
        self.round_trips.forget_least();
    }

    /// No probe timeout may be armed until [`handle_resumed`](Self::handle_resumed) says that
    /// this reason is gone (P14).
    pub const fn handle_paused(&mut self, reason: Pause) {
        *self.paused_by(reason) = true;
    }

    /// This reason for a pause is gone, if it was there. The deadline is what it would have been
    /// without, and so may have passed (P14).
    pub fn handle_resumed(&mut self, now: Duration, reason: Pause) {
        if core::mem::take(self.paused_by(reason)) {
            self.count_from(now);
        }
    }

    const fn paused_by(&mut self, reason: Pause) -> &mut bool {
        match reason {
            Pause::AmplificationLimit => &mut self.amplification_limit,
            Pause::LossTimer => &mut self.loss_timer,
        }
    }

    /// A probe with nothing in flight counts from the last time the timer was set (P13).
    const fn count_from(&mut self, now: Duration) {
        if let Validation::Unknown { since_ns, .. } = &mut self.validation {
            *since_ns = Some(nanos(now));
        }
    }

    /// When the deadline has come, asks for probes and doubles the timeout, once however many
    /// spaces have expired (P11). Before it, and with nothing to wait for, does nothing.
    ///
    /// A late call is one expiry: the spaces that expired count from `now` until a
    /// [`handle_sent`](Self::handle_sent) tells of their probe (P17).
    #[must_use]
    pub fn handle_timeout(&mut self, now: Duration) -> Option<Probe> {
        let now_ns = nanos(now);
        let (deadline_ns, space) = self.earliest()?;
        if !is_due(deadline_ns, now_ns) {
            return None; // (P18)
        }
        let mut due = Space::ALL.map(|space| {
            (self.deadline_ns(space)).is_some_and(|deadline_ns| is_due(deadline_ns, now_ns))
        });
        let anti_deadlock = due == [false; 3];
        due[space as usize] = true;
        if !anti_deadlock {
            for (flight, due) in self.spaces.iter_mut().zip(due) {
                if due {
                    *flight = Flight::Since(now_ns);
                }
            }
        }
        self.pto_count = self.pto_count.saturating_add(1); // (3.)
        self.count_from(now);
        Some(Probe {
            space,
            pto_count: self.pto_count,
            anti_deadlock,
            due,
        })
    }

    /// The deadline, if there is anything to wait for: call
    /// [`handle_timeout`](Self::handle_timeout) then. Every `handle_*` call may change it.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        let (deadline_ns, _) = self.earliest()?; // (2.)
        Some(Duration::from_nanos(deadline_ns))
    }

    /// The earliest deadline of the spaces (P10), or that of a client's probe (P13).
    fn earliest(&self) -> Option<(u64, Space)> {
        if self.amplification_limit || self.loss_timer {
            return None; // (P14)
        }
        let deadlines = Space::ALL.map(|space| self.deadline_ns(space).map(|at| (at, space)));
        let earliest = deadlines.into_iter().flatten().min(); // the earlier space on a tie
        earliest.or_else(|| self.anti_deadlock())
    }

    fn deadline_ns(&self, space: Space) -> Option<u64> {
        let waits = space != Space::ApplicationData || self.max_ack_delay_ns.is_some(); // (P10)
        match self.spaces[space as usize] {
            Flight::Since(sent_ns) if waits => {
                Some(sent_ns.saturating_add(self.period_ns(space))) // (P9)
            }
            _ => None,
        }
    }

    /// 0-RTT packets in flight do not count: they have no timer (P19).
    fn anti_deadlock(&self) -> Option<(u64, Space)> {
        let Validation::Unknown {
            handshake_keys,
            since_ns,
        } = self.validation
        else {
            return None;
        };
        let space = if handshake_keys {
            Space::Handshake
        } else {
            Space::Initial
        };
        Some((since_ns?.saturating_add(self.period_ns(space)), space))
    }

    /// The probe timeout of this space, back-off included (P8).
    #[must_use]
    pub fn pto(&self, space: Space) -> Duration {
        Duration::from_nanos(self.period_ns(space))
    }

    /// (SRTT + max(4 RTTVAR, G) + max_ack_delay) x 2^pto_count (P8), saturating (P18).
    fn period_ns(&self, space: Space) -> u64 {
        let delay_ns = self.awaited_delay_ns(space);
        let estimator = self.estimator();
        let base_ns = nanos(estimator.base_rto()).saturating_add(delay_ns);
        let factor = 1_u64.checked_shl(self.pto_count).unwrap_or(u64::MAX);
        base_ns.saturating_mul(factor).min(estimator.params.max_ns)
    }

    fn awaited_delay_ns(&self, space: Space) -> u64 {
        match space {
            Space::Initial | Space::Handshake => 0, // not delayed on purpose
            Space::ApplicationData => self.max_ack_delay_ns.unwrap_or(0),
        }
    }

    /// How often the timer expired since the back-off last ended.
    #[must_use]
    pub const fn pto_count(&self) -> u32 {
        self.pto_count
    }

    /// The least round trip, ACK delays included; `None` before a sample.
    #[must_use]
    pub const fn min_rtt(&self) -> Option<Duration> {
        self.round_trips.min()
    }

    /// The newest round trip, its ACK delay included; `None` before a sample.
    #[must_use]
    pub const fn latest_rtt(&self) -> Option<Duration> {
        self.round_trips.latest()
    }

    /// SRTT and RTTVAR. Its RTO is the timeout without `max_ack_delay` and back-off.
    #[must_use]
    pub const fn estimator(&self) -> &Estimator {
        &self.round_trips.estimator
    }
}
