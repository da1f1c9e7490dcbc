//! Streams that outlive connections: cut in every way there is, and still the same bytes.

use std::{
    io,
    net::SocketAddr,
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use grpc_backoff::Outcome;
use rudp::{
    CloseReason, Endpoint, EndpointOptions, ListenerOptions, Observer, Resumable,
    ResumableListener, ResumableOptions, ResumeError, ResumeEvent, Resuming,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::UdpSocket,
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::JoinHandle,
    time::timeout,
};

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(120), future)
        .await
        .expect("within two minutes")
}

fn any() -> SocketAddr {
    "127.0.0.1:0".parse().expect("an address")
}

/// A path that is dead for a second is noticed; a lost connection is dialled again at once.
fn endpoint_options() -> EndpointOptions {
    let mut options = EndpointOptions {
        reset_key: [7; 32],
        ..EndpointOptions::default()
    };
    options.config.idle_timeout = Duration::from_secs(1);
    options.config.keepalive = Some(Duration::from_millis(300));
    options
}

fn client_options() -> ResumableOptions {
    ResumableOptions {
        endpoint: endpoint_options(),
        backoff: grpc_backoff::Config {
            initial_backoff: Duration::from_millis(5),
            max_backoff: Duration::from_millis(50),
            ..grpc_backoff::Config::GRPC
        },
        ..ResumableOptions::default()
    }
}

fn bind(address: SocketAddr) -> Endpoint {
    Endpoint::bind(address, endpoint_options()).expect("a socket")
}

fn listen(options: ListenerOptions) -> (ResumableListener, SocketAddr) {
    let endpoint = bind(any());
    let address = endpoint.local_addr();
    (ResumableListener::start(endpoint, options), address)
}

fn connect(address: SocketAddr) -> Resumable {
    Resumable::connect(address, client_options()).expect("a good config")
}

/// A path between a client and a server that can be cut, and that changes the client's port.
struct Path {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Path {
    /// Forwards every datagram; a new client gets a port of its own.
    async fn new(address: SocketAddr, server: SocketAddr) -> Self {
        let front = loop {
            match UdpSocket::bind(address).await {
                Ok(socket) => break Arc::new(socket),
                Err(_) => tokio::task::yield_now().await, // the path before holds it
            }
        };
        let address = front.local_addr().expect("bound");
        let task = tokio::spawn(async move {
            let mut ways: Vec<(SocketAddr, Arc<UdpSocket>, AbortOnDrop)> = Vec::new();
            let mut datagram = [0; 2000];
            loop {
                let Ok((length, client)) = front.recv_from(&mut datagram).await else {
                    continue; // a report of a closed port
                };
                if !ways.iter().any(|way| way.0 == client) {
                    let back = UdpSocket::bind(any()).await.expect("a socket");
                    back.connect(server).await.expect("an address");
                    let back = Arc::new(back);
                    let answers = tokio::spawn(answers(back.clone(), front.clone(), client));
                    ways.push((client, back, AbortOnDrop(answers)));
                }
                let way = ways.iter().find(|way| way.0 == client).expect("just made");
                _ = way.1.send(&datagram[..length]).await;
            }
        });
        Self { address, task }
    }

