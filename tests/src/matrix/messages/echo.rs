//! Messages in a row on one stream.

use std::time::Duration;

use rudp_proto::Connection;

use super::{Exchange, Pace, SIZE};
use crate::{matrix::network::Application, pair::SingleStream};

/// The client writes a message whenever one is due, the server sends back what it reads.
pub(in crate::matrix) struct Echo {
    pace: Pace,
    count: usize,
    echoed: usize,
    received: usize,
    /// When each message was back.
    pub(in crate::matrix) back_at: Vec<Duration>,
}

impl Echo {
    pub(in crate::matrix) const fn of(count: usize) -> Self {
        Self {
            pace: Pace::of(count),
            count,
            echoed: 0,
            received: 0,
            back_at: Vec::new(),
        }
    }
}

impl Exchange for Echo {
    fn is_done(&self) -> bool {
        self.back_at.len() == self.count
    }

    fn latencies(&self) -> Vec<Duration> {
        self.pace.ages(self.back_at.iter().copied().map(Some))
    }
}

/// A byte of the stream: those of one message are alike, those of the next are not.
fn byte(offset: usize) -> u8 {
    (offset / SIZE).to_le_bytes()[0]
}

/// Calls `take` with what there is to read, after a look at each byte of it.
fn read(
    connection: &mut Connection,
    offset: &mut usize,
    mut take: impl FnMut(&mut Connection, &[u8]),
) {
    let mut buffer = [0; 4_096];
    while let Some(count) = connection.take(&mut buffer).expect("it goes on") {
        let read = &buffer[..count];
        for (at, found) in (*offset..).zip(read) {
            assert_eq!(*found, byte(at), "byte {at}");
        }
        *offset += count;
        take(connection, read);
    }
}

impl Application for Echo {
    fn act_as_client(&mut self, now: Duration, connection: &mut Connection) {
        while let Some(index) = self.pace.poll(now) {
            let message = [byte(index * SIZE); SIZE];
            let taken = connection.put(&message);
            assert_eq!(taken, Ok(SIZE), "the buffer holds every message");
        }
        read(connection, &mut self.received, |_, _| {});
        while self.back_at.len() < self.received / SIZE {
            self.back_at.push(now);
        }
    }

    fn act_as_server(&mut self, _: Duration, connection: &mut Connection) {
        read(connection, &mut self.echoed, |connection, bytes| {
            assert_eq!(connection.put(bytes), Ok(bytes.len()));
        });
    }

    fn wakes_at(&self) -> Option<Duration> {
        self.pace.wakes_at()
    }
}
