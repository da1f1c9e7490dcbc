//! Every example runs to its end and says what it should.

use std::process::Command;

#[track_caller]
fn output_of(program: &str) -> String {
    let output = Command::new(program).output().expect("it starts");
    let text = String::from_utf8(output.stdout).expect("it writes text");
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

#[test]
fn thread() {
    let text = output_of(env!("CARGO_BIN_EXE_thread"));
    assert!(text.starts_with("30 messages acknowledged, "), "{text}");
    assert!(!text.contains(" 0 retransmissions"), "{text}");
}

#[test]
fn tokio() {
    let text = output_of(env!("CARGO_BIN_EXE_tokio"));
    assert!(text.starts_with("200 messages acknowledged, "), "{text}");
    assert!(!text.contains(" 0 retransmissions"), "{text}");
}

#[test]
fn ticks() {
    let text = output_of(env!("CARGO_BIN_EXE_ticks"));
    assert!(
        text.starts_with("30 messages acknowledged, 9 retransmissions"),
        "{text}"
    );
    assert!(text.contains("counter wrapped 1 time(s)"), "{text}");
}

#[test]
fn the_simulation_gives_the_same_each_time() {
    let text = output_of(env!("CARGO_BIN_EXE_simulation"));
    assert_eq!(text, output_of(env!("CARGO_BIN_EXE_simulation")));
    assert!(text.starts_with("an hour of 200 connections: "), "{text}");
}
