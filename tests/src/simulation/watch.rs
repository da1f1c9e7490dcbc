//! The observer of what an endpoint sends: it holds every retransmission on a timeout to (5-1).

use std::{collections::BTreeMap, time::Duration};

use rudp_proto::{
    Step, StreamId, Trace,
    wire::{Frame, Packet},
};

use crate::datagrams::Decoder;

#[derive(Debug)]
pub(super) struct Watch {
    /// Who is watched.
    name: String,
    client: bool,
    decoder: Decoder,
    /// When each byte of each stream and message was last sent.
    last_sent: BTreeMap<StreamId, Vec<Duration>>,
    last_hello: Option<Duration>,
    /// The deadline that its timer was last set to, while it runs.
    deadline: Option<Duration>,
    /// The RTO that ran out just now, until its retransmission is seen.
    expired: Option<Duration>,
    /// Data ranges and Hellos sent again on a timeout, and checked.
    pub(super) timer_retransmissions: u64,
}

impl Watch {
    pub(super) fn new(name: String, client: bool) -> Self {
        Self {
            name,
            client,
            decoder: Decoder::default(),
            last_sent: BTreeMap::new(),
            last_hello: None,
            deadline: None,
            expired: None,
            timer_retransmissions: 0,
        }
    }

    pub(super) fn handle_trace(&mut self, now: Duration, trace: &Trace) {
        let name = &self.name;
        let (rto, last_sent_at) = match trace.step {
            Step::Retransmit { rto, last_sent_at } => (rto, last_sent_at),
            Step::Timer(event) => return self.follow_timer(trace.at, event),
            Step::Missed { traces } => panic!("{name}: {traces} traces are missed"),
            _ => return,
        };
        // What a connection did while it was half open is told with the proof (H11).
        let late = !self.client && self.last_sent.is_empty() && trace.at < now;
        assert!(late || trace.at == now, "{name}");
        let next_rto = trace.estimator.rto();
        assert!(
            next_rto >= rto,
            "{name}: {next_rto:?} after {rto:?} (5.5-1)"
        );
        let waited = trace.at - last_sent_at;
        assert!(waited >= rto, "{name}: sends early (5-1)");
        self.expired = (!late).then_some(rto);
    }

    /// Checks that what the timer tells makes a whole, and that it keeps its word (5-1).
    fn follow_timer(&mut self, at: Duration, event: rto::Event) {
        use rto::Event::{Armed, Expired, Restarted, Stopped};
        let name = &self.name;
        match event {
            Armed { deadline } => {
                assert_eq!(self.deadline, None, "{name}: armed twice");
                self.deadline = Some(deadline);
            }
            Restarted { deadline } => self.deadline = Some(deadline),
            Stopped => assert_ne!(self.deadline.take(), None, "{name}: stopped twice"),
            Expired { .. } => {
                let deadline = self.deadline.expect("only a running timer expires");
                assert!(
                    deadline <= at,
                    "{name}: expires at {at:?}, not {deadline:?}"
                );
            }
            _ => {}
        }
    }

    /// Looks at what its endpoint sent just now.
    pub(super) fn handle_sent(&mut self, log: &[(Duration, bool, Vec<u8>)]) {
        let client = self.client;
        for (at, _, datagram) in log.iter().filter(|sent| sent.1 == client) {
            self.observe(*at, datagram);
            self.expired = None; // what a timeout sends again leaves first
        }
        self.expired = None; // and at once
    }

    /// Notes when each byte leaves, and checks what leaves again on a timeout (5-1).
    fn observe(&mut self, now: Duration, datagram: &[u8]) {
        let packet = self
            .decoder
            .decode(datagram)
            .expect("what is sent can be decoded");
        let frames = match packet {
            Packet::Data { frames, .. } => frames,
            Packet::Hello { .. } => {
                if let Some(latest) = self.last_hello.replace(now) {
                    self.check_repetition(now, latest, "a Hello");
                }
                return;
            }
            _ => return,
        };
        for frame in frames {
            let Frame::Stream {
                id, offset, data, ..
            } = frame
            else {
                continue;
            };
            let mut last_sent = self.last_sent.remove(&id).unwrap_or_default();
            let start = usize::try_from(offset).expect("a small stream");
            let end = start + data.len();
            let known = last_sent.len().min(end);
            let sent = last_sent.get(start..known);
            let latest = sent.and_then(|sent| sent.iter().max());
            if let Some(latest) = latest {
                self.check_repetition(now, *latest, &format!("{start}..{end} of {id:?}"));
            }
            if last_sent.len() < end {
                last_sent.resize(end, now);
            }
            last_sent[start..end].fill(now);
            self.last_sent.insert(id, last_sent);
        }
    }

    /// If the timer has just expired, this is what it sends again: one packet.
    fn check_repetition(&mut self, now: Duration, latest: Duration, what: &str) {
        if let Some(rto) = self.expired.take() {
            let waited = now - latest;
            let name = &self.name;
            assert!(waited >= rto, "{name}: {what} after {waited:?} (5-1)");
            self.timer_retransmissions += 1;
        }
    }
}
