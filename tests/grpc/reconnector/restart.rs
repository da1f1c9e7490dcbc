//! (D10) A program keeps its backoff on disk, is killed, and starts again.

use super::{Server, dial, virtual_now};
use conformance::draws::{MIDDLE, middle};
use conformance::time::{assert_close, s};
use grpc_backoff::{Attempt, Config, Reconnector, Snapshot};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};
use tokio::time::sleep;

/// Where the program that is killed keeps its backoff.
const FILE: &str = "BACKOFF_FILE";

/// A first delay that no test waits for.
fn patient() -> Config {
    let mut config = Config::GRPC;
    config.initial_backoff = s(100);
    config
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()))
}

/// Whoever reads finds what was there before or what is there now, and nothing between.
fn save(path: &Path, snapshot: &Snapshot) -> io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, snapshot.to_string())?;
    fs::rename(new, path)
}

/// What is left of the backoff; where that cannot be read, a polite beginning, and why.
fn load(path: &Path, draw: u64) -> (Snapshot, Option<String>) {
    let text = fs::read_to_string(path).map_err(|error| error.to_string());
    let snapshot = text.and_then(|text| text.parse::<Snapshot>().map_err(|e| e.to_string()));
    match snapshot {
        Ok(snapshot) => (snapshot, None),
        Err(why) => {
            let polite = Snapshot::unknown(&patient(), draw).expect("a valid config");
            (polite, Some(why))
        }
    }
}

#[tokio::test]
#[ignore = "the program that the test below starts and kills"]
async fn a_program_with_its_backoff_on_disk() {
    let path = env::var_os(FILE).expect("a path");
    let dial = |_: Attempt| dial(Server::Refuses);
    let mut client = Reconnector::new(patient(), dial).expect("valid");
    loop {
        let _ = client.try_connect().await;
        let [((), snapshot)] = client.handle().snapshot()[..] else {
            panic!("it has one address");
        };
        save(Path::new(&path), &snapshot).expect("a writable folder");
        println!("saved");
        sleep(s(1)).await;
    }
}

/// (D10) What was saved before the kill is what is waited after it.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d10_a_killed_program_waits_what_was_left() {
    let path = file("killed");
    let mut program = Command::new(env::current_exe().expect("this test"))
        .args([
            "--exact",
            "reconnector::restart::a_program_with_its_backoff_on_disk",
        ])
        .args(["--ignored", "--nocapture"])
        .env(FILE, &path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(program.stdout.take().expect("piped")).lines();
    let saved = lines.any(|line| line.is_ok_and(|line| line.ends_with("saved")));
    program.kill().expect("it runs");
    program.wait().expect("it was started here");
    assert!(saved, "it ended by itself");

    let (snapshot, error) = load(&path, 0);
    fs::remove_file(&path).expect("it is there");
    assert_eq!((error, snapshot.attempts, snapshot.failures), (None, 1, 1));
    assert!((s(70)..=s(120)).contains(&snapshot.wait), "{snapshot}");
    connects_after(snapshot, snapshot.wait).await;
}

/// (D10) What cannot be read is an error that says what is wrong, and no reason to hurry.
#[tokio::test(start_paused = true)]
async fn rule_grpc_d10_a_program_that_lost_its_snapshot_waits_for_a_first_delay() {
    let path = file("corrupt");
    let whole = "attempts=9 failures=8 backoff=42949672960ns wait=1200000000ns";
    for (text, why) in [
        ("", r#""" where a snapshot has attempts (D10)"#),
        (&whole[..50], r#""wait=1" where a snapshot has wait (D10)"#),
    ] {
        fs::write(&path, text).expect("a writable folder");
        let (polite, error) = load(&path, MIDDLE);
        assert_eq!(error.as_deref(), Some(why));
        connects_after(polite, s(100)).await;
    }
    fs::remove_file(&path).expect("it is there");
    let (polite, error) = load(&path, u64::MAX);
    assert!(error.is_some(), "no such file");
    assert_eq!(polite.wait, s(120));
}

/// Restored, it makes its attempt then, and not before.
async fn connects_after(snapshot: Snapshot, wait: std::time::Duration) {
    let epoch = virtual_now();
    let dial = |_: Attempt| dial(Server::AcceptsAfter(s(0)));
    let mut client = Reconnector::restore(patient(), [((), snapshot)], dial)
        .expect("valid")
        .with_draws(middle);
    assert_eq!(client.connect().await, Ok("connection"));
    assert_close(&[s(0), epoch.elapsed()], &[s(0), wait]);
}
