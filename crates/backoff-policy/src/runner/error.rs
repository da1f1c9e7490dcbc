use crate::GiveUp;
use core::error::Error;
use core::fmt;

/// An operation that did not succeed: why there is no other attempt, and the error of the last one.
///
/// Its text says why it ended; the error of the attempt is its [`source`](Error::source), as reports of
/// a chain of errors show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryError<E> {
    /// Why it ended, after how many attempts and how long.
    pub end: GiveUp,
    /// What the last attempt said. `None` where it took longer than an attempt may, and where the
    /// budget refused the first.
    pub source: Option<E>,
}

impl<E> RetryError<E> {
    pub(super) const fn new(end: GiveUp, source: Option<E>) -> Self {
        Self { end, source }
    }
}

impl<E> fmt::Display for RetryError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.end.fmt(f)
    }
}

impl<E: Error + 'static> Error for RetryError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
