//! The tables: which numbers stand where.

use super::table::{Better, Cell, Column, Kind, Row, Table};
use crate::{
    gates, plan,
    protocol::Protocol,
    results::{Results, median},
};

/// All tables for which something was measured.
pub fn of(results: &Results) -> Vec<Table> {
    let tables = [
        goodput(results),
        overhead(results),
        messages(results),
        outage(results),
        fairness(results),
        integrity(results),
        handshakes(results),
        loopback(results),
    ];
    let measured = |table: &Table| {
        let mut cells = table.drawn().flat_map(|row| &row.cells);
        cells.any(|cell| cell.value.is_some())
    };
    tables.into_iter().filter(measured).collect()
}

/// A row for each protocol.
fn protocols(cells: impl Fn(Protocol) -> Vec<Cell>) -> Vec<Row> {
    let row = |protocol: Protocol| Row {
        name: protocol.to_string(),
        cells: cells(protocol),
        kind: kind(protocol),
    };
    let rows = Protocol::ALL.into_iter().map(row);
    rows.filter(|row| row.cells.iter().any(|cell| cell.text != "-"))
        .collect()
}

fn kind(protocol: Protocol) -> Kind {
    if protocol.is_ours() {
        Kind::Ours
    } else {
        Kind::Peer
    }
}

fn measured_rows(results: &Results) -> Vec<plan::Row> {
    let rows = plan::rows().into_iter();
    rows.filter(|row| results.bulk.iter().any(|run| run.row == row.name))
        .collect()
}

fn columns(rows: &[plan::Row], better: Better) -> Vec<Column> {
    let columns = rows.iter().map(|row| Column::new(row.name, better));
    columns.collect()
}

fn all(names: &[&str], better: Better) -> Vec<Column> {
    let columns = names.iter().map(|name| Column::new(*name, better));
    columns.collect()
}

fn goodput(results: &Results) -> Table {
    let rows = measured_rows(results);
    let mut table = protocols(|protocol| {
        let cell = |row: &plan::Row| {
            let mut runs = results.bulk.iter();
            let late = runs.any(|it| it.row == row.name && it.protocol == protocol && !it.done);
            let mut cell = Cell::of(gates::goodput_of(results, row.name, protocol));
            if late {
                cell.text += " T";
            }
            cell
        };
        rows.iter().map(cell).collect()
    });
    for (index, name) in ["gate", "ambition", "ceiling"].into_iter().enumerate() {
        table.push(Row {
            name: format!("*{name}*"),
            cells: rows
                .iter()
                .map(|row| Cell::of(Some(row.goodput[index])))
                .collect(),
            kind: Kind::Target,
        });
    }
    let links: Vec<_> = rows
        .iter()
        .map(|row| format!("{} {}", row.name, row.what))
        .collect();
    Table {
        name: "goodput",
        title: "Goodput, Mbit/s",
        note: format!(
            "16 MiB over 100 Mbit/s each way, queue of one bandwidth-delay product, loss and jitter in both directions. \
             T: not done after 30 s, what had arrived by then. {}.",
            links.join("; ")
        ),
        unit: "Mbit/s",
        logarithmic: false,
        columns: columns(&rows, Better::More),
        rows: table,
    }
}

fn overhead(results: &Results) -> Table {
    let rows = measured_rows(results);
    let cells = |protocol| {
        let cell = |row| Cell::of(gates::overhead_of(results, row, protocol));
        rows.iter().map(cell).collect()
    };
    Table {
        name: "overhead",
        title: "Bytes on the wire above the unavoidable, % of the payload",
        note: "What entered the link on the way there, headers and acknowledgements included, less the share that the \
               link itself lost. Headers alone are about 4 %."
            .to_owned(),
        unit: "%",
        logarithmic: false,
        columns: columns(&rows, Better::Less),
        rows: protocols(cells),
    }
}

fn messages(results: &Results) -> Table {
    let losses = [2, 10].map(|loss: u32| {
        let measured = results.messages.iter().any(|run| run.loss == loss);
        measured.then_some(loss)
    });
    let losses: Vec<_> = losses.into_iter().flatten().collect();
    let columns = losses.iter().flat_map(|loss| {
        let column = |what, better| Column::new(format!("{loss} %: {what}"), better);
        let [p50, p99, p999] = ["p50", "p99", "p99.9"].map(|what| column(what, Better::Less));
        [p50, p99, p999, column("bytes", Better::Neither)]
    });
    let cells = |protocol| {
        let cells = losses.iter().flat_map(|&loss| {
            let of = |share| Cell::of(gates::latency_of(results, loss, protocol, share));
            let wire = Cell::of(gates::wire_of(results, loss, protocol));
            [of(0), of(1), of(2), wire]
        });
        cells.collect()
    };
    Table {
        name: "messages",
        title: "Small messages, ms",
        note: "100 bytes every 20 ms over 40 ms, from when each was due to its echo, that share of packets lost each \
               way; and the bytes on the wire for each message. Ours repeats what may be lost in the packets that follow; \
               unbundled (`Config::bundles`), it does not. All go through one stream, where one waits for those before it, or \
               each in a stream or a message of its own."
            .to_owned(),
        unit: "ms, bytes",
        logarithmic: true,
        columns: columns.collect(),
        rows: protocols(cells),
    }
}

