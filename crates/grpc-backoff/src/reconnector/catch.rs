//! What the host's functions and values do that they should not: panic.

use std::any::Any;
use std::boxed::Box;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(super) type Panic = Box<dyn Any + Send>;

/// Calls a function of the host's. Nothing of ours is half done meanwhile.
pub(super) fn catch<R>(function: impl FnOnce() -> R) -> Result<R, Panic> {
    catch_unwind(AssertUnwindSafe(function))
}

/// Drops a value of the host's, whatever its destructor does.
pub(super) fn discard<T>(value: T) {
    drop(catch(|| drop(value)));
}
