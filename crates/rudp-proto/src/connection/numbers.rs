//! Whole connections whose packet numbers are near where a width wraps, and near the end.

use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use crate::wire::MAX_PACKET_NUMBER;
use crate::{
    CloseReason, Config, Endpoint, Event, Handle, Lost, Secrets, Side, StreamId, StreamKind,
};

const STREAM: StreamId = StreamId::new(Side::Client, StreamKind::Bytes, 0);

fn endpoint(seed: u8) -> Endpoint {
    let secrets = Secrets {
        reset_key: [seed; 32],
        seed: [seed; 32],
    };
    Endpoint::new(Config::DEFAULT, secrets).unwrap()
}

/// Two endpoints and what is between them: 20 ms, and of every seven datagrams one lost, one late.
struct Two {
    now: Duration,
    ends: [Endpoint; 2],
    handles: [Option<Handle>; 2],
    sent: u64,
    /// When due, to which end, and what.
    flying: Vec<(Duration, usize, Vec<u8>)>,
    received: Vec<u8>,
    closed: [Option<CloseReason>; 2],
}

const ADDRESSES: [SocketAddr; 2] = [
    SocketAddr::new(
        core::net::IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1)),
        1,
    ),
    SocketAddr::new(
        core::net::IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 2)),
        2,
    ),
];

impl Two {
    /// A connection whose next packet numbers are `number`, in both directions.
    fn at(number: u64) -> Self {
        let mut two = Self {
            now: Duration::ZERO,
            ends: [endpoint(1), endpoint(2)],
            handles: [None; 2],
            sent: 0,
            flying: Vec::new(),
            received: Vec::new(),
            closed: [None, None],
        };
        two.ends[1].listen(true);
        let handle = two.ends[0].connect(two.now, ADDRESSES[1]).unwrap();
        two.handles[0] = Some(handle);
        two.run_for(Duration::from_secs(5));
        for (end, handle) in two.ends.iter_mut().zip(two.handles) {
            let connection = end.connection_mut(handle.unwrap()).unwrap();
            assert!(connection.is_established() && connection.flight.is_empty());
            connection.flight.skip_to(number);
            connection.acks.skip_to(number);
        }
        two
    }

    fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            self.settle();
            let timers = self.ends.iter().filter_map(Endpoint::poll_timeout);
            let due = self.flying.iter().map(|(due, ..)| *due);
            match timers.chain(due).min().filter(|next| *next <= until) {
                Some(next) => self.now = self.now.max(next),
                None => break,
            }
            let now = self.now;
            for (_, to, datagram) in self.flying.extract_if(.., |(due, ..)| *due <= now) {
                self.ends[to].handle_datagram(now, ADDRESSES[1 - to], None, &datagram);
            }
            self.ends.iter_mut().for_each(|end| end.handle_timeout(now));
        }
        self.now = until;
    }

    fn settle(&mut self) {
        for from in 0..2 {
            while let Some((handle, event)) = self.ends[from].poll_event() {
                self.handles[from] = Some(handle);
                if let Event::Closed(reason) = event {
                    self.closed[from] = Some(reason);
                }
            }
            self.read(from);
            let mut datagram = Vec::new();
            while self.ends[from]
                .poll_transmit(self.now, 1, &mut datagram)
                .is_some()
            {
                self.sent += 1;
                let delay = match self.sent % 7 {
                    3 => continue,
                    5 => 35,
                    _ => 20,
                };
                let due = self.now + Duration::from_millis(delay);
                self.flying.push((due, 1 - from, datagram.clone()));
            }
        }
    }

    fn read(&mut self, end: usize) {
        let connection = self.handles[end].and_then(|it| self.ends[end].connection_mut(it));
        let Some(connection) = connection else { return };
        let mut buf = [0; 4096];
        while let Ok(Some(count @ 1..)) = connection.read(STREAM, &mut buf) {
            self.received.extend_from_slice(&buf[..count]);
        }
    }

    /// Sends so many bytes from the client, and checks that they arrive.
    fn transfer(&mut self, len: usize) {
        let data: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
        let connection = self.ends[0].connection_mut(self.handles[0].unwrap());
        let connection = connection.unwrap();
        assert_eq!(connection.open_stream(), Ok(STREAM));
        assert_eq!(connection.write(STREAM, &data), Ok(len));
        self.run_for(Duration::from_secs(60));
        assert!(self.received == data, "{} of {len}", self.received.len());
    }
}

#[test]
fn a_connection_crosses_the_end_of_each_width() {
    for bits in [7, 8, 15, 16, 23, 24, 31, 32, 48] {
        for below in [1, 40] {
            let mut two = Two::at((1 << bits) - below);
            two.transfer(200_000);
            let corrupted = two.ends.each_ref().map(|end| end.stats().corrupted);
            assert_eq!(corrupted, [0; 2], "2^{bits} - {below}");
        }
    }
}

/// (W10)
#[test]
fn the_last_packet_number_ends_the_connection() {
    let mut two = Two::at(MAX_PACKET_NUMBER - 1_000);
    two.transfer(200_000);
    let connection = two.ends[0].connection_mut(two.handles[0].unwrap());
    connection.unwrap().write(STREAM, &[0; 2_000_000]).unwrap();
    two.run_for(Duration::from_secs(60));
    assert_eq!(two.closed[0], Some(CloseReason::Lost(Lost::Exhausted)));
    two.run_for(Duration::from_secs(60));
    assert!(two.closed[1].is_some(), "the other side hears no more");
}
