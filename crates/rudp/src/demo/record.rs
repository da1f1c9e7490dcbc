//! What happened, in the order in which it happened.

use std::{ops::Range, time::Duration};

use blake3::Hash;

use super::{
    encore::Encore,
    moments::{Ended, Expiry, Late, Resumed, RttSample},
    scenes::{Ends, Network, Scene},
};
use crate::{
    Attempt, CloseReason, CongestionMetrics, ReceiveEvent, Receiving, Report, SendEvent, Sending,
    Step, Trace, relay::RelayCounters,
};

/// Something that one of the actors reports.
#[derive(Clone, Debug)]
pub(super) enum News {
    /// The sender.
    Sender(SendEvent),
    /// The receiver.
    Receiver(ReceiveEvent),
}

/// All that is known of one performance, as of now.
#[derive(Clone, Debug)]
pub struct Record {
    /// The name of the file.
    pub name: String,
    /// Its length, in bytes.
    pub length: u64,
    /// The seed of all chance in the network.
    pub seed: u64,
    /// The network.
    pub network: Network,
    /// The scenes so far.
    pub acts: Vec<Act>,
    /// Round trips measured, at most one for each millisecond.
    pub samples: Vec<RttSample>,
    /// Expiries of the sender's timer.
    pub expiries: Vec<Expiry>,
    /// Times of fast retransmits.
    pub fast_retransmits: Vec<Duration>,
    /// Times of path probes.
    pub path_probes: Vec<Duration>,
    /// Late acknowledgements of packets that had been taken for lost.
    pub late: Vec<Late>,
    /// How congestion control stood, each time it was told.
    pub congestion: Vec<(Duration, CongestionMetrics)>,
    /// Attempts to connect.
    pub attempts: Vec<Ended>,
    /// When and why the sender lost its connection.
    pub lost: Vec<(Duration, CloseReason)>,
    /// When how many bytes were on the receiver's disk, at most one entry for each millisecond.
    pub on_disk: Vec<(Duration, u64)>,
    /// Where the data went on after the last interruption.
    pub resumed: Option<Resumed>,
    /// When it was dark.
    pub dark: Option<Range<Duration>>,
    /// When the server died and when it was back.
    pub down: Option<(Duration, Option<Duration>)>,
    /// What the relay counted until the file was there.
    pub relay: RelayCounters,
    /// What came of small messages after that.
    pub encore: Option<Encore>,
    /// The sender's own report, once the file is delivered.
    pub report: Option<Report>,
    /// The hashes of the file sent and of the file received, both read back from disk.
    pub hashes: Option<(Hash, Hash)>,
    /// When the last thing happened.
    pub end: Duration,
    /// How many back-offs the sample undid that comes now.
    pub(super) undone: u32,
}

/// A scene that was played, and what came in it.
#[derive(Clone, Debug)]
pub struct Act {
    /// Which.
    pub scene: &'static Scene,
    /// When it began.
    pub from: Duration,
    /// Round trips measured.
    pub samples: u64,
    /// Round trips that passed, as far as samples came: for a fast network as many as for a slow one.
    pub rounds: u64,
    /// When the next round begins, at the earliest.
    next_round: Duration,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Expiries of the timer.
    pub expiries: u64,
    /// Packets that were taken for lost and came late.
    pub late: u64,
    /// Data repeated since its answer took longer than usual.
    pub tail_probes: u64,
    /// Probes of a silent path.
    pub path_probes: u64,
    /// Attempts to connect that failed.
    pub failures: u64,
    /// The first sample that undid back-offs, and the rounds before it.
    pub collapse: Option<(Duration, u64)>,
}

const ONE_POINT: Duration = Duration::from_millis(1);

impl Record {
    pub(super) fn new(name: String, length: u64, seed: u64, network: Network) -> Self {
        Self {
            name,
            length,
            seed,
            network,
            acts: Vec::new(),
            samples: Vec::new(),
            expiries: Vec::new(),
            fast_retransmits: Vec::new(),
            path_probes: Vec::new(),
            late: Vec::new(),
            congestion: Vec::new(),
            attempts: Vec::new(),
            lost: Vec::new(),
            on_disk: Vec::new(),
            resumed: None,
            dark: None,
            down: None,
            relay: RelayCounters::default(),
            encore: None,
            report: None,
            hashes: None,
            end: Duration::ZERO,
            undone: 0,
        }
    }

    pub(super) fn begin(&mut self, scene: &'static Scene, from: Duration) {
        self.end = self.end.max(from);
        self.acts.push(Act {
            scene,
            from,
            samples: 0,
            rounds: 0,
            next_round: Duration::ZERO,
            fast_retransmits: 0,
            expiries: 0,
            late: 0,
            tail_probes: 0,
            path_probes: 0,
            failures: 0,
            collapse: None,
        });
    }

    /// The bytes on the receiver's disk.
    #[must_use]
    pub fn bytes_on_disk(&self) -> u64 {
        self.on_disk.last().map_or(0, |&(_, bytes)| bytes)
    }

    /// When a scene ended: where the next one begins.
    #[must_use]
    pub fn act_end(&self, index: usize) -> Duration {
        self.acts.get(index + 1).map_or(self.end, |next| next.from)
    }

