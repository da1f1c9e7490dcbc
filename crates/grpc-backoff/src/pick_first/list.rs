//! A list that changes: what stays keeps its machine.

use super::address::{Address, contains};
use super::{End, PickFirst};
use crate::connection::Machine;
use crate::{AttemptId, Verdict};
use alloc::vec::Vec;
use core::time::Duration;

impl<A: PartialEq> PickFirst<A> {
    /// The list has changed, or the same one has come again. Addresses that stay keep their
    /// backoff, and an attempt or connection there is; those that go are aborted, and are
    /// remembered for a while (A9). Duplicates are ignored, and an empty list is a failure (A8).
    /// A resolution in flight is aborted.
    pub fn set_addresses(&mut self, now: Duration, addresses: impl IntoIterator<Item = A>) {
        self.withdraw_resolution(now);
        self.replace(now, addresses);
    }

    /// The resolution with this id has given this list: as [`set_addresses`](Self::set_addresses).
    /// An empty list makes it a failed one (A8).
    #[must_use]
    pub fn handle_resolved(
        &mut self,
        now: Duration,
        attempt: AttemptId,
        addresses: impl IntoIterator<Item = A>,
    ) -> Verdict {
        let Some(resolver) = &mut self.resolver else {
            return Verdict::Stale;
        };
        let mut addresses = addresses.into_iter().peekable();
        if addresses.peek().is_none() {
            if resolver.handle_failed(now, attempt) == Verdict::Stale {
                return Verdict::Stale;
            }
        } else {
            if resolver.handle_settings(now, attempt) == Verdict::Stale {
                return Verdict::Stale;
            }
            let _ = resolver.handle_lost(now, attempt);
        }
        self.replace(now, addresses);
        Verdict::Accepted
    }

    pub(super) fn replace(&mut self, now: Duration, addresses: impl IntoIterator<Item = A>) {
        if self.end == Some(End::Shutdown) {
            return;
        }
        self.leftovers.forget(now);
        let (mut left, mut list) = (self.addresses.take(), Vec::new());
        for value in addresses {
            if contains(&list, &value) {
                continue; // (A8)
            }
            let staying = left.iter().position(|address| address.value == value);
            let address = match staying {
                Some(index) => left.swap_remove(index),
                None => self
                    .returning(&value, now)
                    .unwrap_or_else(|| Address::new(value, Machine::NEW)),
            };
            list.push(address);
        }
        self.addresses = list.into();
        self.leave(now, left);
        if !self.addresses.iter().all(|address| address.gave_up()) {
            self.end = None;
        }
        if self.is_wanted() {
            self.failing |= self.all_failed(); // (A8)
            self.begin_pass(now);
        }
    }

    /// Aborts what there is to these addresses, and remembers those that have failed or wait:
    /// until the wait is over, and MAX_BACKOFF beyond (A9).
    fn leave(&mut self, now: Duration, left: Vec<Address<A>>) {
        let max_backoff = self.params.schedule.cap();
        for address in left {
            let snapshot = address.machine.snapshot(&self.params, now);
            if snapshot.failures > 0 || !snapshot.wait.is_zero() {
                let machine = Machine::resumed(&self.params, now, snapshot);
                let forget_at = now.saturating_add(snapshot.wait);
                let forget_at = forget_at.saturating_add(max_backoff);
                let (value, abort) = address.end();
                (self.leftovers).remember(Address::new(value, machine), forget_at);
                self.leftovers.abort(abort);
            } else {
                self.leftovers.abort(address.end().1);
            }
        }
    }

    /// An address that is remembered.
    fn returning(&mut self, value: &A, now: Duration) -> Option<Address<A>> {
        let mut address = self.leftovers.recall(value)?;
        address.failed = address.waits_after_failure(&self.params, now);
        Some(address)
    }
}
