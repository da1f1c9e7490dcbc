//! The file to send is not what it should be.

use crate::harness::{ANY, Folders, content, hop, read, receive, send, slow, start_send};

#[tokio::test]
async fn a_file_that_changes_while_it_is_sent_is_an_error() {
    let folders = Folders::new();
    let (mut receiver, address) = receive(folders.receiving(), ANY).await;
    let hop = hop(address, slow());
    let length = 16 << 20; // twice what the transport takes at once
    let old = content(1, length);
    let file = folders.file("file", &old);
    let mut sender = start_send(&[&file], hop.address, &[]);
    folders.part_reaches("file", old.len(), 1).await;
    let new = folders.file("file", &content(2, length));
    let failed = sender.event("failed").await;
    assert_eq!(sender.exit().await, 1);
    let error = failed["error"].as_str().expect("a reason");
    // Between cutting it off and writing it anew it is shorter.
    assert!(
        error.ends_with("while it was being sent") && error.starts_with("the file"),
        "{error}"
    );
    receiver.event("lost").await;
    send(&new, address, &[]).await;
    assert_eq!(read(folders.received("file")), content(2, length));
}

#[tokio::test]
async fn what_is_no_file_is_refused_at_once_and_the_rest_is_sent() {
    let folders = Folders::new();
    let (_receiver, address) = receive(folders.receiving(), ANY).await;
    let pipe = folders.file("unused", b"").with_file_name("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    let file = folders.file("file", b"abc");
    let mut sender = start_send(&[&pipe, &file], address, &[]);
    assert_eq!(sender.event("failed").await["error"], "not a file");
    sender.event("sent").await;
    assert_eq!(sender.exit().await, 1);
}