fn outage(results: &Results) -> Table {
    Table {
        name: "outage",
        title: "After an outage of 10 s, ms",
        note: "The same messages without loss; both directions dark for 10 s. Silence: from the end of the dark to the \
               first echo. Hole: the longest time between two echoes after that."
            .to_owned(),
        unit: "ms",
        logarithmic: true,
        columns: all(&["silence", "hole"], Better::Less),
        rows: protocols(|protocol| gates::outage_of(results, protocol).map(Cell::of).into()),
    }
}

fn fairness(results: &Results) -> Table {
    let bottlenecks = plan::bottlenecks().map(|(name, _)| name);
    let mut pairs: Vec<_> = Vec::new();
    for run in &results.fairness {
        if !pairs.contains(&run.flows) {
            pairs.push(run.flows);
        }
    }
    let row = |flows: [Protocol; 2]| {
        let cells = bottlenecks.iter().flat_map(|bottleneck| {
            [
                Cell::of(gates::share_of(results, bottleneck, flows)),
                Cell::of(gates::drops_of(results, bottleneck, flows)),
            ]
        });
        Row {
            name: format!("{} beside {}", flows[0], flows[1]),
            cells: cells.collect(),
            kind: kind(flows[0]),
        }
    };
    let columns = bottlenecks.iter().flat_map(|bottleneck| {
        [format!("{bottleneck}: share, %"), "drops".to_owned()]
            .map(|name| Column::new(name, Better::Neither))
    });
    Table {
        name: "fairness",
        title: "Two flows over one bottleneck",
        note: "100 Mbit/s, 20 ms; begun together, the share of the first from the 10th to the 30th second, and packets \
               that the bottleneck dropped."
            .to_owned(),
        unit: "%, packets",
        logarithmic: true,
        columns: columns.collect(),
        rows: pairs.into_iter().map(row).collect(),
    }
}

fn integrity(results: &Results) -> Table {
    let cells = |protocol| {
        let runs = || {
            results
                .integrity
                .iter()
                .filter(move |run| run.protocol == protocol)
        };
        let of = |value: fn(&crate::results::Integrity) -> bool| {
            let all = runs().count();
            let true_in = runs().filter(|run| value(run)).count();
            Cell {
                value: (all > 0).then_some(true_in as f64),
                text: if all > 0 {
                    format!("{true_in} of {all}")
                } else {
                    "-".to_owned()
                },
            }
        };
        vec![
            of(|run| run.intact),
            of(|run| run.done),
            Cell::of(median(runs().map(|run| run.flipped as f64))),
            Cell::of(median(
                runs().filter_map(|run| run.found.map(|found| found as f64)),
            )),
        ]
    };
    Table {
        name: "integrity",
        title: "Flipped bits",
        note: "4 MiB over 20 ms; a bit flipped in 0.5 % of packets, the UDP checksum left out, 5 % twice. Intact: no wrong \
               byte was delivered. Found: datagrams that the transport counted as corrupted; some flipped bits hit headers \
               that the kernel checks, and some copies."
            .to_owned(),
        unit: "runs, packets",
        logarithmic: true,
        columns: all(&["intact", "done", "flipped", "found"], Better::Neither),
        rows: protocols(cells),
    }
}

fn handshakes(results: &Results) -> Table {
    let cells = |protocol| {
        let mut runs = results.handshakes.iter();
        let run = runs.find(|run| run.protocol == protocol);
        let quantile =
            |share: usize| Cell::of(run.map(|run| run.answered[share].unwrap_or(f64::INFINITY)));
        vec![quantile(0), quantile(1), quantile(2)]
    };
    Table {
        name: "handshakes",
        title: "From nothing to the first answer, s",
        note: format!(
            "Fresh connections one after another over 40 ms with 10 % loss; the client knows nothing of the path. A \
             quantile hangs on few of them: within {:.0} % it counts as no worse.",
            (gates::AS_TCP - 1.0) * 100.0
        ),
        unit: "s",
        logarithmic: false,
        columns: all(&["p50", "p90", "p99"], Better::Less),
        rows: protocols(cells),
    }
}

fn loopback(results: &Results) -> Table {
    let cells = |protocol| {
        let runs = || {
            results
                .loopback
                .iter()
                .filter(move |run| run.protocol == protocol)
        };
        vec![
            Cell::of(median(runs().map(|run| run.gb_per_s))),
            Cell::of(median(runs().map(|run| run.cpu_s_per_gb))),
        ]
    };
    Table {
        name: "loopback",
        title: "Loopback",
        note: "2 GiB (kcp 64 MiB) from process to process over 127.0.0.1, checked by the receiver; CPU of both sides. quinn \
               encrypts, the others do not."
            .to_owned(),
        unit: "GB/s, CPU-s/GB",
        logarithmic: true,
        columns: vec![
            Column::new("GB/s", Better::More),
            Column::new("CPU-s/GB", Better::Less),
        ],
        rows: protocols(cells),
    }
}
