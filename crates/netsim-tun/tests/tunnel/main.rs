//! Tunnels over real TUN devices. Needs root, `/dev/net/tun` and the program `ip`.

#[cfg(target_os = "linux")]
mod fates;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod program;

#[cfg(not(target_os = "linux"))]
#[test]
fn a_tunnel() {
    eprintln!("skipped: a_tunnel: this is not Linux");
}
