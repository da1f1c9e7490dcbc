use crate::{Failure, GiveUp, Wait};

/// What happened to an operation, as an observer hears it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'e, E> {
    /// An attempt failed, and another follows after a wait.
    Retrying {
        /// What it said; `None` where it took longer than an attempt may.
        error: Option<&'e E>,
        /// What that means.
        failure: Failure,
        /// Until the next one.
        wait: Wait,
    },
    /// An attempt succeeded: this many were made.
    Succeeded {
        /// The successful one included.
        attempts: u32,
    },
    /// It was given up.
    GaveUp {
        /// As in [`RetryError`](super::RetryError).
        error: Option<&'e E>,
        /// As in [`RetryError`](super::RetryError).
        end: GiveUp,
    },
}

impl<E> Clone for Event<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Event<'_, E> {}
