//! The application of one side, and the observer of what its endpoint sends.

use std::{collections::BTreeMap, fmt, time::Duration};

use rudp_proto::{
    CloseReason, Config, Connection, Event, Handle, ReadError, Stats, Step, StreamId, StreamKind,
    wire::{Frame, Packet},
};

use super::Plan;
use crate::{
    datagrams::Decoder,
    pair::{Host, Pair},
};

#[derive(Debug)]
pub(super) struct Side {
    seed: u64,
    client: bool,
    pub(super) handle: Option<Handle>,
    /// Over so many streams in turn.
    streams: usize,
    to_send: usize,
    written: usize,
    /// How much of it was written to each of its streams that is open.
    written_to: Vec<usize>,
    finished: bool,
    to_receive: usize,
    received: usize,
    /// How much of it came from each stream, and whether the stream has ended.
    received_from: Vec<(usize, bool)>,
    at_end: bool,
    next_read: Duration,
    /// Whether it closes once it has written and read everything.
    pub(super) closes: bool,
    pub(super) closed: Option<CloseReason>,
    /// The counters when there was last something to count.
    pub(super) stats: Stats,
    decoder: Decoder,
    /// When each byte of each stream was last sent.
    last_sent: BTreeMap<StreamId, Vec<Duration>>,
    last_hello: Option<Duration>,
    /// The deadline that its timer was last set to, while it runs.
    deadline: Option<Duration>,
    /// The RTO that ran out just now, until its retransmission is seen.
    expired: Option<Duration>,
    pub(super) timer_retransmissions: u64,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.client { "client" } else { "server" };
        write!(f, "seed {}: {name}", self.seed)
    }
}

impl Side {
    pub(super) fn new(plan: &Plan, client: bool) -> Self {
        let (to_send, to_receive, closes) = if client {
            (plan.client_bytes, plan.server_bytes, plan.close_early[0])
        } else {
            (plan.server_bytes, plan.client_bytes, plan.close_early[1])
        };
        Self {
            seed: plan.seed,
            client,
            handle: None,
            streams: plan.streams,
            to_send,
            written: 0,
            written_to: Vec::new(),
            finished: false,
            to_receive,
            received: 0,
            received_from: vec![(0, false); plan.streams],
            at_end: false,
            next_read: Duration::ZERO,
            closes,
            closed: None,
            stats: Stats::default(),
            decoder: Decoder::default(),
            last_sent: BTreeMap::new(),
            last_hello: None,
            deadline: None,
            expired: None,
            timer_retransmissions: 0,
        }
    }

