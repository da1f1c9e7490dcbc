#![no_std]
#![no_main]

use cortex_m_demo::{Fixed, run};

#[cortex_m_rt::entry]
fn main() -> ! {
    run::<Fixed>()
}
