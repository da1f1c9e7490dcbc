//! Whole endpoints whose host's clock is set back, against the host's word, or comes to its end.

use std::{net::SocketAddr, time::Duration};

use conformance::{
    draws::splitmix64,
    pair::{SingleStream, client_addr, endpoint, pattern, server_addr},
    time::{ms, s},
};
use rudp_proto::{CloseReason, Config, Endpoint, Event, Handle, Lost};

/// What each side has for the other.
const LEN: usize = 100_000;

/// An endpoint with one connection, on which it sends and reads.
struct Side {
    endpoint: Endpoint,
    addr: SocketAddr,
    handle: Option<Handle>,
    written: usize,
    received: Vec<u8>,
    closed: Vec<CloseReason>,
}

impl Side {
    fn new(seed: u8, addr: SocketAddr) -> Self {
        Self {
            endpoint: endpoint(Config::DEFAULT, seed),
            addr,
            handle: None,
            written: 0,
            received: Vec::new(),
            closed: Vec::new(),
        }
    }

    fn act(&mut self, now: Duration) {
        self.endpoint.handle_timeout(now);
        while let Some((handle, event)) = self.endpoint.poll_event() {
            match event {
                Event::Connected => self.handle = Some(handle),
                Event::Closed(reason) => self.closed.push(reason),
                _ => {}
            }
        }
        let connection = self.handle.and_then(|it| self.endpoint.connection_mut(it));
        let Some(connection) = connection else {
            return;
        };
        if self.written < LEN {
            let all = pattern(LEN);
            self.written += connection.put(&all[self.written..]).unwrap_or(0);
            if self.written == LEN {
                connection.end().expect("the stream is open");
            }
        }
        let mut buf = [0; 4096];
        while let Ok(Some(count @ 1..)) = connection.take(&mut buf) {
            self.received.extend_from_slice(&buf[..count]);
        }
    }

    fn has_all(&self) -> bool {
        self.received.len() == LEN
    }
}

/// Both act, and hand each other what they send but for one datagram in ten.
fn step(sides: &mut [Side; 2], draws: &mut u64, now: Duration) {
    for from in [0, 1] {
        sides[from].act(now);
        let (mut datagram, mut count) = (Vec::new(), 0);
        while let Some(sent) = sides[from].endpoint.poll_transmit(now, 1, &mut datagram) {
            let addr = sides[from].addr;
            assert_eq!(sent.to, sides[1 - from].addr);
            if !splitmix64(draws).is_multiple_of(10) {
                let peer = &mut sides[1 - from].endpoint;
                peer.handle_datagram(now, addr, None, &datagram);
            }
            count += 1;
            assert!(count < 10_000, "spins at {now:?}");
        }
    }
}

fn explained(sides: &[Side; 2], now: Duration) -> String {
    let lines = sides.each_ref().map(|side| {
        let connection = side.handle.and_then(|it| side.endpoint.connection(it));
        let what = connection.map(|it| it.explain(now).to_string());
        format!("{} read, {what:?}, {:?}", side.received.len(), side.closed)
    });
    lines.join("; ")
}

fn two(now: Duration) -> [Side; 2] {
    let mut sides = [Side::new(1, client_addr()), Side::new(2, server_addr())];
    sides[1].endpoint.listen(true);
    let connected = sides[0].endpoint.connect(now, server_addr());
    assert!(connected.is_ok());
    sides
}

fn runs(sides: &[Side; 2]) -> bool {
    !sides.iter().all(Side::has_all) && sides.iter().all(|side| side.closed.is_empty())
}

#[test]
fn a_clock_that_is_set_back_delays_and_loses_nothing() {
    let mut set_back = 0;
    for seed in 0..20 {
        let (mut draws, mut now) = (seed, s(3_600));
        let mut sides = two(now);
        let mut steps = 0;
        while runs(&sides) {
            step(&mut sides, &mut draws, now);
            steps += 1;
            now += ms(5);
            if steps == 10 * (seed + 1) {
                now -= s(5);
                set_back += 1;
            }
            assert!(steps < 50_000, "seed {seed}: {}", explained(&sides, now));
        }
        for side in &sides {
            let told = explained(&sides, now);
            assert!(side.received == pattern(LEN), "seed {seed}: {told}");
        }
    }
    assert!(set_back >= 3, "{set_back} in the middle of a transfer");
}

#[test]
fn a_clock_at_its_end_ends_what_is_left_and_nothing_before() {
    let mut draws = 7;
    let begin = Duration::MAX - s(20);
    let mut sides = two(begin);
    let mut now = begin;
    while now < Duration::MAX {
        step(&mut sides, &mut draws, now);
        now = now.saturating_add(ms(5));
    }
    for side in &sides {
        assert!(side.received == pattern(LEN));
        assert_eq!(side.closed, []);
    }
    // Every deadline is due, that of a silent peer too (K2).
    for _ in 0..100 {
        step(&mut sides, &mut draws, Duration::MAX);
    }
    for side in &mut sides {
        assert_eq!(side.closed, [CloseReason::Lost(Lost::TimedOut)]);
        assert_eq!(side.endpoint.poll_timeout(), None, "nothing is left");
    }
    let late = sides[0].endpoint.connect(Duration::MAX, server_addr());
    assert!(late.is_ok());
    for _ in 0..100 {
        step(&mut sides, &mut draws, Duration::MAX);
    }
    assert_eq!(sides[0].closed.len(), 2, "it ends, too");
}
