//! What the transport is held to, beside the peers of the same session.

use crate::{
    plan,
    protocol::Protocol,
    results::{Results, median},
};

/// A gate, what was measured, and an ambition.
pub struct Gate {
    pub what: String,
    pub gate: f64,
    pub ambition: f64,
    pub measured: Option<f64>,
    /// Whether more is better.
    rising: bool,
}

impl Gate {
    /// Whether it holds; `None` if nothing was measured.
    pub fn holds(&self) -> Option<bool> {
        self.measured
            .map(|measured| self.is_within(measured, self.gate))
    }

    pub fn is_reached(&self) -> bool {
        self.measured
            .is_some_and(|measured| self.is_within(measured, self.ambition))
    }

    fn is_within(&self, measured: f64, bound: f64) -> bool {
        if self.rising {
            measured >= bound
        } else {
            measured <= bound
        }
    }
}

/// All gates for which something was measured.
pub fn of(results: &Results) -> Vec<Gate> {
    let mut gates = goodput(results);
    gates.push(overhead(results));
    gates.extend(fairness(results));
    gates.extend(messages(results));
    gates.extend(outage(results));
    gates.push(handshakes(results));
    gates.extend(loopback(results));
    gates.retain(|gate| gate.measured.is_some());
    gates
}

fn gate(what: impl Into<String>, rising: bool, bounds: [f64; 2], measured: Option<f64>) -> Gate {
    let (what, [gate, ambition]) = (what.into(), bounds);
    Gate {
        what,
        gate,
        ambition,
        measured,
        rising,
    }
}

fn goodput(results: &Results) -> Vec<Gate> {
    let rows = plan::rows().into_iter();
    let gates = rows.map(|row| {
        let [least, ambition, _] = row.targets;
        let what = format!("row {}: goodput, Mbit/s", row.name);
        let measured = goodput_of(results, row.name, Protocol::Rudp);
        gate(what, true, [least, ambition], measured)
    });
    gates.collect()
}

/// The median goodput over a row.
pub fn goodput_of(results: &Results, row: &str, protocol: Protocol) -> Option<f64> {
    let runs = results.bulk.iter();
    let runs = runs.filter(|run| run.row == row && run.protocol == protocol);
    median(runs.map(|run| run.goodput))
}

/// What entered the link beyond what the link's own losses make unavoidable, in % of the payload.
pub fn overhead_of(results: &Results, row: &plan::Row, protocol: Protocol) -> Option<f64> {
    let runs = results.bulk.iter();
    let runs = runs.filter(|run| run.row == row.name && run.protocol == protocol);
    median(runs.map(|run| (run.wire * (1.0 - row.loss) - 1.0) * 100.0))
}

fn overhead(results: &Results) -> Gate {
    let rows = plan::rows().into_iter();
    let worst = rows.filter_map(|row| overhead_of(results, &row, Protocol::Rudp));
    let worst = worst.max_by(f64::total_cmp);
    gate(
        "all rows: wire overhead above the unavoidable, %",
        false,
        [8.0, 5.0],
        worst,
    )
}

fn fairness(results: &Results) -> Vec<Gate> {
    let [(usual, _), (shallow, _), (policer, _)] = plan::bottlenecks();
    let beside = [Protocol::Rudp, Protocol::Cubic];
    let share = share_of(results, usual, beside);
    let away = |share: f64| (share - 50.0).abs();
    let drops = drops_of(results, usual, beside)
        .zip(drops_of(results, usual, [Protocol::Cubic; 2]))
        .map(|(ours, cubic)| ours / cubic.max(1.0));
    let jain = median(of_pair(results, usual, [Protocol::Rudp; 2]).map(|run| {
        let [x, y] = run.goodput;
        (x + y).powi(2) / (2.0 * (x * x + y * y)).max(f64::MIN_POSITIVE)
    }));
    vec![
        gate(
            "beside cubic: share, % away from 50",
            false,
            [20.0, 10.0],
            share.map(away),
        ),
        gate("two of ours: Jain's index", true, [0.9, 0.97], jain),
        gate(
            "beside cubic: drops, times those of cubic/cubic",
            false,
            [5.0, 2.0],
            drops,
        ),
        gate(
            "beside cubic, queue of 25 kB: share, %",
            false,
            [100.0, 70.0],
            share_of(results, shallow, beside),
        ),
        gate(
            "beside cubic, policer: share, %",
            false,
            [100.0, 70.0],
            share_of(results, policer, beside),
        ),
    ]
}

