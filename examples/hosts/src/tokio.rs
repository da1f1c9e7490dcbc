//! The timer in a tokio task: `cargo run -p hosts --bin tokio`.
//!
//! Two hundred messages, eight in flight, to a peer that ignores every seventh datagram. Every
//! transmission has a number of its own, as in QUIC, so every ACK gives a sample. The numbers in
//! the comments are those of the run loop in the documentation of `rto`.

use std::{collections::BTreeMap, error::Error, io, time::Duration};

use rto::{Config, Estimator, Limits, Progress, RetransmitTimer, Sample, Threshold, Timeout};
use tokio::{
    net::UdpSocket,
    time::{Instant, timeout_at},
};

const MESSAGES: u32 = 200;
const WINDOW: usize = 8;

/// What is in flight: by the number of the transmission, the message and when it left.
type Flight = BTreeMap<u32, (u32, Duration)>;

/// Acknowledges each transmission by its number, but for every seventh datagram.
async fn peer(socket: UdpSocket) -> io::Result<()> {
    let mut datagram = [0; 8];
    for count in 1_u64.. {
        let (_, from) = socket.recv_from(&mut datagram).await?;
        if !count.is_multiple_of(7) {
            socket.send_to(&datagram[..4], from).await?;
        }
    }
    Ok(())
}

struct Sender {
    socket: UdpSocket,
    start: Instant,
    timer: RetransmitTimer,
    flight: Flight,
    next: u32,
}

impl Sender {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    async fn send(&mut self, message: u32) -> io::Result<()> {
        let number = self.next;
        self.next += 1;
        let datagram = [number.to_be_bytes(), message.to_be_bytes()].concat();
        self.socket.send(&datagram).await?;
        let now = self.now();
        self.timer.handle_sent(now); // 1
        self.flight.insert(number, (message, now));
        Ok(())
    }

    fn handle_ack(&mut self, number: u32) {
        let Some((_, sent_at)) = self.flight.remove(&number) else {
            return; // of a copy that was given up for lost
        };
        let progress = match self.flight.is_empty() {
            true => Progress::All,
            false => Progress::Some,
        };
        let now = self.now();
        let sample = Sample::of_transmission(sent_at, now);
        self.timer.handle_acked(now, progress, Some(sample)); // 3
    }

    async fn handle_timeout(&mut self) -> Result<(), Box<dyn Error>> {
        match self.timer.handle_timeout(self.now()) {
            None => Ok(()),
            Some(Timeout::Retransmit(_)) => {
                // 4. The earliest message, whatever number its last copy had.
                let earliest = self.flight.iter().min_by_key(|(_, (message, _))| *message);
                let (&number, &(message, _)) = earliest.expect("the timer runs");
                self.flight.remove(&number);
                Ok(self.send(message).await?)
            }
            Some(Timeout::GiveUp(why)) => Err(format!("given up: {why:?}").into()),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    #[expect(clippy::disallowed_methods, reason = "this is the driver")]
    let start = Instant::now();
    let (socket, far) = (
        UdpSocket::bind("127.0.0.1:0").await?,
        UdpSocket::bind("127.0.0.1:0").await?,
    );
    socket.connect(far.local_addr()?).await?;
    let peer = tokio::spawn(peer(far));

    let loopback = Config {
        initial_rto: Duration::from_millis(50),
        min_rto: Duration::from_millis(5),
        ..Config::RFC6298
    };
    let limits = Limits {
        r2: Threshold::After(Duration::from_secs(10)),
        ..Limits::RFC9293
    };
    let mut sender = Sender {
        socket,
        start,
        timer: RetransmitTimer::new(Estimator::new(loopback)?).with_limits(limits),
        flight: Flight::new(),
        next: 0,
    };
    let mut messages = 0..MESSAGES;
    loop {
        while sender.flight.len() < WINDOW
            && let Some(message) = messages.next()
        {
            sender.send(message).await?;
        }
        let Some(deadline) = sender.timer.poll_timeout() else {
            break; // all acknowledged
        };
        let mut ack = [0; 4];
        let wake_up = sender.start + deadline; // 2
        match timeout_at(wake_up, sender.socket.recv(&mut ack)).await {
            Ok(received) => {
                received?;
                sender.handle_ack(u32::from_be_bytes(ack));
            }
            Err(_) => sender.handle_timeout().await?,
        }
    }
    peer.abort();
    let retransmissions = sender.next - MESSAGES;
    println!("{MESSAGES} messages acknowledged, {retransmissions} retransmissions");
    println!("{}", sender.timer.explain(sender.now()));
    Ok(())
}
