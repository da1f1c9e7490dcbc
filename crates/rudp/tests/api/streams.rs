//! Streams: many at once, how they end, what blocks whom.

use rudp::{CloseReason, Connection, EndpointOptions, StreamError};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    task::JoinSet,
};

use crate::{
    own_end,
    pair::{default_pair, pair},
    within,
};

/// Bytes that tell their stream and place.
fn content(stream: u64, length: usize) -> Vec<u8> {
    (0..length as u64)
        .map(|n| (n * 31 + stream * 7).to_le_bytes()[0])
        .collect()
}

/// Answers every stream with what it says, each in a task of its own.
fn echo(connection: Connection) -> tokio::task::JoinHandle<u64> {
    tokio::spawn(async move {
        let mut tasks = JoinSet::new();
        while let Ok((mut send, mut recv)) = connection.accept_stream().await {
            tasks.spawn(async move {
                tokio::io::copy(&mut recv, &mut send).await.expect("echoed");
                send.finish().expect("open");
            });
        }
        tasks.join_all().await.len() as u64
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_streams_from_eight_tasks_each_get_their_own_bytes() {
    let pair = default_pair().await;
    let echo = echo(pair.server);
    let mut tasks = JoinSet::new();
    for task in 0..8_u64 {
        let client = pair.client.clone();
        tasks.spawn(async move {
            for n in 0..125 {
                let data = content(task * 125 + n, 3000);
                let (mut send, mut recv) = client.open_stream().await.expect("allowed");
                send.write_all(&data).await.expect("room");
                send.finish().expect("open");
                let answer = recv.read_to_end(data.len()).await.expect("all of it");
                assert!(answer == data, "stream {n} of task {task}");
            }
        });
    }
    assert_eq!(within(tasks.join_all()).await.len(), 8);
    assert_eq!(within(pair.client.close(0, "")).await, own_end(0, ""));
    assert_eq!(within(echo).await.expect("no panic"), 1000);
}

#[tokio::test]
async fn an_unfinished_stream_that_is_dropped_never_looks_complete() {
    let pair = default_pair().await;
    let (mut send, recv) = within(pair.client.open_stream()).await.expect("allowed");
    within(send.write_all(b"half of a")).await.expect("room");
    let (_send, mut read) = within(pair.server.accept_stream()).await.expect("one");
    drop(send);
    let read = within(read.read_to_end(100)).await;
    assert_eq!(read, Err(StreamError::Reset(0)));
    drop(recv);
}

#[tokio::test]
async fn a_reset_and_a_stop_carry_their_codes() {
    let pair = default_pair().await;
    let (mut send, mut recv) = within(pair.client.open_stream()).await.expect("allowed");
    within(send.write_all(b"x")).await.expect("room");
    let (mut answer, mut heard) = within(pair.server.accept_stream()).await.expect("one");
    assert_eq!(within(heard.read(&mut [0; 9])).await, Ok(1));
    send.reset(7);
    assert_eq!(send.finish(), Err(StreamError::Finished));
    assert_eq!(
        within(send.acknowledged()).await,
        Err(StreamError::Finished)
    );
    for _ in 0..2 {
        let read = within(heard.read(&mut [0; 9])).await;
        assert_eq!(read, Err(StreamError::Reset(7)), "again and again");
    }
    recv.stop(8);
    assert_eq!(
        within(recv.read(&mut [0])).await,
        Err(StreamError::Finished)
    );
    assert_eq!(within(answer.stopped()).await, Ok(8));
    let written = within(answer.write_all(&[0])).await;
    assert_eq!(written, Err(StreamError::Stopped(8)));
    assert_eq!(
        within(answer.acknowledged()).await,
        Err(StreamError::Stopped(8))
    );
}

#[tokio::test]
async fn a_dropped_reader_stops_its_writer_and_whoever_waits_for_it() {
    let pair = default_pair().await;
    let (mut send, _recv) = within(pair.client.open_stream()).await.expect("allowed");
    within(send.write_all(b"x")).await.expect("room");
    let (_answer, heard) = within(pair.server.accept_stream()).await.expect("one");
    let endless = async {
        loop {
            if let Err(error) = send.write_all(&[0; 65_536]).await {
                break error;
            }
        }
    };
    let drop_it = async { drop(heard) };
    let (error, ()) = within(async { tokio::join!(endless, drop_it) }).await;
    assert_eq!(error, StreamError::Stopped(0));
}

#[tokio::test]
async fn a_finished_stream_that_nobody_reads_to_its_end_keeps_no_one_waiting() {
    let pair = default_pair().await;
    let (mut send, _recv) = within(pair.client.open_stream()).await.expect("allowed");
    // More than the first window: it cannot all be acknowledged.
    within(send.write_all(&vec![1; 2 << 20]))
        .await
        .expect("room");
    send.finish().expect("open");
    let acknowledged = send.acknowledged();
    let (_answer, heard) = within(pair.server.accept_stream()).await.expect("one");
    let drop_it = async { drop(heard) };
    let (acknowledged, ()) = within(async { tokio::join!(acknowledged, drop_it) }).await;
    assert_eq!(acknowledged, Err(StreamError::Stopped(0)));
}

#[tokio::test]
async fn a_reader_that_does_not_read_blocks_only_its_own_stream() {
    let pair = default_pair().await;
    let (mut stuck, _recv) = within(pair.client.open_stream()).await.expect("allowed");
    let fill = async {
        loop {
            stuck.write_all(&[0; 65_536]).await.expect("open");
        }
    };
    let others = async {
        let (_answer, _unread) = pair.server.accept_stream().await.expect("the stuck one");
        for n in 0..20 {
            let data = content(n, 300_000);
            let (mut send, _recv) = pair.client.open_stream().await.expect("allowed");
            let write = async {
                send.write_all(&data).await.expect("room");
                send.finish().expect("open");
            };
            let read = async {
                let (_answer, mut recv) = pair.server.accept_stream().await.expect("one");
                recv.read_to_end(data.len()).await.expect("all of it")
            };
            let ((), read) = tokio::join!(write, read);
            assert!(read == data);
        }
    };
    let others = async {
        tokio::select! {
            () = others => true,
            () = fill => false,
        }
    };
    assert!(within(others).await);
    let left = pair.client.unacknowledged();
    let most = EndpointOptions::default().config.send_buffer as u64;
    assert!(left > 0 && left <= most, "{left} bytes wait for the reader");
}

#[tokio::test]
async fn opening_waits_until_the_peer_allows_one_more() {
    let mut options = EndpointOptions::default();
    options.config.max_streams = 2;
    let pair = pair(options).await;
    let mut open = Vec::new();
    for _ in 0..2 {
        let (mut send, recv) = within(pair.client.open_stream()).await.expect("allowed");
        send.finish().expect("open");
        open.push((send, recv));
    }
    let one_more = pair.client.open_stream();
    tokio::pin!(one_more);
    let end_one = async {
        let (mut send, mut recv) = pair.server.accept_stream().await.expect("one");
        assert_eq!(recv.read(&mut [0]).await, Ok(0));
        send.finish().expect("open");
        assert_eq!(open[0].1.read(&mut [0]).await, Ok(0));
    };
    tokio::select! {
        biased;
        _ = &mut one_more => panic!("two are open"),
        () = async {} => {}
    }
    let (opened, ()) = within(async { tokio::join!(one_more, end_one) }).await;
    opened.expect("there is room again");
}

#[tokio::test]
async fn cancelled_waits_lose_nothing() {
    let pair = default_pair().await;
    let (mut send, _recv) = within(pair.client.open_stream()).await.expect("allowed");
    let mut received = Vec::new();
    let data = content(3, 200);
    let mut accepted = None;
    for byte in &data {
        // Each of these waits is dropped at once, most before anything is there.
        for _ in 0..3 {
            let mut chunk = [0; 7];
            tokio::select! {
                biased;
                stream = pair.server.accept_stream(), if accepted.is_none() => accepted = stream.ok(),
                read = read_some(&mut accepted, &mut chunk) => received.extend_from_slice(&chunk[..read]),
                message = pair.server.recv_message() => drop(message),
                () = tokio::task::yield_now() => {}
            }
        }
        within(send.write_all(&[*byte])).await.expect("room");
    }
    send.finish().expect("open");
    let (_answer, mut recv) = match accepted {
        Some(accepted) => accepted,
        None => within(pair.server.accept_stream()).await.expect("one"),
    };
    received.extend(within(recv.read_to_end(1000)).await.expect("the rest"));
    assert_eq!(received, data);
}

async fn read_some(
    accepted: &mut Option<(rudp::SendStream, rudp::RecvStream)>,
    chunk: &mut [u8],
) -> usize {
    match accepted {
        Some((_, recv)) => recv.read(chunk).await.expect("open"),
        None => std::future::pending().await,
    }
}

#[tokio::test]
async fn a_shutdown_ends_everything_that_waits() {
    let pair = default_pair().await;
    let (mut send, mut recv) = within(pair.client.open_stream()).await.expect("allowed");
    within(send.write_all(b"x")).await.expect("room");
    let (_answer, mut heard) = within(pair.server.accept_stream()).await.expect("one");
    assert_eq!(within(heard.read(&mut [0; 9])).await, Ok(1));
    let (client, server) = pair.endpoints;
    let waiting = async {
        tokio::join!(
            async { recv.read(&mut [0]).await.map(|_| ()) },
            async { pair.client.recv_message().await.map(|_| ()) },
            async { pair.client.accept_stream().await.map(|_| ()) },
            async { send.stopped().await.map(|_| ()) },
            async { heard.read(&mut [0]).await.map(|_| ()) },
        )
    };
    let (ended, ()) = within(async { tokio::join!(waiting, server.shutdown()) }).await;
    let told = StreamError::Closed(CloseReason::Peer {
        code: 0,
        reason: "shutting down".to_owned(),
    });
    let [read, message, accept, stopped] = [ended.0, ended.1, ended.2, ended.3];
    for end in [read, message, accept, stopped] {
        assert!(
            end == Err(told.clone()) || end == Err(StreamError::Closing),
            "{end:?}"
        );
    }
    assert_eq!(
        ended.4,
        Err(StreamError::Closed(own_end(0, "shutting down")))
    );
    within(client.idle()).await;
}

#[tokio::test]
async fn the_last_handle_closes_and_what_was_finished_still_arrives() {
    let pair = default_pair().await;
    let data = content(1, 500_000);
    let (mut send, recv) = within(pair.client.open_stream()).await.expect("allowed");
    within(send.write_all(&data)).await.expect("room");
    send.finish().expect("open");
    drop((send, recv, pair.client));
    let (_answer, mut heard) = within(pair.server.accept_stream()).await.expect("one");
    let heard = within(heard.read_to_end(data.len())).await;
    assert!(heard.expect("all of it") == data);
    let reason = within(pair.server.closed()).await;
    assert!(
        matches!(reason, CloseReason::Peer { code: 0, .. }),
        "{reason}"
    );
    within(pair.endpoints.0.idle()).await;
}

#[tokio::test]
async fn a_stream_longer_than_the_limit_is_not_kept() {
    let pair = default_pair().await;
    let (mut send, _recv) = within(pair.client.open_stream()).await.expect("allowed");
    within(send.write_all(&[0; 101])).await.expect("room");
    send.shutdown().await.expect("open");
    let (_answer, mut heard) = within(pair.server.accept_stream()).await.expect("one");
    let (length, limit) = (101, 100);
    let error = within(heard.read_to_end(100)).await;
    assert_eq!(error, Err(StreamError::TooLong { length, limit }));
    let mut heard = heard.take(0);
    heard
        .read_to_end(&mut Vec::new())
        .await
        .expect("AsyncRead, too");
}
