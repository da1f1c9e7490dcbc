//! The passes over the list: whose turn it is, and when all have failed.

use super::address::{is_connecting, revive};
use super::{End, PickFirst};
use crate::clock::{duration, nanos};
use crate::connection::Machine;
use crate::{Abort, Action, Limit, Start, State};
use core::time::Duration;

/// What a machine asks for.
pub(super) enum Due {
    Start(usize, Start),
    Resolve(Start),
    Abort(Abort),
}

impl<A: PartialEq> PickFirst<A> {
    /// Begins at the head of the list (A1). Attempts in flight go on and need no turn.
    pub(super) fn begin_pass(&mut self, now: Duration) {
        self.turns = 0;
        for address in self.addresses.iter_mut() {
            address.tried = false;
        }
        if !self.addresses.iter().any(|address| address.is_connecting()) {
            self.next_turn = self.next_turn.min(now);
        }
        if self.addresses.is_empty() {
            self.resolve(now);
        }
        self.check_limits(now);
    }

    /// After a reset or a new target: as new, and no end but shutdown is final.
    pub(super) fn restart(&mut self, now: Duration) {
        if self.end == Some(End::Shutdown) {
            return;
        }
        self.end = None;
        self.failing = false;
        self.forget_failures();
        if self.is_wanted() {
            self.wanted_since = Some(now);
            self.begin_pass(now);
        }
    }

    /// Gives addresses their turn as long as it is time for the next one. An address that waits
    /// is passed over, and is tried when its wait ends (A4).
    fn take_turns(&mut self, now: Duration) {
        let Some(since) = self.wanted_since else {
            return;
        };
        while let Some(address) = self.addresses.get_mut(self.turns) {
            if self.next_turn > now && !address.is_connecting() {
                break;
            }
            self.turns = self.turns.saturating_add(1);
            let waits_already = address.machine.is_wanted();
            address.turn_at = if waits_already {
                0
            } else {
                nanos(self.next_turn)
            };
            address.machine.connect(&self.params, since);
            if address.is_due(now) {
                let delay = duration(self.params.connection_attempt_delay);
                self.next_turn = now.saturating_add(delay); // (A3)
            }
        }
    }

    /// What the first machine in turn that is due asks for.
    pub(super) fn poll_machines(
        &mut self,
        now: Duration,
        mut draw: impl FnMut() -> u64,
    ) -> Option<Due> {
        self.check_limits(now);
        if let Some(due) = self.poll_resolver(now, &mut draw) {
            return Some(due);
        }
        while let Some(index) = self.first_due(now) {
            let address = self.addresses.get_mut(index)?;
            if !address.is_connecting() {
                address.machine.number_from(self.attempts);
            }
            match address.machine.poll_action(&self.params, now, &mut draw) {
                Some(Action::Start(mut start)) => {
                    start.due_at = start.due_at.max(duration(address.turn_at));
                    self.attempts = self.attempts.saturating_add(1);
                    return Some(Due::Start(index, start));
                }
                Some(Action::Abort(abort)) => {
                    self.failed(index, now);
                    return Some(Due::Abort(abort));
                }
                None => self.failed(index, now), // it gave up: the host is late (D11)
            }
        }
        None
    }

    fn poll_resolver(&mut self, now: Duration, draw: impl FnOnce() -> u64) -> Option<Due> {
        let resolver = self.resolver.as_deref_mut()?;
        if !is_connecting(&resolver.machine) {
            resolver.machine.number_from(self.attempts);
        }
        match resolver.poll_action(now, draw) {
            Some(Action::Start(start)) => {
                self.attempts = self.attempts.saturating_add(1);
                Some(Due::Resolve(start))
            }
            Some(Action::Abort(abort)) => {
                self.resolution_failed(now);
                Some(Due::Abort(abort))
            }
            None => {
                self.check_limits(now); // it may have given up: the host is late (D11)
                None
            }
        }
    }

    /// Without any address that is as a failed pass (A8).
    pub(super) fn resolution_failed(&mut self, now: Duration) {
        self.failing |= self.addresses.is_empty();
        self.check_limits(now);
    }

    /// What has to end comes first, then the head of the list.
    fn first_due(&self, now: Duration) -> Option<usize> {
        let due = self
            .addresses
            .iter()
            .enumerate()
            .filter(|(index, address)| {
                self.due_at(*index, address)
                    .is_some_and(|due_at| due_at <= now)
            });
        let first = due.min_by_key(|(_, address)| !address.is_connecting());
        first.map(|(index, _)| index)
    }

    /// This address has failed: the next one has its turn, if it was the latest (A4).
    pub(super) fn failed(&mut self, index: usize, now: Duration) {
        if let Some(address) = self.addresses.get_mut(index) {
            (address.failed, address.tried) = (true, true);
        }
        if index.checked_add(1) == Some(self.turns) {
            self.next_turn = now;
        }
        self.check_pass(now);
        self.check_limits(now);
    }

    /// Where every address has failed, so has the pass: the next begins, in no order (A6).
    pub(super) fn check_pass(&mut self, now: Duration) {
        if self.all_failed() && !self.addresses.is_empty() {
            self.failing = true;
            self.forget_failures();
            self.resolve(now); // (A7)
        }
    }

    fn forget_failures(&mut self) {
        for address in self.addresses.iter_mut() {
            (address.failed, address.tried) = (false, false);
        }
    }

    pub(super) fn all_failed(&self) -> bool {
        let mut addresses = self.addresses.iter();
        addresses.all(|address| address.failed || address.gave_up())
    }

    /// Asks for a new list, as soon as the backoff of resolutions allows (A7).
    pub(super) fn resolve(&mut self, now: Duration) {
        if let (Some(resolver), true) = (&mut self.resolver, self.wanted_since.is_some()) {
            revive(&mut resolver.machine, &resolver.params, now);
            resolver.connect(now);
        }
    }

    /// Gives turns, and gives up when there is nothing left to try (A10).
    pub(super) fn check_limits(&mut self, now: Duration) {
        if self.end.is_some() {
            return;
        }
        self.take_turns(now);
        let limit = if self.addresses.is_empty() {
            let elapsed = self.gives_up_at().is_some_and(|limit| limit <= now);
            let resolver = self.resolver.as_ref();
            let resolver = resolver.and_then(|resolver| limit_of(&resolver.machine));
            resolver.or_else(|| elapsed.then_some(Limit::Elapsed))
        } else {
            let all = self.addresses.iter().all(|address| address.gave_up());
            let first = self.addresses.first();
            first
                .filter(|_| all)
                .and_then(|first| limit_of(&first.machine))
        };
        if let Some(limit) = limit {
            self.end = Some(End::GaveUp(limit));
            self.wanted_since = None;
            self.withdraw_resolution(now);
        }
    }

    pub(super) fn withdraw_resolution(&mut self, now: Duration) {
        if let Some(resolver) = &mut self.resolver {
            self.leftovers.abort(resolver.withdraw(now));
        }
    }
}

fn limit_of(machine: &Machine) -> Option<Limit> {
    match machine.state() {
        State::GaveUp { limit } => Some(limit),
        _ => None,
    }
}
