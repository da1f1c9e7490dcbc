//! The program `netsim tun`.

use std::{
    io::{BufRead, BufReader, Lines, Write},
    net::UdpSocket,
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use crate::network::{LONG, ends, path, skip, socket};

struct Program {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
}

impl Program {
    fn start(flags: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_netsim"))
            .args([&["tun", "--json"], flags].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it was built");
        let output = child.stdout.take().expect("piped");
        let output = BufReader::new(output).lines();
        Self { child, output }
    }

    fn say(&mut self, line: &str) {
        let mut input = self.child.stdin.as_ref().expect("piped");
        writeln!(input, "{line}").expect("it reads");
    }

    /// The next line of output.
    fn hear(&mut self) -> Value {
        let line = self.output.next().expect("it says something more");
        serde_json::from_str(&line.expect("text")).expect("JSON")
    }

    /// Says something and hears what the packets from A came to.
    fn there(&mut self) -> Value {
        self.say("counters");
        self.hear()["counters"]["there"].take()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        _ = self.child.kill(); // for a test that failed; else it has ended
        _ = self.child.wait();
    }
}

fn arrives(from: &UdpSocket, to: &UdpSocket) -> bool {
    let address = to.local_addr().expect("bound");
    from.send_to(b"hello", address)
        .expect("the device takes it");
    to.recv(&mut [0; 5]).is_ok()
}

#[test]
fn the_program_says_what_it_does_and_leaves_nothing_behind() {
    let test = "program";
    let ends = ends(test);
    let [a, b] = [&ends[0], &ends[1]].map(|end| format!("{}={}", end.namespace, end.address));
    let mut program = Program::start(&["--a", &a, "--b", &b, "--seed", "7", "--delay", "1ms"]);
    let ready = program.hear();
    if ready["event"] == "error" {
        return skip(test, &ready["error"]);
    }
    assert_eq!(
        (&ready["event"], &ready["seed"]),
        (&"ready".into(), &7.into())
    );
    assert_eq!(ready["a"]["namespace"], ends[0].namespace.as_str());

    let [a, b] = [socket(&ends[0]), socket(&ends[1])];
    assert!(arrives(&a, &b));
    assert_eq!(program.there()["delivered"], 1);

    b.set_read_timeout(Some(Duration::from_millis(50)))
        .expect("a timeout");
    program.say("--loss 100%");
    assert_eq!(program.there()["entered"], 1); // so the line before is done
    assert!(!arrives(&a, &b));
    assert_eq!(program.there()["lost_random"], 1);

    program.say("--loss 0%");
    program.say("dark 60s");
    assert_eq!(program.there()["entered"], 2);
    assert!(!arrives(&a, &b));
    assert_eq!(program.there()["lost_blackout"], 1);

    program.say("dark 0s");
    assert_eq!(program.there()["entered"], 3);
    b.set_read_timeout(Some(LONG)).expect("a timeout");
    assert!(arrives(&a, &b));

    for wrong in ["--loss 5", "--jitter 1s", "dark", "light 10s"] {
        program.say(wrong);
        assert_eq!(program.hear()["event"], "error", "{wrong}");
    }

    let pid = Pid::from_raw(program.child.id().cast_signed());
    kill(pid, Signal::SIGTERM).expect("it runs");
    let last = program.hear();
    assert_eq!(last["counters"]["there"]["entered"], 4);
    assert_eq!(last["counters"]["not_taken"], 0);
    assert!(program.child.wait().expect("it ends").success());
    for end in &ends {
        assert!(!path(end).exists(), "{} is left", end.namespace);
    }
}

#[test]
fn wrong_flags_are_named() {
    for (flags, named) in [
        (&["--a", "198.18.0.1"][..], "NAME=ADDR"),
        (&["--b", "x/y=198.18.0.1"], "NAME=ADDR"),
        (
            &["--b", "..=198.18.0.1"],
            "`..=198.18.0.1` is not NAME=ADDR",
        ),
        (
            &["--a", "netsim-b=198.18.0.1"],
            "--a and --b are both in netsim-b",
        ),
        (
            &["--a", "x=198.18.0.2"],
            "--a and --b are both at 198.18.0.2",
        ),
        (
            &["--delay", "-5ms"],
            "`-5ms` is not a plain number with a unit",
        ),
        (
            &["--seed", "x"],
            "`x` is not a whole number from 0 to 18446744073709551615",
        ),
        (
            &["--device-mtu", "67"],
            "`67` is not a whole number from 68 to 65535",
        ),
        (&["--rate", "0bit"], "rate is 0"),
        (&["--jitter", "1ms"], "jitter 1ms"),
    ] {
        let program = Command::new(env!("CARGO_BIN_EXE_netsim"));
        let output = { program }
            .arg("tun")
            .args(flags)
            .output()
            .expect("it was built");
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(named), "{flags:?}: {said}");
    }
}
