//! `rto::linux` beside the TCP of the kernel that runs this test.
//!
//! The kernel dials out through a TUN device in a network namespace of its own. The test plays
//! the other end with segments made by hand, answers when it chooses, and reads `TCP_INFO` after
//! every ACK and every timeout. Needs root, `/dev/net/tun` and the program `ip`.

#[cfg(target_os = "linux")]
mod kernel;

#[cfg(not(target_os = "linux"))]
#[test]
fn the_kernel_agrees() {
    conformance::skip("the_kernel_agrees", "this is not Linux");
}
