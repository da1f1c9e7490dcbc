use super::Address;
use alloc::vec::Vec;
use core::mem::take;
use core::ops::{Deref, DerefMut};
use core::slice;

/// Addresses in order. Most lists have one, and very many of them may wait: it needs no room
/// beside this.
#[derive(Clone, Debug)]
pub(super) enum Addresses<A> {
    One(Address<A>),
    Others(Vec<Address<A>>),
}

impl<A> Addresses<A> {
    pub(super) const NONE: Self = Self::Others(Vec::new());

    /// Leaves none.
    pub(super) fn take(&mut self) -> Vec<Address<A>> {
        match take(self) {
            Self::One(one) => [one].into(),
            Self::Others(others) => others,
        }
    }
}

impl<A> Default for Addresses<A> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<A> From<Vec<Address<A>>> for Addresses<A> {
    fn from(mut addresses: Vec<Address<A>>) -> Self {
        match addresses.pop() {
            Some(one) if addresses.is_empty() => Self::One(one),
            last => {
                addresses.extend(last);
                Self::Others(addresses)
            }
        }
    }
}

impl<A> Deref for Addresses<A> {
    type Target = [Address<A>];

    fn deref(&self) -> &[Address<A>] {
        match self {
            Self::One(one) => slice::from_ref(one),
            Self::Others(others) => others,
        }
    }
}

impl<A> DerefMut for Addresses<A> {
    fn deref_mut(&mut self) -> &mut [Address<A>] {
        match self {
            Self::One(one) => slice::from_mut(one),
            Self::Others(others) => others,
        }
    }
}
