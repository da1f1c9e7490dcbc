use crate::connection::{Machine, Params};
use crate::{Abort, State};
use core::time::Duration;

/// An address and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Address<A> {
    pub(super) value: A,
    pub(super) machine: Machine,
    /// When its turn was due, in ns, if it had to wait for one: nothing of it is due before.
    pub(super) turn_at: u64,
    /// It has failed since this pass began, or was waiting after a failure then.
    pub(super) failed: bool,
    /// It was tried in this pass and failed: the others have their turn first (A4).
    pub(super) tried: bool,
}

impl<A> Address<A> {
    pub(super) const fn new(value: A, machine: Machine) -> Self {
        Self {
            value,
            machine,
            turn_at: 0,
            failed: false,
            tried: false,
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        matches!(self.machine.state(), State::Ready { .. })
    }

    pub(super) fn is_connecting(&self) -> bool {
        is_connecting(&self.machine)
    }

    pub(super) fn gave_up(&self) -> bool {
        matches!(self.machine.state(), State::GaveUp { .. })
    }

    /// An attempt is to start now.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        let due_at = self.machine.poll_timeout();
        !self.is_connecting() && due_at.is_some_and(|due_at| due_at <= now)
    }

    pub(super) fn waits_after_failure(&self, params: &Params, now: Duration) -> bool {
        self.machine.failures() > 0 && !self.machine.snapshot(params, now).wait.is_zero()
    }

    /// Gives the address back, with the abort of what there is to it.
    pub(super) fn end(mut self) -> (A, Option<Abort>) {
        let abort = self.machine.shutdown();
        (self.value, abort)
    }
}

pub(super) fn contains<A: PartialEq>(addresses: &[Address<A>], value: &A) -> bool {
    addresses.iter().any(|address| address.value == *value)
}

pub(super) fn is_connecting(machine: &Machine) -> bool {
    matches!(machine.state(), State::Connecting { .. })
}

/// One that gave up may try again, when its wait is over (A10).
pub(super) fn revive(machine: &mut Machine, params: &Params, now: Duration) {
    if matches!(machine.state(), State::GaveUp { .. }) {
        *machine = Machine::resumed(params, now, machine.snapshot(params, now));
    }
}
