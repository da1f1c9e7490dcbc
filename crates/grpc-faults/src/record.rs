use std::sync::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// When a server was dialled, by the monotonic clock, since the server was made.
#[derive(Debug)]
pub(crate) struct Record {
    made_at: Instant,
    starts: Mutex<Vec<Duration>>,
}

impl Record {
    pub(crate) fn new() -> Self {
        Self {
            made_at: now(),
            starts: Mutex::default(),
        }
    }

    /// Notes a start, and gives its number, counted from 0.
    pub(crate) fn note(&self) -> usize {
        let at = now().saturating_duration_since(self.made_at);
        let mut starts = self.starts.lock().expect("no holder panics");
        starts.push(at);
        starts.len() - 1
    }

    pub(crate) fn starts(&self) -> Vec<Duration> {
        self.starts.lock().expect("no holder panics").clone()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a server that notes instants reads the clock, here only"
)]
fn now() -> Instant {
    Instant::now()
}
