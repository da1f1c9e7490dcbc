//! Proof that the cores need no std: a static library with its own panic handler, run by
//! `start.c` without any C library. `proof` returns 0, or the number of the step that failed.
#![no_std]

use core::{hint::black_box, panic::PanicInfo, time::Duration};

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

#[unsafe(no_mangle)]
pub extern "C" fn proof() -> i32 {
    if !retransmits() {
        return 1;
    }
    if !retransmits_in_32_bits() {
        return 2;
    }
    if !redials() {
        return 3;
    }
    if !pays_for_retries() {
        return 4;
    }
    #[cfg(feature = "alloc")]
    if !transports() {
        return 5;
    }
    #[cfg(feature = "alloc")]
    if !redials_several() {
        return 6;
    }
    0
}

fn retransmits() -> bool {
    let ms = Duration::from_millis;
    let Ok(estimator) = rto::Estimator::new(black_box(rto::Config::RFC6298)) else {
        return false;
    };
    let mut timer = rto::RetransmitTimer::new(estimator);
    timer.handle_sent(ms(0));
    timer.handle_timeout(ms(1_000)).is_some() && timer.poll_timeout() == Some(ms(3_000))
}

fn retransmits_in_32_bits() -> bool {
    use rto::compact::{Estimator, Params, RetransmitTimer};
    let Ok(params) = Params::new(black_box(rto::Config::RFC6298)) else {
        return false;
    };
    let mut timer = RetransmitTimer::new(Estimator::new(&params));
    timer.handle_sent(u32::MAX);
    timer.handle_timeout(&params, 999_999).is_some() && timer.poll_timeout() == Some(2_999_999)
}

fn redials() -> bool {
    use grpc_backoff::{Action, Config, Connection, Verdict};
    let (now, draw) = (Duration::ZERO, || 1 << 63);
    let Ok(mut connection) = Connection::new(black_box(Config::GRPC)) else {
        return false;
    };
    connection.connect(now);
    let Some(Action::Start(first)) = connection.poll_action(now, draw) else {
        return false;
    };
    connection.handle_failed(now, first.attempt) == Verdict::Accepted
        && connection.poll_timeout() == Some(Duration::from_secs(1))
}

/// A call is throttled, and its retry waits for a token.
fn pays_for_retries() -> bool {
    use backoff_policy::{Admission, AwsAdaptive, AwsQuota, Call, Class};
    static BUDGET: AwsAdaptive = AwsAdaptive::new(AwsQuota::standard_2_1(), Duration::ZERO);
    let now = black_box(Duration::from_secs(1));
    let mut call = Call::new(&BUDGET);
    let started = call.admit(now, 0) == Admission::Now;
    call.failed(now, Class::Throttled);
    started && call.retry(now) && matches!(call.admit(now, 0), Admission::At(at) if at > now)
}

/// The first address fails, and the second is tried at once.
#[cfg(feature = "alloc")]
fn redials_several() -> bool {
    use grpc_backoff::{Config, PickAction, PickFirst, Verdict};
    let (now, draw) = (Duration::ZERO, || 1 << 63);
    let Ok(mut server) = PickFirst::new(black_box(Config::GRPC), [6, 4]) else {
        return false;
    };
    server.connect(now);
    let Some(PickAction::Start { start, address: 6 }) = server.poll_action(now, draw) else {
        return false;
    };
    server.handle_failed(now, start.attempt) == Verdict::Accepted
        && matches!(
            server.poll_action(now, draw),
            Some(PickAction::Start { address: 4, .. })
        )
}

/// A Hello crosses a virtual link and is answered.
#[cfg(feature = "alloc")]
fn transports() -> bool {
    use core::net::{Ipv4Addr, SocketAddr};
    use rudp_proto::{Config, Endpoint, Secrets};
    extern crate alloc;

    let endpoint = |key| {
        Endpoint::new(
            Config::DEFAULT,
            Secrets {
                reset_key: [key; 32],
                seed: [key; 32],
            },
        )
    };
    let (Ok(mut client), Ok(mut server)) = (endpoint(1), endpoint(2)) else {
        return false;
    };
    let Ok(mut link) = netsim::Link::new(netsim::LinkConfig::PERFECT, 1) else {
        return false;
    };
    server.listen(true);
    let (here, there) = [1, 2]
        .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .into();
    let (now, mut datagram) = (Duration::ZERO, alloc::vec::Vec::new());
    if client.connect(now, there).is_err() || client.poll_transmit(now, 1, &mut datagram).is_none()
    {
        return false;
    }
    link.handle_packet(now, datagram.clone());
    while let Some(datagram) = link.poll_packet(now) {
        server.handle_datagram(now, here, None, &datagram);
    }
    let answer = server.poll_transmit(now, 1, &mut datagram);
    answer.is_some_and(|answer| answer.to == here)
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
    static BUMP: Bump = Bump {
        arena: UnsafeCell::new([0; 1 << 20]),
        used: AtomicUsize::new(0),
    };
}
