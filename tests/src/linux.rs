//! The Linux kernel's RTO a second time, in signed arithmetic and with mistakes to choose from,
//! and what can be seen of it, of `rto::linux` and of a kernel alike.

use std::time::Duration;

use rto::linux::{Config, Estimator, Round};

/// Something that happens to the kernel's estimator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An ACK gave a valid sample.
    Sample {
        /// In microseconds.
        rtt_us: u32,
        /// Whether the ACK ended a round trip.
        round: Round,
    },
    /// An ACK of new data gave none.
    Ack,
    /// Data timed out.
    Timeout,
    /// The SYN timed out.
    SynTimeout,
    /// The handshake is complete.
    Established,
}

/// What can be seen from outside, in the units of `TCP_INFO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The RTO in force.
    pub rto_us: u64,
    /// Its doublings since the last sample.
    pub backoffs: u32,
    /// SRTT and the smoothed deviation, cut to microseconds.
    pub estimate_us: Option<(u64, u64)>,
}

/// An account of what the kernel does.
pub trait Kernel {
    /// Lets the event happen.
    fn apply(&mut self, event: Event);
    /// Shows the state.
    fn seen(&self) -> Seen;
}

impl Kernel for Estimator {
    fn apply(&mut self, event: Event) {
        match event {
            Event::Sample { rtt_us, round } => {
                self.sample(Duration::from_micros(rtt_us.into()), round);
            }
            Event::Ack => {}
            Event::Timeout => self.back_off(),
            Event::SynTimeout => self.back_off_syn(),
            Event::Established => self.establish(),
        }
    }

    fn seen(&self) -> Seen {
        let us = |span: Duration| u64::try_from(span.as_micros()).expect("it was 32 bits");
        Seen {
            rto_us: us(self.rto()),
            backoffs: self.backoffs(),
            estimate_us: self.srtt().map(us).zip(self.mdev().map(us)),
        }
    }
}

/// The formula from its description, without a line of `rto`.
#[derive(Clone, Debug)]
pub struct Replica {
    mistake: Option<Mistake>,
    floor: i64,
    cap: i64,
    jiffy: i64,
    linear: u32,
    /// 8 x SRTT, 4 x MDEV, its largest value in this round trip, and 4 x RTTVAR: microseconds.
    srtt8: i64,
    mdev4: i64,
    largest4: i64,
    rttvar4: i64,
    rto: i64,
    backoffs: u32,
    syn_timeouts: u32,
}

/// A way to get Linux wrong: a comparison that lets one pass compares nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A deviation counts 1/4 where the round trip falls, too.
    FallingGain,
    /// The floor holds for the RTO, not for the variance term.
    FloorOfSum,
    /// RTTVAR is the smoothed deviation, not the largest of a round trip.
    SmoothedDeviation,
    /// Every ACK ends a round trip.
    EveryAckEnds,
    /// The RTO is not rounded up to a jiffy.
    Unrounded,
    /// Any ACK of new data ends the back-off.
    AnyAckCollapses,
    /// The SYN backs off one timeout too early.
    EarlySynBackOff,
    /// After a lost SYN the RTO stays as it was.
    NoFallback,
}

impl Replica {
    /// The kernel with these settings, and with a mistake if one is named.
    #[must_use]
    pub fn new(config: &Config, mistake: Option<Mistake>) -> Self {
        let us =
            |span: Duration| i64::try_from(span.as_micros()).expect("a kernel's span is short");
        let jiffy = us(config.jiffy);
        let jiffies = |span| (us(span) + jiffy - 1) / jiffy * jiffy;
        let early = u32::from(mistake == Some(Mistake::EarlySynBackOff));
        Self {
            mistake,
            floor: jiffies(config.rto_min),
            cap: jiffies(config.rto_max),
            jiffy,
            linear: u32::from(config.syn_linear_timeouts).saturating_sub(early),
            srtt8: 0,
            mdev4: 0,
            largest4: 0,
            rttvar4: 0,
            rto: jiffies(config.initial_rto),
            backoffs: 0,
            syn_timeouts: 0,
        }
    }

    fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    fn sample(&mut self, rtt: i64, ends: bool) {
        let floor = if self.makes(Mistake::FloorOfSum) {
            0
        } else {
            self.floor
        };
        if self.srtt8 == 0 {
            (self.srtt8, self.mdev4) = (8 * rtt, 2 * rtt);
            self.rttvar4 = self.mdev4.max(floor);
            self.largest4 = self.rttvar4;
        } else {
            let error = rtt - self.srtt8 / 8;
            self.srtt8 += error;
            let excess = error.abs() - self.mdev4 / 4;
            let damped = error < 0 && excess > 0 && !self.makes(Mistake::FallingGain);
            self.mdev4 += if damped { excess / 8 } else { excess };
            if self.mdev4 > self.largest4 {
                self.largest4 = self.mdev4;
                self.rttvar4 = self.rttvar4.max(self.largest4);
            }
            if ends {
                self.rttvar4 -= (self.rttvar4 - self.largest4).max(0) / 4;
                self.largest4 = floor;
            }
            if self.makes(Mistake::SmoothedDeviation) {
                self.rttvar4 = self.mdev4.max(floor);
            }
        }
        self.srtt8 = self.srtt8.max(1);
        let mut rto = self.srtt8 / 8 + self.rttvar4;
        if self.makes(Mistake::FloorOfSum) {
            rto = rto.max(self.floor);
        }
        if !self.makes(Mistake::Unrounded) {
            rto = (rto + self.jiffy - 1) / self.jiffy * self.jiffy;
        }
        self.rto = rto.min(self.cap);
        self.backoffs = 0;
    }

    fn back_off(&mut self) {
        self.rto = (2 * self.rto).min(self.cap);
        self.backoffs += 1;
    }
}

impl Kernel for Replica {
    fn apply(&mut self, event: Event) {
        match event {
            Event::Sample { rtt_us, round } => {
                let ends = round == Round::Ends || self.makes(Mistake::EveryAckEnds);
                self.sample(rtt_us.into(), ends);
            }
            Event::Ack if self.makes(Mistake::AnyAckCollapses) => {
                self.rto >>= self.backoffs;
                self.backoffs = 0;
            }
            Event::Ack => {}
            Event::Timeout => self.back_off(),
            Event::SynTimeout => {
                self.syn_timeouts += 1;
                if self.syn_timeouts > self.linear {
                    self.back_off();
                }
            }
            Event::Established if self.srtt8 > 0 || self.makes(Mistake::NoFallback) => {}
            Event::Established => self.rto = 3_000_000,
        }
    }

    fn seen(&self) -> Seen {
        let us = |value: i64| u64::try_from(value).expect("nothing here is negative");
        Seen {
            rto_us: us(self.rto),
            backoffs: self.backoffs,
            estimate_us: (self.srtt8 > 0).then_some((us(self.srtt8 / 8), us(self.mdev4 / 4))),
        }
    }
}