    /// Nothing gets through any more.
    async fn cut(self) -> SocketAddr {
        self.task.abort();
        _ = self.task.await;
        self.address
    }
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn answers(back: Arc<UdpSocket>, front: Arc<UdpSocket>, client: SocketAddr) {
    let mut datagram = [0; 2000];
    loop {
        if let Ok(length) = back.recv(&mut datagram).await {
            _ = front.send_to(&datagram[..length], client).await;
        }
    }
}

/// Writes `total` bytes that a generator with this seed makes, and returns their hash.
async fn write_all(
    stream: &mut (impl AsyncWrite + Unpin),
    seed: u64,
    total: usize,
) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let (mut state, mut left) = (seed, total);
    while left > 0 {
        let chunk: Vec<u8> = (0..left.min(10_000))
            .map(|_| {
                state = next(state);
                state.to_be_bytes()[0]
            })
            .collect();
        hasher.update(&chunk);
        stream.write_all(&chunk).await.expect("written");
        left -= chunk.len();
    }
    stream.shutdown().await.expect("finished");
    hasher.finalize()
}

/// Reads to the end, tells of every piece, and returns the hash.
async fn read_all(
    stream: &mut (impl AsyncRead + Unpin),
    mut progress: impl FnMut(usize),
) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let (mut chunk, mut total) = (vec![0; 20_000], 0);
    loop {
        let count = stream.read(&mut chunk).await.expect("read");
        if count == 0 {
            return hasher.finalize();
        }
        hasher.update(&chunk[..count]);
        total += count;
        progress(total);
    }
}

