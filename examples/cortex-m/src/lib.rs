//! A Cortex-M0 sends segments over a lossy link, and a retransmission timer of `rto` says when to
//! send them again. No std, no allocator, no clock: time is virtual, the link simulated.
//!
//! Three programs run the same transfer with another timer each, so that their sizes compare:
//! `compact`, `full`, and `fixed`, the interval of 1 s that one would write without `rto`.
#![no_std]

mod cost;
mod link;
mod memory;
mod timers;
mod transfer;

pub use timers::{Compact, Fixed, Full, Timer};

use core::{fmt, panic::PanicInfo};

use cortex_m_semihosting::{debug, hprintln};

/// Runs the transfer and measures, then ends the emulator: its exit status is 0 if every segment
/// arrived and rule 5-1 held.
pub fn run<T: Timer + Default>() -> ! {
    let counts = transfer::run(T::default());
    cost::print(T::default());
    hprintln!(
        "flash {} bytes, ram {} bytes",
        memory::flash(),
        memory::ram()
    );
    end(counts.passed())
}

fn end(passed: bool) -> ! {
    loop {
        debug::exit(if passed {
            debug::EXIT_SUCCESS
        } else {
            debug::EXIT_FAILURE
        });
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    hprintln!("{}", info);
    end(false)
}

/// Microseconds shown as seconds, to the millisecond.
struct Seconds(u32);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:2}.{:03} s",
            self.0 / 1_000_000,
            self.0 / 1_000 % 1_000
        )
    }
}
