//! All goes well, or at least nobody dies.

use std::{fs, time::Duration};

use netsim::{LinkConfig, Probability};

use crate::harness::{
    ANY, Folders, content, fail_to_send, hop, part_name, read, receive, send, slow, start_send,
};

#[tokio::test]
async fn files_of_all_sizes_arrive_one_after_the_other() {
    let folders = Folders::new();
    let (mut receiver, address) = receive(folders.receiving(), ANY).await;
    let files = [
        ("empty", 0),
        ("one", 1),
        ("packet", 1200),
        ("chunk", 256 << 10),
        ("large", 5_000_001),
    ];
    let paths = files.map(|(name, length)| folders.file(name, &content(1, length)));

    let mut sender = start_send(&paths.each_ref().map(|path| path.as_path()), address, &[]);
    for (name, length) in files {
        let expected = content(1, length);
        let hash = blake3::hash(&expected).to_string();
        let sent = sender.event("sent").await;
        assert_eq!(
            (&sent["file"], &sent["bytes"]),
            (&name.into(), &length.into())
        );
        assert_eq!(sent["blake3"], hash);
        assert_eq!(receiver.event("done").await["blake3"], hash);
        assert_eq!(read(folders.received(name)), expected, "{name}");
    }
    assert_eq!(sender.exit().await, 0);
    assert_eq!(
        folders.names(),
        ["chunk", "empty", "large", "one", "packet"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_survives_loss_reordering_duplication_and_corruption() {
    let folders = Folders::new();
    let (_receiver, address) = receive(folders.receiving(), ANY).await;
    let percent = |percent| Probability::from_percent(percent).expect("a share");
    let hop = hop(
        address,
        LinkConfig {
            delay: Duration::from_millis(3),
            jitter: Duration::from_millis(1),
            loss: percent(3),
            reorder: percent(2),
            duplicate: percent(2),
            corrupt: percent(1),
            mtu: Some(1_500),
            ..LinkConfig::PERFECT
        },
    );
    let file = folders.file("file", &content(2, 1 << 20));

    let sent = send(&file, hop.address, &[]).await;
    assert!(
        sent["totals"]["packets_lost"].as_u64().expect("a number") > 0,
        "the network was bad: {sent}"
    );
    assert_eq!(read(folders.received("file")), content(2, 1 << 20));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_senders_of_different_files_do_not_disturb_each_other() {
    let folders = Folders::new();
    let (_receiver, address) = receive(folders.receiving(), ANY).await;
    let hop = hop(address, slow());
    let (a, b) = (content(3, 1 << 20), content(4, 1 << 20));
    let (file_a, file_b) = (folders.file("a", &a), folders.file("b", &b));

    tokio::join!(
        send(&file_a, hop.address, &[]),
        send(&file_b, hop.address, &[])
    );
    assert_eq!(
        (read(folders.received("a")), read(folders.received("b"))),
        (a, b)
    );
}

#[tokio::test]
async fn the_same_file_again_is_already_there() {
    let folders = Folders::new();
    let (mut receiver, address) = receive(folders.receiving(), ANY).await;
    let file = folders.file("file", &content(5, 100_000));
    assert_eq!(send(&file, address, &[]).await["already_there"], false);
    receiver.event("done").await;

    let again = send(&file, address, &[]).await;
    assert_eq!(again["already_there"], true);
    assert!(
        again["totals"]["bytes_sent"].as_u64().expect("a number") < 10_000,
        "nothing was sent: {again}"
    );
    assert_eq!(receiver.event("done").await["already_there"], true);
}

#[tokio::test]
async fn another_file_of_the_same_name_is_replaced_only_by_force() {
    let folders = Folders::new();
    let (_receiver, address) = receive(folders.receiving(), ANY).await;
    let new = content(6, 1000);
    let file = folders.file("file", &new);
    for old in [content(7, 1000), content(7, 10)] {
        fs::write(folders.received("file"), &old).expect("written");
        let (exit, failed) = fail_to_send(&file, address, &[]).await;
        let error = failed["error"].as_str().expect("a reason");
        assert_eq!(exit, 3);
        assert!(error.contains("--force"), "{error}");
        assert_eq!(read(folders.received("file")), old);

        send(&file, address, &["--force"]).await;
        assert_eq!(read(folders.received("file")), new);
        assert_eq!(folders.names(), ["file"]);
    }
}

#[tokio::test]
async fn a_part_that_is_the_start_of_the_file_is_continued_and_any_other_is_not() {
    let folders = Folders::new();
    let (mut receiver, address) = receive(folders.receiving(), ANY).await;
    let whole = content(8, 300_000);
    for (case, part, resumed_from) in [
        ("good", &whole[..200_000], 200_000),
        ("complete", &whole[..], 300_000),
        ("corrupted", &content(9, 200_000)[..], 0),
        ("too long", &content(8, 300_001)[..], 0),
    ] {
        let file = folders.file(case, &whole);
        fs::write(folders.received(&part_name(case, whole.len())), part).expect("written");
        assert_eq!(
            send(&file, address, &[]).await["resumed_from"],
            resumed_from,
            "{case}"
        );
        assert_eq!(
            receiver.event("started").await["offset"],
            resumed_from,
            "{case}"
        );
        assert_eq!(read(folders.received(case)), whole, "{case}");
    }
    assert_eq!(
        folders.names(),
        ["complete", "corrupted", "good", "too long"]
    );
}
