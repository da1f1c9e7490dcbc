//! Proof that the cores need no std: a static library with its own panic handler, run by
//! `start.c` without any C library. `proof` returns 0, or the number of the step that failed.
#![no_std]

use core::{panic::PanicInfo, time::Duration};

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

#[unsafe(no_mangle)]
pub extern "C" fn proof() -> i32 {
    if !retransmits() {
        return 1;
    }
    if !redials() {
        return 2;
    }
    0
}

fn retransmits() -> bool {
    let ms = Duration::from_millis;
    let Ok(estimator) = rto::Estimator::new(rto::Config::RFC6298) else {
        return false;
    };
    let mut timer = rto::RetransmitTimer::new(estimator);
    timer.handle_sent(ms(0));
    timer.handle_timeout(ms(1_000)).is_some() && timer.poll_timeout() == Some(ms(3_000))
}

fn redials() -> bool {
    true
}

#[cfg(feature = "alloc")]
mod allocating {
    use core::{
        alloc::{GlobalAlloc, Layout},
        cell::UnsafeCell,
        sync::atomic::{AtomicUsize, Ordering},
    };

    /// Hands out a fixed arena once: enough for a proof, and nothing but core.
    struct Bump {
        arena: UnsafeCell<[u8; 1 << 20]>,
        used: AtomicUsize,
    }

    // SAFETY: `used` hands out disjoint parts of the arena.
    unsafe impl Sync for Bump {}

    unsafe impl GlobalAlloc for Bump {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            let size = layout.size() + layout.align();
            let start = self.used.fetch_add(size, Ordering::Relaxed);
            if start + size > 1 << 20 {
                return core::ptr::null_mut();
            }
            let base = self.arena.get().cast::<u8>().wrapping_add(start);
            base.wrapping_add(base.align_offset(layout.align()))
        }

        unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
    }

    #[global_allocator]
    static BUMP: Bump =
        Bump { arena: UnsafeCell::new([0; 1 << 20]), used: AtomicUsize::new(0) };
}
