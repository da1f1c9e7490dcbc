//! The thread that carries packets: device, link, device.

use std::{
    io,
    os::fd::AsFd,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use netsim::{ConfigError, Link, LinkConfig};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, ppoll},
    sys::{
        eventfd::{EfdFlags, EventFd},
        prctl,
        time::TimeSpec,
    },
};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};
use tun_rs::SyncDevice;

use crate::{TunnelConfig, TunnelCounters, checksum, ecn};

/// The largest IP packet, so that nothing is cut.
const MAX_PACKET: usize = 65_535;
/// How many packets one device may hand in before the other has its turn.
const BATCH: usize = 32;
/// What is delivered later than this after it was due is counted as late.
const PUNCTUAL: Duration = Duration::from_micros(100);
/// The priority among real-time threads: above the programs under test, should they be such too.
const PRIORITY: u8 = 10;

/// What the thread and the handle share.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Ends the thread's wait: something was changed from outside.
    changed: EventFd,
}

#[derive(Debug)]
struct State {
    start: Instant,
    links: [Link; 2],
    udp_checksums: bool,
    counters: TunnelCounters,
    stopped: bool,
}

impl Shared {
    pub(crate) fn new(config: &TunnelConfig) -> io::Result<Self> {
        let links = links(config.there.clone(), config.back.clone(), config.seed)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let state = State {
            start: now(),
            links,
            udp_checksums: config.udp_checksums,
            counters: TunnelCounters::default(),
            stopped: false,
        };
        Ok(Self {
            state: Mutex::new(state),
            changed: EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?,
        })
    }

    pub(crate) fn restart(
        &self,
        there: LinkConfig,
        back: LinkConfig,
        seed: u64,
    ) -> Result<(), ConfigError> {
        let links = links(there, back, seed)?;
        self.change(|state| {
            state.links = links;
            state.start = now();
            state.counters = TunnelCounters::default();
        });
        Ok(())
    }

    pub(crate) fn set_config(
        &self,
        there: LinkConfig,
        back: LinkConfig,
    ) -> Result<(), ConfigError> {
        Link::new(back.clone(), 0)?; // so that both change or none
        self.change(|state| {
            state.links[0].set_config(there)?;
            state.links[1].set_config(back)
        })
    }

    pub(crate) fn black_out(&self, lasting: Duration) {
        self.change(|state| {
            let now = state.start.elapsed();
            for link in &mut state.links {
                link.black_out(now, now.saturating_add(lasting));
            }
        });
    }

    pub(crate) fn counters(&self) -> TunnelCounters {
        let state = self.state();
        TunnelCounters {
            there: state.links[0].counters(),
            back: state.links[1].counters(),
            ..state.counters
        }
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        self.change(|state| state.stopped = true);
    }

    /// Carries packets until it is stopped or a device fails.
    pub(crate) fn run(&self, devices: &[SyncDevice; 2]) -> io::Result<()> {
        let mut buffer = vec![0; MAX_PACKET];
        loop {
            let wait = {
                let mut state = self.state();
                if state.stopped {
                    return Ok(());
                }
                state.deliver(devices)
            };
            let readable = self.wait(devices, wait)?;
            for (direction, device) in devices.iter().enumerate() {
                if readable[direction] {
                    self.receive(direction, device, &mut buffer)?;
                }
            }
        }
    }

    /// Puts what a device has into its link.
    fn receive(&self, direction: usize, device: &SyncDevice, buffer: &mut [u8]) -> io::Result<()> {
        for _ in 0..BATCH {
            match device.recv(buffer) {
                Ok(length) => {
                    let packet = buffer[..length].to_vec();
                    let ecn = ecn::read(&packet);
                    let mut state = self.state();
                    let now = state.start.elapsed();
                    state.links[direction].handle_ecn_packet(now, packet, ecn);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits until a device has a packet, one is due, or something was changed; says which devices.
    fn wait(&self, devices: &[SyncDevice; 2], timeout: Option<Duration>) -> io::Result<[bool; 2]> {
        let watched = [devices[0].as_fd(), devices[1].as_fd(), self.changed.as_fd()];
        let mut watched = watched.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        match ppoll(&mut watched, timeout.map(TimeSpec::from_duration), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = watched.map(|fd| fd.any().unwrap_or_default());
        if ready[2] {
            self.changed.read()?;
        }
        Ok([ready[0], ready[1]])
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state());
        // It fails only if 2^64 - 2 changes wait, and then the thread wakes anyway.
        _ = self.changed.write(1);
        result
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What a panicking holder left behind is still a pair of links.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Hands the kernel what is due; answers how long nothing will be.
    fn deliver(&mut self, devices: &[SyncDevice; 2]) -> Option<Duration> {
        for _ in 0..BATCH {
            let next = [0, 1].map(|direction: usize| self.links[direction].poll_timeout());
            let direction = usize::from(match next {
                [Some(there), Some(back)] => back < there,
                [there, _] => there.is_none(),
            });
            let due = next[direction]?;
            let now = self.start.elapsed();
            if due > now {
                return Some(due - now);
            }
            let Some((mut packet, ecn)) = self.links[direction].poll_ecn_packet(now) else {
                return Some(Duration::ZERO);
            };
            ecn::write(&mut packet, ecn);
            if !self.udp_checksums {
                checksum::strip_udp(&mut packet);
            }
            let taken = devices[1 - direction].send(&packet);
            self.counters.not_taken += u64::from(taken.is_err());
            self.note_lateness(now - due);
        }
        Some(Duration::ZERO)
    }

    fn note_lateness(&mut self, by: Duration) {
        let by_ns = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        self.counters.latest_ns = self.counters.latest_ns.max(by_ns);
        self.counters.late += u64::from(by > PUNCTUAL);
    }
}

/// Gives this thread real-time priority and exact timers; whether it has the former.
pub(crate) fn prefer_this_thread() -> bool {
    let fifo = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    // Timers of ordinary threads may be 50 us late; those of real-time threads are exact anyway.
    _ = prctl::set_timerslack(1);
    PRIORITY.try_into().is_ok_and(|priority| {
        let priority = ThreadPriority::Crossplatform(priority);
        set_thread_priority_and_policy(thread_native_id(), priority, fifo).is_ok()
    })
}

fn links(there: LinkConfig, back: LinkConfig, seed: u64) -> Result<[Link; 2], ConfigError> {
    Ok([
        Link::new(there, seed)?,
        Link::new(back, seed.wrapping_add(1))?,
    ])
}

#[expect(clippy::disallowed_methods, reason = "this is the driver's clock")]
fn now() -> Instant {
    Instant::now()
}
