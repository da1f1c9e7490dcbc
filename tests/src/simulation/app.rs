//! The application of one side.

use std::{fmt, time::Duration};

use rudp_proto::{
    CloseReason, Config, Connection, Event, Handle, ReadError, Side, Stats, StreamId, StreamKind,
};

use super::{
    Plan,
    extras::{Extras, MOST_BYTES, byte},
    watch::Watch,
};
use crate::pair::{Host, Pair};

#[derive(Debug)]
pub(super) struct App {
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
    /// What it sends beside, and what comes.
    pub(super) extras: Extras,
    /// The most of the peer's extras that may be dropped, in bytes.
    most_dropped: usize,
    pub(super) watch: Watch,
}

impl fmt::Display for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&name_of(self.seed, self.client))
    }
}

fn name_of(seed: u64, client: bool) -> String {
    let name = if client { "client" } else { "server" };
    format!("seed {seed}: {name}")
}

impl App {
    pub(super) fn new(plan: &Plan, side: Side) -> Self {
        let client = side == Side::Client;
        let (to_send, to_receive, closes) = if client {
            (plan.client_bytes, plan.server_bytes, plan.close_early[0])
        } else {
            (plan.server_bytes, plan.client_bytes, plan.close_early[1])
        };
        let extras = if plan.sends(side) { plan.extras } else { 0 };
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
            extras: Extras::new(plan, side, extras),
            most_dropped: plan.extras * MOST_BYTES,
            watch: Watch::new(name_of(plan.seed, client), client),
        }
    }

    pub(super) const fn host<'a>(&self, pair: &'a Pair) -> &'a Host {
        pair.host(self.client)
    }

    fn connection<'a>(&self, pair: &'a Pair) -> Option<&'a Connection> {
        self.host(pair).endpoint.connection(self.handle?)
    }

    /// Everything written and finished, everything read.
    pub(super) fn is_through(&self) -> bool {
        let ended = self.at_end || (self.to_receive == 0 && self.closed.is_some());
        self.finished && ended && self.extras.is_done()
    }

    /// The connection lives, and nothing that it sent is under way.
    pub(super) fn is_acknowledged(&self, pair: &Pair) -> bool {
        let connection = self.connection(pair).expect("the connection lives");
        connection.unacknowledged() == 0 && connection.stats().bytes_in_flight == 0
    }

    /// When it wants to read again.
    pub(super) fn wakes_at(&self, now: Duration) -> Option<Duration> {
        let reads = (!self.at_end && self.next_read > now).then_some(self.next_read);
        [reads, self.extras.wakes_at(now)]
            .into_iter()
            .flatten()
            .min()
    }

    /// Writes what fits, reads what is there and checks it, and closes if it is to and `may`; says
    /// whether it did anything.
    pub(super) fn act(
        &mut self,
        pair: &mut Pair,
        slow: Option<(Duration, usize)>,
        may_close: bool,
    ) -> bool {
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
        let moved = self.most_dropped > 0 && self.extras.act(now, connection);
        let through = self.finished && (self.at_end || self.to_receive == 0);
        if through && self.closes && may_close {
            connection.close(0, ""); // the first time; later it does nothing
        }
        moved || before != (self.written, self.finished, self.received, self.at_end)
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
            self.stats = connection.stats(); // its last event ends it
        }
        let now = pair.now;
        let host = pair.host_mut(self.client);
        host.handle_events(now);
        for (_, handle, event) in std::mem::take(&mut host.events) {
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
                other => {
                    let connection = host.endpoint.connection_mut(handle);
                    self.extras.hear(&other, connection.expect("it lives"));
                }
            }
        }
        for trace in host.traces.drain(..) {
            self.watch.handle_trace(now, &trace);
        }
    }

    pub(super) fn check_limits(&self, pair: &Pair, config: &Config) {
        let Some(connection) = self.connection(pair) else {
            return;
        };
        let stats = connection.stats();
        let unacknowledged = connection.unacknowledged();
        assert!(unacknowledged <= config.send_buffer as u64, "{self}");
        let ahead = stats.stream_bytes_received - (self.received + self.extras.read) as u64;
        assert!(
            ahead <= (config.receive_window + self.most_dropped) as u64,
            "{self}: {ahead} unread"
        );
    }

    /// Everything arrived and was acknowledged, but for extras that were given up.
    pub(super) fn check_totals(&self) {
        let (stats, extras) = (&self.stats, &self.extras);
        let least = self.to_send + extras.acknowledged;
        let most = self.to_send + extras.written;
        let acked = least as u64..=most as u64;
        assert!(acked.contains(&stats.stream_bytes_acked), "{self}");
        let least = self.to_receive + extras.read;
        let received = least as u64..=(least + self.most_dropped) as u64;
        assert!(received.contains(&stats.stream_bytes_received), "{self}");
        assert!(stats.stream_bytes_sent >= *acked.start(), "{self}");
    }
}

/// How much is written to a stream before it is the turn of the next.
const PIECE: usize = 4_096;

/// A stream of a side.
const fn stream(opener: Side, which: usize) -> StreamId {
    StreamId::new(opener, StreamKind::Bytes, which as u64)
}
