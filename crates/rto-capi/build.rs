//! Gives the shared library its name: programs look for that when they start.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let elf = [
        "linux",
        "android",
        "freebsd",
        "netbsd",
        "openbsd",
        "dragonfly",
        "illumos",
    ];
    let target = var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if elf.contains(&target.as_str()) {
        println!(
            "cargo::rustc-cdylib-link-arg=-Wl,-soname,librto.so.{}",
            abi()
        );
    }
}

/// What changes when programs have to be compiled anew: the part of the version that semantic
/// versioning gives this meaning.
fn abi() -> String {
    let part = |name| var(name).unwrap_or_default();
    let major = part("CARGO_PKG_VERSION_MAJOR");
    if major == "0" {
        format!("0.{}", part("CARGO_PKG_VERSION_MINOR"))
    } else {
        major
    }
}
