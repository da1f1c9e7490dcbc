//! What comes of attempts and resolutions.

use super::PickFirst;
use crate::connection::Machine;
use crate::{AttemptId, Verdict};
use core::time::Duration;

impl<A: PartialEq> PickFirst<A> {
    /// The server's SETTINGS has arrived for this attempt: it wins, and all else that is in
    /// flight is aborted (A5). See [`Connection::handle_settings`](crate::Connection::handle_settings).
    #[must_use]
    pub fn handle_settings(&mut self, now: Duration, attempt: AttemptId) -> Verdict {
        let mut machines = self
            .addresses
            .iter_mut()
            .map(|address| &mut address.machine);
        let params = &self.params;
        let accepted = |machine: &mut Machine| {
            machine.handle_settings(params, now, attempt) == Verdict::Accepted
        };
        if !machines.any(accepted) {
            return Verdict::Stale;
        }
        self.withdraw(now);
        Verdict::Accepted
    }

    /// The attempt failed before SETTINGS arrived, or the resolution did: its address backs off
    /// (S1), and the next one has its turn (A4). Of a connection that is READY it says what
    /// [`handle_lost`](Self::handle_lost) does.
    #[must_use]
    pub fn handle_failed(&mut self, now: Duration, attempt: AttemptId) -> Verdict {
        if let Some(resolver) = &mut self.resolver
            && resolver.handle_failed(now, attempt) == Verdict::Accepted
        {
            self.resolution_failed(now);
            return Verdict::Accepted;
        }
        for index in 0..self.addresses.len() {
            let Some(address) = self.addresses.get_mut(index) else {
                break;
            };
            let was_ready = address.is_ready();
            if address.machine.handle_end(&self.params, now, attempt) == Verdict::Accepted {
                if was_ready {
                    self.check_limits(now);
                } else {
                    self.failed(index, now);
                }
                return Verdict::Accepted;
            }
        }
        Verdict::Stale
    }

    /// The READY connection that this attempt made is gone: IDLE until it is wanted again (C2).
    /// Of an attempt in flight it says what [`handle_failed`](Self::handle_failed) does.
    #[must_use]
    pub fn handle_lost(&mut self, now: Duration, attempt: AttemptId) -> Verdict {
        self.handle_failed(now, attempt)
    }
}
