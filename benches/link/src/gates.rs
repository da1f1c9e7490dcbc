//! What the transport is held to, beside the peers of the same session. Gates that the same numbers
//! have in virtual time are those of `conformance::matrix`.

mod range;
#[cfg(test)]
mod tests;

use conformance::matrix::{
    Bound,
    fairness::{self, Fair},
    messages, outage,
};

use crate::{
    plan,
    protocol::Protocol,
    results::{Results, median},
};

use range::{Range, least, most};

/// "No worse than TCP", within what is noise: a hundredth of all handshakes decides their p99.
pub const AS_TCP: f64 = 1.1;

/// "Every corrupted datagram": the kernel keeps back the one in fifty whose headers were hit.
const FOUND: f64 = 0.8;

/// What is asked of a number, and what was measured.
#[derive(Debug)]
pub struct Gate {
    pub what: String,
    pub measured: f64,
    pub gate: Range,
    pub ambition: Option<Range>,
}

impl Gate {
    pub fn verdict(&self) -> &'static str {
        match self.ambition {
            _ if !self.gate.contains(self.measured) => "**missed**",
            Some(ambition) if ambition.contains(self.measured) => "ambition reached",
            _ => "holds",
        }
    }
}

/// The gate of a bound in its unit: so many of them are one of ours.
fn gate_of(bound: Bound, units: f64) -> f64 {
    bound.gate().expect("a gate") as f64 / units
}

/// All gates for which something was measured.
pub fn of(results: &Results) -> Vec<Gate> {
    let all = [
        goodput(results),
        vec![overhead(results)],
        fairness(results),
        messages(results),
        outage(results),
        integrity(results),
        handshakes(results),
        loopback(results),
    ];
    all.into_iter().flatten().flatten().collect()
}

fn gate(
    what: impl Into<String>,
    measured: Option<f64>,
    gate: Range,
    ambition: Option<Range>,
) -> Option<Gate> {
    Some(Gate {
        what: what.into(),
        measured: measured?,
        gate,
        ambition,
    })
}

