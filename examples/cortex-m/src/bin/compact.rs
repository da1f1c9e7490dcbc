#![no_std]
#![no_main]

use cortex_m_demo::{Compact, run};

#[cortex_m_rt::entry]
fn main() -> ! {
    run::<Compact>()
}
