//! `--trace FILE`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Duration,
};

use netsim::{LinkConfig, Probability};
use serde_json::{Value, json};

use crate::harness::{
    ANY, Folders, content, fail_to_send, read, receive_with, skip, slow, slow_hop, start_send,
};

/// The lines after the header, which must be there.
fn lines(path: &Path, vantage_point: &str) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a trace");
    assert!(text.ends_with('\n'), "the last line is whole");
    let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let mut lines: Vec<Value> = text.lines().map(parse).collect();
    let header = lines.remove(0);
    assert_eq!(header["qlog_version"], "0.3");
    assert_eq!(header["trace"]["vantage_point"]["type"], vantage_point);
    lines
}

/// A number of milliseconds in nanoseconds; exact for the first hundred days.
fn ns(millis: &Value) -> u64 {
    (millis.as_f64().expect("a number") * 1e6).round() as u64
}

fn count(lines: &[Value], name: &str, particular: Option<&str>) -> usize {
    let counted = |line: &&Value| {
        let right = particular.is_none_or(|particular| line["data"]["event_type"] == particular);
        line["name"] == name && right
    };
    lines.iter().filter(counted).count()
}

/// Within each group the times ascend and the timer keeps to the rules.
fn check_groups(lines: &[Value]) {
    let mut groups: BTreeMap<&str, (u64, Option<u64>)> = BTreeMap::new();
    for line in lines {
        let now = ns(&line["time"]);
        let Some(group) = line.get("group_id") else {
            continue;
        };
        let (last, deadline) = groups.entry(group.as_str().expect("text")).or_default();
        assert!(*last <= now, "{last} ns before {line}");
        *last = now;
        let data = &line["data"];
        match (line["name"].as_str(), data["event_type"].as_str()) {
            (_, Some("set")) => {
                assert!(data["trigger"] != "armed" || deadline.is_none(), "{line}");
                *deadline = Some(now + ns(&data["delta"]));
            }
            (_, Some("cancelled")) => assert!(deadline.take().is_some(), "{line}"),
            (_, Some("expired")) => {
                let deadline = deadline.expect("it runs");
                assert!(deadline <= now, "{deadline} ns, but {line}");
            }
            (Some("rudp:retransmit"), _) => {
                let waited = now - ns(&data["last_sent"]);
                assert!(waited >= ns(&data["rto"]), "(5-1): {line}");
            }
            _ => {}
        }
    }
}

/// The plots of a trace show what is in it.
fn check_plots(trace: &Path) {
    let text = fs::read(trace).expect("a trace");
    let traces = rudp::plot::read(&text[..]).expect("our own");
    assert_eq!((traces.connections.len(), traces.cut), (1, false));
    for plots in [rudp::plot::html(&traces), rudp::plot::svg(&traces)] {
        for class in [
            "rtt", "srtt", "rto", "expired", "window", "flight", "pacing", "delivery", "lost",
            "more", "same", "bad", "fast", "probe",
        ] {
            assert!(plots.contains(&format!("class=\"{class}\"")), "{class}");
        }
        for unwanted in ["NaN", "inf\"", "url(", "<script"] {
            assert!(!plots.contains(unwanted), "{unwanted}");
        }
    }
}

/// Every phase follows the one before it, every packet has the next number, and the window is known.
fn check_congestion(lines: &[Value]) {
    let (mut phase, mut next) = (None, 0);
    for line in lines {
        let data = &line["data"];
        match line["name"].as_str() {
            Some("recovery:congestion_state_updated") => {
                assert_eq!(data.get("old"), phase, "{line}");
                phase = data.get("new");
            }
            Some("transport:packet_sent") => {
                assert_eq!(data["header"]["packet_number"], next, "{line}");
                assert!(
                    data["raw"]["length"]
                        .as_u64()
                        .is_some_and(|bytes| bytes > 12)
                );
                next += 1;
            }
            _ => {}
        }
    }
    let numbers = |name: &str| {
        let numbers = lines.iter().filter_map(|line| line["data"][name].as_u64());
        numbers.collect::<Vec<_>>()
    };
    assert!(
        numbers("congestion_window")
            .iter()
            .any(|&bytes| bytes > 12_000)
    );
    assert!(
        numbers("bytes_in_flight").contains(&0),
        "all was acknowledged"
    );
    let fastest = numbers("delivery_rate").into_iter().max().expect("a rate");
    assert!(
        fastest > 8_000_000,
        "{fastest} bit/s over a link of 16 Mbit/s"
    );
    assert!(!numbers("pacing_rate").is_empty());
}

