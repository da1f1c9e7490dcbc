//! The header that C includes is the one that the sources make.

use std::{env, fs, path::PathBuf};

/// Set, the test writes the header instead of complaining.
const WRITE: &str = "RTO_WRITE_HEADER";

/// In the order of the header.
const SOURCES: [&str; 9] = [
    "time.rs",
    "text.rs",
    "status.rs",
    "config.rs",
    "limits.rs",
    "timer.rs",
    "timer/reading.rs",
    "sampler.rs",
    "compact.rs",
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/rto-capi")
}

fn generated() -> String {
    let config = cbindgen::Config::from_file(folder().join("cbindgen.toml")).expect("legal");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(folder().join("src").join(source));
    }
    let mut header = Vec::new();
    builder
        .generate()
        .expect("sources C can see")
        .write(&mut header);
    // What rustdoc has a heading for, C is told in plain sentences.
    (String::from_utf8(header).expect("text")).replace("// # Safety\n//\n", "")
}

#[test]
fn the_header_is_up_to_date() {
    let path = folder().join("include/rto.h");
    let generated = generated();
    if env::var_os(WRITE).is_some() {
        fs::write(&path, &generated).expect("writable");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == generated,
        "{} is not what the sources make; `{WRITE}=1 cargo test -p conformance --test capi_header` writes it",
        path.display()
    );
}
