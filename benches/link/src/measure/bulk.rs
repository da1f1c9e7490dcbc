//! Transfers, one at a time: over the rows, over flipped bits, over the loopback device.

use std::time::Duration;

use super::Session;
use crate::{
    lab::Lab,
    peer,
    plan::{self, Row},
    protocol::Protocol,
    results::{Bulk, Integrity, Loopback},
};

/// Bytes of a transfer over a row.
const BYTES: u64 = 16 << 20;
/// Bytes of one over flipped bits.
const CORRUPT_BYTES: u64 = 4 << 20;
/// Bytes of one over the loopback device: of KCP, which is slow, fewer.
const LOOPBACK_BYTES: [u64; 2] = [2 << 30, 64 << 20];
/// No transfer takes longer.
const LIMIT: Duration = Duration::from_secs(30);

impl Session<'_> {
    pub(super) fn bulk(&mut self) {
        let rows = plan::rows().into_iter();
        let rows: Vec<_> = rows
            .filter(|row| self.plan.rows.contains(&row.name))
            .collect();
        for &seed in &self.plan.seeds {
            for row in &rows {
                for protocol in self.protocols.clone() {
                    let outcome = over_a_row(self.lab(), row, protocol, seed);
                    let what = format!("row {}, {protocol}, seed {seed}", row.name);
                    let Some(bulk) = self.keep(&what, outcome) else {
                        continue;
                    };
                    eprintln!(
                        "{what}: {:.1} Mbit/s, {:.3} on the wire",
                        bulk.goodput, bulk.wire
                    );
                    self.results.bulk.push(bulk);
                }
            }
        }
    }

    pub(super) fn integrity(&mut self) -> anyhow::Result<()> {
        let lab = Lab::open(self.labs.len(), self.keys, false)?;
        let kernel = [Protocol::Cubic, Protocol::Bbr]; // TCP's checksum cannot be left out
        let protocols = self.protocols.clone().into_iter();
        for protocol in protocols.filter(|it| !kernel.contains(it)) {
            for &seed in &self.plan.seeds {
                let outcome = over_flipped_bits(&lab, protocol, seed);
                let what = format!("flipped bits, {protocol}, seed {seed}");
                let Some(integrity) = self.keep(&what, outcome) else {
                    continue;
                };
                eprintln!("{what}: intact {}", integrity.intact);
                self.results.integrity.push(integrity);
            }
        }
        Ok(())
    }

    pub(super) fn loopback(&mut self) {
        let lab = Lab::loopback(self.keys);
        for protocol in self.protocols.clone() {
            for _ in &self.plan.seeds {
                let outcome = over_loopback(&lab, protocol);
                let what = format!("loopback, {protocol}");
                let Some(loopback) = self.keep(&what, outcome) else {
                    continue;
                };
                eprintln!("{what}: {:.3} GB/s", loopback.gb_per_s);
                self.results.loopback.push(loopback);
            }
        }
    }
}

fn over_a_row(lab: &Lab, row: &Row, protocol: Protocol, seed: u64) -> anyhow::Result<Bulk> {
    lab.restart(&row.link, seed)?;
    let (client, served) = transfer(lab, protocol, BYTES, LIMIT)?;
    anyhow::ensure!(served.intact, "wrong bytes arrived");
    let counters = lab.counters()?;
    let delivered = counters.there.delivered + counters.back.delivered;
    let seconds = client.seconds.unwrap_or(LIMIT.as_secs_f64());
    Ok(Bulk {
        row: row.name.to_owned(),
        protocol,
        seed,
        goodput: served.received as f64 * 8.0 / seconds / 1e6,
        done: client.seconds.is_some(),
        wire: counters.there.entered_bytes as f64 / served.received.max(1) as f64,
        queue_drops: counters.there.lost_queue,
        late: counters.late as f64 / delivered.max(1) as f64,
    })
}

fn over_flipped_bits(lab: &Lab, protocol: Protocol, seed: u64) -> anyhow::Result<Integrity> {
    lab.restart(&plan::corrupt(), seed)?;
    let server = lab.serve(protocol)?;
    // A transport that takes a wrong byte for a right one may do anything after that.
    let client = lab.dial::<peer::Bulk>(protocol, &server, &work(CORRUPT_BYTES, LIMIT), LIMIT)?;
    let client = client.wait();
    let served = server.finish()?;
    Ok(Integrity {
        protocol,
        seed,
        done: client.is_ok_and(|client| client.right == CORRUPT_BYTES),
        intact: served.intact,
        flipped: lab.counters()?.there.corrupted,
        found: served.corrupted,
    })
}

fn over_loopback(lab: &Lab, protocol: Protocol) -> anyhow::Result<Loopback> {
    let [most, few] = LOOPBACK_BYTES;
    let bytes = if protocol == Protocol::Kcp { few } else { most };
    let (client, served) = transfer(lab, protocol, bytes, LIMIT)?;
    anyhow::ensure!(served.intact, "wrong bytes arrived");
    let gb = served.received as f64 / 1e9;
    Ok(Loopback {
        protocol,
        gb_per_s: gb / client.seconds.unwrap_or(LIMIT.as_secs_f64()),
        cpu_s_per_gb: (client.cpu_seconds + served.cpu_seconds) / gb,
    })
}

fn transfer(
    lab: &Lab,
    protocol: Protocol,
    bytes: u64,
    limit: Duration,
) -> anyhow::Result<(peer::Bulk, peer::Served)> {
    let server = lab.serve(protocol)?;
    let client = lab
        .dial(protocol, &server, &work(bytes, limit), limit)?
        .wait()?;
    Ok((client, server.finish()?))
}

fn work(bytes: u64, limit: Duration) -> [String; 3] {
    [
        "bulk".into(),
        bytes.to_string(),
        limit.as_secs().to_string(),
    ]
}
