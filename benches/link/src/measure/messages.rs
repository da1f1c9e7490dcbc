//! What leaves the machine idle: small messages, outages, handshakes; all protocols side by side.

use std::{thread, time::Duration};

use super::Session;
use crate::{
    lab::Lab,
    peer, plan,
    protocol::Protocol,
    results::{Handshakes, Messages, Outage, quantile},
    system,
};

/// From one message to the next.
const PACE: Duration = Duration::from_millis(20);
/// How long echoes are waited for after the last message.
const PATIENCE: Duration = Duration::from_secs(30);
/// An outage begins so long after the client was started, and lasts so long.
const BRIGHT: Duration = Duration::from_secs(5);
const DARK: Duration = Duration::from_secs(10);
/// For how long messages are sent through an outage, so that some follow it.
const OUTAGE_MESSAGES: usize = 1_250;
/// No row of handshakes takes longer.
const HANDSHAKES_LIMIT: Duration = Duration::from_secs(600);

impl Session<'_> {
    pub(super) fn messages(&mut self) {
        let count = self.plan.message_count;
        for &loss in &self.plan.messages {
            for &seed in &self.plan.seeds {
                let what = format!("messages, {loss} %, seed {seed}");
                let measured = self.side_by_side(&what, |lab, protocol| {
                    exchange(lab, protocol, loss, seed, count)
                });
                for it in &measured {
                    eprintln!("{what}, {}: {:.0?} ms", it.protocol, it.latency);
                }
                self.results.messages.extend(measured);
            }
        }
    }

    pub(super) fn outages(&mut self) {
        for &seed in &self.plan.seeds {
            let what = format!("outage, seed {seed}");
            let measured = self.side_by_side(&what, |lab, protocol| outage(lab, protocol, seed));
            for it in &measured {
                let Outage {
                    silence,
                    second_hole,
                    ..
                } = it;
                eprintln!(
                    "{what}, {}: {silence:.0?} ms, then {second_hole:.0} ms",
                    it.protocol
                );
            }
            self.results.outages.extend(measured);
        }
    }

    pub(super) fn handshakes(&mut self) {
        let count = self.plan.handshakes;
        let measured = self.side_by_side("handshakes", |lab, protocol| {
            handshakes(lab, protocol, count)
        });
        for it in &measured {
            eprintln!("handshakes, {}: {:.2?} s", it.protocol, it.answered);
        }
        self.results.handshakes.extend(measured);
    }
}

fn exchange(
    lab: &Lab,
    protocol: Protocol,
    loss: u32,
    seed: u64,
    count: usize,
) -> anyhow::Result<Messages> {
    lab.restart(&plan::thin(loss), seed)?;
    let server = lab.serve(protocol)?;
    let client = dial(lab, protocol, &server, count)?.wait()?;
    let entered = lab.counters()?.there.entered_bytes;
    anyhow::ensure!(client.intact, "a wrong echo");
    let mut latency = latencies_ms(&client);
    latency.sort_by(f64::total_cmp);
    let missing = count - latency.len();
    Ok(Messages {
        loss,
        protocol,
        seed,
        latency: [0.5, 0.99, 0.999].map(|share| quantile(&latency, missing, share)),
        wire: entered as f64 / count as f64,
        missing,
    })
}

fn outage(lab: &Lab, protocol: Protocol, seed: u64) -> anyhow::Result<Outage> {
    lab.restart(&plan::thin(0), seed)?;
    let server = lab.serve(protocol)?;
    let client = dial(lab, protocol, &server, OUTAGE_MESSAGES)?;
    thread::sleep(BRIGHT);
    let light = system::monotonic() + DARK;
    lab.tunnel()?.black_out(DARK);
    let client = client.wait()?;
    anyhow::ensure!(client.intact, "a wrong echo");
    let light = u64::try_from(light.as_micros())?;
    let echoed = client.echoed_us.iter().map(|&(_, at)| at);
    let after: Vec<_> = echoed.filter(|&at| at > light).collect();
    let holes = after.windows(2).map(|pair| pair[1] - pair[0]);
    Ok(Outage {
        protocol,
        seed,
        silence: after.first().map(|&first| (first - light) as f64 / 1e3),
        second_hole: holes.max().unwrap_or_default() as f64 / 1e3,
        missing: OUTAGE_MESSAGES - client.echoed_us.len(),
    })
}

fn handshakes(lab: &Lab, protocol: Protocol, count: usize) -> anyhow::Result<Handshakes> {
    lab.restart(&plan::thin(10), 1)?;
    let server = lab.serve(protocol)?;
    let work = ["handshakes".into(), count.to_string()];
    let client = lab.dial::<peer::Handshakes>(protocol, &server, &work, HANDSHAKES_LIMIT)?;
    let client = client.wait()?;
    let mut seconds: Vec<_> = client.answered_ms.iter().map(|ms| ms / 1e3).collect();
    seconds.sort_by(f64::total_cmp);
    Ok(Handshakes {
        protocol,
        answered: [0.5, 0.9, 0.99].map(|share| quantile(&seconds, client.failed, share)),
        count,
        failed: client.failed,
    })
}

/// Starts a client that sends messages.
fn dial(
    lab: &Lab,
    protocol: Protocol,
    server: &crate::lab::Server,
    count: usize,
) -> anyhow::Result<crate::lab::Client<peer::Messages>> {
    let [pace, patience] = [PACE.as_millis(), PATIENCE.as_secs().into()];
    let work = [
        "messages".into(),
        count.to_string(),
        pace.to_string(),
        patience.to_string(),
    ];
    lab.dial(
        protocol,
        server,
        &work,
        PACE * u32::try_from(count)? + PATIENCE,
    )
}

/// From when each message was due to its echo.
fn latencies_ms(client: &peer::Messages) -> Vec<f64> {
    let pace = u64::try_from(PACE.as_micros()).unwrap_or(u64::MAX);
    let due = |index: usize| client.first_due_us + index as u64 * pace;
    let echoed = client.echoed_us.iter();
    echoed
        .map(|&(index, at)| at.saturating_sub(due(index)) as f64 / 1e3)
        .collect()
}
