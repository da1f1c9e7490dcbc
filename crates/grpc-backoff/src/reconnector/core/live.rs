use super::super::tell::{News, Open};
use super::{Flight, Resolution};
use crate::AttemptId;
use core::mem::take;
use core::ops::{Deref, DerefMut};
use std::boxed::Box;
use std::vec::Vec;

/// What there is of attempts and connections: a wait has none of it.
#[derive(Default)]
pub(super) struct Live {
    /// Attempts that have no outcome yet.
    pub(super) flights: Vec<Flight>,
    /// The resolution in flight.
    pub(super) resolving: Option<Resolution>,
    /// The attempt whose connection the owner was given, until it is gone.
    pub(super) given: Option<AttemptId>,
    /// The connection that was told of as open.
    pub(super) open: Option<Open>,
    /// To be told once the lock is released.
    pub(super) news: Vec<News>,
}

impl Live {
    const NONE: Self = Self {
        flights: Vec::new(),
        resolving: None,
        given: None,
        open: None,
        news: Vec::new(),
    };

    fn is_empty(&self) -> bool {
        let none = self.resolving.is_none() && self.given.is_none() && self.open.is_none();
        none && self.flights.is_empty() && self.news.is_empty()
    }
}

/// The same, with room for it only while there is any: very many may wait.
pub(super) struct LiveIfAny(Option<Box<Live>>);

impl LiveIfAny {
    pub(super) const NONE: Self = Self(None);

    /// Takes the news, and gives up the room if that was all.
    pub(super) fn take_news(&mut self) -> Vec<News> {
        let news = self.0.as_mut().map(|live| take(&mut live.news));
        self.0.take_if(|live| live.is_empty());
        news.unwrap_or_default()
    }

    #[cfg(test)]
    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

impl Deref for LiveIfAny {
    type Target = Live;

    fn deref(&self) -> &Live {
        static NONE: Live = Live::NONE;
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl DerefMut for LiveIfAny {
    fn deref_mut(&mut self) -> &mut Live {
        self.0.get_or_insert_default()
    }
}
