//! A network namespace of this thread's own, and in it a TUN device: what the kernel sends to
//! [`REMOTE`] comes out of it, and what is put into it comes from there. No other traffic exists.

use std::{
    fmt::Display,
    fs,
    net::Ipv4Addr,
    os::fd::AsRawFd,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use nix::sched::{CloneFlags, unshare};
use smoltcp::phy::{self, Device, Medium, RxToken, TunTapInterface, TxToken};

use super::segment::Segment;

/// The address of the kernel's end.
pub(super) const LOCAL: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// The address of the end that the test plays.
pub(super) const REMOTE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// The time, of the clock that the kernel stamps segments by.
#[expect(
    clippy::disallowed_methods,
    reason = "the kernel under test runs in real time"
)]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// The device; the namespace lasts as long as the thread.
pub(super) struct Network {
    tun: TunTapInterface,
}

/// A setting in `/proc/sys/net/ipv4`, of the namespace.
pub(super) struct Sysctl {
    /// The file's name.
    pub(super) name: &'static str,
    /// What to write.
    pub(super) value: String,
    /// Whether a kernel without the file behaves as if it held the value.
    pub(super) implied: bool,
}

impl Network {
    /// Moves this thread into a new namespace and sets it up, or says why that is impossible here.
    pub(super) fn new(sysctls: &[Sysctl]) -> Result<Self, String> {
        unshare(CloneFlags::CLONE_NEWNET).map_err(why("network namespace"))?;
        let tun = TunTapInterface::new("tun0", Medium::Ip).map_err(why("TUN device"))?;
        ip(&["address", "add", &format!("{LOCAL}/24"), "dev", "tun0"])?;
        ip(&["link", "set", "tun0", "up"])?;
        for Sysctl {
            name,
            value,
            implied,
        } in sysctls
        {
            let path = Path::new("/proc/sys/net/ipv4").join(name);
            if path.exists() || !implied {
                fs::write(&path, value).map_err(why(&format!("{name} = {value}")))?;
            }
        }
        Ok(Self { tun })
    }

    /// The next segment from the kernel, and when it was seen.
    pub(super) fn receive(&mut self, until: Instant) -> Option<(Instant, Segment)> {
        loop {
            let left = until.saturating_duration_since(now());
            if left.is_zero() {
                return None;
            }
            // The wait is in whole milliseconds.
            let wait = left.max(Duration::from_millis(1));
            phy::wait(self.tun.as_raw_fd(), Some(wait.into()))
                .expect("the device can be waited for");
            let at = smoltcp::time::Instant::ZERO; // the device does not look at it
            if let Some((packet, _)) = self.tun.receive(at) {
                let seen = now();
                if let Some(segment) = packet.consume(Segment::parse) {
                    return Some((seen, segment));
                }
            }
        }
    }

    /// Gives the kernel a segment.
    pub(super) fn send(&mut self, segment: &Segment) {
        let at = smoltcp::time::Instant::ZERO;
        let token = self.tun.transmit(at).expect("the device takes any packet");
        token.consume(segment.buffer_len(), |packet| segment.emit(packet));
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let output = (Command::new("ip").args(arguments).output()).map_err(why("program `ip`"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("ip {}: {}", arguments.join(" "), said.trim()))
}

/// Turns an error into why `what` cannot be had.
fn why<E: Display>(what: &str) -> impl Fn(E) -> String {
    move |error| format!("no {what}: {error}")
}
