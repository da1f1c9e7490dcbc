//! A second implementation of RFC 6298 in exact rational numbers, written from
//! `spec/rfc6298.md` alone: slow, obvious, and without a line of `rto`.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};

use crate::{
    rto_vectors::{Covers, Event, Reply, Subject, Verdict, View},
    settings::{AfterHandshake, CollapseOn, FloorOf, Settings},
};

/// Estimator, timer and sampler in one. Times are whole nanoseconds.
#[derive(Clone, Debug)]
pub struct Model {
    settings: Settings,
    estimate: Option<Estimate>,
    /// Whether there ever was a sample: then the initial RTO is over.
    sampled: bool,
    rto_ns: u128,
    backoffs: u32,
    deadline_ns: Option<u128>,
    handshake: bool,
    handshake_expired: bool,
    /// How often each byte was sent.
    sends: BTreeMap<u64, u32>,
    timed: Option<(u64, Duration)>,
    acked: u64,
}

/// SRTT and RTTVAR in nanoseconds, exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The smoothed round-trip time.
    pub srtt: BigRational,
    /// The round-trip time variation.
    pub rttvar: BigRational,
}

impl Estimate {
    /// Rule 2.2-1.
    #[must_use]
    pub fn first(rtt_ns: u128) -> Self {
        let srtt = whole(rtt_ns);
        let rttvar = &srtt / whole(2);
        Self { srtt, rttvar }
    }

    /// Rules 2.3-1 and 2.3-2: RTTVAR from the old SRTT.
    pub fn update(&mut self, rtt_ns: u128, alpha: &BigRational, beta: &BigRational) {
        let rtt = whole(rtt_ns);
        let deviation = (&self.srtt - &rtt).abs();
        self.rttvar += (deviation - &self.rttvar) * beta;
        self.srtt += (rtt - &self.srtt) * alpha;
    }

    /// Rule 2.3-4, before floor and cap.
    #[must_use]
    pub fn raw_rto(&self, settings: &Settings) -> BigRational {
        let variation = &self.rttvar * whole(settings.k.into());
        &self.srtt
            + match settings.variance_floor {
                FloorOf::Term => variation.max(whole(settings.granularity_ns.into())),
                FloorOf::ZeroRttvar => variation,
            }
    }
}

/// A whole number of nanoseconds as a rational.
#[must_use]
pub fn whole(ns: u128) -> BigRational {
    BigRational::from_integer(BigInt::from(ns))
}

/// A gain as a rational.
#[must_use]
pub fn gain((num, den): (u16, u16)) -> BigRational {
    BigRational::new(num.into(), den.into())
}

