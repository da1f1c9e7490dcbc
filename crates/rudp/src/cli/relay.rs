//! `rudp relay`.

use std::net::SocketAddr;

use clap::Arg;
use netsim::{
    options::{LinkOptions, UNITS, takes_hyphens},
    units,
};
use rudp::{
    Clock,
    relay::{Relay, RelayConfig, RelayCounters},
};
use serde_json::{Value, json};

use super::{Exit, Usage, address, interrupted, listen_address, print, resolve};

/// The exit codes, for `--help`.
const EXIT_CODES: &str = "Exit codes: 0 ended by Ctrl-C or SIGTERM, 1 error, 2 wrong usage";

/// What `rudp relay` takes.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = format!("{UNITS}\n\n{EXIT_CODES}"),
    mut_args(takes_hyphens),
    mut_arg("mtu", as_ethernet)
)]
pub(crate) struct Args {
    /// Where clients send to; port 0 is any free one, and the address is printed first
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", value_parser = listen_address)]
    listen: SocketAddr,
    /// Where to relay to, such as example.org:4433
    #[arg(long, value_name = "ADDR", value_parser = address)]
    to: String,
    #[command(flatten)]
    link: LinkOptions,
    /// Seed of all chance [default: a fresh one, which is printed]
    #[arg(long, value_name = "N", value_parser = units::count::<u64>(0..=u64::MAX))]
    seed: Option<u64>,
    /// Print machine-readable lines
    #[arg(long)]
    json: bool,
}

/// The loopback interface carries longer packets than the networks that a relay stands for.
fn as_ethernet(mtu: Arg) -> Arg {
    mtu.default_value("1500B")
        .help("The longest packet, such as 1280B; longer ones are dropped")
}

impl Args {
    /// Relays until Ctrl-C, which is its normal end, then prints what happened.
    pub(crate) async fn run(self) -> Exit {
        Exit::of(self.json, self.relay().await)
    }

    async fn relay(self) -> anyhow::Result<()> {
        let to = resolve(&self.to).await?;
        let seed = self.seed.unwrap_or_else(rand::random);
        let link = self.link.config();
        let config = RelayConfig {
            there: link.clone(),
            back: link,
            seed,
            ..RelayConfig::default()
        };
        let bound = Relay::bind(self.listen, to, config, Clock::start());
        let relay = bound.map_err(|error| match error.get_ref() {
            Some(wrong) => Usage(wrong.to_string()).into(),
            None => {
                let what = format!("relay from {} to {to}", self.listen);
                anyhow::Error::new(error).context(what)
            }
        })?;
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
}

fn as_json(counters: &RelayCounters) -> Value {
    json!({
        "event": "counters",
        "there": counters.there,
        "back": counters.back,
        "flows": counters.flows,
        "no_flow": counters.no_flow,
        "unreachable": counters.unreachable,
        "not_sent": counters.not_sent,
    })
}
