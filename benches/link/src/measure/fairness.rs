//! Two flows over one bottleneck, begun together; the first 10 s do not count.

use std::time::Duration;

use netsim::LinkConfig;
use serde::Deserialize;

use super::Session;
use crate::{lab::Lab, plan, protocol::Protocol, results::Shares};

const BEGIN: u64 = 10;
const END: u64 = 30;

/// A flow has nothing to say: its server counted.
#[derive(Deserialize)]
struct Nothing {}

impl Session<'_> {
    pub(super) fn fairness(&mut self) {
        for (bottleneck, link) in plan::bottlenecks() {
            for flows in self.pairs(&link) {
                for &seed in &self.plan.seeds {
                    let outcome = share(self.lab(), &link, flows, seed);
                    let [first, second] = flows;
                    let what = format!("{first} beside {second}, {bottleneck}, seed {seed}");
                    let Some((goodput, drops)) = self.keep(&what, outcome) else {
                        continue;
                    };
                    eprintln!("{what}: {goodput:.1?} Mbit/s, {drops} drops");
                    self.results.fairness.push(Shares {
                        bottleneck: bottleneck.to_owned(),
                        flows,
                        seed,
                        goodput,
                        drops,
                    });
                }
            }
        }
    }

    /// Everyone beside CUBIC, and two of ours; where the queue is short, only those of interest.
    fn pairs(&self, link: &LinkConfig) -> Vec<[Protocol; 2]> {
        let usual = *link == plan::bottlenecks()[0].1;
        let some = [Protocol::Cubic, Protocol::Bbr, Protocol::Rudp];
        let beside = self
            .protocols
            .iter()
            .filter(|it| usual || some.contains(it));
        let mut pairs: Vec<_> = beside.map(|&it| [it, Protocol::Cubic]).collect();
        if self.protocols.contains(&Protocol::Rudp) {
            pairs.push([Protocol::Rudp; 2]);
        }
        pairs
    }
}

/// The goodput of each, and what both lost at the bottleneck.
fn share(
    lab: &Lab,
    link: &LinkConfig,
    flows: [Protocol; 2],
    seed: u64,
) -> anyhow::Result<([f64; 2], u64)> {
    lab.restart(link, seed)?;
    let servers = [lab.serve(flows[0])?, lab.serve(flows[1])?];
    let work = ["flow".into(), BEGIN.to_string(), END.to_string()];
    let limit = Duration::from_secs(END + 1);
    let dial = |flow: usize| lab.dial::<Nothing>(flows[flow], &servers[flow], &work, limit);
    let clients = [dial(0)?, dial(1)?];
    for client in clients {
        client.wait()?;
    }
    let there = lab.counters()?.there;
    let mut goodput = [0.0; 2];
    for (goodput, server) in goodput.iter_mut().zip(servers) {
        let served = server.finish()?;
        anyhow::ensure!(served.intact, "wrong bytes arrived");
        *goodput = served.counted as f64 * 8.0 / (END - BEGIN) as f64 / 1e6;
    }
    Ok((goodput, there.lost_queue + there.lost_policer))
}
