//! One side is the program, the other one breaks the rules.

use std::{fs, net::SocketAddr};

use rudp::{
    CloseReason, Connection, Endpoint, EndpointOptions, RecvStream, SendStream, StreamError,
    protocol::{Message, RefusalCode, read_message, write_message},
};
use tokio::{
    io::{AsyncWriteExt, Join, join},
    net::UdpSocket,
};

use crate::harness::{ANY, Folders, content, fail_to_send, part_name, receive, send, within};

/// What is at the other side of the program: a connection and the stream on it.
struct Peer {
    connection: Connection,
    stream: Join<RecvStream, SendStream>,
}

async fn connect(server: SocketAddr) -> (Endpoint, Peer) {
    let endpoint = Endpoint::client_to(server, EndpointOptions::default()).expect("a socket");
    let connection = within("a connection", endpoint.connect(server))
        .await
        .expect("accepted");
    let opened = within("a stream", connection.open_stream()).await;
    (endpoint, peer(connection, opened))
}

fn peer(connection: Connection, stream: Result<(SendStream, RecvStream), StreamError>) -> Peer {
    let (send, recv) = stream.expect("a stream");
    let stream = join(recv, send);
    Peer { connection, stream }
}

fn offer(name: &str, length: u64) -> Message {
    Message::Offer {
        length,
        force: true,
        name: name.to_owned(),
    }
}

async fn say(peer: &mut Peer, message: Message) {
    write_message(&mut peer.stream, &message)
        .await
        .expect("written");
}

async fn refusal(peer: &Peer) -> RefusalCode {
    match within("a refusal", peer.connection.closed()).await {
        CloseReason::Peer { code, .. } => RefusalCode::from_wire(code).expect("a known code"),
        other => panic!("no refusal: {other}"),
    }
}

#[tokio::test]
async fn path_tricks_are_refused() {
    let folders = Folders::new();
    let inner = folders.received("inner");
    fs::create_dir(&inner).expect("created");
    let (_receiver, address) = receive(&inner, ANY).await;
    let long = "n".repeat(224);
    let absolute = folders.received("x").display().to_string();
    let relative = ["", ".", "..", "../x", "./x", "a/b", "a\\b", "a\0b"];
    let own = [".rudp-key", ".a.1.rudp-part"];
    for name in relative.iter().chain(&own).chain(&[&*absolute, &long]) {
        let (_endpoint, mut peer) = connect(address).await;
        say(&mut peer, offer(name, 1)).await;
        assert_eq!(refusal(&peer).await, RefusalCode::BadName, "{name:?}");
    }
    assert_eq!(folders.names(), ["inner"]);
    let left = fs::read_dir(&inner).expect("readable").count();
    assert_eq!(left, 1, "only the key");
}

#[tokio::test]
async fn content_that_does_not_match_its_hash_gets_no_name() {
    let folders = Folders::new();
    let (_receiver, address) = receive(folders.receiving(), ANY).await;
    let (_endpoint, mut peer) = connect(address).await;
    say(&mut peer, offer("file", 3)).await;
    let resume = within("an answer", read_message(&mut peer.stream))
        .await
        .expect("a message");
    assert_eq!(
        resume,
        Message::Resume {
            offset: 0,
            prefix: blake3::hash(b"")
        }
    );
    say(&mut peer, Message::Begin { offset: 0 }).await;
    peer.stream.write_all(b"abc").await.expect("written");
    say(
        &mut peer,
        Message::End {
            hash: blake3::hash(b"abd"),
        },
    )
    .await;
    assert_eq!(refusal(&peer).await, RefusalCode::HashMismatch);
    assert_eq!(folders.names(), [""; 0]);
}

#[tokio::test]
async fn senders_that_break_the_file_protocol_are_refused() {
    let folders = Folders::new();
    let (mut receiver, address) = receive(folders.receiving(), ANY).await;
    let garbage: [&[u8]; 3] = [b"GET / HTTP/1.1\r\n\r\n", &[1, 0xff, 0xff], &[7, 0, 0]];
    for bytes in garbage {
        let (_endpoint, mut peer) = connect(address).await;
        peer.stream.write_all(bytes).await.expect("written");
        assert_eq!(refusal(&peer).await, RefusalCode::Protocol, "{bytes:?}");
    }
    let (_endpoint, mut peer) = connect(address).await;
    say(&mut peer, offer("file", 3)).await;
    say(&mut peer, Message::Begin { offset: 2 }).await;
    assert_eq!(
        refusal(&peer).await,
        RefusalCode::Protocol,
        "an offset of its own"
    );
    let (_endpoint, mut peer) = connect(address).await;
    peer.stream.shutdown().await.expect("finished");
    assert_eq!(refusal(&peer).await, RefusalCode::Protocol, "no offer");
    for _ in 0..5 {
        receiver.event("refused").await;
    }
    assert_eq!(folders.names(), [part_name("file", 3)]);
}

