//! The receiver says no, and that is final.

use std::{fs, os::unix::fs::symlink};

use crate::harness::{
    ANY, Folders, content, fail_to_send, part_name, read, receive, send, slow, slow_hop, start_send,
};

#[tokio::test(flavor = "multi_thread")]
async fn the_second_of_two_senders_of_one_name_is_refused() {
    let folders = Folders::new();
    let first = content(1, 3 << 20);
    let file = folders.file("file", &first);
    let (_receiver, address) = receive(folders.receiving(), ANY).await;
    let hop = slow_hop(address, slow());
    let mut sender = start_send(&[&file], hop.address, &[]);
    folders.part_reaches("file", first.len(), 1).await;

    let elsewhere = Folders::new();
    let second = elsewhere.file("file", &content(2, 10));
    let (exit, failed) = fail_to_send(&second, hop.address, &["--force"]).await;
    assert_eq!(exit, 3);
    let error = failed["error"].as_str().expect("a reason");
    assert!(
        error.contains("another sender is sending a file of this name"),
        "{error}"
    );
    assert_eq!(
        failed["attempts"].as_array().map(Vec::len),
        Some(1),
        "a refusal is not retried"
    );

    hop.hurry();
    assert_eq!(
        sender.event("sent").await["connections"],
        1,
        "the first was not disturbed"
    );
    assert_eq!(sender.exit().await, 0);
    assert_eq!(read(folders.received("file")), first);
}

#[tokio::test]
async fn a_link_or_a_folder_in_the_way_is_left_alone() {
    let folders = Folders::new();
    let outside = Folders::new();
    let victim = outside.file("victim", b"precious");
    let (_receiver, address) = receive(folders.receiving(), ANY).await;
    let file = folders.file("file", b"new");

    let in_the_way = folders.received("file");
    for make in [|at, to| symlink(to, at), |at, _| fs::create_dir(at)] as [fn(_, _) -> _; 2] {
        make(&in_the_way, &victim).expect("made");
        let (exit, failed) = fail_to_send(&file, address, &["--force"]).await;
        assert_eq!(exit, 3, "{failed}");
        assert_eq!(folders.names(), ["file"]);
        if fs::remove_file(&in_the_way).is_err() {
            fs::remove_dir(&in_the_way).expect("removed");
        }
    }
    symlink(&victim, folders.received(&part_name("file", 3))).expect("made");
    let (exit, failed) = fail_to_send(&file, address, &["--force"]).await;
    assert_eq!(exit, 3, "{failed}");
    assert_eq!(read(victim), b"precious");
}

#[tokio::test]
async fn one_refused_file_does_not_keep_the_others_from_being_sent() {
    let folders = Folders::new();
    let (_receiver, address) = receive(folders.receiving(), ANY).await;
    fs::write(folders.received("b"), b"old").expect("written");
    let files = ["a", "b", "c"].map(|name| folders.file(name, name.as_bytes()));

    let mut sender = start_send(&files.each_ref().map(|path| path.as_path()), address, &[]);
    sender.event("sent").await;
    sender.event("failed").await;
    sender.event("sent").await;
    assert_eq!(sender.exit().await, 3);
    assert_eq!(read(folders.received("b")), b"old");
    assert_eq!(read(folders.received("c")), b"c");
}

#[tokio::test]
async fn a_name_that_the_receiver_keeps_for_itself_is_refused() {
    let folders = Folders::new();
    let (_receiver, address) = receive(folders.receiving(), ANY).await;
    let key = read(folders.received(".rudp-key"));
    let file = folders.file(".rudp-key", &content(3, 32));
    let (exit, failed) = fail_to_send(&file, address, &["--force"]).await;
    assert_eq!(exit, 3, "{failed}");
    assert_eq!(read(folders.received(".rudp-key")), key);
    send(&folders.file("ok", b"x"), address, &[]).await;
}
