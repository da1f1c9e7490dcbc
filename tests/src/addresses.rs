//! A `PickFirst` in virtual time, with what it wants done as short lines: `start a #0`.

use std::time::Duration;

use grpc_backoff::{AttemptId, Config, PickAction, PickFirst, Verdict};

use crate::draws::MIDDLE;

/// A machine with a memory of the ids that it gave.
#[derive(Debug)]
pub struct Host {
    /// The machine.
    pub pick: PickFirst<&'static str>,
    ids: Vec<AttemptId>,
}

impl Host {
    /// A machine with the document's values.
    ///
    /// # Panics
    ///
    /// Never: they are valid.
    pub fn new(addresses: impl IntoIterator<Item = &'static str>) -> Self {
        Self::with(Config::GRPC, addresses)
    }

    /// A machine with this config.
    ///
    /// # Panics
    ///
    /// Where the config is refused.
    pub fn with(config: Config, addresses: impl IntoIterator<Item = &'static str>) -> Self {
        Self {
            pick: PickFirst::new(config, addresses).expect("valid"),
            ids: Vec::new(),
        }
    }

    /// One that asks for new lists.
    #[must_use]
    pub fn resolving(mut self) -> Self {
        self.pick = self.pick.with_resolver();
        self
    }

    /// Wants a connection, and does what is to be done.
    pub fn connect(&mut self, now: Duration) -> Vec<String> {
        self.pick.connect(now);
        self.poll(now)
    }

    /// All that is to be done now.
    pub fn poll(&mut self, now: Duration) -> Vec<String> {
        let mut done = Vec::new();
        while let Some(action) = self.pick.poll_action(now, || MIDDLE) {
            done.push(match action {
                PickAction::Start { start, address } => {
                    self.ids.push(start.attempt);
                    format!("start {address} {}", start.attempt)
                }
                PickAction::Resolve(start) => {
                    self.ids.push(start.attempt);
                    format!("resolve {}", start.attempt)
                }
                PickAction::Abort(abort) => format!("abort {}", abort.attempt),
            });
        }
        done
    }

    /// The attempt or resolution with this id failed; then what is to be done.
    ///
    /// # Panics
    ///
    /// Where that is not accepted.
    pub fn fail(&mut self, now: Duration, id: usize) -> Vec<String> {
        let verdict = self.pick.handle_failed(now, self.ids[id]);
        assert_eq!(verdict, Verdict::Accepted, "#{id} failed");
        self.poll(now)
    }

    /// SETTINGS arrived for this attempt; then what is to be done.
    ///
    /// # Panics
    ///
    /// Where that is not accepted.
    pub fn settle(&mut self, now: Duration, id: usize) -> Vec<String> {
        let verdict = self.pick.handle_settings(now, self.ids[id]);
        assert_eq!(verdict, Verdict::Accepted, "#{id} has SETTINGS");
        self.poll(now)
    }

    /// The resolution with this id gave this list; then what is to be done.
    ///
    /// # Panics
    ///
    /// Where that is not accepted.
    pub fn resolve<const N: usize>(
        &mut self,
        now: Duration,
        id: usize,
        list: [&'static str; N],
    ) -> Vec<String> {
        let verdict = self.pick.handle_resolved(now, self.ids[id], list);
        assert_eq!(verdict, Verdict::Accepted, "#{id} resolved");
        self.poll(now)
    }

    /// The list is now this; then what is to be done.
    pub fn list<const N: usize>(&mut self, now: Duration, list: [&'static str; N]) -> Vec<String> {
        self.pick.set_addresses(now, list);
        self.poll(now)
    }

    /// The id as the machine knows it.
    #[must_use]
    pub fn id(&self, id: usize) -> AttemptId {
        self.ids[id]
    }
}