fn goodput(results: &Results) -> Vec<Option<Gate>> {
    let rows = plan::rows().into_iter();
    let gates = rows.map(|row| {
        let what = format!("row {}: goodput, Mbit/s", row.name);
        let measured = goodput_of(results, row.name, Protocol::Rudp);
        let [asked, ambition, _] = row.goodput.map(least);
        gate(what, measured, asked, Some(ambition))
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

fn overhead(results: &Results) -> Option<Gate> {
    let rows = plan::rows();
    let over = rows
        .iter()
        .filter_map(|row| overhead_of(results, row, Protocol::Rudp));
    let asked = rows.iter().map(|row| row.overhead);
    gate(
        "all rows: wire overhead above the unavoidable, %",
        over.max_by(f64::total_cmp),
        most(asked.fold(f64::INFINITY, f64::min)),
        Some(most(5.0)),
    )
}

fn fairness(results: &Results) -> Vec<Option<Gate>> {
    let ours = [Protocol::Rudp; 2];
    let beside = [Protocol::Rudp, Protocol::Cubic];
    let [usual, shallow, policer] = plan::bottlenecks().map(|(name, _)| name);
    let asked = |row| match plan::flows(row).fair {
        Fair::Jain(bound) => least(gate_of(bound, 1_000.0)),
        Fair::Share([low, high]) => {
            let percent = |it: Bound, open| it.gate().map_or(open, |gate| gate as f64 / 10.0);
            Range(percent(low, 0.0), percent(high, 100.0))
        }
    };
    let share = |bottleneck| share_of(results, bottleneck, beside);
    let jain = median(of_pair(results, usual, ours).map(|run| {
        let [x, y] = run.goodput;
        (x + y).powi(2) / (2.0 * (x * x + y * y)).max(f64::MIN_POSITIVE)
    }));
    let drops = drops_of(results, usual, ours)
        .zip(drops_of(results, usual, [Protocol::Cubic; 2]))
        .map(|(ours, cubic)| ours / cubic.max(1.0));
    vec![
        gate(
            "beside cubic: share, %",
            share(usual),
            asked("1"),
            Some(Range(40.0, 60.0)),
        ),
        gate(
            "two of ours: Jain's index",
            jain,
            asked("2"),
            Some(least(0.97)),
        ),
        gate(
            "two of ours: drops, times those of two cubics",
            drops,
            most(gate_of(fairness::DROPS, 100.0)),
            Some(most(2.0)),
        ),
        gate(
            "beside cubic, queue of 25 kB: share, %",
            share(shallow),
            asked("1s"),
            Some(Range(30.0, 70.0)),
        ),
        gate(
            "beside cubic, policer: share, %",
            share(policer),
            asked("1p"),
            Some(Range(30.0, 70.0)),
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

fn messages(results: &Results) -> Vec<Option<Gate>> {
    let row = |name| messages::ROWS.iter().find(|row| row.name == name);
    let row = |name| row(name).expect("a row of the matrix");
    let mut gates = Vec::new();
    for (row, [p99, p999]) in [(row("m2"), [65.0, 85.0]), (row("m10"), [90.0, 110.0])] {
        let loss = row.loss;
        let of = |share| latency_of(results, loss, Protocol::Rudp, share);
        let asked = |bound| most(gate_of(bound, 1.0));
        let what = |share| format!("messages, {loss} %: {share}, ms");
        gates.extend([
            gate(what("p99"), of(1), asked(row.p99), Some(most(p99))),
            gate(what("p99.9"), of(2), asked(row.p999), Some(most(p999))),
        ]);
    }
    gates.push(gate(
        "messages, 10 %: bytes on the wire for each",
        wire_of(results, 10, Protocol::Rudp),
        most(gate_of(row("m10").wire_bytes, 1.0)),
        Some(most(280.0)),
    ));
    let ordered = (Protocol::RudpUnbundled, Protocol::Quinn);
    let each = (Protocol::RudpMessages, Protocol::QuinnMessages);
    for (name, (ours, quinn)) in [
        ("m2-", ordered),
        ("u2-", each),
        ("m10-", ordered),
        ("u10-", each),
    ] {
        let row = row(name);
        let loss = row.loss;
        let p99 = latency_of(results, loss, ours, 1);
        let wire = wire_of(results, loss, ours)
            .zip(wire_of(results, loss, quinn))
            .map(|(ours, quinn)| ours / quinn);
        let how = if ours == Protocol::RudpMessages {
            "a message each"
        } else {
            "a stream"
        };
        let what = |what| format!("messages, {loss} %, unbundled, {how}: {what}");
        gates.extend([
            gate(what("p99, ms"), p99, most(gate_of(row.p99, 1.0)), None),
            gate(
                what("bytes on the wire, times quinn's"),
                wire,
                most(1.0),
                None,
            ),
        ]);
    }
    gates
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

fn outage(results: &Results) -> Vec<Option<Gate>> {
    let row = outage::ROWS.iter().find(|row| row.name == "o10");
    let row = row.expect("a row of the matrix");
    let [silence, hole] = outage_of(results, Protocol::Rudp);
    vec![
        gate(
            "after an outage of 10 s: silence, ms",
            silence,
            most(gate_of(row.silence, 1.0)),
            Some(most(300.0)),
        ),
        gate(
            "after that: the longest hole, ms",
            hole,
            most(gate_of(row.later_gap, 1.0)),
            Some(most(40.0)),
        ),
    ]
}

fn integrity(results: &Results) -> Vec<Option<Gate>> {
    let runs = || {
        let runs = results.integrity.iter();
        runs.filter(|run| run.protocol == Protocol::Rudp)
    };
    let flipped = median(runs().map(|run| run.flipped as f64));
    let found = median(runs().filter_map(|run| run.found.map(|found| found as f64)));
    let failed = runs().filter(|run| !run.intact || !run.done).count();
    vec![
        gate(
            "flipped bits: runs with a wrong byte or without an end",
            flipped.map(|_| failed as f64),
            most(0.0),
            None,
        ),
        gate(
            "flipped bits: datagrams found, times those flipped",
            found.zip(flipped).map(|(found, flipped)| found / flipped),
            least(FOUND),
            None,
        ),
    ]
}

fn handshakes(results: &Results) -> Vec<Option<Gate>> {
    let answered = |protocol, share: usize| {
        let mut runs = results.handshakes.iter();
        let run = runs.find(|run| run.protocol == protocol)?;
        Some(run.answered[share].unwrap_or(f64::INFINITY))
    };
    let gates = [(1, "p90"), (2, "p99")].map(|(share, name)| {
        let times = answered(Protocol::Rudp, share)
            .zip(answered(Protocol::Cubic, share))
            .map(|(ours, tcp)| ours / tcp);
        let what = format!("handshakes, 10 %: {name}, times TCP's");
        gate(what, times, most(AS_TCP), None)
    });
    gates.into()
}

fn loopback(results: &Results) -> Vec<Option<Gate>> {
    let runs = || {
        results
            .loopback
            .iter()
            .filter(|run| run.protocol == Protocol::Rudp)
    };
    let speed = median(runs().map(|run| run.gb_per_s));
    let cost = median(runs().map(|run| run.cpu_s_per_gb));
    vec![
        gate("loopback: GB/s", speed, least(0.6), Some(least(1.2))),
        gate("loopback: CPU-s/GB", cost, most(2.5), Some(most(1.5))),
    ]
}
