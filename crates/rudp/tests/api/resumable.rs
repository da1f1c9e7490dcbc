//! Streams that outlive connections: cut in every way there is, and still the same bytes.

mod harness;
mod hint;
mod told;

use std::{
    io,
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rudp::{
    Endpoint, ListenerOptions, Resumable, ResumableListener, ResumableOptions, ResumeError,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{any, within};
use harness::{
    Path, bind, client_options, connect, endpoint_options, forgotten, listen, next, read_all,
    write_all,
};

/// What is inside of an error that a session's stream gave.
fn inside(error: &io::Error) -> Option<&ResumeError> {
    error.get_ref()?.downcast_ref()
}

#[tokio::test]
async fn both_directions_are_delivered_and_the_session_is_forgotten() {
    let (listener, address) = listen(ListenerOptions::default());
    let mut client = connect(address);
    within(client.write_all(b"question")).await.expect("room");
    client.shutdown().await.expect("open");
    let error = within(client.write_all(b"more")).await.expect_err("ended");
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    let mut server = within(listener.accept()).await;
    let mut heard = String::new();
    within(server.read_to_string(&mut heard))
        .await
        .expect("text");
    assert_eq!(heard, "question");
    within(client.delivered()).await.expect("read");
    within(server.write_all(b"answer")).await.expect("room");
    server.shutdown().await.expect("open");
    let mut answer = String::new();
    within(client.read_to_string(&mut answer))
        .await
        .expect("text");
    assert_eq!(answer, "answer");
    within(server.delivered()).await.expect("read");
    within(forgotten(&listener)).await;
}

#[tokio::test]
async fn a_buffer_of_nothing_holds_a_byte() {
    let (listener, address) = listen(ListenerOptions {
        buffer: 0,
        ..ListenerOptions::default()
    });
    let options = ResumableOptions {
        buffer: 0,
        ..client_options()
    };
    let mut client = Resumable::connect(address, options).expect("a good config");
    let said = async {
        client.write_all(b"abc").await.expect("room, in turn");
        client.shutdown().await.expect("open");
    };
    let heard = async {
        let mut server = listener.accept().await;
        let mut heard = Vec::new();
        server.read_to_end(&mut heard).await.expect("bytes");
        heard
    };
    let ((), heard) = within(async { tokio::join!(said, heard) }).await;
    assert_eq!(heard, b"abc");
}

/// The server's endpoint dies 50 times at moments that a seed chooses, and comes back with the
/// sessions it had. Between two cuts more is read than buffers hold, so each costs a connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_cuts_change_no_byte_in_either_direction() {
    const TOTAL: usize = 20_000_000;
    const BUFFER: usize = 65_536;
    const CUTS: u64 = 50;
    let seed = 42;
    let (listener, address) = listen(ListenerOptions {
        buffer: BUFFER,
        ..ListenerOptions::default()
    });
    let options = ResumableOptions {
        buffer: BUFFER,
        ..client_options()
    };
    let client = Resumable::connect(address, options).expect("a good config");
    let (mut client_read, mut client_write) = tokio::io::split(client);
    let server = within(listener.accept()).await;
    let (mut server_read, mut server_write) = tokio::io::split(server);

    let (progress, mut reached) = tokio::sync::watch::channel(0);
    let cuts = async {
        let mut state: u64 = seed;
        for cut in 0..CUTS {
            state = next(state);
            let due = *reached.borrow() + 2 * BUFFER + usize::from(state.to_be_bytes()[0]) * 500;
            if reached.wait_for(|&reached| reached >= due).await.is_err() {
                return cut; // everything is read
            }
            listener.stop().await;
            listener.replace(bind(address));
        }
        CUTS
    };
    let exchange = async {
        let ahead = |total| _ = progress.send_replace(total);
        let hashes = tokio::join!(
            write_all(&mut client_write, seed, TOTAL),
            read_all(&mut server_read, ahead),
            write_all(&mut server_write, seed + 1, TOTAL),
            read_all(&mut client_read, |_| ()),
        );
        drop(progress);
        hashes
    };
    let ((there, heard, back, answer), cuts) = within(async { tokio::join!(exchange, cuts) }).await;
    assert_eq!((heard, answer), (there, back), "seed {seed}");
    assert_eq!(cuts, CUTS);
    let client = client_read.unsplit(client_write);
    assert_eq!(client.connections(), 1 + CUTS);
}

#[tokio::test]
async fn a_dead_path_and_another_port_are_survived() {
    let (listener, server_address) = listen(ListenerOptions::default());
    let path = Path::new(any(), server_address).await;
    let mut client = connect(path.address);
    within(client.write_all(b"before ")).await.expect("room");
    let mut server = within(listener.accept()).await;
    let mut heard = [0; 7];
    within(server.read_exact(&mut heard))
        .await
        .expect("7 bytes");
    assert_eq!(client.connections(), 1);
    let address = path.cut().await;
    within(client.write_all(b"during ")).await.expect("room"); // into the dark
    let _path = Path::new(address, server_address).await;
    within(client.connected(2)).await.expect("it comes back");
    within(client.write_all(b"after")).await.expect("room");
    client.shutdown().await.expect("open");
    let mut rest = String::new();
    within(server.read_to_string(&mut rest))
        .await
        .expect("text");
    assert_eq!(rest, "during after");
    within(client.delivered()).await.expect("read");
}

#[tokio::test]
async fn a_server_that_lost_the_session_says_so_and_how_much_is_open() {
    let (listener, address) = listen(ListenerOptions::default());
    let mut client = connect(address);
    within(client.write_all(b"known")).await.expect("room");
    let mut server = within(listener.accept()).await;
    within(server.read_exact(&mut [0; 5]))
        .await
        .expect("5 bytes");
    within(client.delivered()).await.expect("read");
    listener.stop().await; // nothing is told
    drop((server, listener));
    let _restarted =
        ResumableListener::start(bind(address), ListenerOptions::default()).expect("room");
    within(client.write_all(b"lost")).await.expect("room");
    let lost = ResumeError::SessionUnknown { unread: 4 };
    assert_eq!(within(client.delivered()).await, Err(lost.clone()));
    let error = within(client.read(&mut [0])).await.expect_err("ended");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(inside(&error), Some(&lost));
    let error = within(client.write(b"more")).await.expect_err("ended");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_dropped_handle_is_told_and_a_finished_one_still_delivers() {
    let (listener, address) = listen(ListenerOptions::default());
    let mut client = connect(address);
    within(client.write_all(b"x")).await.expect("room");
    let server = within(listener.accept()).await;
    drop(server);
    let error = within(client.read(&mut [0])).await.expect_err("dropped");
    assert_eq!(inside(&error), Some(&ResumeError::Dropped));

    let mut client = connect(address);
    within(client.write_all(&[7; 1_000_000]))
        .await
        .expect("room");
    client.shutdown().await.expect("open");
    drop(client);
    let mut server = within(listener.accept()).await;
    let mut heard = Vec::new();
    within(server.read_to_end(&mut heard))
        .await
        .expect("all of it");
    assert!(heard == [7; 1_000_000]);
    drop(server);
    within(forgotten(&listener)).await;
}

#[tokio::test]
async fn sessions_are_bounded_in_number_and_in_time() {
    let options = ListenerOptions {
        max_sessions: 1,
        lifetime: Duration::from_millis(50),
        ..ListenerOptions::default()
    };
    let (listener, address) = listen(options);
    let path = Path::new(any(), address).await;
    let mut first = connect(path.address);
    within(first.write_all(b"1")).await.expect("room");
    let mut server = within(listener.accept()).await;
    within(server.read_exact(&mut [0])).await.expect("a byte");

    let mut limited = client_options();
    limited.backoff.max_attempts = NonZeroU32::new(2);
    let mut refused = Resumable::connect(address, limited).expect("a good config");
    let error = within(refused.read(&mut [0])).await.expect_err("no room");
    assert!(
        matches!(inside(&error), Some(ResumeError::GaveUp(_))),
        "{error}"
    );
    assert!(
        error.to_string().contains("no room for one more session"),
        "{error}"
    );

    within(server.write_all(b"unread")).await.expect("room");
    path.cut().await; // for longer than the lifetime
    let error = within(server.read(&mut [0])).await.expect_err("expired");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    within(forgotten(&listener)).await;
    let mut third = connect(address);
    within(third.write_all(b"3")).await.expect("room");
    within(listener.accept()).await;
}

#[tokio::test]
async fn strangers_are_refused_and_change_nothing() {
    let (listener, address) = listen(ListenerOptions::default());
    let endpoint = Endpoint::client_to(address, endpoint_options()).expect("a socket");
    for hello in [&b"GET / HTTP/1.1\r\nHost: example.org\r\n"[..], &[0; 29]] {
        let connection = within(endpoint.connect(address)).await.expect("accepted");
        let (mut send, _recv) = within(connection.open_stream()).await.expect("allowed");
        within(send.write_all(hello)).await.expect("room");
        let reason = within(connection.closed()).await.to_string();
        assert!(reason.contains("no hello of a session"), "{reason}");
    }
    assert_eq!(listener.sessions(), 0);
}

#[tokio::test]
async fn a_writer_waits_when_nobody_reads() {
    let (listener, address) = listen(ListenerOptions::default());
    let mut client = connect(address);
    let written = Arc::new(Mutex::new(0));
    let count = |n: usize| *written.lock().unwrap_or_else(PoisonError::into_inner) += n;
    let fill = async {
        loop {
            count(client.write(&[0; 65_536]).await.expect("open"));
        }
    };
    let read_afterwards = async {
        let server = listener.accept().await;
        // The bound is reached: writing goes on only by what is read.
        while *written.lock().unwrap_or_else(PoisonError::into_inner) < 4 << 20 {
            tokio::task::yield_now().await;
        }
        server
    };
    let mut server = within(async {
        tokio::select! {
            () = fill => unreachable!("it goes on for ever"),
            server = read_afterwards => server,
        }
    })
    .await;
    assert_eq!(
        *written.lock().unwrap_or_else(PoisonError::into_inner),
        4 << 20
    );
    let mut heard = vec![1; 4 << 20];
    within(server.read_exact(&mut heard))
        .await
        .expect("all of it");
    assert!(heard.iter().all(|&byte| byte == 0));
    within(client.delivered()).await.expect("read");
}
