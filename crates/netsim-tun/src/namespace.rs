//! A network namespace with a name, as `ip netns` has them.

use std::{fs, fs::File, io, net::Ipv4Addr, path::Path, process::Command, thread};

use nix::sched::{CloneFlags, setns};
use tun_rs::{DeviceBuilder, SyncDevice};

/// What the device is called in each namespace.
const DEVICE: &str = "tun0";
/// Packets that wait in a device until the link has its turn: none is dropped before it.
const DEVICE_QUEUE: &str = "20000";

/// A namespace; if it was made here, it goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Namespace {
    name: String,
    made: bool,
}

impl Namespace {
    /// Takes the namespace of that name, or makes it.
    pub(crate) fn take_or_make(name: &str) -> io::Result<Self> {
        let made = !path(name).exists();
        if made {
            ip(&["netns", "add", name])?;
        }
        let name = name.to_owned();
        Ok(Self { name, made })
    }

    /// Makes the device of this end, whose kernel finds the other end behind it and nothing else.
    pub(crate) fn device(
        &self,
        address: Ipv4Addr,
        peer: Ipv4Addr,
        mtu: u16,
    ) -> io::Result<SyncDevice> {
        let device = self.within(|| {
            // Without IPv6 the kernel sends nothing of its own accord.
            let ipv6 = Path::new("/proc/sys/net/ipv6/conf/default/disable_ipv6");
            if ipv6.exists() {
                fs::write(ipv6, "1")?;
            }
            DeviceBuilder::new().name(DEVICE).enable(false).build_sync()
        })?;
        device.set_nonblocking(true)?;
        let mtu = mtu.to_string();
        let (address, peer) = (address.to_string(), peer.to_string());
        self.ip(&["link", "set", "lo", "up"])?;
        self.ip(&["address", "add", &address, "peer", &peer, "dev", DEVICE])?;
        let up = ["mtu", &mtu, "txqueuelen", DEVICE_QUEUE, "up"];
        self.ip(&[&["link", "set", DEVICE], &up[..]].concat())?;
        Ok(device)
    }

    /// Calls `act` in a thread inside of the namespace.
    fn within<T: Send>(&self, act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let file = File::open(path(&self.name))?;
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                setns(file, CloneFlags::CLONE_NEWNET)?;
                act()
            });
            inside.join().unwrap_or_else(|_| {
                let message = format!("setting up {} failed", self.name);
                Err(io::Error::other(message))
            })
        })
    }

    fn ip(&self, arguments: &[&str]) -> io::Result<()> {
        ip(&[&["-n", &self.name], arguments].concat())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if self.made {
            // Nobody is left to hear that it did not work.
            _ = ip(&["netns", "delete", &self.name]);
        }
    }
}

fn path(name: &str) -> std::path::PathBuf {
    Path::new("/run/netns").join(name)
}

fn ip(arguments: &[&str]) -> io::Result<()> {
    let output = Command::new("ip").args(arguments).output();
    let output = output.map_err(|error| io::Error::new(error.kind(), format!("ip: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let message = format!("ip {}: {}", arguments.join(" "), said.trim());
    Err(io::Error::other(message))
}
