//! Somebody dies on the way.

use crate::harness::{
    ANY, Folders, content, delays, fail_to_send, read, receive, send, slow, slow_hop, start_send,
};

const LENGTH: usize = 4 << 20;
const ENOUGH: u64 = 1 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_receiver_comes_back_and_the_file_goes_on() {
    let folders = Folders::new();
    let file = folders.file("file", &content(1, LENGTH));
    let (receiver, address) = receive(folders.receiving(), ANY).await;
    let hop = slow_hop(address, slow());
    let mut sender = start_send(&[&file], hop.address, &[]);

    folders.part_reaches("file", LENGTH, ENOUGH).await;
    receiver.kill().await;
    hop.hurry();
    let (mut receiver, _) = receive(folders.receiving(), address).await;

    let started = receiver.event("started").await;
    assert!(started["offset"].as_u64() >= Some(ENOUGH), "{started}");
    assert_eq!(started["offset"], started["on_disk"]);
    let sent = sender.event("sent").await;
    assert_eq!(sender.exit().await, 0);
    assert_eq!(
        (&sent["resumed_from"], &sent["connections"]),
        (&started["offset"], &2.into())
    );
    assert_eq!(read(folders.received("file")), content(1, LENGTH));
    assert_eq!(folders.names(), ["file"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_sender_comes_back_and_the_file_goes_on() {
    let folders = Folders::new();
    let file = folders.file("file", &content(2, LENGTH));
    let (mut receiver, address) = receive(folders.receiving(), ANY).await;
    let hop = slow_hop(address, slow());
    let sender = start_send(&[&file], hop.address, &[]);

    folders.part_reaches("file", LENGTH, ENOUGH).await;
    assert_eq!(receiver.event("started").await["offset"], 0);
    sender.kill().await;
    hop.hurry();
    let sent = send(&file, hop.address, &[]).await;

    let resumed_from = sent["resumed_from"].as_u64();
    assert!(resumed_from >= Some(ENOUGH), "{sent}");
    assert_eq!(
        receiver.event("started").await["offset"].as_u64(),
        resumed_from
    );
    assert_eq!(read(folders.received("file")), content(2, LENGTH));
    assert_eq!(folders.names(), ["file"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_sender_says_so_and_keeps_the_part() {
    let folders = Folders::new();
    let file = folders.file("file", &content(3, LENGTH));
    let (mut receiver, address) = receive(folders.receiving(), ANY).await;
    let hop = slow_hop(address, slow());
    let mut sender = start_send(&[&file], hop.address, &[]);

    folders.part_reaches("file", LENGTH, ENOUGH).await;
    sender.interrupt();
    assert_eq!(sender.event("failed").await["error"], "interrupted");
    assert_eq!(sender.exit().await, 130);
    let lost = receiver.event("lost").await;
    assert_eq!(
        lost["reason"], "closed by the peer, code 0: shutting down",
        "the receiver need not wait"
    );
    receiver.interrupt();
    assert_eq!(receiver.exit().await, 0);
    folders.part_reaches("file", LENGTH, ENOUGH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_receiver_is_awaited() {
    let folders = Folders::new();
    let file = folders.file("file", &content(4, LENGTH));
    let (receiver, address) = receive(folders.receiving(), ANY).await;
    let hop = slow_hop(address, slow());
    let mut sender = start_send(&[&file], hop.address, &[]);

    folders.part_reaches("file", LENGTH, ENOUGH).await;
    receiver.interrupt();
    assert_eq!(receiver.exit().await, 0);
    hop.hurry();
    let (_receiver, _) = receive(folders.receiving(), address).await;
    let sent = sender.event("sent").await;
    assert_eq!(sender.exit().await, 0);
    assert!(sent["resumed_from"].as_u64() >= Some(ENOUGH), "{sent}");
    assert_eq!(read(folders.received("file")), content(4, LENGTH));
}

#[tokio::test]
async fn a_closed_port_is_tried_again_at_the_distances_of_the_backoff() {
    let folders = Folders::new();
    let file = folders.file("file", b"x");
    let (receiver, address) = receive(folders.receiving(), ANY).await;
    receiver.kill().await;

    let (exit, failed) = fail_to_send(&file, address, &["--give-up-after", "5s"]).await;
    assert_eq!(exit, 5);
    let attempts = failed["attempts"].as_array().expect("a list");
    // 1 s and 1.6 s +-20 %, then 2.56 s if the draws were short.
    assert!((3..=4).contains(&attempts.len()), "{failed}");
    for attempt in attempts {
        let outcome = attempt["outcome"].as_str().expect("words");
        assert!(outcome.contains("refused"), "{outcome}");
    }
    for ((planned, actual), nominal) in delays(&failed).into_iter().zip([1.0, 1.6, 2.56]) {
        let bounds = nominal * 0.8e6..=nominal * 1.2e6;
        assert!(
            bounds.contains(&(planned as f64)),
            "{planned} us, nominal {nominal} s"
        );
        // The clock of the machine and the drivers' timers are a millisecond fine.
        assert!(
            actual + 1000 >= planned && actual < planned + 2_000_000,
            "{actual} us, planned {planned} us"
        );
    }
}

#[tokio::test]
async fn a_limit_on_attempts_is_kept() {
    let folders = Folders::new();
    let file = folders.file("file", b"x");
    let (receiver, address) = receive(folders.receiving(), ANY).await;
    receiver.kill().await;
    let (exit, failed) = fail_to_send(&file, address, &["--max-attempts", "2"]).await;
    assert_eq!(
        (exit, failed["attempts"].as_array().map(Vec::len)),
        (5, Some(2))
    );
}
