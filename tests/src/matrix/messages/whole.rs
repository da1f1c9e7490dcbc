//! Messages of the transport, of which none waits for another.

use std::time::Duration;

use rudp_proto::Connection;

use super::{Exchange, Pace, SIZE};
use crate::matrix::network::Application;

/// The client sends a message whenever one is due, the server sends back each that it gets.
pub(super) struct Whole {
    pace: Pace,
    back_at: Vec<Option<Duration>>,
    missing: usize,
}

impl Whole {
    pub(super) fn of(count: usize) -> Self {
        Self {
            pace: Pace::of(count),
            back_at: vec![None; count],
            missing: count,
        }
    }
}

/// The bytes of a message; they name it.
pub(in crate::matrix) fn message(index: usize) -> [u8; SIZE] {
    let name = index.to_be_bytes();
    core::array::from_fn(|at| name[at % name.len()])
}

/// Which message this is.
///
/// # Panics
///
/// If it is none, or not whole.
pub(in crate::matrix) fn index_of(bytes: &[u8]) -> usize {
    let name = bytes.first_chunk().expect("a whole message");
    let index = usize::from_be_bytes(*name);
    assert_eq!(bytes, message(index));
    index
}

impl Exchange for Whole {
    fn is_done(&self) -> bool {
        self.missing == 0
    }

    fn latencies(&self) -> Vec<Duration> {
        self.pace.ages(self.back_at.iter().copied())
    }
}

impl Application for Whole {
    fn act_as_client(&mut self, now: Duration, connection: &mut Connection) {
        while let Some(index) = self.pace.poll(now) {
            let sent = connection.send_message(now, &message(index), None);
            sent.expect("there is room for every message");
        }
        while let Some(bytes) = connection.read_message() {
            let earlier = self.back_at[index_of(&bytes)].replace(now);
            assert_eq!(earlier, None, "once");
            self.missing -= 1;
        }
    }

    fn act_as_server(&mut self, now: Duration, connection: &mut Connection) {
        while let Some(bytes) = connection.read_message() {
            let sent = connection.send_message(now, &bytes, None);
            sent.expect("there is room for every message");
        }
    }

    fn wakes_at(&self) -> Option<Duration> {
        self.pace.wakes_at()
    }
}
