//! Flags, what is said while it runs, and the end.

use std::{
    fmt::Display,
    io::{Write, stderr, stdin, stdout},
    net::Ipv4Addr,
    process::ExitCode,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use clap::{Parser, Subcommand};
use netsim::{
    Link,
    options::{LinkOptions, UNITS, takes_hyphens},
    units,
};
use netsim_tun::{End, Tunnel, TunnelConfig, TunnelCounters};
use nix::sys::signal::{SigSet, Signal};
use serde_json::json;

/// What may be said while it runs, and the exit codes, for `--help`.
const WHILE_RUNNING: &str = "While it runs, a line of input changes it: flags of the link, such as
`--loss 5% --delay 40ms`, are its new settings; `dark 10s` loses everything for that long; `counters`
prints them.

Exit codes: 0 ended by Ctrl-C, SIGTERM or SIGHUP, 1 error, 2 wrong usage";

/// How often it is seen whether packets are still carried.
const GLANCE: Duration = Duration::from_secs(1);

/// Network links between real programs
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A link between two network namespaces; needs root
    #[command(after_help = format!("{UNITS}\n\n{WHILE_RUNNING}"))]
    Tun(Args),
}

/// What `netsim tun` takes.
#[derive(clap::Args, Clone, Debug)]
#[command(mut_args(takes_hyphens))]
struct Args {
    /// One end: its namespace, made if it does not exist, and its address
    #[arg(long, value_name = "NAME=ADDR", default_value = "netsim-a=198.18.0.1", value_parser = end)]
    a: End,
    /// The other end
    #[arg(long, value_name = "NAME=ADDR", default_value = "netsim-b=198.18.0.2", value_parser = end)]
    b: End,
    /// MTU of both devices, in bytes, 68 or more: what the programs' system knows, unlike the link's
    #[arg(long, value_name = "BYTES", default_value_t = 1_500, value_parser = units::count::<u16>(68..=u16::MAX.into()))]
    device_mtu: u16,
    /// Leave out UDP's checksums, so that flipped bits reach the programs
    #[arg(long)]
    no_udp_checksums: bool,
    #[command(flatten)]
    link: LinkOptions,
    /// Seed of all chance
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = units::count::<u64>(0..=u64::MAX))]
    seed: u64,
    /// Print machine-readable lines
    #[arg(long)]
    json: bool,
}

/// A line of input: flags of the link.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Settings {
    #[command(flatten)]
    link: LinkOptions,
}

/// What ends a wait.
enum Event {
    Line(String),
    Signal,
}