    /// Takes in what happened.
    pub(super) fn handle(&mut self, news: &News) {
        match news {
            News::Sender(event) => self.handle_sender(event),
            News::Receiver(event) => self.handle_receiver(event),
        }
    }

    /// Whether this news, taken in already, is what the current scene waited for.
    pub(super) fn scene_is_over(&self, news: &News) -> bool {
        let Some(act) = self.acts.last() else {
            return false;
        };
        match act.scene.ends {
            Ends::OnDisk { percent } => self.bytes_on_disk() >= self.length / 100 * percent,
            Ends::Fresh {
                rounds,
                fast_retransmits,
            } => {
                let enough = act.rounds >= rounds && act.fast_retransmits >= fast_retransmits;
                enough && news.is_sample()
            }
            Ends::Collapsed { rounds } => act
                .collapse
                .is_some_and(|(_, before)| act.rounds >= before + rounds),
            Ends::Refused { attempts } => act.failures >= attempts,
            Ends::Delivered => false, // the sender's report ends it
        }
    }

    fn handle_sender(&mut self, event: &SendEvent) {
        self.end = self.end.max(event.at);
        match &event.what {
            Sending::Attempt(attempt) => self.handle_attempt(event.at, attempt),
            Sending::Lost(reason) => self.lost.push((event.at, reason.clone())),
            Sending::Started {
                offset, on_disk, ..
            } if *on_disk > 0 => {
                self.resumed = Some(Resumed {
                    at: event.at,
                    on_disk: *on_disk,
                    offset: *offset,
                    seen_before: self.bytes_on_disk(),
                });
            }
            Sending::Trace { trace, .. } => self.handle_trace(trace),
            _ => {}
        }
    }

    fn handle_attempt(&mut self, at: Duration, attempt: &Attempt) {
        let failed = |ended: &&Ended| !ended.connected();
        let failed_before = self.attempts.iter().rev().take_while(failed).count();
        let ended = Ended {
            at,
            attempt: attempt.clone(),
            failed_before: u32::try_from(failed_before).unwrap_or(u32::MAX),
        };
        if let Some(act) = self.acts.last_mut().filter(|_| failed(&&ended)) {
            act.failures += 1;
        }
        self.attempts.push(ended);
    }

    fn handle_trace(&mut self, trace: &Trace) {
        let Trace {
            at,
            step,
            estimator,
        } = *trace;
        let Some(act) = self.acts.last_mut() else {
            return;
        };
        match step {
            // What it undid comes before a sample, and what became of the timer after it.
            Step::Timer(rto::Event::Collapsed { undone, .. }) => self.undone = undone,
            Step::Timer(rto::Event::Sampled { rtt, srtt, rto, .. }) => {
                act.samples += 1;
                if at >= act.next_round {
                    act.rounds += 1;
                    act.next_round = at.saturating_add(srtt);
                }
                if self.undone > 0 {
                    act.collapse.get_or_insert((at, act.rounds));
                }
                let new = |last: &RttSample| last.at + ONE_POINT <= at || self.undone > 0;
                if self.samples.last().is_none_or(new) {
                    self.samples.push(RttSample { at, rtt, srtt, rto });
                }
            }
            Step::Timer(_) => self.undone = 0,
            Step::Retransmit { rto, last_sent_at } => {
                act.expiries += 1;
                let in_a_row = estimator.backoffs();
                let before = self.expiries.last().filter(|_| in_a_row > 1);
                self.expiries.push(Expiry {
                    at,
                    rto,
                    next_rto: estimator.rto(),
                    in_a_row,
                    last_sent_at: before.map_or(last_sent_at, |first| first.last_sent_at),
                });
            }
            Step::FastRetransmit { .. } => {
                act.fast_retransmits += 1;
                self.fast_retransmits.push(at);
            }
            Step::TailProbe => act.tail_probes += 1,
            Step::PathProbe => {
                act.path_probes += 1;
                self.path_probes.push(at);
            }
            Step::SpuriousLoss { packets, undone } => {
                act.late += packets;
                self.late.push(Late {
                    at,
                    packets,
                    undone,
                });
            }
            Step::Congestion(metrics) => self.congestion.push((at, metrics)),
            _ => {}
        }
    }

    fn handle_receiver(&mut self, event: &ReceiveEvent) {
        self.end = self.end.max(event.at);
        let (on_disk, always) = match event.what {
            Receiving::Progress { on_disk, .. } => (on_disk, on_disk == self.length),
            Receiving::Started { offset, .. } => (offset, true),
            _ => return,
        };
        let new = |&(last, _): &(Duration, u64)| always || last + ONE_POINT <= event.at;
        match self.on_disk.last_mut() {
            Some(last) if !new(last) => last.1 = on_disk,
            _ => self.on_disk.push((event.at, on_disk)),
        }
    }
}

impl News {
    /// Whether the sender has measured a round trip.
    fn is_sample(&self) -> bool {
        let Self::Sender(SendEvent { what, .. }) = self else {
            return false;
        };
        let Sending::Trace { trace, .. } = what else {
            return false;
        };
        matches!(trace.step, Step::Timer(rto::Event::Sampled { .. }))
    }
}
