//! Client against server as two programs over loopback, every time divided by a hundred.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_grpc-backoff-interop");

/// The machine may be busy, so a gap may miss its window by much. The windows at the cap, 960 to
/// 1,440 ms, tell good from bad all the same: the exact test is the one in virtual time.
const TIMES: [&str; 2] = ["--scale=100", "--tolerance_ms=900"];

/// A running server, stopped in the end.
struct Server {
    child: Child,
    control_port: u16,
    retry_port: u16,
    tls_retry_port: u16,
    ca_file: tempfile::TempPath,
}

impl Server {
    fn start() -> Self {
        let ca_file = tempfile::NamedTempFile::new()
            .expect("a file")
            .into_temp_path();
        let mut child = Command::new(PROGRAM)
            .args(["server", "--tls_retry_port=0", "--ca_file"])
            .arg(&ca_file)
            .args(TIMES)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let mut port = |what: &str| {
            let mut line = String::new();
            out.read_line(&mut line).expect("it says where it listens");
            let port = line.strip_prefix(what).and_then(|rest| {
                let address = rest.split([',', '\n']).next()?;
                address.rsplit_once(':')?.1.parse().ok()
            });
            port.unwrap_or_else(|| panic!("{what}: {line:?}"))
        };
        let (control_port, retry_port) = (port("control port "), port("retry port "));
        let tls_retry_port = port("TLS retry port ");
        // It goes on printing, and a full pipe would stop it.
        std::thread::spawn(move || out.lines().for_each(drop));
        Self {
            child,
            control_port,
            retry_port,
            tls_retry_port,
            ca_file,
        }
    }

    fn client(&self, retry_port: u16, args: &[&str]) -> Output {
        let output = Command::new(PROGRAM)
            .arg("client")
            .arg(format!("--server_control_port={}", self.control_port))
            .arg(format!("--server_retry_port={retry_port}"))
            .args(TIMES)
            .args(args)
            .output();
        output.expect("the program runs")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!(
        "{}{}",
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(err)
    )
}

#[test]
fn ours_passes_in_plaintext() {
    let server = Server::start();
    let output = server.client(server.retry_port, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).ends_with("passed\n"), "{}", text(&output));
}

#[test]
fn ours_passes_by_tls() {
    let server = Server::start();
    let ca_file = server.ca_file.display().to_string();
    let args = ["--use_tls", "--ca_file", &ca_file];
    let output = server.client(server.tls_retry_port, &args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}

#[test]
fn plain_tonic_and_a_constant_interval_fail() {
    let server = Server::start();
    for how in ["--dial_by=plain-tonic", "--dial_by=constant"] {
        let output = server.client(server.retry_port, &[how, "--seconds=100"]);
        assert_eq!(output.status.code(), Some(1), "{how}: {}", text(&output));
        assert!(
            text(&output).contains("TOO SHORT"),
            "{how}: {}",
            text(&output)
        );
    }
}

#[test]
fn a_server_that_is_not_there_is_an_error_and_no_verdict() {
    let args = ["client", "--server_control_port=1", "--server_retry_port=1"];
    let output = Command::new(PROGRAM)
        .args(args)
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output).starts_with("error: the control port: "),
        "{}",
        text(&output)
    );
}

#[test]
fn wrong_usage_names_the_flag_and_the_value() {
    let client = ["client", "--server_control_port=1", "--server_retry_port=1"];
    let cases: [(&[&str], &[&str], &str); 11] = [
        (
            &client,
            &["--seconds=0"],
            "'0' for '--seconds <SECONDS>': 0 is not in 1..=86400",
        ),
        (
            &client,
            &["--seconds", "-5"],
            "'-5' for '--seconds <SECONDS>': -5 is not in 1..=86400",
        ),
        (
            &["server"],
            &["--tolerance_ms", "-1"],
            "'-1' for '--tolerance_ms <MS>': -1 is not in 0..=4294967295",
        ),
        (&client, &["--scale=1001"], "'1001' for '--scale <SCALE>'"),
        (&client, &["--use_tls"], "--ca_file <FILE>"),
        (&client, &["--dial_by=hand"], "'hand' for '--dial_by <HOW>'"),
        (
            &["client", "--server_retry_port=1"],
            &[],
            "--server_control_port <PORT>",
        ),
        (
            &["client", "--server_retry_port=0"],
            &[],
            "'0' for '--server_retry_port <PORT>'",
        ),
        (
            &["server"],
            &["--retry_port=x"],
            "'x' for '--retry_port <PORT>'",
        ),
        (&["server"], &["--tls_retry_port=0"], "--ca_file <FILE>"),
        (
            &["server"],
            &["--host=nowhere"],
            "'nowhere' for '--host <HOST>'",
        ),
    ];
    for (command, flags, said) in cases {
        let output = Command::new(PROGRAM).args(command).args(flags).output();
        let output = output.expect("the program runs");
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(text(&output).contains(said), "{flags:?}: {}", text(&output));
    }

    let cases: [(&[&str], &str); 3] = [
        (
            &["server", "--control_port=5", "--retry_port=5"],
            "error: --retry_port and --control_port are both 5\n",
        ),
        (
            &[
                client[0],
                client[1],
                client[2],
                "--max_reconnect_backoff_ms=500",
            ],
            "error: --max_reconnect_backoff_ms: ",
        ),
        (
            &[
                client[0],
                client[1],
                client[2],
                "--use_tls",
                "--ca_file=/dev/null",
            ],
            "error: /dev/null (--ca_file): there is no certificate in it\n",
        ),
    ];
    for (command, said) in cases {
        let output = Command::new(PROGRAM).args(command).output();
        let output = output.expect("the program runs");
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        assert!(text(&output).starts_with(said), "{}", text(&output));
    }
}
