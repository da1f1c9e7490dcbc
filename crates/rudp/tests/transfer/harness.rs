//! Processes, folders and a bad network for the tests.

use std::{
    fs,
    io::Write,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use netsim::LinkConfig;
use rudp::{
    Clock,
    relay::{Relay, RelayConfig, RelayControl},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    task::JoinHandle,
    time::timeout,
};

use crate::changes::Changes;

/// Nothing here takes nearly as long, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(90);

pub(crate) const ANY: &str = "127.0.0.1:0";

/// Waits for something, and fails if it does not come.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = timeout(LIMIT, future).await;
    done.unwrap_or_else(|_| panic!("{what}: not within {LIMIT:?}"))
}

/// Bytes that look random and are the same for the same seed.
pub(crate) fn content(seed: u8, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new()
        .update(&[seed])
        .finalize_xof()
        .fill(&mut bytes);
    bytes
}

/// A folder to send from and one to receive into.
pub(crate) struct Folders {
    from: TempDir,
    to: TempDir,
}

impl Folders {
    pub(crate) fn new() -> Self {
        let dir = || tempfile::tempdir().expect("a temporary folder");
        Self {
            from: dir(),
            to: dir(),
        }
    }

    /// Makes a file to send.
    pub(crate) fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.from.path().join(name);
        fs::write(&path, content).expect("written");
        path
    }

    pub(crate) fn receiving(&self) -> &Path {
        self.to.path()
    }

    /// A path in the receiving folder.
    pub(crate) fn received(&self, name: &str) -> PathBuf {
        self.to.path().join(name)
    }

    /// Waits until so much of a file has arrived.
    pub(crate) async fn part_reaches(&self, name: &str, length: usize, bytes: u64) {
        let part = self.received(&part_name(name, length));
        let mut changes = Changes::of(self.receiving());
        let reached = async {
            while !fs::metadata(&part).is_ok_and(|found| found.len() >= bytes) {
                changes.some().await;
            }
        };
        within(&format!("{bytes} bytes of {name}"), reached).await;
    }

    /// The names of all there is in the receiving folder but the key.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.to.path()).expect("readable");
        let names = entries.map(|entry| {
            entry
                .expect("entry")
                .file_name()
                .into_string()
                .expect("UTF-8")
        });
        let mut names: Vec<_> = names.filter(|name| name != ".rudp-key").collect();
        names.sort();
        names
    }
}

pub(crate) fn part_name(name: &str, length: usize) -> String {
    format!(".{name}.{length}.rudp-part")
}

fn rudp() -> Command {
    Command::new(env!("CARGO_BIN_EXE_rudp"))
}

/// A running program whose output is lines of JSON. Killed when dropped.
pub(crate) struct Program {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Program {
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command
            .arg("--json")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program starts");
        let output = child.stdout.take().expect("piped");
        Self {
            child,
            lines: BufReader::new(output).lines(),
        }
    }

    /// Waits for the next event of this kind, and skips others.
    pub(crate) async fn event(&mut self, kind: &str) -> Value {
        loop {
            let line = within(kind, self.lines.next_line()).await.expect("output");
            let Some(line) = line else {
                let status = within("the end of the program", self.child.wait()).await;
                panic!("no {kind:?} before the end of the program: {status:?}");
            };
            let event: Value = serde_json::from_str(&line).expect("JSON");
            println!("{event}");
            if event["event"] == kind {
                return event;
            }
        }
    }

    /// SIGKILL, and waits for the end.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.expect("killed");
    }

    /// Ctrl-C.
    pub(crate) fn interrupt(&self) {
        let id = self
            .child
            .id()
            .and_then(|id| Pid::from_raw(id.cast_signed()));
        kill_process(id.expect("running"), Signal::INT).expect("signalled");
    }

    /// Waits for the end, and returns the exit code.
    pub(crate) async fn exit(mut self) -> i32 {
        let status = within("the end of the program", self.child.wait()).await;
        status.expect("waited").code().expect("no signal")
    }
}

/// `rudp recv` and its address.
pub(crate) async fn receive(folder: &Path, listen: impl ToString) -> (Program, SocketAddr) {
    receive_with(folder, listen, &[]).await
}