pub(crate) fn main() -> ExitCode {
    let Cli {
        command: Command::Tun(args),
    } = Cli::parse();
    let json = args.json;
    if let Err(error) = args.check() {
        print_error(json, error);
        return ExitCode::from(2);
    }
    match args.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(json, format_args!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

impl Args {
    /// Whether the flags make sense together.
    fn check(&self) -> anyhow::Result<()> {
        let Self { a, b, .. } = self;
        ensure!(
            a.namespace != b.namespace,
            "--a and --b are both in {}",
            a.namespace
        );
        ensure!(
            a.address != b.address,
            "--a and --b are both at {}",
            a.address
        );
        Link::new(self.link.config(), 0)?;
        Ok(())
    }

    fn run(self) -> anyhow::Result<()> {
        // Before anything is made that a signal would leave behind.
        let events = events()?;
        let tunnel = Tunnel::open(self.config()).context("no tunnel")?;
        self.print_ready(tunnel.is_realtime());
        loop {
            match events.recv_timeout(GLANCE) {
                Ok(Event::Line(line)) => {
                    if let Err(error) = self.handle_line(&tunnel, line.trim()) {
                        print_error(self.json, format_args!("{error:#}"));
                    }
                }
                Ok(Event::Signal) => break,
                Err(RecvTimeoutError::Timeout) if tunnel.is_running() => {}
                Err(_) => bail!("a device is gone"),
            }
        }
        self.print_counters(&tunnel.counters());
        Ok(())
    }

    fn config(&self) -> TunnelConfig {
        TunnelConfig {
            ends: [self.a.clone(), self.b.clone()],
            mtu: self.device_mtu,
            udp_checksums: !self.no_udp_checksums,
            ..TunnelConfig::new(self.link.config(), self.seed)
        }
    }

    fn handle_line(&self, tunnel: &Tunnel, line: &str) -> anyhow::Result<()> {
        if line == "counters" {
            self.print_counters(&tunnel.counters());
        } else if let Some(lasting) = line.strip_prefix("dark ") {
            tunnel.black_out(units::time(lasting.trim())?);
        } else if line.starts_with("--") {
            let Settings { link } = Settings::try_parse_from(line.split_whitespace())?;
            tunnel.set_config(link.config(), link.config())?;
        } else if !line.is_empty() {
            bail!("`{line}` is neither flags of the link, `dark TIME` nor `counters`");
        }
        Ok(())
    }

    fn print_ready(&self, realtime: bool) {
        let Self { a, b, seed, .. } = self;
        if self.json {
            let end = |end: &End| json!({ "namespace": end.namespace, "address": end.address });
            print(json!({
                "event": "ready",
                "a": end(a),
                "b": end(b),
                "seed": seed,
                "realtime": realtime,
            }));
            return;
        }
        let priority = if realtime {
            "real-time"
        } else {
            "no real-time"
        };
        print(format_args!(
            "{} at {} and {} at {}, seed {seed}, {priority} priority",
            a.namespace, a.address, b.namespace, b.address
        ));
    }

    fn print_counters(&self, counters: &TunnelCounters) {
        if self.json {
            print(json!({ "event": "counters", "counters": counters }));
            return;
        }
        let latest = Duration::from_nanos(counters.latest_ns);
        print(format_args!(
            "there: {}\nback:  {}\nnot taken {}, more than 0.1 ms late {}, at most {latest:?}",
            counters.there, counters.back, counters.not_taken, counters.late
        ));
    }
}

/// Reads `netsim-a=198.18.0.1`.
fn end(text: &str) -> Result<End, String> {
    let malformed = || format!("`{text}` is not NAME=ADDR, such as netsim-a=198.18.0.1");
    let (namespace, address) = text.split_once('=').ok_or_else(malformed)?;
    let address: Ipv4Addr = address.parse().map_err(|_| malformed())?;
    if namespace.is_empty() || namespace.contains('/') || namespace.starts_with(['.', '-']) {
        return Err(malformed());
    }
    let namespace = namespace.to_owned();
    Ok(End { namespace, address })
}

/// Collects lines of input and the signals that end the program, which from now on do no more.
fn events() -> anyhow::Result<Receiver<Event>> {
    let (sender, events) = channel();
    let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]
        .into_iter()
        .collect();
    signals.thread_block()?; // threads made from now on inherit it
    let lines = sender.clone();
    thread::spawn(move || forward_lines(&lines));
    thread::spawn(move || {
        let caught = signals.wait();
        _ = sender.send(Event::Signal);
        caught
    });
    Ok(events)
}

fn forward_lines(lines: &Sender<Event>) {
    for line in stdin().lines().map_while(Result::ok) {
        if lines.send(Event::Line(line)).is_err() {
            break;
        }
    }
}

/// Prints a line of output. Nobody reading it is no reason to fail.
fn print(line: impl Display) {
    _ = writeln!(stdout(), "{line}");
}

fn print_error(json: bool, error: impl Display) {
    if json {
        print(json!({ "event": "error", "error": error.to_string() }));
    } else {
        _ = writeln!(stderr(), "netsim: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_flag_says_by_which_rule_it_refuses_a_value() {
        let mut command = Cli::command();
        command.build(); // which also checks that the flags make sense
        for program in command.get_subcommands() {
            let flags = program.get_opts();
            let flags = flags.filter(|flag| flag.get_action().takes_values());
            for flag in flags.filter_map(|flag| flag.get_long()) {
                let words = ["netsim", program.get_name(), &format!("--{flag}"), "-5x"];
                let error = Cli::try_parse_from(words).expect_err(flag).to_string();
                let refused = format!("invalid value '-5x' for '--{flag} <");
                let broken = error.contains("-5x` is not ");
                assert!(error.contains(&refused) && broken, "{error}");
            }
        }
    }
}
