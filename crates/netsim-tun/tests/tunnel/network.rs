//! What the tests have in common.

use std::{
    fs::File,
    io::{Write, stderr},
    net::{Ipv4Addr, SocketAddrV4, UdpSocket},
    path::{Path, PathBuf},
    process, thread,
    time::Duration,
};

use netsim_tun::{End, Tunnel, TunnelConfig};
use nix::sched::{CloneFlags, setns};

/// A wait that only a failure makes this long.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// Opens a tunnel in namespaces that are only the test's; `None`, with a word, where none can be.
pub(crate) fn open(test: &str, mut config: TunnelConfig) -> Option<Tunnel> {
    config.ends = ends(test);
    let opened = Tunnel::open(config);
    opened.inspect_err(|error| skip(test, error)).ok()
}

/// Ends of the names that no other test has.
pub(crate) fn ends(test: &str) -> [End; 2] {
    [("a", 1), ("b", 2)].map(|(end, last)| End {
        namespace: format!("{test}-{}-{end}", process::id()),
        address: Ipv4Addr::new(198, 18, 0, last),
    })
}

/// A socket at a free port of an end.
pub(crate) fn socket(end: &End) -> UdpSocket {
    let file = File::open(path(end)).expect("the namespace exists");
    let address = SocketAddrV4::new(end.address, 0);
    let inside = thread::spawn(move || {
        setns(file, CloneFlags::CLONE_NEWNET).expect("we are root");
        UdpSocket::bind(address).expect("a free port")
    });
    let socket = inside.join().expect("see the panic above");
    socket.set_read_timeout(Some(LONG)).expect("a timeout");
    socket
}

/// Where the namespace of an end is.
pub(crate) fn path(end: &End) -> PathBuf {
    Path::new("/run/netns").join(&end.namespace)
}

/// Says that a test cannot run here, past the harness, which hides what passing tests print.
pub(crate) fn skip(test: &str, why: impl std::fmt::Display) {
    _ = writeln!(stderr(), "\nskipped: {test}: {why}");
}
