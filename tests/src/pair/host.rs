//! One end of a pair.

use std::{collections::BTreeMap, time::Duration};

use super::SingleStream;
use rudp_proto::{CloseReason, Connection, Endpoint, Event, Handle, Trace};

/// The end of a connection that this side asked for.
#[must_use]
pub fn own_end(code: u64, reason: &str) -> CloseReason {
    let reason = reason.to_owned();
    CloseReason::Local { code, reason }
}

/// An endpoint with an application that reads what it can, and writes what it was given.
#[derive(Debug)]
pub struct Host {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Every event, with the time at which it was fetched, but for traces and `Writable`, and for
    /// `Readable` if the application `reads`.
    pub events: Vec<(Duration, Handle, Event)>,
    /// Every trace.
    pub traces: Vec<Trace>,
    /// What was read of each connection.
    pub received: BTreeMap<Handle, Vec<u8>>,
    /// The connections that were read to their end.
    pub ended: Vec<Handle>,
    /// Whether the application reads; at first, it does.
    pub reads: bool,
    /// How often there was room again.
    pub writable: u32,
    to_write: Vec<u8>,
    written: usize,
}

impl Host {
    /// Nothing has happened yet.
    #[must_use]
    pub const fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            events: Vec::new(),
            traces: Vec::new(),
            received: BTreeMap::new(),
            ended: Vec::new(),
            reads: true,
            writable: 0,
            to_write: Vec::new(),
            written: 0,
        }
    }

    /// A connection.
    ///
    /// # Panics
    ///
    /// If it is over.
    pub fn conn(&mut self, handle: Handle) -> &mut Connection {
        let connection = self.endpoint.connection_mut(handle);
        connection.expect("the connection lives")
    }

    /// The newest connection that an event told of.
    ///
    /// # Panics
    ///
    /// If there was none.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.events.last().expect("something happened").1
    }

    /// What was read of a connection.
    #[must_use]
    pub fn bytes(&self, handle: Handle) -> &[u8] {
        self.received.get(&handle).map_or(&[], Vec::as_slice)
    }

    /// Why connections ended, in their order.
    #[must_use]
    pub fn closed(&self) -> Vec<&CloseReason> {
        let events = self.events.iter();
        events
            .filter_map(|(_, _, event)| match event {
                Event::Closed(reason) => Some(reason),
                _ => None,
            })
            .collect()
    }

    /// Writes `data` as room allows, then finishes the stream.
    pub fn send_all(&mut self, handle: Handle, data: &[u8]) {
        self.to_write = data.to_vec();
        self.written = 0;
        self.push(handle);
    }

    fn push(&mut self, handle: Handle) {
        if self.to_write.is_empty() {
            return;
        }
        let data = std::mem::take(&mut self.to_write);
        let rest = &data[self.written..];
        let Ok(written) = self.conn(handle).put(rest) else {
            return; // the peer closed
        };
        self.written += written;
        if self.written == data.len() {
            self.conn(handle).end().expect("the stream is open");
        } else {
            self.to_write = data;
        }
    }

    /// Reads what is there.
    pub fn read_all(&mut self, handle: Handle) {
        let mut buf = [0; 4096];
        while let Some(connection) = self.endpoint.connection_mut(handle) {
            match connection.take(&mut buf) {
                Ok(Some(0)) => {
                    self.ended.push(handle);
                    break;
                }
                Ok(Some(n)) => {
                    let received = self.received.entry(handle).or_default();
                    received.extend_from_slice(&buf[..n]);
                }
                Ok(None) | Err(_) => break,
            }
        }
    }

    /// Fetches all events: acts on some, and keeps the others.
    pub fn handle_events(&mut self, now: Duration) {
        while let Some((handle, event)) = self.endpoint.poll_event() {
            match event {
                Event::Readable(_) if self.reads => self.read_all(handle),
                Event::Writable(_) => {
                    self.writable += 1;
                    self.push(handle);
                }
                Event::Trace(trace) => self.traces.push(trace),
                Event::Opened => {}
                event => self.events.push((now, handle, event)),
            }
        }
    }
}
