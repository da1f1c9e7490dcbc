//! What a cycle costs, by the processor's own counter.

use core::hint::black_box;

use cortex_m::{
    Peripherals,
    peripheral::{SYST, syst::SystClkSource},
};
use cortex_m_semihosting::hprintln;
use rto::compact::Progress;

use crate::Timer;

const CYCLES: u32 = 1_000;

/// Under `qemu -icount shift=0` an instruction takes 1 ns, and the counter ticks at 16 MHz.
const INSTRUCTIONS_IN_TWO_TICKS: u32 = 125;

/// A thousand cycles of send, ACK with a sample, deadline.
pub(crate) fn print<T: Timer>(mut timer: T) {
    let mut counter = Peripherals::take().expect("taken once").SYST;
    counter.set_clock_source(SystClkSource::Core);
    counter.set_reload(0xff_ffff);
    counter.clear_current();
    counter.enable_counter();
    while SYST::get_current() == 0 {} // until it is reloaded

    let before = SYST::get_current(); // counts down
    let mut now = 0_u32;
    for round in 0..CYCLES {
        let timer = black_box(&mut timer);
        timer.handle_sent(now);
        let sent_at = now;
        now = now.wrapping_add(50_000 + (round << 5));
        timer.handle_acked(now, Progress::Some, sent_at);
        black_box(timer.deadline());
    }
    let ticks = before - SYST::get_current();
    hprintln!(
        "send, ACK with a sample, deadline: {} instructions",
        ticks * INSTRUCTIONS_IN_TWO_TICKS / 2 / CYCLES
    );
}