#[tokio::test]
async fn both_directions_are_delivered_and_the_session_is_forgotten() {
    let (listener, address) = listen(ListenerOptions::default());
    let mut client = connect(address);
    within(client.write_all(b"question")).await.expect("room");
    client.shutdown().await.expect("open");
    let error = within(client.write_all(b"more")).await.expect_err("ended");
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    let mut server = within(listener.accept()).await.expect("one");
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

async fn forgotten(listener: &ResumableListener) {
    while listener.sessions() > 0 {
        tokio::task::yield_now().await;
    }
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
    let server = within(listener.accept()).await.expect("one");
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

/// A step of a generator.
fn next(state: u64) -> u64 {
    state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1)
}

#[tokio::test]
async fn a_dead_path_and_another_port_are_survived() {
    let (listener, server_address) = listen(ListenerOptions::default());
    let path = Path::new(any(), server_address).await;
    let mut client = connect(path.address);
    within(client.write_all(b"before ")).await.expect("room");
    let mut server = within(listener.accept()).await.expect("one");
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

/// An observer, and what it hears.
fn ear() -> (Observer<ResumeEvent>, UnboundedReceiver<ResumeEvent>) {
    let (sender, heard) = unbounded_channel();
    let observe = move |event| _ = sender.send(event); // an error: nobody listens any more
    (Arc::new(observe), heard)
}

#[tokio::test]
async fn each_side_hears_of_cuts_attempts_and_what_is_sent_again() {
    let (observe, mut at_server) = ear();
    let (listener, server_address) = listen(ListenerOptions {
        observe: Some(observe),
        ..ListenerOptions::default()
    });
    let path = Path::new(any(), server_address).await;
    let (observe, mut at_client) = ear();
    let options = ResumableOptions {
        observe: Some(observe),
        ..client_options()
    };
    let mut client = Resumable::connect(path.address, options).expect("a good config");
    let mut server = within(listener.accept()).await.expect("one");
    within(client.write_all(b"before")).await.expect("room");
    within(server.read_exact(&mut [0; 6]))
        .await
        .expect("6 bytes");
    within(client.delivered()).await.expect("read");
    let address = path.cut().await;
    within(client.write_all(b"into the dark"))
        .await
        .expect("room");
    let mut heard = Vec::new();
    let mut path = None;
    while heard.last() != Some(&carried(2, 13)) {
        let event = within(at_client.recv()).await.expect("it goes on");
        assert_eq!((event.session, client.number()), (0, 0));
        if matches!(event.what, Resuming::CutOff(_)) {
            path = Some(Path::new(address, server_address).await); // it is light again
        }
        heard.push(event.what);
    }
    drop(path);
    let cut = |what: &Resuming| matches!(what, Resuming::CutOff(CloseReason::Lost(_)));
    let attempts = heard.iter().filter_map(|what| match what {
        Resuming::Attempt(attempt) => Some(attempt),
        _ => None,
    });
    for (number, attempt) in attempts.enumerate() {
        assert_eq!(attempt.number, number as u64);
        assert_eq!(attempt.planned.is_none(), number == 0, "{attempt:?}");
        assert!(
            attempt.backoff >= Duration::from_millis(4),
            "5 ms less 20 %"
        );
    }
    let connected = |what: &Resuming| match what {
        Resuming::Attempt(attempt) => attempt.outcome == Outcome::Connected,
        _ => false,
    };
    assert!(connected(&heard[0]) && heard[1] == carried(1, 0) && cut(&heard[2]));
    let end = heard.len() - 2;
    assert!(connected(&heard[end]), "{heard:?}");

    for number in 0..3 {
        let event = within(at_server.recv()).await.expect("it goes on");
        assert_eq!((event.session, server.number()), (0, 0));
        match number {
            0 => assert_eq!(event.what, carried(1, 0)),
            1 => assert!(matches!(event.what, Resuming::CutOff(_)), "{event:?}"),
            _ => assert_eq!(event.what, carried(2, 0)),
        }
    }
    let _next = connect(server_address);
    let next = within(listener.accept()).await.expect("one more");
    assert_eq!(next.number(), 1);
    let event = within(at_server.recv()).await.expect("it is told of");
    assert_eq!((event.session, event.what), (1, carried(1, 0)));
}

fn carried(connections: u64, replayed: u64) -> Resuming {
    Resuming::Carried {
        connections,
        replayed,
    }
}

#[tokio::test]
async fn a_server_that_lost_the_session_says_so_and_how_much_is_open() {
    let (listener, address) = listen(ListenerOptions::default());
    let mut client = connect(address);
    within(client.write_all(b"known")).await.expect("room");
    let mut server = within(listener.accept()).await.expect("one");
    within(server.read_exact(&mut [0; 5]))
        .await
        .expect("5 bytes");
    within(client.delivered()).await.expect("read");
    listener.stop().await; // nothing is told
    drop((server, listener));
    let _restarted = ResumableListener::start(bind(address), ListenerOptions::default());
    within(client.write_all(b"lost")).await.expect("room");
    let lost = ResumeError::SessionUnknown { unread: 4 };
    assert_eq!(within(client.delivered()).await, Err(lost.clone()));
    let error = within(client.read(&mut [0])).await.expect_err("ended");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    let inside = error
        .get_ref()
        .and_then(|it| it.downcast_ref::<ResumeError>());
    assert_eq!(inside, Some(&lost));
    let error = within(client.write(b"more")).await.expect_err("ended");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_dropped_handle_is_told_and_a_finished_one_still_delivers() {
    let (listener, address) = listen(ListenerOptions::default());
    let mut client = connect(address);
    within(client.write_all(b"x")).await.expect("room");
    let server = within(listener.accept()).await.expect("one");
    drop(server);
    let error = within(client.read(&mut [0])).await.expect_err("dropped");
    let inside = error
        .get_ref()
        .and_then(|it| it.downcast_ref::<ResumeError>());
    assert_eq!(inside, Some(&ResumeError::Dropped));

    let mut client = connect(address);
    within(client.write_all(&[7; 1_000_000]))
        .await
        .expect("room");
    client.shutdown().await.expect("open");
    drop(client);
    let mut server = within(listener.accept()).await.expect("one");
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
    let mut server = within(listener.accept()).await.expect("one");
    within(server.read_exact(&mut [0])).await.expect("a byte");

    let mut limited = client_options();
    limited.backoff.max_attempts = NonZeroU32::new(2);
    let mut refused = Resumable::connect(address, limited).expect("a good config");
    let error = within(refused.read(&mut [0])).await.expect_err("no room");
    let inside = error
        .get_ref()
        .and_then(|it| it.downcast_ref::<ResumeError>());
    assert!(matches!(inside, Some(ResumeError::GaveUp(_))), "{error}");
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
    within(listener.accept())
        .await
        .expect("there is room again");
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
        let server = listener.accept().await.expect("one");
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