    pub(super) const fn host<'a>(&self, pair: &'a Pair) -> &'a Host {
        pair.host(self.client)
    }

    fn connection<'a>(&self, pair: &'a Pair) -> Option<&'a Connection> {
        self.host(pair).endpoint.connection(self.handle?)
    }

    /// Everything written and finished, everything read.
    pub(super) const fn is_through(&self) -> bool {
        let ended = self.at_end || (self.to_receive == 0 && self.closed.is_some());
        self.finished && ended
    }

    /// The connection lives, and nothing that it sent is under way.
    pub(super) fn is_acknowledged(&self, pair: &Pair) -> bool {
        let connection = self.connection(pair).expect("the connection lives");
        connection.unacknowledged() == 0 && connection.stats().bytes_in_flight == 0
    }

    /// When it wants to read again.
    pub(super) fn wakes_at(&self, now: Duration) -> Option<Duration> {
        (!self.at_end && self.next_read > now).then_some(self.next_read)
    }

    /// Writes what fits, reads what is there and checks it; says whether it did anything.
    pub(super) fn act(&mut self, pair: &mut Pair, slow: Option<(Duration, usize)>) -> bool {
        let now = pair.now;
        let host = pair.host_mut(self.client);
        let connection = self.handle.and_then(|h| host.endpoint.connection_mut(h));
        let Some(connection) = connection else {
            return false;
        };
        if !connection.is_established() && !self.finished {
            return false;
        }
        let before = (self.written, self.finished, self.received, self.at_end);
        self.write(connection);
        let (pause, most) = slow.unwrap_or((Duration::ZERO, usize::MAX));
        if self.next_read <= now && self.read(connection, most) {
            self.next_read = now + pause;
        }
        if self.finished && self.closes && (self.at_end || self.to_receive == 0) {
            connection.close(0, ""); // the first time; later it does nothing
        }
        before != (self.written, self.finished, self.received, self.at_end)
    }

    fn write(&mut self, connection: &mut Connection) {
        while self.written_to.len() < self.streams {
            connection.open_stream().expect("the peer allows more");
            self.written_to.push(0);
        }
        while self.written < self.to_send {
            let which = self.written / PIECE % self.streams;
            let id = stream(connection.side(), which);
            let begin = self.written_to[which];
            let end = begin + PIECE.min(self.to_send - self.written);
            let bytes = (begin..end).map(|i| byte(self.seed, id, i));
            let chunk: Vec<u8> = bytes.collect();
            let taken = connection.write(id, &chunk);
            let taken = taken.expect("an open stream takes bytes");
            self.written += taken;
            self.written_to[which] += taken;
            if taken < chunk.len() {
                return;
            }
        }
        if !self.finished {
            for which in 0..self.streams {
                let id = stream(connection.side(), which);
                connection.finish(id).expect("an open stream ends");
            }
            self.finished = true;
        }
    }

    /// Reads so many bytes at most; says whether there were any.
    fn read(&mut self, connection: &mut Connection, most: usize) -> bool {
        let before = self.received;
        let mut buffer = [0; 2_048];
        let mut room = most;
        for which in 0..self.streams {
            let id = stream(connection.side().other(), which);
            let (mut offset, mut ended) = self.received_from[which];
            while !ended && room > 0 {
                let space = room.min(buffer.len());
                match connection.read(id, &mut buffer[..space]) {
                    Ok(Some(0)) => ended = true,
                    Ok(Some(count)) => {
                        for read in &buffer[..count] {
                            let expected = byte(self.seed, id, offset);
                            assert_eq!(*read, expected, "{self}: byte {offset} of {id:?}");
                            offset += 1;
                        }
                        self.received += count;
                        room -= count;
                    }
                    Ok(None) | Err(ReadError::NoStream) => break,
                    Err(error) => panic!("{self}: reads: {error}"),
                }
            }
            self.received_from[which] = (offset, ended);
        }
        self.at_end = self.received_from.iter().all(|(_, ended)| *ended);
        if self.at_end {
            assert_eq!(self.received, self.to_receive, "{self}: at its end");
        }
        self.received > before
    }

    /// Fetches what its endpoint has to tell, and looks at it.
    pub(super) fn handle_events(&mut self, pair: &mut Pair) {
        if let Some(connection) = self.connection(pair) {
            self.stats = *connection.stats(); // its last event ends it
        }
        let now = pair.now;
        let host = pair.host_mut(self.client);
        host.handle_events(now);
        for (_, handle, event) in host.events.drain(..) {
            match event {
                Event::Connected => {
                    let first = self.handle.is_none_or(|known| known == handle);
                    assert!(first, "{self}: two connections");
                    self.handle = Some(handle);
                }
                Event::Closed(reason) => {
                    assert!(self.closed.is_none(), "{self}: closed twice");
                    let early = self.to_receive > self.received || self.to_send > self.written;
                    assert!(!early, "{self}: lost at {now:?}: {reason}");
                    self.closed = Some(reason);
                }
                Event::Readable(_) | Event::Writable(_) | Event::Trace(_) => {}
                other => panic!("{self}: {other:?}"),
            }
        }
        for trace in host.traces.drain(..) {
            let (rto, last_sent_at) = match trace.step {
                Step::Retransmit { rto, last_sent_at } => (rto, last_sent_at),
                Step::Timer(event) => {
                    self.follow_timer(trace.at, event);
                    continue;
                }
                Step::Missed { traces } => panic!("{self}: {traces} traces are missed"),
                _ => continue,
            };
            assert_eq!(trace.at, now, "{self}");
            let next_rto = trace.estimator.rto();
            assert!(
                next_rto >= rto,
                "{self}: {next_rto:?} after {rto:?} (5.5-1)"
            );
            assert!(now - last_sent_at >= rto, "{self}: sends early (5-1)");
            self.expired = Some(rto);
        }
    }

    /// Checks that what the timer tells makes a whole, and that it keeps its word (5-1).
    fn follow_timer(&mut self, at: Duration, event: rto::Event) {
        use rto::Event::{Armed, Expired, Restarted, Stopped};
        match event {
            Armed { deadline } => {
                assert_eq!(self.deadline, None, "{self}: armed twice");
                self.deadline = Some(deadline);
            }
            Restarted { deadline } => self.deadline = Some(deadline),
            Stopped => assert_ne!(self.deadline.take(), None, "{self}: stopped twice"),
            Expired { .. } => {
                let deadline = self.deadline.expect("only a running timer expires");
                assert!(
                    deadline <= at,
                    "{self}: expires at {at:?}, not {deadline:?}"
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
        }
        self.expired = None; // what a timeout sends again leaves at once
    }

    /// Notes when each byte leaves, and checks what leaves again on a timeout (5-1).
    fn observe(&mut self, now: Duration, datagram: &[u8]) {
        let packet = self
            .decoder
            .decode(datagram)
            .expect("what is sent can be decoded");
        let frames = match packet {
            Packet::Data { frames, .. } => frames,
            Packet::Hello { .. } => return self.observe_hello(now),
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

    fn observe_hello(&mut self, now: Duration) {
        if let Some(latest) = self.last_hello.replace(now) {
            self.check_repetition(now, latest, "a Hello");
        }
    }

    /// If the timer has just expired, this is what it sends again: one packet.
    fn check_repetition(&mut self, now: Duration, latest: Duration, what: &str) {
        if let Some(rto) = self.expired.take() {
            let waited = now - latest;
            assert!(waited >= rto, "{self}: {what} after {waited:?} (5-1)");
            self.timer_retransmissions += 1;
        }
    }

    pub(super) fn check_limits(&self, pair: &Pair, config: &Config) {
        let Some(connection) = self.connection(pair) else {
            return;
        };
        let stats = connection.stats();
        let unacknowledged = connection.unacknowledged();
        assert!(unacknowledged <= config.send_buffer as u64, "{self}");
        let ahead = stats.stream_bytes_received - self.received as u64;
        assert!(
            ahead <= config.receive_window as u64,
            "{self}: {ahead} unread"
        );
    }

    /// Everything arrived and was acknowledged.
    pub(super) fn check_totals(&self) {
        let (sent, received) = (self.to_send as u64, self.to_receive as u64);
        assert_eq!(self.stats.stream_bytes_acked, sent, "{self}");
        assert_eq!(self.stats.stream_bytes_received, received, "{self}");
        assert!(self.stats.stream_bytes_sent >= sent, "{self}");
    }
}

/// How much is written to a stream before it is the turn of the next.
const PIECE: usize = 4_096;

/// A stream of a side.
const fn stream(opener: rudp_proto::Side, which: usize) -> StreamId {
    StreamId::new(opener, StreamKind::Bytes, which as u64)
}

/// The byte at `index` of a stream.
fn byte(seed: u64, id: StreamId, index: usize) -> u8 {
    let mixed = (index as u64 ^ seed.rotate_left(17) ^ id.number().rotate_left(32))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed.to_be_bytes()[0]
}
