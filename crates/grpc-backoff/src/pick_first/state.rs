//! What is known about several addresses at once.

use super::address::is_connecting;
use super::{Address, End, PickFirst};
#[cfg(feature = "tokio")]
use crate::AttemptId;
use crate::clock::duration;
use crate::connection::Machine;
use crate::{Connection, Snapshot, State};
use core::time::Duration;

impl<A> PickFirst<A> {
    /// The state of the whole, with its deadline where it has one (C1).
    ///
    /// With one address it is the state of its [`Connection`]. With several it is CONNECTING while
    /// a pass has an attempt in flight, and once a pass has failed it is TRANSIENT_FAILURE until
    /// READY, whatever is tried again meanwhile (A6).
    #[must_use]
    pub fn state(&self) -> State {
        match (&self.end, &*self.addresses) {
            (Some(End::Shutdown), _) => return State::Shutdown,
            (Some(End::GaveUp(limit)), _) => return State::GaveUp { limit: *limit },
            (None, [only]) => return only.machine.state(),
            (None, _) => {}
        }
        if let Some(ready) = self.ready() {
            return ready.state();
        }
        if !self.is_wanted() {
            return State::Idle;
        }
        if self.failing {
            let until = self.next_start().or_else(|| self.deadlines().min());
            let until = until.unwrap_or(Duration::MAX);
            return State::TransientFailure { until }; // (A6)
        }
        if self.addresses.is_empty() {
            let resolving = self.resolver_machine().map(Machine::state);
            let until = Duration::MAX; // until there is an address (A8)
            return resolving.unwrap_or(State::TransientFailure { until });
        }
        let mut in_flight = self.in_flight();
        in_flight.next().map_or(State::Idle, Machine::state)
    }

    /// When the next attempt starts, or the next resolution where there is no address, if nothing
    /// happens before. `None` where none is planned: unwanted, or all there are is in flight.
    #[must_use]
    pub fn next_start(&self) -> Option<Duration> {
        let addresses = self.addresses.iter().enumerate();
        let waiting = addresses.filter(|(_, address)| !address.is_connecting());
        let starts = waiting.filter_map(|(index, address)| self.due_at(index, address));
        let resolver = self.resolver_machine();
        let resolver = resolver.filter(|one| self.addresses.is_empty() && !is_connecting(one));
        let resolution = resolver.and_then(Machine::poll_timeout);
        starts.chain(self.next_turn()).chain(resolution).min()
    }

    /// Says whether a connection is wanted and missing.
    #[must_use]
    pub const fn is_wanted(&self) -> bool {
        self.wanted_since.is_some()
    }

    /// Attempts and resolutions started in the machine's life, and in that of the one it was
    /// restored from.
    #[must_use]
    pub const fn attempts(&self) -> u64 {
        self.attempts
    }

    /// The failures of all addresses on the list, each since its series last restarted; without
    /// an address, those of resolutions.
    #[must_use]
    pub fn failures(&self) -> u32 {
        if self.addresses.is_empty() {
            return self.resolver_machine().map_or(0, Machine::failures);
        }
        let each = self
            .addresses
            .iter()
            .map(|address| address.machine.failures());
        each.fold(0, u32::saturating_add)
    }

    /// The addresses in order, each with a copy of its connection: for reading.
    pub fn connections(&self) -> impl ExactSizeIterator<Item = (&A, Connection)> {
        self.addresses.iter().map(|Address { value, machine, .. }| {
            let (params, machine) = (self.params.clone(), machine.clone());
            (value, Connection { params, machine })
        })
    }

    /// What to keep for [`restore`](Self::restore), for each address on the list: see
    /// [`Connection::snapshot`]. Of an empty list nothing is kept, not even the number of attempts.
    pub fn snapshot(&self, now: Duration) -> impl ExactSizeIterator<Item = (&A, Snapshot)> {
        self.addresses.iter().map(move |address| {
            let snapshot = Snapshot {
                attempts: self.attempts, // so that no id is given twice
                ..address.machine.snapshot(&self.params, now)
            };
            (&address.value, snapshot)
        })
    }

    /// Says whether this attempt is in flight.
    #[cfg(feature = "tokio")]
    pub(crate) fn has_in_flight(&self, attempt: AttemptId) -> bool {
        self.in_flight().any(|machine| machine.latest() == attempt)
    }

    pub(super) fn resolver_machine(&self) -> Option<&Machine> {
        self.resolver.as_ref().map(|resolver| &resolver.machine)
    }

    pub(super) fn ready(&self) -> Option<&Machine> {
        let ready = self.addresses.iter().find(|address| address.is_ready());
        ready.map(|address| &address.machine)
    }

    pub(super) fn in_flight(&self) -> impl Iterator<Item = &Machine> {
        let machines = self.addresses.iter().map(|address| &address.machine);
        machines.filter(|machine| is_connecting(machine))
    }

    /// When each machine that counts is due: the resolver, and the addresses by `due_at`.
    pub(super) fn deadlines(&self) -> impl Iterator<Item = Duration> {
        let resolver = self.resolver_machine().and_then(Machine::poll_timeout);
        let addresses = self.addresses.iter().enumerate();
        let due = addresses.filter_map(|(index, address)| self.due_at(index, address));
        resolver.into_iter().chain(due)
    }

    /// When an address that has had its turn is due, or its attempt in flight. One that was tried in
    /// this pass leaves the others their turn first (A4).
    pub(super) fn due_at(&self, index: usize, address: &Address<A>) -> Option<Duration> {
        let due_at = address.machine.poll_timeout();
        if address.is_connecting() {
            return due_at;
        }
        let due_at = due_at.filter(|_| index < self.turns)?;
        if self.failing || !address.tried {
            return Some(due_at);
        }
        let all_had_a_turn = self.turns >= self.addresses.len();
        all_had_a_turn.then(|| due_at.max(self.next_turn))
    }

    /// When the next address has its turn.
    pub(super) fn next_turn(&self) -> Option<Duration> {
        let waiting = self.is_wanted() && self.turns < self.addresses.len();
        Some(self.next_turn).filter(|&turn| waiting && turn < Duration::MAX)
    }

    /// When wanting a connection without any address comes to an end; addresses have their own.
    pub(super) fn gives_up_at(&self) -> Option<Duration> {
        self.elapses_at().filter(|_| self.addresses.is_empty())
    }

    /// When a connection will have been wanted in vain for long enough (D11).
    pub(crate) fn elapses_at(&self) -> Option<Duration> {
        let limit = (self.wanted_since?).saturating_add(duration(self.params.max_elapsed));
        Some(limit).filter(|&limit| limit < Duration::MAX)
    }
}
