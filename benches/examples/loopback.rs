//! How fast a bulk stream crosses the loopback interface, and what it costs, beside plain UDP
//! that the kernel cuts and joins (GSO, GRO).
//!
//! ```sh
//! cargo run --release -p benches --example loopback            # GiB to send: 4
//! cargo run --release -p benches --example loopback -- 8 check # compares what arrives, too
//! ```
//!
//! Each side has one thread. GB/s is stream data over time from connect to close; CPU-s/GB is
//! what both sides took, kernel included. "Asleep" is the share of the time in which the sender and
//! the receiver had nothing to do: neither ran nor waited for a processor, so it tells a transport
//! that waits from a machine that is busy. "Lost" counts datagrams.

#![expect(clippy::disallowed_methods, reason = "measures time")]

use std::{
    env, fs,
    io::{BufRead, BufReader, IoSliceMut},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use rudp::{Config, Endpoint, EndpointOptions};
use tokio::{io::Interest, net::UdpSocket, runtime, time::timeout};

const BLOCK: usize = 1 << 16;
/// The longest datagram, in bytes: what the default is over this interface, over Ethernet, and over
/// Ethernet with jumbo frames.
const LONGEST: [Option<usize>; 3] = [None, Some(1_500 - 20 - 8), Some(9_000 - 20 - 8)];
const LOCAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

fn main() -> Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let check = args.contains(&"check");
    if let ["serve", ..] = args[..] {
        let used = run(serve(check, None, |address| println!("{address}")))?;
        println!("{} {}", used.cpu.as_nanos(), used.asleep.as_nanos());
        return Ok(());
    }
    let gib = args.first().copied().unwrap_or("4");
    let wrong = || format!("{gib} is not a number of GiB from 1 to 1024");
    let gib: u64 = gib.parse().with_context(wrong)?;
    ensure!((1..=1024).contains(&gib), wrong());
    let bytes = gib << 30;

    println!("{gib} GiB                        GB/s  CPU-s/GB   asleep, %    lost");
    report("UDP of 1200 B, GSO, GRO", &raw(bytes)?);
    for longest in LONGEST {
        let outcome = two_threads(bytes, check, longest)?;
        report(
            &format!("rudp of {} B, two threads", outcome.datagram),
            &outcome,
        );
    }
    let outcome = two_processes(bytes, check)?;
    report(
        &format!("rudp of {} B, two processes", outcome.datagram),
        &outcome,
    );
    Ok(())
}

/// A transfer, as its two sides saw it.
struct Outcome {
    datagram: u64,
    bytes: u64,
    time: Duration,
    sender: Used,
    receiver: Used,
    lost: Option<u64>,
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn report(what: &str, outcome: &Outcome) {
    let gb = outcome.bytes as f64 / 1e9;
    let cpu = (outcome.sender.cpu + outcome.receiver.cpu).as_secs_f64();
    let (rate, cost) = (gb / outcome.time.as_secs_f64(), cpu / gb);
    let asleep = |side: &Used| 100.0 * side.asleep.div_duration_f64(outcome.time);
    let (sender, receiver) = (asleep(&outcome.sender), asleep(&outcome.receiver));
    let lost = outcome
        .lost
        .map_or_else(|| "-".into(), |lost| lost.to_string());
    println!("{what:<29} {rate:5.2} {cost:9.2} {sender:5.0} {receiver:5.0} {lost:>7}");
}

fn run<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(future)
}

fn two_threads(bytes: u64, check: bool, longest: Option<usize>) -> Result<Outcome> {
    let (tell, told) = mpsc::channel();
    let serve = move || run(serve(check, longest, move |address| _ = tell.send(address)));
    let server = thread::spawn(serve);
    let sent = run(send(told.recv()?, bytes, longest))?;
    let receiver = server.join().expect("the server ends by itself")?;
    Ok(Outcome { receiver, ..sent })
}

