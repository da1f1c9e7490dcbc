//! The program as a user has it.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

fn storm(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_storm"));
    command
        .args(arguments.split(' '))
        .output()
        .expect("it runs")
}

#[track_caller]
fn printed(arguments: &str) -> String {
    let output = storm(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "storm {arguments}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// What it says when it ends with this code.
#[track_caller]
fn refused(arguments: &str, code: i32) -> String {
    let output = storm(arguments);
    let errors = String::from_utf8(output.stderr).expect("text");
    assert_eq!(
        output.status.code(),
        Some(code),
        "storm {arguments}: {errors}"
    );
    assert!(output.stdout.is_empty(), "storm {arguments}");
    errors
}

#[test]
fn collisions_without_jitter_as_json() {
    let text =
        printed("collision --clients 100 --base 10ms --cap 1s --jitter none --window 200s --json");
    for part in ["\"attempts\":20500", "\"drained\":0", "\"drain_ms\":null"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["results"][0]["policy"], "none");
    assert_eq!(value["window_ms"], 200_000);
}

#[test]
fn every_simulation_answers_in_every_form() {
    let folder = std::env::temp_dir().join(format!("storm-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let path = |name: &str| -> PathBuf { folder.join(name) };
    for simulation in [
        "collision --seeds 3",
        "occ --clients 10,20 --seeds 2",
        "herd --clients 50 --waves 3",
        "reconnect --clients 1000 --outage 10m",
        "collapse --clients 200 --rate 20 --queue 100 --outage 5s --limit 20s",
        "explain calls --clients 100",
    ] {
        let [csv, svg, html] = ["t.csv", "t.svg", "t.html"].map(path);
        let files = format!(
            "{simulation} --csv {} --svg {} --html {}",
            csv.display(),
            svg.display(),
            html.display()
        );
        let table = printed(&files);
        let [csv, svg, html] =
            [csv, svg, html].map(|path| fs::read_to_string(path).expect("written"));
        assert!(
            svg.starts_with("<svg") && svg.contains("polyline"),
            "{simulation}"
        );
        assert!(html.contains(&svg) && html.contains("<td>"), "{simulation}");
        assert!(
            html.contains(&format!("Made by <code>storm {simulation}")),
            "{simulation}"
        );
        let json: serde_json::Value =
            serde_json::from_str(&printed(&format!("{simulation} --json"))).expect("JSON");
        let results = json["results"].as_array().expect("rows");
        assert_eq!(csv.lines().count(), results.len() + 1, "{simulation}");
        assert!(
            table.lines().count() > results.len() + 2,
            "{simulation}: {table}"
        );
        assert_eq!(table, printed(simulation), "twice the same");
    }
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn a_policy_is_a_preset_or_fields_or_one_of_the_machines() {
    let text = printed(
        "reconnect --clients 100 --policy gcloud --policy base=1s,cap=60s,jitter=equal --policy grpc --json",
    );
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let names: Vec<_> = value["results"].as_array().expect("rows").iter().collect();
    let names: Vec<_> = names
        .iter()
        .map(|row| row["policy"].as_str().expect("text"))
        .collect();
    assert_eq!(names, ["gcloud", "base=1s,cap=60s,jitter=equal", "grpc"]);
}

#[test]
fn explain_says_what_a_policy_does() {
    let text = printed("explain webhooks");
    for part in [
        "base=10s",
        "80.0 s",
        "75s on average",
        "150s at most",
        "wait 10 would be the first at it, and there are 4",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text =
        printed("explain base=1s,cap=8s,jitter=none,first=immediate,attempts=5 --clients 40");
    assert!(
        text.contains("no jitter: clients that fail together return together"),
        "{text}"
    );
    let together = text.lines().filter(|line| line.ends_with(" 40"));
    assert_eq!(
        together.count(),
        4,
        "all 40 return at once, four times: {text}"
    );
    let text = printed("explain attempts=1");
    assert!(text.contains("0ns at most"), "{text}");
}

#[test]
fn what_is_refused_is_named_with_the_rule() {
    let cases = [
        ("collision --base 0s", "the base is zero (B1)"),
        (
            "collision --base 2s",
            "the cap 1s is below the base 2s (B1)",
        ),
        (
            "collision --multiplier 1/2",
            "the multiplier 1/2 is not 1 or more (B1)",
        ),
        (
            "collision --base 10",
            "expected a span such as 250ms, 1.5s, 2m or 1h, found \"10\" (B18)",
        ),
        (
            "collision --jitter some",
            "expected a jitter such as full or proportional:1/5, found \"some\" (B18)",
        ),
        (
            "herd --policy none",
            "expected a preset such as calls, or fields such as base=1s, found \"none\" (B18)",
        ),
        ("herd --policy calls --jitter full", "cannot be used with"),
        (
            "herd --clients 0",
            "0 is not a whole number from 1 to 4294967295",
        ),
        (
            "herd --clients x",
            "x is not a whole number from 1 to 4294967295",
        ),
        (
            "occ --clients 5,-1",
            "-1 is not a whole number from 1 to 4294967295",
        ),
        ("herd --waves 13", "13 is not a whole number from 1 to 12"),
        (
            "collision --seeds 0",
            "0 is not a whole number from 1 to 4294967295",
        ),
        (
            "collision --seed -1",
            "-1 is not a whole number from 0 to 18446744073709551615",
        ),
        (
            "collision --seed 18446744073709551615",
            "--seed 18446744073709551615 --seeds 1: the last seed is above 18446744073709551614",
        ),
        (
            "collision --window -5ms",
            "expected a span such as 250ms, 1.5s, 2m or 1h, found \"-5ms\" (B18)",
        ),
        (
            "reconnect --outage 8761h",
            "8761h is longer than a year of 8760h",
        ),
        ("reconnect --bin 0s", "'--bin <BIN>': 0s is not above 0"),
        (
            "collapse --timeout 0s",
            "'--timeout <TIMEOUT>': 0s is not above 0",
        ),
        (
            "collapse --round-trip 0s",
            "'--round-trip <ROUND_TRIP>': 0s is not above 0",
        ),
        (
            "collapse --rate 1000001",
            "1000001 is not a whole number from 1 to 1000000",
        ),
        (
            "reconnect --base 5s",
            "--base, --cap and --multiplier say nothing of grpc: compare a --jitter",
        ),
        ("explain at-once", "it never waits"),
        ("storms", "unrecognized subcommand 'storms'"),
    ];
    for (arguments, part) in cases {
        let errors = refused(arguments, 2);
        assert!(errors.contains(part), "storm {arguments}: {errors}");
    }
    let errors = refused("collision --clients 3 --svg /no/such/folder/a.svg", 1);
    assert!(
        errors.contains("/no/such/folder/a.svg: No such file"),
        "{errors}"
    );
}

/// A key that is there twice is read as either.
#[test]
fn json_has_each_parameter_once() {
    for simulation in ["collision", "occ", "herd", "reconnect", "collapse"] {
        let text = printed(&format!("{simulation} --clients 3 --json"));
        let (given, _) = text.split_once(",\"results\"").expect("results at the end");
        let mut keys: Vec<_> = given.split('"').skip(1).step_by(2).collect();
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count, "{text}");
    }
}

/// Nothing is too much for it, but what takes for ever.
#[test]
fn extremes_do_no_harm() {
    for extreme in [
        "collision --base 1ns --cap 8760h --jitter none --window 8760h --clients 1",
        "collision --policy base=6000000h,cap=6000000h --window 8760h --clients 3",
        "collision --first-ceiling 4294967295 --clients 3",
        "occ --clients 5,5 --delay 8760h --deviation 8760h --policy base=6000000h,cap=6000000h",
        "herd --clients 3 --policy base=6000000h,cap=6000000h --window 0s",
        "reconnect --clients 3 --bin 1ns --outage 8760h --round-trip 8760h --policy base=8760h,cap=8760h",
        "reconnect --clients 3 --policy base=6000000h,cap=6000000h",
        "collapse --clients 5 --arrival 8760h --round-trip 8760h --timeout 8760h --outage 8760h --limit 8760h",
        "collapse --clients 5 --rate 1 --queue 4294967295 --slowdown 1000 --policy base=6000000h,cap=6000000h",
        "explain base=6000000h,cap=6000000h --clients 3",
    ] {
        let form = if extreme.starts_with("explain") {
            "--json"
        } else {
            "--seeds 2 --json"
        };
        let text = printed(&format!("{extreme} {form}"));
        assert!(
            serde_json::from_str::<serde_json::Value>(&text).is_ok(),
            "{extreme}: {text}"
        );
    }
}

/// gRPC's clients wait 20 s for an answer, and no longer.
#[test]
fn an_attempt_ends_when_its_client_ends_it() {
    let short = printed("reconnect --clients 20 --outage 5m --round-trip 20s --json");
    let long = printed("reconnect --clients 20 --outage 5m --round-trip 8760h --json");
    let results = |text: &str| -> serde_json::Value {
        let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
        value["results"].clone()
    };
    assert_eq!(results(&short), results(&long));
}

#[cfg(unix)]
#[test]
fn a_name_of_a_file_need_not_be_text() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let name = format!("storm-{}-", std::process::id());
    let name = [name.as_bytes(), b"\xff.html"].concat();
    let path = std::env::temp_dir().join(OsStr::from_bytes(&name));
    let mut command = Command::new(env!("CARGO_BIN_EXE_storm"));
    command
        .args(["herd", "--clients", "3", "--html"])
        .arg(&path);
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let page = fs::read_to_string(&path).expect("a page");
    assert!(page.contains("\u{fffd}.html"), "{page}");
    fs::remove_file(path).expect("it is there");
}