/// Each lost packet had left, is lost once, and says by which rule.
fn check_losses(lines: &[Value], lost: usize) {
    let named = |name| lines.iter().filter(move |line| line["name"] == name);
    let number = |line: &Value| line["data"]["header"]["packet_number"].as_u64();
    let sent: BTreeSet<_> = named("transport:packet_sent").map(number).collect();
    let mut numbers = BTreeSet::new();
    for line in named("recovery:packet_lost") {
        assert!(sent.contains(&number(line)), "{line}");
        assert!(numbers.insert(number(line)), "again: {line}");
        let trigger = line["data"]["trigger"].as_str();
        let known = ["reordering_threshold", "time_threshold", "pto_expired"];
        assert!(trigger.is_some_and(|it| known.contains(&it)), "{line}");
        assert!(line["data"]["repaired"].is_boolean(), "{line}");
        assert!(line["data"]["raw"]["length"].is_u64(), "{line}");
    }
    assert_eq!(numbers.len(), lost);
    for line in named("rudp:packet_late") {
        assert!(numbers.contains(&number(line)), "lost before: {line}");
    }
}

/// The path carries large datagrams, and the ECN field where the relay's sockets do.
fn check_path(lines: &[Value]) {
    let told = |name| {
        let told = lines.iter().filter(|line| line["name"] == name);
        told.map(|line| line["data"].clone()).collect::<Vec<_>>()
    };
    let sizes = told("connectivity:mtu_updated");
    assert_eq!(sizes[0], json!({ "new": 1_200, "done": false }));
    assert_eq!(
        sizes[1],
        json!({ "old": 1_200, "new": 1_472, "done": false })
    );
    let carries = cfg!(any(target_os = "linux", target_os = "android"));
    let found = if carries { "capable" } else { "failed" };
    assert_eq!(
        told("recovery:ecn_state_updated"),
        [
            json!({ "new": "testing" }),
            json!({ "old": "testing", "new": found })
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_tells_what_the_timers_did_while_packets_were_lost() {
    const LENGTH: usize = 4 << 20;
    let folders = Folders::new();
    let traces = tempfile::tempdir().expect("a folder");
    let [sending, receiving] = ["send", "recv"].map(|name| traces.path().join(name));
    fs::write(&sending, "what was there before").expect("written");
    let flags = |path| ["--trace", Path::to_str(path).expect("UTF-8")];
    let (receiver, address) = receive_with(folders.receiving(), ANY, &flags(&receiving)).await;
    let link = LinkConfig {
        loss: Probability::from_percent(1).expect("a share"),
        ..slow()
    };
    let hop = slow_hop(address, link);
    let file = folders.file("file", &content(40, LENGTH));

    let mut sender = start_send(&[&file], hop.address, &flags(&sending));
    folders.part_reaches("file", LENGTH, 1 << 20).await;
    hop.control.black_out(Duration::from_millis(1_500)); // longer than the RTO of 1 s
    hop.hurry();
    let report = sender.event("sent").await;
    assert_eq!(sender.exit().await, 0);
    assert_eq!(read(folders.received("file")), content(40, LENGTH));
    receiver.interrupt();
    assert_eq!(receiver.exit().await, 0);

    let sent = lines(&sending, "client");
    check_groups(&sent);
    let at_least = |name| report["totals"][name].as_u64().expect("a number") as usize;
    let (samples, timeouts) = (at_least("samples"), at_least("timeouts"));
    let timer = "recovery:loss_timer_updated";
    assert!(timeouts > 0, "it was dark: {report}");
    assert!(count(&sent, "recovery:metrics_updated", None) >= samples.max(1));
    assert!(count(&sent, timer, Some("expired")) >= timeouts);
    for name in [
        "rto:backed_off",
        "rto:collapsed",
        "rudp:retransmit",
        "rudp:fast_retransmit",
        "rudp:path_probe",
        "recovery:congestion_state_updated",
    ] {
        assert!(count(&sent, name, None) > 0, "{name}");
    }
    check_congestion(&sent);
    check_losses(&sent, at_least("packets_lost"));
    check_path(&sent);
    assert_eq!(count(&sent, "rudp:missed", None), 0);
    let group = format!("{}#0", file.display());
    let hello = sent.iter().find(|line| line["name"] == "rudp:handshake");
    assert_eq!(hello.expect("the first Hello")["group_id"], group);
    let attempt = (sent.iter()).find(|line| line["name"] == "grpc_backoff:attempt_ended");
    let attempt = attempt.expect("one attempt");
    assert_eq!(attempt["group_id"], file.to_str().expect("UTF-8"));
    assert_eq!(attempt["data"]["outcome"], "connected");

    check_plots(&sending);

    let received = lines(&receiving, "server");
    check_groups(&received);
    let arrived = count(&received, "transport:packet_received", None);
    let left = count(&sent, "transport:packet_sent", None);
    assert!(
        (LENGTH / 1_472..=left).contains(&arrived),
        "{arrived} of {left}"
    );
    assert!(count(&received, timer, Some("set")) > 0);
    let accepted = received.iter().find(|line| line["name"] == "rudp:accepted");
    assert_eq!(accepted.expect("a client")["data"]["connection"], "0");
}

#[tokio::test]
async fn a_trace_that_cannot_be_written_is_an_error_and_costs_no_file() {
    let folders = Folders::new();
    let (_receiver, address) = receive_with(folders.receiving(), ANY, &[]).await;
    let file = folders.file("file", b"abc");

    // Before: nothing is sent, and nothing is destroyed.
    let path = file.to_str().expect("UTF-8");
    for (trace, code, said) in [
        (
            "/nowhere/trace",
            1,
            "cannot write /nowhere/trace: No such file",
        ),
        (path, 2, "would overwrite"),
    ] {
        let mut sender = start_send(&[&file], address, &["--trace", trace]);
        let error = sender.event("error").await["error"].to_string();
        assert!(error.contains(said), "{error}");
        assert_eq!(sender.exit().await, code);
        assert!(folders.names().is_empty());
    }
    assert_eq!(read(&file), b"abc");

    // Meanwhile: the file matters more.
    if !Path::new("/dev/full").exists() {
        return skip("a trace on a full disk", "no /dev/full");
    }
    let mut sender = start_send(&[&file], address, &["--trace", "/dev/full"]);
    sender.event("sent").await;
    let error = sender.event("error").await["error"].to_string();
    let said = "the trace /dev/full is incomplete: No space left";
    assert!(error.contains(said), "{error}");
    assert_eq!(sender.exit().await, 1);
    assert_eq!(read(folders.received("file")), b"abc");
}

#[tokio::test]
async fn failed_attempts_are_in_the_trace_too() {
    let folders = Folders::new();
    let file = folders.file("file", b"abc");
    let trace = file.with_extension("trace");
    // Nobody listens there, nor is given this port while the keeper has it.
    let keeper = std::net::UdpSocket::bind(ANY).expect("a port");
    let port = keeper.local_addr().expect("bound").port();
    let address = std::net::SocketAddr::from(([127, 0, 0, 2], port));

    let flags = [
        "--max-attempts",
        "1",
        "--trace",
        trace.to_str().expect("UTF-8"),
    ];
    let (exit, _) = fail_to_send(&file, address, &flags).await;
    assert_eq!(exit, 5);
    let lines = lines(&trace, "client");
    let attempt = (lines.iter()).find(|line| line["name"] == "grpc_backoff:attempt_ended");
    let outcome = attempt.expect("an attempt")["data"]["outcome"]
        .as_str()
        .expect("words");
    assert!(outcome.contains("refused"), "{outcome}");
}
