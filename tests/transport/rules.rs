//! One test for each rule of `spec/rudp.md`.

#[path = "../../crates/rudp-proto/tests/pair/mod.rs"]
mod pair;

#[path = "rules/close.rs"]
mod close;
#[path = "rules/ends.rs"]
mod ends;
#[path = "rules/flow.rs"]
mod flow;
#[path = "rules/handshake.rs"]
mod handshake;
#[path = "rules/life.rs"]
mod life;
#[path = "rules/loss.rs"]
mod loss;
#[path = "rules/wire.rs"]
mod wire;

use core::ops::Range;
use std::time::Duration;

use pair::{Pair, clean};
use rudp_proto::wire::{Ack, Cookie, Frame, Packet, Params};
use rudp_proto::{CloseReason, Config, Lost};

pub(crate) const TRACED: Config = Config {
    trace: true,
    ..Config::DEFAULT
};
pub(crate) const NO_KEEPALIVE: Config = Config {
    keepalive: None,
    ..Config::DEFAULT
};

pub(crate) const PARAMS: Params = Params {
    receive_window: 100_000,
    idle_timeout: Duration::from_secs(60),
    reset_token: [9; 16],
};

pub(crate) fn encoded(packet: &Packet<'_>) -> Vec<u8> {
    let mut datagram = Vec::new();
    packet.encode(&mut datagram);
    datagram
}

pub(crate) fn data(frames: Vec<Frame<'_>>) -> Vec<u8> {
    encoded(&Packet::Data {
        to: 1,
        number: 2,
        frames,
    })
}

/// Puts a right checksum under a datagram.
pub(crate) fn sealed(mut body: Vec<u8>) -> Vec<u8> {
    let mut digest = u32::MAX; // CRC-32, IEEE, bit by bit
    for byte in &body {
        digest ^= u32::from(*byte);
        for _ in 0..8 {
            digest = (digest >> 1) ^ (0xedb8_8320 & (digest & 1).wrapping_neg());
        }
    }
    body.extend((!digest).to_be_bytes());
    body
}

pub(crate) fn has(datagram: &[u8], wanted: impl Fn(&Frame<'_>) -> bool) -> bool {
    match Packet::decode(datagram) {
        Ok(Packet::Data { frames, .. }) => frames.iter().any(wanted),
        _ => false,
    }
}

pub(crate) fn stream(offset: u64, data: &[u8], fin: bool) -> Frame<'_> {
    Frame::Stream { offset, data, fin }
}

pub(crate) fn violation(pair: &Pair, rule: &str) {
    let [CloseReason::Lost(Lost::Violation(what))] = pair.server.closed()[..] else {
        panic!("{:?}", pair.server.closed());
    };
    assert!(what.contains(rule), "{what}");
}

pub(crate) fn established() -> (Pair, rudp_proto::Handle, rudp_proto::Handle) {
    Pair::connected(TRACED, clean())
}

pub(crate) fn hello(client_id: u64, cookie: Option<Cookie>) -> Packet<'static> {
    Packet::Hello {
        client_id,
        params: PARAMS,
        cookie,
    }
}

/// An ACK of one range.
pub(crate) fn ack(range: Range<u64>) -> Frame<'static> {
    ack_after(Duration::ZERO, range)
}

pub(crate) fn ack_after(delay: Duration, range: Range<u64>) -> Frame<'static> {
    let ranges = core::iter::once(range).collect();
    Frame::Ack(Ack { delay, ranges })
}
