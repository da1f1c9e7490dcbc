use super::*;

const HEADER: &str = r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","title":"t","trace":{}}"#;

fn of(lines: &str) -> Result<Traces, String> {
    read(lines.as_bytes()).map_err(|error| error.to_string())
}

#[test]
fn what_is_no_trace_is_refused_with_the_line_and_the_reason() {
    let header = |change: (&str, &str)| HEADER.replace(change.0, change.1);
    let event = |event: &str| format!("{HEADER}\n\n{event}\n");
    for (text, why) in [
        (String::new(), "it is empty"),
        ("\n \n".to_owned(), "it is empty"),
        (
            "GIF89a\n".to_owned(),
            "line 1: it is not JSON, from column 1 on",
        ),
        (
            "{}".to_owned(),
            "line 1: no header of a trace: it has no qlog_version",
        ),
        (header(("0.3", "0.4")), "line 1: qlog_version \"0.4\""),
        (header(("JSON-SEQ", "JSON")), "line 1: qlog_format \"JSON\""),
        (
            header(("{}", r#"{"common_fields":{"time_format":"delta"}}"#)),
            "line 1: time_format \"delta\"",
        ),
        (event("{"), "line 3: it is not JSON, from column 1 on"),
        (event("[]"), "line 3: an event without a time"),
        (event(r#"{"time":1}"#), "line 3: an event without a name"),
        (
            event(r#"{"time":-1,"name":"a:b"}"#),
            "line 3: time is -1, and not",
        ),
        (
            event(r#"{"time":1,"name":"recovery:metrics_updated","data":{"latest_rtt":"x"}}"#),
            "line 3: recovery:metrics_updated: latest_rtt is \"x\", and not a number",
        ),
        (
            event(r#"{"time":1,"name":"rudp:spurious_loss","data":{}}"#),
            "line 3: rudp:spurious_loss: packets is null, and not a count",
        ),
        (
            event(r#"{"time":1,"name":"recovery:congestion_state_updated"}"#),
            "line 3: recovery:congestion_state_updated: no new state",
        ),
    ] {
        let error = of(&text).expect_err(&text);
        assert!(error.starts_with(why), "{error}, and not {why}");
    }
}

#[test]
fn a_line_without_end_is_read_up_to_a_limit() {
    let endless = read(io::BufReader::new(io::repeat(b'7')));
    assert!(matches!(endless, Err(ReadError::Line(1, _))), "{endless:?}");
    let after_header = HEADER.as_bytes().chain(&b"\n"[..]).chain(io::repeat(b'['));
    let endless = read(io::BufReader::new(after_header));
    assert!(matches!(endless, Err(ReadError::Line(2, _))), "{endless:?}");
}

#[test]
fn a_trace_in_which_nothing_happened_has_no_connection() {
    let quiet = format!(
        "{HEADER}\n{}\n",
        r#"{"time":5,"group_id":"f","name":"connectivity:connection_closed","data":{}}"#
    );
    for text in [HEADER, &quiet] {
        let traces = of(text).expect("a trace");
        assert_eq!((traces.title.as_str(), traces.connections.len()), ("t", 0));
        assert!(!traces.cut);
    }
}

#[test]
fn the_greatest_numbers_are_drawn() {
    let most = u64::MAX;
    let rto = format!(
        r#"{{"time":{most},"name":"recovery:metrics_updated","data":{{"rto":{most},"congestion_window":{most}}}}}"#
    );
    let bundled = format!(r#"{{"time":{most},"name":"rudp:bundled","data":{{"bytes":{most}}}}}"#);
    let missed = format!(r#"{{"time":{most},"name":"rudp:missed","data":{{"traces":{most}}}}}"#);
    let late =
        format!(r#"{{"time":{most},"name":"rudp:spurious_loss","data":{{"packets":{most}}}}}"#);
    let lines = [
        &rto, &rto, &bundled, &bundled, &missed, &missed, &late, &late,
    ];
    let text = [HEADER].into_iter().chain(lines.map(String::as_str));
    let traces = of(&text.collect::<Vec<_>>().join("\n")).expect("a trace");
    let all = "18,446,744,073,709,551,615";
    assert_eq!(
        traces.connections[0].to_string(),
        format!(
            "0 s, {all} of these came late, 2 packets with repeats, {all} bytes in these, \
             {all} steps missing in the trace."
        )
    );
    let drawn = crate::plot::html(&traces);
    for unwanted in ["NaN", "\"inf", ",inf", "-inf"] {
        assert!(!drawn.contains(unwanted), "{unwanted}: {drawn}");
    }
}

#[test]
fn each_group_is_a_connection_and_the_last_line_may_be_cut() {
    let text = [
        HEADER,
        "\x1e{\"time\":1000,\"group_id\":\"a\",\"name\":\"recovery:metrics_updated\",\"data\":{\"latest_rtt\":43.5,\"rto\":1000}}",
        r#"{"time":1500,"group_id":"b","name":"rudp:path_probe","data":{}}"#,
        r#"{"time":2000,"group_id":"a","name":"recovery:metrics_updated","data":{"congestion_window":12000}}"#,
        r#"{"time":2500,"group_id":"a","name":"rudp:spurious_loss","data":{"packets":2,"undone":true}}"#,
        r#"{"time":3000,"group_id":"a","name":"transport:pack"#,
    ];
    let traces = of(&text.join("\n")).expect("a trace");
    assert!(traces.cut);
    let [a, b] = &traces.connections[..] else {
        panic!("{traces:?}");
    };
    assert_eq!((a.name.as_str(), b.name.as_str()), ("a", "b"));
    assert_eq!((a.life, b.life), ((1.0, 2.5), (1.5, 1.5)));
    assert_eq!(a.rtt, [(1.0, 0.0435)]);
    assert_eq!(a.rto, [(1.0, 1.0), (2.5, 1.0)], "it holds to the end");
    assert_eq!(a.congestion.window, [(2.0, 12_000.0), (2.5, 12_000.0)]);
    assert_eq!(b.path_probes, [1.5]);
    let said = a.to_string();
    assert_eq!(
        said,
        "1.5 s, 1 round trip measured, 2 of these came late, 1 reduction undone."
    );
}

#[test]
fn packets_and_states_are_taken_with_their_times() {
    let line = |time: u32, name: &str, data: &str| {
        format!(r#"{{"time":{time},"name":"{name}","data":{data}}}"#)
    };
    let sized = |new| format!(r#"{{"new":{new}}}"#);
    let numbered = |number, more| format!(r#"{{"header":{{"packet_number":{number}}}{more}}}"#);
    let text = [
        HEADER.to_owned(),
        line(1_000, "connectivity:mtu_updated", &sized(1_200)),
        line(1_000, "transport:packet_sent", &numbered(7, "")),
        line(1_000, "transport:packet_sent", "{}"), // its number is its place
        line(1_500, "connectivity:mtu_updated", &sized(1_200)), // the search is over
        line(1_500, "connectivity:mtu_updated", &sized(1_472)),
        line(2_000, "recovery:ecn_state_updated", r#"{"new":"capable"}"#),
        line(
            2_000,
            "recovery:packet_lost",
            &numbered(7, r#","repaired":true"#),
        ),
        line(2_000, "recovery:packet_lost", "{}"),
        line(2_000, "rudp:bundled", r#"{"bytes":300}"#),
    ];
    let traces = of(&text.join("\n")).expect("a trace");
    let [it] = &traces.connections[..] else {
        panic!("{traces:?}");
    };
    assert_eq!(it.sent, [(1.0, 7.0), (1.0, 1.0)]);
    assert_eq!(
        it.sizes,
        [(1.0, "1200".to_owned()), (1.5, "1472".to_owned())]
    );
    assert_eq!(it.ecn, [(2.0, "capable".to_owned())]);
    let loss = |number, repaired| Loss {
        at: 2.0,
        number,
        repaired,
    };
    assert_eq!(it.losses, [loss(Some(7.0), true), loss(None, false)]);
    assert_eq!(
        it.to_string(),
        "1 s, 2 packets sent, 2 packets taken for lost, 1 of these repaired by a repeat, \
         1 packet with repeats, 300 bytes in these."
    );
    let page = crate::plot::html(&traces);
    for class in ["lost", "repaired", "same", "fast", "undone"] {
        let drawn = page.contains(&format!("class=\"{class}\""));
        assert_eq!(drawn, class != "lost", "{class}: one has no number");
    }
}
