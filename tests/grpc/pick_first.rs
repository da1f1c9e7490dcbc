//! What holds for several addresses whatever happens, and that one address is a `Connection`.

mod host;
mod many;
mod one;
mod telling;
