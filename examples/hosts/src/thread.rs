//! The timer in a thread of its own, on a blocking socket: `cargo run -p hosts --bin thread`.
//!
//! Thirty messages, one at a time, to a peer that ignores every third datagram. A retransmission
//! repeats the number of its message, so a [`Sampler`] decides which round trips count. The
//! numbers in the comments are those of the run loop in the documentation of `rto`.

use std::{
    io::{self, ErrorKind},
    net::UdpSocket,
    thread,
    time::{Duration, Instant},
};

use rto::{Config, Estimator, Progress, RetransmitTimer, Sampler, Timeout};

const MESSAGES: u64 = 30;

/// Acknowledges each message by its number, but for every third datagram.
fn peer(socket: &UdpSocket) -> io::Result<()> {
    let mut message = [0; 8];
    for count in 1_u64.. {
        let (len, from) = socket.recv_from(&mut message)?;
        if !count.is_multiple_of(3) {
            socket.send_to(&message[..len], from)?;
            if u64::from_be_bytes(message) + 1 == MESSAGES {
                break;
            }
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "this is the driver")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (socket, far) = (
        UdpSocket::bind("127.0.0.1:0")?,
        UdpSocket::bind("127.0.0.1:0")?,
    );
    socket.connect(far.local_addr()?)?;
    let peer = thread::spawn(move || peer(&far));

    let start = Instant::now();
    let clock = || start.elapsed();
    let loopback = Config {
        initial_rto: Duration::from_millis(50),
        min_rto: Duration::from_millis(5),
        ..Config::RFC6298
    };
    let mut timer = RetransmitTimer::new(Estimator::new(loopback)?);
    let mut sampler = Sampler::new();
    let mut retransmissions = 0;

    for number in 0..MESSAGES {
        socket.send(&number.to_be_bytes())?;
        timer.handle_sent(clock()); // 1
        sampler.handle_sent(clock(), number..number + 1);
        while let Some(deadline) = timer.poll_timeout() {
            // 2. A read timeout of zero would block for ever.
            let wait = deadline
                .saturating_sub(clock())
                .max(Duration::from_micros(1));
            socket.set_read_timeout(Some(wait))?;
            let mut answer = [0; 8];
            match socket.recv(&mut answer) {
                Ok(_) if u64::from_be_bytes(answer) == number => {
                    let sample = sampler.handle_acked(clock(), number + 1);
                    timer.handle_acked(clock(), Progress::All, sample); // 3
                }
                Ok(_) => {} // a late answer to an earlier copy
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => return Err(error.into()),
            }
            match timer.handle_timeout(clock()) {
                None => {} // early is harmless
                Some(Timeout::Retransmit(_)) => {
                    socket.send(&number.to_be_bytes())?; // 4
                    sampler.handle_sent(clock(), number..number + 1);
                    retransmissions += 1;
                }
                Some(Timeout::GiveUp(_)) => return Err("the peer does not answer".into()),
            }
        }
    }
    peer.join().expect("the peer does not panic")?;
    println!("{MESSAGES} messages acknowledged, {retransmissions} retransmissions");
    println!("{}", timer.explain(clock()));
    Ok(())
}
