//! Who is inside whom (B15).

use crate::Layer;
use std::cell::Cell;

std::thread_local! {
    /// Whether this thread is inside an attempt right now.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs a piece of an attempt: what starts in it has an outer layer. A future is polled in here,
/// piece by piece, so that the mark goes with it from thread to thread and stays on none.
pub(crate) fn inside<R>(piece: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            INSIDE.set(self.0);
        }
    }
    let _restore = Restore(INSIDE.replace(true)); // should it panic, too
    piece()
}

/// The layer of what starts here.
pub(crate) fn current() -> Layer {
    match INSIDE.get() {
        true => Layer::Inner,
        false => Layer::Outermost,
    }
}