/// The same, with flags.
pub(crate) async fn receive_with(
    folder: &Path,
    listen: impl ToString,
    flags: &[&str],
) -> (Program, SocketAddr) {
    let mut command = rudp();
    command
        .arg("recv")
        .arg(folder)
        .args(["--listen", &listen.to_string()])
        .args(flags);
    listening(Program::spawn(command)).await
}

/// Reads the address from the first line of output.
pub(crate) async fn listening(mut receiver: Program) -> (Program, SocketAddr) {
    let event = receiver.event("listening").await;
    let address = event["listen"].as_str().expect("an address");
    (receiver, address.parse().expect("an address"))
}

/// Starts `rudp send`.
pub(crate) fn start_send(files: &[&Path], server: SocketAddr, flags: &[&str]) -> Program {
    let mut command = rudp();
    command
        .arg("send")
        .args(files)
        .arg(server.to_string())
        .args(flags);
    Program::spawn(command)
}

/// Sends a file, which must work, and returns the report.
pub(crate) async fn send(file: &Path, server: SocketAddr, flags: &[&str]) -> Value {
    let mut sender = start_send(&[file], server, flags);
    let report = sender.event("sent").await;
    assert_eq!(sender.exit().await, 0);
    report
}

/// Sends a file, which must not work, and returns the exit code and the error.
pub(crate) async fn fail_to_send(file: &Path, server: SocketAddr, flags: &[&str]) -> (i32, Value) {
    let mut sender = start_send(&[file], server, flags);
    let report = sender.event("failed").await;
    (sender.exit().await, report)
}

/// A relay in this process; it ends when it is dropped.
pub(crate) struct Hop {
    pub(crate) address: SocketAddr,
    pub(crate) control: RelayControl,
    task: JoinHandle<()>,
    link: LinkConfig,
}

impl Hop {
    /// What had to happen on the way has happened: what is left may go at the link's own rate.
    pub(crate) fn hurry(&self) {
        let link = self.link.clone();
        let changed = self.control.set_config(link.clone(), link);
        changed.expect("as good as at the start");
    }
}

impl Drop for Hop {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A relay that holds a file up until it is told to [`hurry`](Hop::hurry), so that what is to happen
/// on the way does, however late a busy machine gives the test its turn.
pub(crate) fn slow_hop(to: SocketAddr, link: LinkConfig) -> Hop {
    let held_up = LinkConfig {
        rate: Some(2_000_000),
        queue: 32 << 10,
        ..link.clone()
    };
    let mut hop = hop(to, held_up);
    hop.link = link;
    hop
}

/// Starts a relay that is as bad in one direction as in the other.
pub(crate) fn hop(to: SocketAddr, link: LinkConfig) -> Hop {
    let config = RelayConfig {
        there: link.clone(),
        back: link.clone(),
        seed: 7,
        ..RelayConfig::default()
    };
    let relay = Relay::bind(ANY.parse().expect("an address"), to, config, Clock::start());
    let relay = relay.expect("a relay");
    let (address, control) = (relay.local_addr().expect("bound"), relay.control());
    let task = tokio::spawn(async {
        let failed = relay.run().await;
        panic!("the relay ended: {failed:?}");
    });
    Hop {
        address,
        control,
        task,
        link,
    }
}

/// A link on which a few megabytes take a few seconds, so that there is time
/// for something to happen to them.
pub(crate) fn slow() -> LinkConfig {
    LinkConfig {
        delay: Duration::from_millis(5),
        rate: Some(16_000_000),
        queue: 256 << 10,
        mtu: Some(1_500), // which the loopback interface does not have
        ..LinkConfig::PERFECT
    }
}

/// Says that a test cannot run here, past the harness, which hides what passing tests print.
pub(crate) fn skip(test: &str, why: &str) {
    _ = writeln!(std::io::stderr(), "\nskipped: {test}: {why}");
}

/// The content of a file, to compare.
pub(crate) fn read(path: impl AsRef<Path>) -> Vec<u8> {
    let path = path.as_ref();
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The delays of all attempts but the first: planned and actual, in microseconds.
pub(crate) fn delays(report: &Value) -> Vec<(u64, u64)> {
    let attempts = report["attempts"].as_array().expect("a list");
    let delay = |attempt: &Value, name| attempt[name].as_u64().expect("a delay");
    let both = |attempt| {
        (
            delay(attempt, "planned_delay_us"),
            delay(attempt, "actual_delay_us"),
        )
    };
    attempts.iter().skip(1).map(both).collect()
}
