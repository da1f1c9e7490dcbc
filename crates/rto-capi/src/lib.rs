//! The retransmission timer of [`rto`] from C: `include/rto.h` is this crate as C sees it, and
//! says how it is used. From Rust, use [`rto`] itself.
//!
//! Nothing here allocates, reads a clock or panics, whatever it is given. A pointer may be null,
//! which is told, or points to what its type says, as C has it anyway; it is a reference on this
//! side, so that the functions are safe ones. Only those that fill a buffer of the caller's
//! cannot be. What an opaque struct holds is used only behind a mark that initialising it has set.
#![no_std]
#![allow(non_camel_case_types, reason = "types are named as in the header")]
#![cfg_attr(
    not(test),
    deny(
        clippy::float_arithmetic,
        clippy::cast_possible_truncation,
        clippy::arithmetic_side_effects
    )
)]

#[cfg(feature = "std")]
extern crate std;

mod compact;
mod config;
mod limits;
mod memory;
mod sampler;
mod status;
mod text;
mod time;
mod timer;

pub use compact::*;
pub use config::*;
pub use limits::*;
pub use sampler::*;
pub use status::{rto_status, rto_strerror};
pub use text::RTO_TEXT_SIZE;
pub use time::RTO_NONE;
pub use timer::*;

/// Never called: nothing here panics.
#[cfg(not(feature = "std"))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
