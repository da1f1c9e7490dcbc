//! What the program says, and how it ends, when it is asked for the wrong thing.

use std::process::{Command, Output};

fn rudp(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rudp"));
    command.args(args);
    command
}

fn output(args: &[&str]) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = rudp(args).output().expect("it starts");
    (status.code(), String::from_utf8(stderr).expect("UTF-8"))
}

#[test]
fn wrong_usage_ends_with_2_and_names_the_value() {
    let relay = |args: &[&'static str]| [&["relay", "--to", "127.0.0.1:1"], args].concat();
    for (args, named) in [
        (vec!["send", "file", "127.0.0.1"], "127.0.0.1"),
        (vec!["send", "file", "host:70000"], "host:70000"),
        (vec!["send", "file", ":1"], "':1'"),
        (vec!["send", "file", "host:0"], "a port from 1 to 65535"),
        (vec!["send", "file"], "<ADDR>"),
        (vec!["sned"], "unrecognized subcommand 'sned'"),
        (
            vec!["send", "file", "127.0.0.1:1", "--max-attempts", "0"],
            "`0` is not a whole number from 1 to 4294967295",
        ),
        (
            vec!["demo", "--seed", "x"],
            "`x` is not a whole number from 0 to 18446744073709551615",
        ),
        (
            vec!["demo", "--html", "page.html", "--trace", "page.html"],
            "--html page.html would overwrite page.html",
        ),
        (
            vec!["send", "file", "127.0.0.1:1", "--give-up-after", "0s"],
            "`0s` is not above 0",
        ),
        (vec!["relay", "--to", "nowhere"], "nowhere"),
        (relay(&["--listen", "localhost:1"]), "IP:PORT"),
        (vec!["recv", "inbox", "--listen", "4600"], "IP:PORT"),
        (relay(&["--blackout", "25s..10s"]), "25s..10s"),
        (relay(&["--rate", "0bit"]), "rate is 0"),
        (relay(&["--jitter", "50ms", "--delay", "40ms"]), "50ms"),
        (relay(&["--loss", "200%"]), "`200%` is above 100%"),
        (
            relay(&["--loss", "-1%"]),
            "`-1%` is not a plain number from 0% to 100%",
        ),
        (
            relay(&["--delay", "-5ms"]),
            "`-5ms` is not a plain number with a unit",
        ),
        (relay(&["--blackout", "-5s..1s"]), "`-5s`"),
        (
            relay(&["--seed", "-1"]),
            "`-1` is not a whole number from 0 to 18446744073709551615",
        ),
        (
            vec!["plot", "trace", "--out", "x.png"],
            "neither in .html nor in .svg",
        ),
        (
            vec!["plot", "x.svg", "--out", "x.svg"],
            "--out x.svg would overwrite x.svg",
        ),
    ] {
        let (exit, error) = output(&args);
        assert_eq!(exit, Some(2), "{args:?}: {error}");
        assert!(error.contains(named), "{args:?}: {error}");
    }
}

#[test]
fn a_host_that_nobody_knows_is_an_error_and_no_wrong_usage() {
    for args in [
        ["send", "file", "no.such.host.invalid:1"],
        ["relay", "--to", "no.such.host.invalid:1"],
    ] {
        let (exit, error) = output(&args);
        assert_eq!(exit, Some(1), "{error}");
        assert!(error.contains("no.such.host.invalid:1"), "{error}");
    }
}

#[test]
fn the_demo_says_at_once_what_it_cannot_use() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path().to_str().expect("UTF-8");
    let page = folder.path().join("page.html");
    let html = page.to_str().expect("UTF-8");
    for (args, said) in [
        (["demo", "--html", here], "directory"),
        (["demo", "--html", "/nowhere/page.html"], "No such file"),
    ] {
        let (exit, error) = output(&args);
        assert_eq!(exit, Some(1), "{error}");
        assert!(error.contains(said), "{error}");
    }
    let (exit, error) = output(&["demo", here, "--html", html]);
    assert_eq!(
        (exit, error),
        (Some(1), format!("rudp: {here}: not a file\n"))
    );
    assert!(!page.exists(), "no empty page is left");
}

#[test]
fn a_trace_that_cannot_be_written_keeps_a_receiver_from_starting() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path().to_str().expect("UTF-8");
    for (trace, said) in [("/nowhere/trace", "No such file"), (here, "directory")] {
        let (exit, error) = output(&["recv", here, "--listen", "127.0.0.1:0", "--trace", trace]);
        assert_eq!(exit, Some(1), "{error}");
        let named = error.starts_with(&format!("rudp: cannot write {trace}: "));
        assert!(named && error.contains(said), "{error}");
    }
}

#[test]
fn giving_up_says_why_and_what_was_not_tried() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, b"abc").expect("written");
    let file = file.to_str().expect("UTF-8");
    // Nobody listens there, nor is given this port while the keeper has it.
    let keeper = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = keeper.local_addr().expect("bound").port();
    let address = format!("127.0.0.2:{port}");

    let (exit, error) = output(&["send", file, file, &address, "--max-attempts", "1"]);
    assert_eq!(exit, Some(5), "{error}");
    assert!(
        error.contains("gave up after 1 failed attempt (--max-attempts); the last: refused"),
        "{error}"
    );
    assert!(error.ends_with(&format!("{file}: not tried\n")), "{error}");
}

#[test]
fn plot_draws_a_trace_and_names_what_is_wrong_with_one() {
    const HEADER: &str = r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","title":"quiet"}"#;
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let write = |name: &str, text: &str| std::fs::write(path(name), text).expect("written");
    let (quiet, bad, itself) = (path("quiet"), path("bad"), path("itself.svg"));
    write("quiet", HEADER);
    write("itself.svg", HEADER);
    write("bad", &format!("{HEADER}\n{{}}\n"));
    for (args, said) in [
        (
            vec!["plot", "/nowhere/trace"],
            "/nowhere/trace: No such file",
        ),
        (vec!["plot", &bad], "bad: line 2: an event without a time"),
        (
            vec!["plot", &quiet, "--out", "/nowhere/plots.svg"],
            "/nowhere/plots.svg: No such file",
        ),
    ] {
        let (exit, error) = output(&args);
        assert_eq!(exit, Some(1), "{args:?}: {error}");
        assert!(error.contains(said), "{args:?}: {error}");
    }
    let (exit, error) = output(&["plot", &itself, "--out", &itself]);
    let said = format!("rudp: --out {itself} would overwrite {itself}\n");
    assert_eq!((exit, error), (Some(2), said));
    assert_eq!(std::fs::read(&itself).expect("kept"), HEADER.as_bytes());
    let drawn = rudp(&["plot", &quiet]).output().expect("it starts");
    let said = String::from_utf8(drawn.stdout).expect("UTF-8");
    assert!(
        drawn.status.success() && said.contains("Nothing happened"),
        "{said}"
    );
    let page = std::fs::read_to_string(path("quiet.html")).expect("a page");
    assert!(
        page.contains("<h1>quiet</h1>") && page.contains("Nothing happened"),
        "{page}"
    );
}
