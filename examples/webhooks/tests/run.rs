//! The example runs to its end, kills its workers on the way, and loses nothing.

use std::process::Command;

#[test]
fn nothing_is_lost_when_workers_are_killed() {
    let output = Command::new(env!("CARGO_BIN_EXE_webhooks"))
        .output()
        .expect("it starts");
    let text = String::from_utf8(output.stdout).expect("it writes text");
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let kills = text.matches("-- killed the worker").count();
    assert_eq!(kills, 2, "{text}");
    let last = text.lines().last().unwrap_or_default();
    assert!(
        last.ends_with(" dead letters, 0 lost, 0 done twice"),
        "{text}"
    );
}