fn of_pair<'a>(
    results: &'a Results,
    bottleneck: &'a str,
    flows: [Protocol; 2],
) -> impl Iterator<Item = &'a crate::results::Shares> {
    let runs = results.fairness.iter();
    runs.filter(move |run| run.bottleneck == bottleneck && run.flows == flows)
}

/// The median share of the first flow, in %.
pub fn share_of(results: &Results, bottleneck: &str, flows: [Protocol; 2]) -> Option<f64> {
    let runs = of_pair(results, bottleneck, flows);
    median(runs.map(|run| 100.0 * run.goodput[0] / (run.goodput[0] + run.goodput[1]).max(1e-9)))
}

/// The median of what both flows lost at the bottleneck.
pub fn drops_of(results: &Results, bottleneck: &str, flows: [Protocol; 2]) -> Option<f64> {
    median(of_pair(results, bottleneck, flows).map(|run| run.drops as f64))
}

fn messages(results: &Results) -> Vec<Gate> {
    let of = |loss, share: usize| latency_of(results, loss, Protocol::Rudp, share);
    vec![
        gate("messages, 2 %: p99, ms", false, [92.0, 65.0], of(2, 1)),
        gate("messages, 2 %: p99.9, ms", false, [145.0, 85.0], of(2, 2)),
        gate("messages, 10 %: p99, ms", false, [150.0, 90.0], of(10, 1)),
        gate(
            "messages, 10 %: p99.9, ms",
            false,
            [205.0, 110.0],
            of(10, 2),
        ),
        gate(
            "messages, 10 %: bytes on the wire for each",
            false,
            [400.0, 280.0],
            wire_of(results, 10, Protocol::Rudp),
        ),
    ]
}

/// The median of what a share of the messages took at most: 0 is half, 1 is 99 %, 2 is 99.9 %.
pub fn latency_of(results: &Results, loss: u32, protocol: Protocol, share: usize) -> Option<f64> {
    let runs = results.messages.iter();
    let runs = runs.filter(|run| run.loss == loss && run.protocol == protocol);
    median(runs.map(|run| run.latency[share].unwrap_or(f64::INFINITY)))
}

/// The median of the bytes on the wire for each message.
pub fn wire_of(results: &Results, loss: u32, protocol: Protocol) -> Option<f64> {
    let runs = results.messages.iter();
    let runs = runs.filter(|run| run.loss == loss && run.protocol == protocol);
    median(runs.map(|run| run.wire))
}

/// The median silence after an outage and the hole after it, in ms.
pub fn outage_of(results: &Results, protocol: Protocol) -> [Option<f64>; 2] {
    let runs = || {
        results
            .outages
            .iter()
            .filter(|run| run.protocol == protocol)
    };
    [
        median(runs().map(|run| run.silence.unwrap_or(f64::INFINITY))),
        median(runs().map(|run| run.second_hole)),
    ]
}

fn outage(results: &Results) -> Vec<Gate> {
    let [silence, hole] = outage_of(results, Protocol::Rudp);
    vec![
        gate(
            "after an outage of 10 s: silence, ms",
            false,
            [1_200.0, 300.0],
            silence,
        ),
        gate(
            "after that: the longest hole, ms",
            false,
            [120.0, 40.0],
            hole,
        ),
    ]
}

fn handshakes(results: &Results) -> Gate {
    let p90 = |protocol| {
        let mut runs = results.handshakes.iter();
        let run = runs.find(|run| run.protocol == protocol)?;
        Some(run.answered[1].unwrap_or(f64::INFINITY))
    };
    let times = p90(Protocol::Rudp)
        .zip(p90(Protocol::Cubic))
        .map(|(ours, tcp)| ours / tcp);
    gate(
        "handshakes, 10 %: p90, times TCP's",
        false,
        [1.0, 1.0],
        times,
    )
}

fn loopback(results: &Results) -> Vec<Gate> {
    let runs = || {
        results
            .loopback
            .iter()
            .filter(|run| run.protocol == Protocol::Rudp)
    };
    let speed = median(runs().map(|run| run.gb_per_s));
    let cost = median(runs().map(|run| run.cpu_s_per_gb));
    vec![
        gate("loopback: GB/s", true, [0.6, 1.2], speed),
        gate("loopback: CPU-s/GB", false, [2.5, 1.5], cost),
    ]
}
