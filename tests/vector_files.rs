//! Every vector file keeps to the schema, and other languages can read them.

use std::{collections::BTreeSet, fs, path::PathBuf, process::Command};

use conformance::{schema::violations, skip, vectors::folder};
use serde_json::Value;

fn read(path: &PathBuf) -> Value {
    let text = fs::read_to_string(path).expect("the file can be read");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn files() -> Vec<PathBuf> {
    (fs::read_dir(folder()).expect("the folder exists"))
        .map(|entry| entry.expect("the folder can be listed").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .filter(|path| path.file_name().is_some_and(|name| name != "schema.json"))
        .collect()
}

#[test]
fn every_file_keeps_to_the_schema() {
    let schema = read(&folder().join("schema.json"));
    let files = files();
    assert!(files.len() >= 2, "{files:?}");
    for path in files {
        let broken = violations(&schema, &read(&path));
        assert!(
            broken.is_empty(),
            "{}:\n{}",
            path.display(),
            broken.join("\n")
        );
    }
}

#[test]
fn the_schema_refuses_what_it_should() {
    let schema = read(&folder().join("schema.json"));
    let good = read(&folder().join("rto.json"));
    for (pointer, bad) in [
        ("/schema", Value::from("conformance/2")),
        ("/unit", Value::from("us")),
        ("/vectors", Value::from(Vec::<Value>::new())),
        ("/vectors/0/id", Value::Null),
        ("/vectors/0/tolerance_ns", Value::from(5)),
        ("/vectors/0/config", serde_json::json!({"min_rto": 1})),
        ("/vectors/0/steps/0/event", Value::from("sampled")),
        ("/vectors/0/steps/0/rtt_ns", Value::from(0.5)),
        ("/vectors/0/steps/0/expect/rto_ns", Value::from("1 s")),
        ("/vectors/0/steps/0/expect", serde_json::json!({"rto": 1})),
    ] {
        let mut file = good.clone();
        *file.pointer_mut(pointer).expect("the field exists") = bad;
        assert!(!violations(&schema, &file).is_empty(), "{pointer}");
    }
    let mut vectors = good["vectors"].as_array().expect("valid").iter();
    let limited = vectors.position(|vector| vector["id"] == "S16-syn");
    let limited = limited.expect("there is one");
    for (field, bad) in [
        ("config/limits", serde_json::json!({"r2": {"after": 1}})),
        (
            "config/limits/r1",
            serde_json::json!({"retransmissions": 1, "after_ns": 1}),
        ),
        ("steps/9/expect/gave_up/limit", Value::from("r1")),
        ("steps/9/expect/gave_up", serde_json::json!({"limit": "r2"})),
    ] {
        let mut file = good.clone();
        let pointer = format!("/vectors/{limited}/{field}");
        *file.pointer_mut(&pointer).expect("the field exists") = bad;
        assert!(!violations(&schema, &file).is_empty(), "{pointer}");
    }
    let family = read(&folder().join("family.json"));
    let of = |machine: &str| {
        let mut vectors = family["vectors"].as_array().expect("valid").iter();
        vectors
            .position(|vector| vector["machine"] == machine)
            .expect("there is one")
    };
    let (quic, transaction) = (of("quic"), of("transaction"));
    for (vector, field, bad) in [
        (quic, "machine", Value::from("transaction")),
        (quic, "role", Value::from("peer")),
        (quic, "config", serde_json::json!({})),
        (quic, "steps/1/space", Value::from("data")),
        (
            quic,
            "steps/0/expect/probe",
            serde_json::json!({"space": "initial"}),
        ),
        (quic, "steps/0/expect/rto_ns", Value::from(1)),
        (transaction, "machine", Value::from("stun")),
        (transaction, "preset", Value::from("rfc5389")),
        (
            transaction,
            "config/next",
            serde_json::json!({"round_trip": [0, 1]}),
        ),
        (transaction, "steps/0/at", Value::from(0)),
        (transaction, "steps/0/expect/expiry", Value::from("sent")),
    ] {
        let mut file = family.clone();
        let (parent, name) = field.rsplit_once('/').unwrap_or(("", field));
        let parent = format!("/vectors/{vector}/{parent}");
        let parent = file
            .pointer_mut(parent.trim_end_matches('/'))
            .expect("it exists");
        parent[name] = bad;
        assert!(
            !violations(&schema, &file).is_empty(),
            "{field} of {vector}"
        );
    }
    let intervals = read(&folder().join("intervals.json"));
    for (field, bad) in [
        ("official", Value::from("too_late")),
        (
            "verdict",
            serde_json::json!({"too_early": 1, "too_late": 1}),
        ),
        ("gaps_ns", serde_json::json!([0.5])),
        ("starts_ns", serde_json::json!([1])),
    ] {
        let mut file = intervals.clone();
        file["vectors"][0][field] = bad;
        assert!(!violations(&schema, &file).is_empty(), "{field}");
    }
    let mut kernel = read(&folder().join("kernel.json"));
    *kernel
        .pointer_mut("/vectors/0/steps/1/expect/linux")
        .expect("the field exists") = serde_json::json!({"rto_ns": 1});
    assert!(!violations(&schema, &kernel).is_empty());
}

#[test]
fn ids_are_unique() {
    for path in files() {
        let file = read(&path);
        let vectors = file["vectors"].as_array().expect("checked by the schema");
        let ids: BTreeSet<_> = vectors.iter().map(|vector| vector["id"].as_str()).collect();
        assert_eq!(ids.len(), vectors.len(), "{}", path.display());
    }
}

/// The reader in Python shares nothing with this package but the files.
#[test]
fn python_reads_the_estimator_vectors() {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("read_vectors.py");
    for (name, passed) in [("rto.json", PASSED_IN_RTO), ("kernel.json", 18)] {
        let Ok(output) = Command::new("python3")
            .arg(&script)
            .arg(folder().join(name))
            .output()
        else {
            skip("python_reads_the_estimator_vectors", "no python3 here");
            return;
        };
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "{printed}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(printed.trim(), format!("{passed} passed, 0 failed"));
    }
}

const PASSED_IN_RTO: usize = 76;
