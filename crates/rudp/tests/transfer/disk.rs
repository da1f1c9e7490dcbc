//! The disk of the receiver is full.

use std::{fs, io::Write, path::Path};

use tokio::process::Command;

use crate::harness::{
    ANY, Folders, Program, content, fail_to_send, listening, part_name, read, receive, send, skip,
    slow, slow_hop, start_send,
};

/// A file system of a few megabytes over a folder, for as long as it lives.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// `None`, with a line that says why, where mounting is not allowed.
    async fn mount(at: &'a Path, size: &str, test: &str) -> Option<Self> {
        let options = format!("size={size}");
        let mut mount = Command::new("mount");
        let mounted = mount
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(at)
            .output()
            .await;
        match mounted {
            Ok(output) if output.status.success() => Some(Self(at)),
            why => {
                skip(test, &format!("no small file system to be had: {why:?}"));
                None
            }
        }
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        // Lazily: the receiver may still have files open.
        let unmounted = std::process::Command::new("umount")
            .arg("-l")
            .arg(self.0)
            .status();
        assert!(
            unmounted.is_ok_and(|status| status.success()),
            "{} stays mounted",
            self.0.display()
        );
    }
}

fn says_disk_full(failed: &serde_json::Value, words: &str) {
    let error = failed["error"].as_str().expect("a reason");
    assert!(error.contains(words), "{error}");
}

#[tokio::test]
async fn a_file_that_cannot_fit_is_refused_at_once() {
    let folders = Folders::new();
    let test = "a_file_that_cannot_fit_is_refused_at_once";
    let Some(_disk) = SmallDisk::mount(folders.receiving(), "1m", test).await else {
        return;
    };
    let (mut receiver, address) = receive(folders.receiving(), ANY).await;
    let file = folders.file("file", &content(1, 2 << 20));

    let (exit, failed) = fail_to_send(&file, address, &[]).await;
    assert_eq!(exit, 3);
    says_disk_full(&failed, "disk full");
    says_disk_full(&failed, "bytes free");
    assert_eq!(
        failed["attempts"].as_array().map(Vec::len),
        Some(1),
        "a refusal is not retried"
    );
    let refused = receiver.event("refused").await;
    assert_eq!(refused["file"], "file");
    send(&folders.file("small", &content(1, 1000)), address, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_up_on_the_way_ends_it_and_the_part_waits_for_room() {
    let folders = Folders::new();
    let test = "a_disk_that_fills_up_on_the_way_ends_it_and_the_part_waits_for_room";
    let Some(_disk) = SmallDisk::mount(folders.receiving(), "6m", test).await else {
        return;
    };
    let (mut receiver, address) = receive(folders.receiving(), ANY).await;
    let hop = slow_hop(address, slow());
    let whole = content(2, 4 << 20);
    let file = folders.file("file", &whole);
    let mut sender = start_send(&[&file], hop.address, &[]);

    folders.part_reaches("file", whole.len(), 1 << 20).await;
    let filler = folders.received("filler");
    let filling = fs::File::create(&filler).expect("created");
    while (&filling).write_all(&[0; 4096]).is_ok() {}
    drop(filling);
    hop.hurry();
    let failed = sender.event("failed").await;
    assert_eq!(sender.exit().await, 3);
    says_disk_full(&failed, "No space left");
    assert_eq!(receiver.event("refused").await["file"], "file");
    fs::remove_file(&filler).expect("removed");

    let sent = send(&file, hop.address, &[]).await;
    assert!(sent["resumed_from"].as_u64() >= Some(1 << 20), "{sent}");
    assert_eq!(read(folders.received("file")), whole);
}

#[tokio::test]
async fn a_file_over_the_limit_of_the_process_is_a_full_disk() {
    let folders = Folders::new();
    let mut shell = Command::new("sh");
    let script = r#"ulimit -f 1024; exec "$0" recv "$1" --listen 127.0.0.1:0 "$2""#;
    shell
        .args(["-c", script, env!("CARGO_BIN_EXE_rudp")])
        .arg(folders.receiving());
    let (mut receiver, address) = listening(Program::spawn(shell)).await;
    let whole = content(3, 4 << 20);
    let file = folders.file("file", &whole);

    let (exit, failed) = fail_to_send(&file, address, &[]).await;
    assert_eq!(exit, 3);
    says_disk_full(&failed, "File too large");
    receiver.event("refused").await;
    let part = read(folders.received(&part_name("file", whole.len())));
    assert!(
        !part.is_empty() && whole.starts_with(&part),
        "what fitted is kept"
    );
    send(&folders.file("small", b"x"), address, &[]).await;
}
