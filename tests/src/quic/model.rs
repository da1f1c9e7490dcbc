//! The probe timer of RFC 9002 a second time: exact rationals, and a deadline that every event
//! sets, as the document's own outline has it. Written from `spec/rto-family.md` alone.

use std::collections::{BTreeMap, BTreeSet};

use num_rational::BigRational;

use super::{Answer, Event, Pause, Probe, Role, Space};
use crate::{
    model::{Estimate, NEVER, gain, whole},
    rto_vectors::{Covers, Verdict},
};

const MS: u128 = 1_000_000;
const GRANULARITY: u128 = MS;
const INITIAL: u128 = 3 * 333 * MS;
/// Larger samples count as this much.
const MAX_SAMPLE: u128 = 3_600_000 * MS;

/// Times are whole nanoseconds.
#[derive(Clone, Debug)]
pub struct Model {
    role: Role,
    estimate: Option<Estimate>,
    min_rtt: Option<u128>,
    latest_rtt: Option<u128>,
    /// When the last packet was sent, in each space with packets in flight.
    in_flight: BTreeMap<Space, u128>,
    discarded: BTreeSet<Space>,
    pto_count: u32,
    handshake_keys: bool,
    handshake_acked: bool,
    confirmed: bool,
    max_ack_delay: u128,
    pauses: BTreeSet<Pause>,
    /// When the timer was last set by something that a client's own probe counts from.
    set_at: Option<u128>,
}

/// When, and for which space.
type Deadline = (u128, Space);

impl Model {
    /// Nothing in flight.
    #[must_use]
    pub fn new(role: Role) -> Self {
        Self {
            role,
            estimate: None,
            min_rtt: None,
            latest_rtt: None,
            in_flight: BTreeMap::new(),
            discarded: BTreeSet::new(),
            pto_count: 0,
            handshake_keys: false,
            handshake_acked: false,
            confirmed: false,
            max_ack_delay: 0,
            pauses: BTreeSet::new(),
            set_at: None,
        }
    }

    fn validated(&self) -> bool {
        let handshake_gone = self.discarded.contains(&Space::Handshake);
        self.role == Role::Server || self.handshake_acked || self.confirmed || handshake_gone
    }

    /// P1 to P6.
    fn sample(&mut self, space: Space, rtt: u128, stated: u128) -> Verdict {
        let least = self.min_rtt.map_or(rtt, |least| least.min(rtt));
        (self.min_rtt, self.latest_rtt) = (Some(least), Some(rtt));
        let delay = match space {
            Space::Initial => 0,
            _ if self.confirmed => stated.min(self.max_ack_delay),
            _ => stated,
        };
        let adjusted = if rtt >= least + delay {
            rtt - delay
        } else {
            rtt
        };
        let adjusted = adjusted.min(MAX_SAMPLE);
        match &mut self.estimate {
            None => {
                self.estimate = Some(Estimate::first(adjusted));
                Verdict::First
            }
            Some(estimate) => {
                estimate.update(adjusted, &gain((1, 8)), &gain((1, 4)));
                Verdict::Accepted
            }
        }
    }

    /// P8, before anything is rounded or saturated but the base, up to whole nanoseconds.
    fn pto(&self, space: Space) -> u128 {
        let base = self.exact_base().ceil().to_integer();
        let base = u128::try_from(base).expect("no term is negative");
        let delay = if space == Space::ApplicationData && self.confirmed {
            self.max_ack_delay
        } else {
            0
        };
        ((base + delay) << self.pto_count.min(63)).min(NEVER)
    }

    /// SRTT + max(4 RTTVAR, G), or its value before any sample.
    #[must_use]
    pub fn exact_base(&self) -> BigRational {
        let Some(estimate) = &self.estimate else {
            return whole(INITIAL);
        };
        let variation = &estimate.rttvar * whole(4);
        &estimate.srtt + variation.max(whole(GRANULARITY))
    }

    /// The deadline of each space that waits, and that of the probe with nothing in flight.
    fn deadlines(&self) -> (Vec<Deadline>, Option<Deadline>) {
        if !self.pauses.is_empty() {
            return (Vec::new(), None);
        }
        let waits = |space: Space| self.confirmed || space != Space::ApplicationData;
        let due = |at: u128, space: Space| ((at + self.pto(space)).min(NEVER), space);
        let mut waiting: Vec<_> = (self.in_flight.iter())
            .filter(|(space, _)| waits(**space))
            .map(|(space, sent)| due(*sent, *space))
            .collect();
        waiting.sort_unstable();
        let space = if self.handshake_keys {
            Space::Handshake
        } else {
            Space::Initial
        };
        let needed = waiting.is_empty() && !self.validated();
        let own = self.set_at.filter(|_| needed).map(|at| due(at, space));
        (waiting, own)
    }