fn two_processes(bytes: u64, check: bool) -> Result<Outcome> {
    let mut server = Command::new(env::current_exe()?)
        .arg("serve")
        .args(check.then_some("check"))
        .stdout(Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(server.stdout.take().context("a pipe")?).lines();
    let address = lines.next().context("an address")??.parse()?;
    let sent = run(send(address, bytes, None))?;
    let theirs = lines.next().context("what it used")??;
    let (cpu, asleep) = theirs.split_once(' ').context("two numbers")?;
    ensure!(server.wait()?.success());
    let receiver = Used {
        cpu: Duration::from_nanos(cpu.parse()?),
        asleep: Duration::from_nanos(asleep.parse()?),
    };
    Ok(Outcome { receiver, ..sent })
}

fn options(max_datagram: Option<usize>) -> EndpointOptions {
    let config = Config {
        max_datagram,
        ..Config::DEFAULT
    };
    EndpointOptions {
        config,
        ..EndpointOptions::default()
    }
}

/// What the receiver used is not in the answer.
async fn send(to: SocketAddr, bytes: u64, longest: Option<usize>) -> Result<Outcome> {
    let endpoint = Endpoint::client_to(to, options(longest))?;
    let block = block();
    let usage = Usage::begin()?;
    let connection = endpoint.connect(to).await?;
    let (mut send, _recv) = connection.open_stream().await?;
    for _ in 0..bytes / BLOCK as u64 {
        send.write_all(&block).await?;
    }
    send.finish()?;
    connection.close(0, "").await;
    let (time, sender) = usage.end()?;
    endpoint.shutdown().await;
    let stats = connection.stats();
    Ok(Outcome {
        datagram: stats.datagram_size,
        bytes,
        time,
        sender,
        receiver: Used::default(),
        lost: Some(stats.packets_lost),
    })
}

/// Takes one connection, and all that its first stream carries.
async fn serve(check: bool, longest: Option<usize>, tell: impl FnOnce(SocketAddr)) -> Result<Used> {
    let endpoint = Endpoint::bind(LOCAL, options(longest))?;
    tell(endpoint.local_addr());
    let connection = endpoint.accept().await.context("a connection")?;
    let usage = Usage::begin()?;
    let (_send, mut recv) = connection.accept_stream().await?;
    let (expected, mut received) = (block(), vec![0; BLOCK]);
    let mut at = 0;
    loop {
        let len = recv.read(&mut received[..BLOCK - at]).await?;
        if len == 0 {
            break;
        }
        ensure!(!check || received[..len] == expected[at..at + len]);
        at = (at + len) % BLOCK;
    }
    connection.closed().await;
    let (_, used) = usage.end()?;
    endpoint.shutdown().await;
    Ok(used)
}

fn block() -> Vec<u8> {
    (0..BLOCK)
        .map(|i| ((i * 31) ^ (i >> 8)).to_le_bytes()[0])
        .collect()
}

/// Datagrams of 1,200 bytes, as fast as the kernel takes them: what arrived, and in which time.
fn raw(bytes: u64) -> Result<Outcome> {
    let (tell, told) = mpsc::channel();
    let receiver = thread::spawn(move || {
        run(async {
            let io = UdpSocket::bind(LOCAL).await?;
            let state = UdpSocketState::new((&io).into())?;
            tell.send(io.local_addr()?)?;
            let mut buffers = vec![0; 4 << 16];
            let (mut received, mut usage, mut end) = (0, None, Instant::now());
            while timeout(Duration::from_millis(300), io.readable())
                .await
                .is_ok()
                || usage.is_none()
            {
                let mut metas = [RecvMeta::default(); 4];
                let mut slices: Vec<_> = buffers.chunks_mut(1 << 16).map(IoSliceMut::new).collect();
                let count = io.try_io(Interest::READABLE, || {
                    state.recv((&io).into(), &mut slices, &mut metas)
                });
                let Ok(count) = count else { continue };
                end = Instant::now();
                if usage.is_none() {
                    usage = Some(Usage::begin()?);
                }
                received += metas[..count]
                    .iter()
                    .map(|meta| meta.len as u64)
                    .sum::<u64>();
            }
            let usage = usage.context("something that arrived")?;
            Ok((received, usage.until(end)?))
        })
    });
    let to = told.recv()?;
    let sender = run(async {
        let usage = Usage::begin()?;
        let io = UdpSocket::bind(LOCAL).await?;
        let state = UdpSocketState::new((&io).into())?;
        let most = state.max_gso_segments().min(54);
        let contents = vec![0x5a; most * 1_200];
        let batch = Transmit {
            destination: to,
            ecn: None,
            contents: &contents,
            segment_size: Some(1_200),
            src_ip: None,
        };
        let mut sent = 0;
        while sent < bytes {
            io.writable().await?;
            let send = || state.try_send((&io).into(), &batch);
            if io.try_io(Interest::WRITABLE, send).is_ok() {
                sent += contents.len() as u64;
            }
        }
        Ok(usage.end()?.1)
    })?;
    let (bytes, (time, receiver)) = receiver.join().expect("the receiver ends by itself")?;
    Ok(Outcome {
        datagram: 1_200,
        bytes,
        time,
        sender,
        receiver,
        lost: None,
    })
}

/// What a thread did with its time.
#[derive(Default)]
struct Used {
    cpu: Duration,
    asleep: Duration,
}

/// A thread's use of its time from a moment on.
struct Usage {
    start: Instant,
    cpu: Duration,
    ready: Duration,
}

impl Usage {
    fn begin() -> Result<Self> {
        let schedstat = fs::read_to_string("/proc/thread-self/schedstat")?;
        let mut numbers = schedstat.split_whitespace().map(str::parse);
        let mut nanos = || -> Result<Duration> {
            Ok(Duration::from_nanos(numbers.next().context("a number")??))
        };
        let (cpu, ready) = (nanos()?, nanos()?);
        let start = Instant::now();
        Ok(Self { start, cpu, ready })
    }

    fn end(&self) -> Result<(Duration, Used)> {
        self.until(Instant::now())
    }

    /// The time up to `end`, and what was done with it; since then nothing was.
    fn until(&self, end: Instant) -> Result<(Duration, Used)> {
        let now = Self::begin()?;
        let time = end.saturating_duration_since(self.start);
        let cpu = now.cpu.saturating_sub(self.cpu);
        let asleep = time.saturating_sub(cpu + now.ready.saturating_sub(self.ready));
        Ok((time, Used { cpu, asleep }))
    }
}
