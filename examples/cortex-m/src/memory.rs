//! How much flash and RAM the program takes, from the linker's symbols and the painted stack.

use core::ptr::{addr_of, read_volatile};

use cortex_m_rt::STACK_PAINT_VALUE;

// Addresses, not values: nothing is ever read from these.
unsafe extern "C" {
    static _ram_start: u32;
    static _stack_end: u32;
    static _stack_start: u32;
    static __sdata: u32;
    static __edata: u32;
    static __sidata: u32;
}

/// Everything below the end of the initial values, which are last in flash; it starts at 0.
pub(crate) fn flash() -> usize {
    let initial_values = addr_of!(__edata).addr() - addr_of!(__sdata).addr();
    addr_of!(__sidata).addr() + initial_values
}

/// The statics, and as much of the stack as was ever in use.
pub(crate) fn ram() -> usize {
    let (end, start) = (addr_of!(_stack_end), addr_of!(_stack_start));
    let mut deepest = end;
    // SAFETY: the words between the two are RAM for the stack alone, and aligned; what lies below
    // the stack pointer is only read.
    while deepest < start && unsafe { read_volatile(deepest) } == STACK_PAINT_VALUE {
        deepest = deepest.wrapping_add(1);
    }
    let statics = end.addr() - addr_of!(_ram_start).addr();
    statics + (start.addr() - deepest.addr())
}