#[tokio::test]
async fn datagrams_of_any_other_kind_change_nothing() {
    let folders = Folders::new();
    let (_receiver, address) = receive(folders.receiving(), ANY).await;
    let socket = UdpSocket::bind(ANY).await.expect("a socket");
    for length in [0, 1, 20, 1200, 1201, 9000] {
        socket
            .send_to(&content(1, length), address)
            .await
            .expect("sent");
    }
    send(&folders.file("file", b"x"), address, &[]).await;
    assert_eq!(folders.names(), ["file"]);
}

/// An endpoint that is no receiver, and what it does with the first offer.
async fn false_receiver(answer: impl AsyncFnOnce(&mut Peer)) -> (i32, String) {
    let folders = Folders::new();
    let file = folders.file("file", b"abc");
    let endpoint = Endpoint::bind(ANY.parse().expect("an address"), EndpointOptions::default());
    let endpoint = endpoint.expect("a socket");
    let receiver = async {
        let connection = within("a connection", endpoint.accept())
            .await
            .expect("one");
        let accepted = within("a stream", connection.accept_stream()).await;
        let mut peer = peer(connection, accepted);
        let offer = within("an offer", read_message(&mut peer.stream))
            .await
            .expect("a message");
        assert_eq!(
            offer,
            Message::Offer {
                length: 3,
                force: false,
                name: "file".to_owned()
            }
        );
        answer(&mut peer).await;
        within("the end", peer.connection.closed()).await;
    };
    let ((exit, failed), ()) =
        tokio::join!(fail_to_send(&file, endpoint.local_addr(), &[]), receiver);
    (exit, failed["error"].as_str().expect("a reason").to_owned())
}

#[tokio::test]
async fn a_hash_mismatch_has_an_exit_code_of_its_own() {
    let refuse = async |peer: &mut Peer| {
        peer.connection
            .abort(RefusalCode::HashMismatch.to_wire(), "it was damaged");
    };
    let (exit, error) = false_receiver(refuse).await;
    assert_eq!(
        (exit, error.as_str()),
        (4, "refused by the receiver: it was damaged")
    );
}

#[tokio::test]
async fn receivers_that_break_the_file_protocol_are_given_up() {
    for message in [
        Message::Done,
        Message::Resume {
            offset: 4,
            prefix: blake3::hash(b"abcd"),
        },
        Message::End {
            hash: blake3::hash(b"abc"),
        },
    ] {
        let case = format!("{message:?}");
        let (exit, error) = false_receiver(async move |peer| say(peer, message).await).await;
        assert_eq!(exit, 1, "{case}");
        assert!(error.contains("broke the file protocol"), "{case}: {error}");
    }
}

#[tokio::test]
async fn pings_at_any_time_are_skipped() {
    let (exit, error) = false_receiver(async |peer: &mut Peer| {
        say(peer, Message::Ping).await;
        say(
            peer,
            Message::Resume {
                offset: 0,
                prefix: blake3::hash(b""),
            },
        )
        .await;
        say(peer, Message::Ping).await;
        let begin = read_message(&mut peer.stream).await.expect("a message");
        assert_eq!(begin, Message::Begin { offset: 0 });
        peer.connection
            .abort(RefusalCode::NotAllowed.to_wire(), "enough seen");
    })
    .await;
    assert_eq!(
        (exit, error.as_str()),
        (3, "refused by the receiver: enough seen")
    );
}

#[tokio::test]
async fn each_attempt_to_connect_comes_from_a_socket_of_its_own() {
    let folders = Folders::new();
    let file = folders.file("file", b"abc");
    let endpoint = Endpoint::bind(ANY.parse().expect("an address"), EndpointOptions::default());
    let endpoint = endpoint.expect("a socket");
    let receiver = async {
        let mut peers = Vec::new();
        for code in [0, RefusalCode::NotAllowed.to_wire()] {
            let connection = within("a connection", endpoint.accept()).await;
            let connection = connection.expect("one");
            peers.push(connection.peer_addr().expect("connected"));
            connection.abort(code, "go away");
            within("the end", connection.closed()).await;
        }
        peers
    };
    let ((exit, _), peers) =
        tokio::join!(fail_to_send(&file, endpoint.local_addr(), &[]), receiver);
    assert_eq!(exit, 3);
    assert_ne!(peers[0], peers[1]);
}
