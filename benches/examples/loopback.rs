//! How fast a bulk stream crosses the loopback interface, and what it costs, beside plain UDP
//! that the kernel cuts and joins (GSO, GRO).
//!
//! ```sh
//! cargo run --release -p benches --example loopback            # GiB to send: 4
//! cargo run --release -p benches --example loopback -- 8 check # compares what arrives, too
//! ```
//!
//! Each side has one thread. GB/s is stream data over time from connect to close; CPU-s/GB is
//! what both sides took, kernel included.

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
use rudp::{Endpoint, EndpointOptions};
use tokio::{io::Interest, net::UdpSocket, runtime, time::timeout};

const BLOCK: usize = 1 << 16;
const LOCAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

fn main() -> Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let check = args.contains(&"check");
    if let ["serve", ..] = args[..] {
        run(serve(check, |address| println!("{address}")))?;
        println!("{}", cpu_of("self")?.as_millis());
        return Ok(());
    }
    let gib: u64 = args.first().map_or(Ok(4), |gib| gib.parse())?;
    let bytes = gib << 30;

    println!("{gib} GiB                       GB/s  CPU-s/GB");
    let (bytes_raw, seconds, cpu) = raw(bytes)?;
    report("UDP of 1,200 B, GSO, GRO", bytes_raw, seconds, cpu);
    let (seconds, cpu) = two_threads(bytes, check)?;
    report("rudp, two threads", bytes, seconds, cpu);
    let (seconds, cpu) = two_processes(bytes, check)?;
    report("rudp, two processes", bytes, seconds, cpu);
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn report(what: &str, bytes: u64, time: Duration, cpu: Duration) {
    let gb = bytes as f64 / 1e9;
    let (rate, cost) = (gb / time.as_secs_f64(), cpu.as_secs_f64() / gb);
    println!("{what:<28} {rate:6.2} {cost:9.2}");
}

fn run<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(future)
}

fn two_threads(bytes: u64, check: bool) -> Result<(Duration, Duration)> {
    let before = cpu_of("self")?;
    let (tell, told) = mpsc::channel();
    let server = thread::spawn(move || run(serve(check, move |address| _ = tell.send(address))));
    let time = run(send(told.recv()?, bytes))?;
    server.join().expect("the server ends by itself")?;
    Ok((time, cpu_of("self")?.saturating_sub(before)))
}

fn two_processes(bytes: u64, check: bool) -> Result<(Duration, Duration)> {
    let before = cpu_of("self")?;
    let mut server = Command::new(env::current_exe()?)
        .arg("serve")
        .args(check.then_some("check"))
        .stdout(Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(server.stdout.take().context("a pipe")?).lines();
    let address = lines.next().context("an address")??.parse()?;
    let time = run(send(address, bytes))?;
    let theirs = lines.next().context("its time")??.parse()?;
    ensure!(server.wait()?.success());
    let ours = cpu_of("self")?.saturating_sub(before);
    Ok((time, ours + Duration::from_millis(theirs)))
}

async fn send(to: SocketAddr, bytes: u64) -> Result<Duration> {
    let endpoint = Endpoint::client_to(to, EndpointOptions::default())?;
    let block = block();
    let start = Instant::now();
    let connection = endpoint.connect(to).await?;
    let (mut send, _recv) = connection.open_stream().await?;
    for _ in 0..bytes / BLOCK as u64 {
        send.write_all(&block).await?;
    }
    send.finish()?;
    connection.close(0, "").await;
    let time = start.elapsed();
    endpoint.shutdown().await;
    Ok(time)
}

/// Takes one connection, and all that its first stream carries.
async fn serve(check: bool, tell: impl FnOnce(SocketAddr)) -> Result<()> {
    let endpoint = Endpoint::bind(LOCAL, EndpointOptions::default())?;
    tell(endpoint.local_addr());
    let connection = endpoint.accept().await.context("a connection")?;
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
    endpoint.shutdown().await;
    Ok(())
}

fn block() -> Vec<u8> {
    (0..BLOCK)
        .map(|i| ((i * 31) ^ (i >> 8)).to_le_bytes()[0])
        .collect()
}

/// Datagrams of 1,200 bytes, as fast as the kernel takes them: what arrived, and in which time.
fn raw(bytes: u64) -> Result<(u64, Duration, Duration)> {
    let before = cpu_of("self")?;
    let (tell, told) = mpsc::channel();
    let receiver = thread::spawn(move || {
        run(async {
            let io = UdpSocket::bind(LOCAL).await?;
            let state = UdpSocketState::new((&io).into())?;
            tell.send(io.local_addr()?)?;
            let mut buffers = vec![0; 4 << 16];
            let (mut received, mut start, mut end) = (0, None, Instant::now());
            while timeout(Duration::from_millis(300), io.readable())
                .await
                .is_ok()
                || start.is_none()
            {
                let mut metas = [RecvMeta::default(); 4];
                let mut slices: Vec<_> = buffers.chunks_mut(1 << 16).map(IoSliceMut::new).collect();
                let count = io.try_io(Interest::READABLE, || {
                    state.recv((&io).into(), &mut slices, &mut metas)
                });
                let Ok(count) = count else { continue };
                end = Instant::now();
                start.get_or_insert(end);
                received += metas[..count]
                    .iter()
                    .map(|meta| meta.len as u64)
                    .sum::<u64>();
            }
            Ok((received, end - start.unwrap_or(end)))
        })
    });
    let to = told.recv()?;
    run(async {
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
        Ok(())
    })?;
    let (received, time) = receiver.join().expect("the receiver ends by itself")?;
    Ok((received, time, cpu_of("self")?.saturating_sub(before)))
}

/// User and system time of a process and all its threads.
fn cpu_of(process: &str) -> Result<Duration> {
    const TICK: Duration = Duration::from_millis(10); // of every Linux
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let (_, after_name) = stat.rsplit_once(')').context("a name")?;
    let times = after_name.split_whitespace().skip(11).take(2);
    let ticks = times.map(str::parse::<u32>).sum::<Result<u32, _>>()?;
    Ok(TICK * ticks)
}
