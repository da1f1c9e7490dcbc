//! What is left of addresses and attempts that are over.

use super::Address;
use crate::Abort;
use crate::connection::Machine;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

/// Most machines have none, and no room for any.
#[derive(Clone, Debug)]
pub(super) struct Leftovers<A> {
    kept: Option<Box<Kept<A>>>,
}

#[derive(Clone, Debug)]
struct Kept<A> {
    /// What is still to be aborted.
    aborts: Vec<Abort>,
    /// Addresses that have left the list, with the time when they are forgotten (A9).
    former: Vec<(Address<A>, Duration)>,
}

impl<A> Leftovers<A> {
    pub(super) const NONE: Self = Self { kept: None };

    fn kept(&mut self) -> &mut Kept<A> {
        self.kept.get_or_insert_with(|| {
            Box::new(Kept {
                aborts: Vec::new(),
                former: Vec::new(),
            })
        })
    }

    /// This is to be aborted, if there is anything.
    pub(super) fn abort(&mut self, abort: Option<Abort>) {
        if let Some(abort) = abort {
            self.kept().aborts.push(abort);
        }
    }

    pub(super) fn next_abort(&mut self) -> Option<Abort> {
        let abort = self.kept.as_mut()?.aborts.pop();
        self.tidy();
        abort
    }

    /// The address has left the list.
    pub(super) fn remember(&mut self, address: Address<A>, forget_at: Duration) {
        self.kept().former.push((address, forget_at));
    }

    /// Forgets what has been remembered for long enough.
    pub(super) fn forget(&mut self, now: Duration) {
        if let Some(kept) = &mut self.kept {
            kept.former.retain(|(_, forget_at)| *forget_at > now);
        }
        self.tidy();
    }

    pub(super) fn forget_all(&mut self) {
        self.forget(Duration::MAX);
    }

    /// The machines that are remembered.
    pub(super) fn machines(&mut self) -> impl Iterator<Item = &mut Machine> {
        let former = self.kept.iter_mut().flat_map(|kept| &mut kept.former);
        former.map(|(address, _)| &mut address.machine)
    }

    fn tidy(&mut self) {
        let empty = |kept: &mut Box<Kept<A>>| kept.aborts.is_empty() && kept.former.is_empty();
        self.kept.take_if(empty);
    }
}

impl<A: PartialEq> Leftovers<A> {
    /// The address is back on the list.
    pub(super) fn recall(&mut self, value: &A) -> Option<Address<A>> {
        let former = &mut self.kept.as_mut()?.former;
        let index = former
            .iter()
            .position(|(address, _)| address.value == *value)?;
        let (address, _) = former.swap_remove(index);
        self.tidy();
        Some(address)
    }
}
