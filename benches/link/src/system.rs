//! What the system tells: clocks, load, versions.

use std::{fs, process::Command, time::Duration};

use nix::{
    sys::{
        resource::{UsageWho, getrusage},
        time::TimeValLike,
    },
    time::{ClockId, clock_gettime},
};
use serde::{Deserialize, Serialize};

/// The monotonic clock, which is the same in all processes.
pub fn monotonic() -> Duration {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from)
}

/// The CPU time of this process so far.
pub fn cpu_seconds() -> f64 {
    getrusage(UsageWho::RUSAGE_SELF).map_or(0.0, |usage| {
        let us = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        us as f64 / 1e6
    })
}

/// How many tasks ran or waited for a core in the last minute, on average.
pub fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|load| load.parse().ok()).unwrap_or_default()
}

/// The machine and the versions of what ran on it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Machine {
    pub date: String,
    pub cpu: String,
    pub cores: usize,
    pub kernel: String,
    pub rustc: String,
    pub commit: String,
    /// Bytes that a UDP socket's receive buffer may have at most.
    pub rmem_max: u64,
    /// Names and versions of the peers.
    pub peers: Vec<String>,
}

impl Machine {
    pub fn here() -> Self {
        let said = |program: &str, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).output();
            let text =
                output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
            text.unwrap_or_default()
        };
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
        let cpu = model.and_then(|line| line.split(':').nth(1));
        let rmem = fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap_or_default();
        let root = env!("CARGO_MANIFEST_DIR");
        Self {
            date: said("date", &["-u", "+%Y-%m-%d"]),
            cpu: cpu.unwrap_or("unknown").trim().to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: said("uname", &["-r"]),
            rustc: said("rustc", &["--version"]),
            commit: said(
                "git",
                &["-C", root, "describe", "--always", "--dirty", "--abbrev=9"],
            ),
            rmem_max: rmem.trim().parse().unwrap_or_default(),
            peers: peers(),
        }
    }
}

/// The versions in this workspace's lock file.
fn peers() -> Vec<String> {
    let mut lines = include_str!("../Cargo.lock").lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let name = line
            .strip_prefix("name = ")
            .map(|name| name.trim_matches('"'));
        if let Some(name @ ("quinn" | "quinn-proto" | "tokio_kcp" | "kcp")) = name {
            let version = lines
                .next()
                .and_then(|line| line.strip_prefix("version = "));
            found.push(format!(
                "{name} {}",
                version.unwrap_or_default().trim_matches('"')
            ));
        }
    }
    found
}
