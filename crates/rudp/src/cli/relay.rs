//! `rudp relay`.

use std::{net::SocketAddr, ops::Range, time::Duration};

use anyhow::Context;
use netsim::{Link, LinkConfig, Probability};
use rudp::{
    Clock,
    relay::{Relay, RelayConfig, RelayCounters},
};
use serde_json::{Value, json};

use super::{Exit, address, interrupted, print, print_error, resolve, units};

/// The units, for `--help`.
const UNITS: &str =
    "Every setting holds for each direction: --delay 40ms makes a round trip of 80 ms.
Times end in ns, us, ms, s or min; rates in bit, kbit, mbit or gbit (per second); sizes in B, kB, \
MB, KiB or MiB; shares in %.

Exit codes: 0 ended by Ctrl-C or SIGTERM, 1 error, 2 wrong usage";

/// What `rudp relay` takes.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = UNITS)]
pub(crate) struct Args {
    /// Where clients send to; port 0 is any free one, and the address is printed first
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Where to relay to, such as example.org:4433
    #[arg(long, value_name = "ADDR", value_parser = address)]
    to: String,
    /// Share of datagrams lost, such as 5%
    #[arg(
        long,
        value_name = "SHARE",
        default_value = "0%",
        allow_hyphen_values = true
    )]
    loss: Probability,
    /// How long every datagram takes, such as 40ms
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = units::time)]
    delay: Duration,
    /// How much the delay varies either way, without reordering
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = units::time)]
    jitter: Duration,
    /// Share of datagrams held back for 10 ms, so that later ones overtake
    #[arg(
        long,
        value_name = "SHARE",
        default_value = "0%",
        allow_hyphen_values = true
    )]
    reorder: Probability,
    /// Share of datagrams that arrive twice
    #[arg(
        long,
        value_name = "SHARE",
        default_value = "0%",
        allow_hyphen_values = true
    )]
    duplicate: Probability,
    /// Share of datagrams with a bit flipped
    #[arg(
        long,
        value_name = "SHARE",
        default_value = "0%",
        allow_hyphen_values = true
    )]
    corrupt: Probability,
    /// When everything is lost, counted from the start of the relay; may be given several times
    #[arg(long, value_name = "FROM..TO", value_parser = units::times)]
    blackout: Vec<Range<Duration>>,
    /// Rate of the bottleneck, such as 100mbit [default: unlimited]
    #[arg(long, value_name = "RATE", value_parser = units::rate)]
    rate: Option<u64>,
    /// How much may wait for the bottleneck, such as 250kB
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = units::size)]
    queue: usize,
    /// Seed of all chance [default: a fresh one, which is printed]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Print machine-readable lines
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Relays until Ctrl-C, which is its normal end, then prints what happened.
    pub(crate) async fn run(self) -> Exit {
        if let Err(error) = Link::new(self.link(), 0) {
            print_error(self.json, error);
            return Exit::Usage;
        }
        Exit::of(self.json, self.relay().await)
    }

    async fn relay(self) -> anyhow::Result<()> {
        let to = resolve(&self.to).await?;
        let seed = self.seed.unwrap_or_else(rand::random);
        let link = self.link();
        let config = RelayConfig {
            there: link.clone(),
            back: link,
            seed,
            ..RelayConfig::default()
        };
        let relay = Relay::bind(self.listen, to, config, Clock::start())
            .with_context(|| format!("relay from {} to {to}", self.listen))?;
        let listen = relay.local_addr()?;
        if self.json {
            print(json!({ "event": "listening", "listen": listen, "to": to, "seed": seed }));
        } else {
            print(format_args!(
                "listening on {listen}, relaying to {to}, seed {seed}"
            ));
        }

        let control = relay.control();
        tokio::select! {
            failed = relay.run() => match failed? {},
            () = interrupted() => {}
        }
        let counters = control.counters();
        if self.json {
            print(as_json(&counters));
        } else {
            print(counters);
        }
        Ok(())
    }

    fn link(&self) -> LinkConfig {
        LinkConfig {
            delay: self.delay,
            jitter: self.jitter,
            loss: self.loss,
            reorder: self.reorder,
            duplicate: self.duplicate,
            corrupt: self.corrupt,
            rate: self.rate,
            queue: self.queue,
            blackouts: self.blackout.clone(),
            ..LinkConfig::PERFECT
        }
    }
}

fn as_json(counters: &RelayCounters) -> Value {
    let link = |link: &netsim::Counters| {
        json!({
            "entered": link.entered,
            "entered_bytes": link.entered_bytes,
            "delivered": link.delivered,
            "delivered_bytes": link.delivered_bytes,
            "lost_random": link.lost_random,
            "lost_burst": link.lost_burst,
            "lost_blackout": link.lost_blackout,
            "lost_queue": link.lost_queue,
            "lost_policer": link.lost_policer,
            "duplicated": link.duplicated,
            "corrupted": link.corrupted,
            "reordered": link.reordered,
        })
    };
    json!({
        "event": "counters",
        "there": link(&counters.there),
        "back": link(&counters.back),
        "flows": counters.flows,
        "no_flow": counters.no_flow,
        "unreachable": counters.unreachable,
        "not_sent": counters.not_sent,
    })
}