impl Model {
    /// A model without samples, its timer stopped.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self {
            rto_ns: settings.initial_rto_ns.into(),
            settings: settings.clone(),
            estimate: None,
            sampled: false,
            backoffs: 0,
            deadline_ns: None,
            handshake: false,
            handshake_expired: false,
            sends: BTreeMap::new(),
            timed: None,
            acked: 0,
        }
    }

    /// SRTT and RTTVAR, if there are any.
    #[must_use]
    pub const fn estimate(&self) -> Option<&Estimate> {
        self.estimate.as_ref()
    }

    fn capped(&self, rto_ns: u128) -> u128 {
        rto_ns.min(self.settings.max_rto_ns.unwrap_or(u64::MAX).into())
    }

    /// The RTO of section 2: rounded up, then floored, then capped.
    fn computed_rto(&self) -> u128 {
        match &self.estimate {
            Some(estimate) => {
                let raw = estimate.raw_rto(&self.settings).ceil().to_integer();
                let raw = u128::try_from(raw).expect("no term is negative");
                self.capped(raw.max(self.settings.min_rto_ns.into()))
            }
            None if self.sampled => self.rto_ns,
            None => self.settings.initial_rto_ns.into(),
        }
    }

    fn sample(&mut self, rtt: Duration) -> Verdict {
        let rtt_ns = rtt.as_nanos().min(self.settings.max_sample_ns.into());
        let (alpha, beta) = (gain(self.settings.alpha), gain(self.settings.beta));
        let verdict = match &mut self.estimate {
            Some(estimate) => {
                estimate.update(rtt_ns, &alpha, &beta);
                Verdict::Accepted
            }
            None => {
                self.estimate = Some(Estimate::first(rtt_ns));
                Verdict::First
            }
        };
        let granularity = whole(self.settings.granularity_ns.into());
        if let (FloorOf::ZeroRttvar, Some(estimate)) =
            (self.settings.variance_floor, &mut self.estimate)
            && estimate.rttvar.is_zero()
        {
            estimate.rttvar = granularity; // (P21)
        }
        self.sampled = true;
        self.handshake_expired = false;
        self.recompute();
        verdict
    }

    fn recompute(&mut self) {
        self.rto_ns = self.computed_rto();
        self.backoffs = 0;
    }

    fn back_off(&mut self) {
        self.rto_ns = self.capped(self.rto_ns * 2);
        self.backoffs += 1;
        if self
            .settings
            .clear_after
            .is_some_and(|n| n.get() == self.backoffs)
        {
            self.estimate = None;
        }
    }

    fn after(&self, at: Duration) -> u128 {
        (at.as_nanos() + self.rto_ns).min(NEVER)
    }

    fn start(&mut self, at: Duration) {
        if self.deadline_ns.is_none() {
            self.deadline_ns = Some(self.after(at));
        }
    }

    fn begin_data(&mut self) {
        const THREE_SECONDS: u128 = 3_000_000_000;
        if self.handshake_expired {
            let rto_ns = match self.settings.post_syn {
                AfterHandshake::Raise => self.rto_ns.max(THREE_SECONDS),
                AfterHandshake::Replace => THREE_SECONDS.max(self.settings.min_rto_ns.into()),
                AfterHandshake::Keep => self.rto_ns,
            };
            if self.settings.post_syn != AfterHandshake::Keep {
                (self.rto_ns, self.backoffs) = (self.capped(rto_ns), 0);
            }
        }
        self.handshake = false;
        self.handshake_expired = false;
    }

    fn acked(&mut self, at: Duration, covers: Covers, rtt: Option<Duration>) -> Option<Verdict> {
        if covers != Covers::None && self.settings.collapse == CollapseOn::OnAnyAck {
            self.recompute();
        }
        let verdict = rtt.map(|rtt| self.sample(rtt));
        match covers {
            Covers::None => {}
            Covers::Some => self.deadline_ns = Some(self.after(at)),
            Covers::All => self.deadline_ns = None,
        }
        verdict
    }

    fn timeout(&mut self, at: Duration) -> bool {
        let expired = self.deadline_ns.is_some_and(|due| is_due(due, at));
        if expired {
            self.back_off();
            self.handshake_expired |= self.handshake;
            self.deadline_ns = Some(self.after(at));
        }
        expired
    }

    fn segment_sent(&mut self, at: Duration, bytes: Range<u64>) {
        if bytes.clone().any(|byte| self.sends.contains_key(&byte)) {
            self.timed = None;
        } else if self.timed.is_none() && !bytes.is_empty() {
            self.timed = Some((bytes.end, at));
        }
        for byte in bytes {
            *self.sends.entry(byte).or_default() += 1;
        }
    }

    fn segment_acked(&mut self, at: Duration, upto: u64) -> Option<Duration> {
        let resent = (self.acked..upto).any(|byte| self.sends.get(&byte) > Some(&1));
        self.acked = self.acked.max(upto);
        let (_, sent) = self.timed.take_if(|(end, _)| *end <= upto)?;
        at.checked_sub(sent).filter(|_| !resent)
    }
}

impl Subject for Model {
    fn apply(&mut self, event: &Event) -> Reply {
        let mut reply = Reply::default();
        match *event {
            Event::Sample { rtt } => reply.outcome = Some(self.sample(rtt)),
            Event::RoundTrip { sent, acked } => {
                let rtt = acked.checked_sub(sent);
                reply.outcome = Some(rtt.map_or(Verdict::Rejected, |rtt| self.sample(rtt)));
            }
            Event::BackOff { times } => (0..times).for_each(|_| self.back_off()),
            Event::Clear => self.estimate = None,
            Event::Sent { at } | Event::FastRetransmit { at } => self.start(at),
            Event::HandshakeSent { at } => {
                self.handshake = true;
                self.start(at);
            }
            Event::DataPhase => self.begin_data(),
            Event::Acked { at, progress, rtt } => reply.outcome = self.acked(at, progress, rtt),
            Event::Timeout { at } => reply.expired = self.timeout(at),
            Event::Stop => self.deadline_ns = None,
            Event::SegmentSent { at, start, end } => self.segment_sent(at, start..end),
            Event::SegmentAcked { at, upto } => reply.sample = self.segment_acked(at, upto),
        }
        reply
    }

    fn view(&self) -> View {
        View {
            srtt: self.estimate.as_ref().map(|estimate| estimate.srtt.clone()),
            rttvar: self
                .estimate
                .as_ref()
                .map(|estimate| estimate.rttvar.clone()),
            rto_ns: self.rto_ns,
            backoffs: self.backoffs,
            deadline_ns: self.deadline_ns,
        }
    }
}

/// The end of the clock in ns: a deadline there never comes (D17).
pub const NEVER: u128 = u64::MAX as u128;

/// Whether a deadline has come.
#[must_use]
pub fn is_due(deadline_ns: u128, at: Duration) -> bool {
    deadline_ns <= at.as_nanos() && deadline_ns < NEVER
}
