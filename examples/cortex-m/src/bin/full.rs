#![no_std]
#![no_main]

use cortex_m_demo::{Full, run};

#[cortex_m_rt::entry]
fn main() -> ! {
    run::<Full>()
}
