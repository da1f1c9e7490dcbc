//! A list that changes: what stays keeps its machine.

use super::address::Address;
use super::{End, PickFirst};
use crate::{AttemptId, Connection, Verdict};
use alloc::vec::Vec;
use core::mem::take;
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
        self.former.retain(|(_, forget_at)| *forget_at > now);
        let mut left = take(&mut self.addresses);
        for value in addresses {
            if self.contains(&value) {
                continue; // (A8)
            }
            let staying = left.iter().position(|address| address.value == value);
            let returning = (self.former.iter()).position(|(address, _)| address.value == value);
            let address = match (staying, returning) {
                (Some(index), _) => left.swap_remove(index),
                (None, Some(index)) => {
                    let (mut address, _) = self.former.swap_remove(index);
                    address.failed = address.waits_after_failure(now);
                    address
                }
                (None, None) => self.fresh(value),
            };
            self.addresses.push(address);
        }
        self.addresses.shrink_to_fit(); // most have one, and there may be very many of them
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
            let snapshot = address.machine.snapshot(now);
            if snapshot.failures > 0 || !snapshot.wait.is_zero() {
                let machine = address.machine.resumed(now, snapshot);
                let forget_at = now.saturating_add(snapshot.wait);
                let forget_at = forget_at.saturating_add(max_backoff);
                let (value, abort) = address.end();
                self.former.push((Address::new(value, machine), forget_at));
                self.aborts.extend(abort);
            } else {
                self.aborts.extend(address.end().1);
            }
        }
    }

    pub(super) fn fresh(&self, value: A) -> Address<A> {
        Address::new(value, Connection::with_params(self.params.clone()))
    }

    pub(super) fn add(&mut self, address: Address<A>) {
        if !self.contains(&address.value) {
            self.addresses.push(address);
        }
    }

    fn contains(&self, value: &A) -> bool {
        self.addresses.iter().any(|address| address.value == *value)
    }
}