    fn deadline(&self) -> Option<u128> {
        let (waiting, own) = self.deadlines();
        waiting.first().copied().or(own).map(|(at, _)| at)
    }

    fn timeout(&mut self, now: u128) -> Option<Probe> {
        let (waiting, own) = self.deadlines();
        let is_due = |(at, _): &Deadline| *at <= now && *at < NEVER;
        let mut spaces: Vec<_> = (waiting.iter().copied().filter(is_due))
            .map(|(_, space)| space)
            .collect();
        let anti_deadlock = spaces.is_empty();
        if anti_deadlock {
            spaces.push(own.filter(is_due)?.1);
        } else {
            spaces
                .iter()
                .for_each(|space| _ = self.in_flight.insert(*space, now));
        }
        let space = spaces[0];
        spaces.sort_unstable();
        self.pto_count = self.pto_count.saturating_add(1);
        self.set_at = Some(now);
        Some(Probe {
            space,
            spaces,
            anti_deadlock,
        })
    }

    fn acked(&mut self, now: u128, space: Space, covers: Covers) {
        if covers == Covers::All {
            self.in_flight.remove(&space);
        }
        self.handshake_acked |= space == Space::Handshake;
        if self.validated() {
            self.pto_count = 0;
        }
        self.set_at = Some(now);
    }

    fn discard(&mut self, now: u128, space: Space) {
        if space != Space::ApplicationData && self.discarded.insert(space) {
            self.in_flight.remove(&space);
            self.handshake_keys = true;
            self.pto_count = 0;
            self.set_at = Some(now);
        }
    }

    /// Lets the event happen.
    pub fn apply(&mut self, event: &Event) -> Answer {
        let (mut outcome, mut probe) = (None, None);
        match *event {
            Event::Sent { at, space } if !self.discarded.contains(&space) => {
                self.in_flight.insert(space, nanos(at));
                if space != Space::ApplicationData {
                    self.set_at = Some(nanos(at));
                }
            }
            Event::Acked {
                at,
                space,
                progress,
                rtt,
                ack_delay,
            } if progress != Covers::None && !self.discarded.contains(&space) => {
                self.acked(nanos(at), space, progress);
                let stated = nanos(ack_delay);
                outcome = rtt.map(|rtt| self.sample(space, nanos(rtt), stated));
            }
            Event::Sent { .. } | Event::Acked { .. } => {}
            Event::NoneInFlight { at, space } => {
                if self.in_flight.remove(&space).is_some() {
                    self.set_at = Some(nanos(at));
                }
            }
            Event::HandshakeKeys => self.handshake_keys = true,
            Event::Confirmed { at, max_ack_delay } => {
                self.confirmed = true;
                self.max_ack_delay = nanos(max_ack_delay);
                self.set_at = Some(nanos(at));
            }
            Event::Discarded { at, space } => self.discard(nanos(at), space),
            Event::Retry => {
                self.in_flight.clear();
                (self.pto_count, self.set_at) = (0, None);
            }
            Event::NewPath => {
                self.estimate = None;
                (self.min_rtt, self.latest_rtt) = (None, None);
            }
            Event::PersistentCongestion => self.min_rtt = self.latest_rtt,
            Event::Paused { reason } => _ = self.pauses.insert(reason),
            Event::Resumed { at, reason } => {
                if self.pauses.remove(&reason) {
                    self.set_at = Some(nanos(at));
                }
            }
            Event::Timeout { at } => probe = self.timeout(nanos(at)),
        }
        self.answer(outcome, probe)
    }

    fn answer(&self, outcome: Option<Verdict>, probe: Option<Probe>) -> Answer {
        let narrow = |ns: u128| u64::try_from(ns).expect("saturated");
        Answer {
            outcome,
            probe,
            srtt: self.estimate.as_ref().map(|estimate| estimate.srtt.clone()),
            rttvar: (self.estimate.as_ref()).map(|estimate| estimate.rttvar.clone()),
            min_rtt_ns: self.min_rtt.map(narrow),
            latest_rtt_ns: self.latest_rtt.map(narrow),
            pto_count: self.pto_count,
            handshake_pto_ns: narrow(self.pto(Space::Initial)),
            application_pto_ns: narrow(self.pto(Space::ApplicationData)),
            deadline_ns: self.deadline().map(narrow),
        }
    }
}

/// An instant or a span on a clock of 64 bits.
fn nanos(duration: std::time::Duration) -> u128 {
    duration.as_nanos().min(NEVER)
}
