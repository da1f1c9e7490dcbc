//! One test for each rule of `spec/rudp.md`.

mod acks;
mod base_loss;
mod bounds;
mod bundles;
mod close;
mod congestion;
mod cookies;
mod ecn;
mod ends;
mod flow;
mod half_open;
mod handshake;
mod hellos;
mod life;
mod limits;
mod loss;
mod messages;
mod mtu;
mod probes;
mod resets;
mod streams;
mod versions;
mod wire;

use core::ops::Range;
use std::time::Duration;

use conformance::datagrams::encoded;
use conformance::pair::{CLIENTS, Pair, clean};
use rudp_proto::wire::{Ack, BASE_DATAGRAM, Cookie, Frame, Packet, Params, Versions};
use rudp_proto::{CloseReason, Config, Lost, StreamId};

/// Every full datagram has 1,200 bytes, and there are no probes: packets can be counted.
pub(crate) const ONE_SIZE: Config = Config {
    max_datagram: Some(BASE_DATAGRAM),
    ..Config::DEFAULT
};
pub(crate) const TRACED: Config = Config {
    trace: true,
    ..ONE_SIZE
};
pub(crate) const NO_KEEPALIVE: Config = Config {
    keepalive: None,
    ..ONE_SIZE
};

/// Every client proves its address by a cookie.
pub(crate) const CHALLENGING: Config = Config {
    max_half_open: 0,
    ..ONE_SIZE
};

pub(crate) const PARAMS: Params = Params {
    receive_window: 100_000,
    stream_window: 100_000,
    streams: 10,
    messages: 10,
    idle_timeout: Duration::from_secs(60),
    reset_token: [9; 16],
    max_datagram: 1_472,
    versions: Versions::DEFAULT,
};

pub(crate) fn data(frames: Vec<Frame<'_>>) -> Vec<u8> {
    encoded(&Packet::Data {
        to: 1,
        number: 2,
        frames,
    })
}

/// On the first stream of the client.
pub(crate) fn stream(offset: u64, data: &[u8], fin: bool) -> Frame<'_> {
    stream_of(CLIENTS, offset, data, fin)
}

pub(crate) fn stream_of(id: StreamId, offset: u64, data: &[u8], fin: bool) -> Frame<'_> {
    Frame::Stream {
        id,
        offset,
        data,
        fin,
    }
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

/// The connection id in a datagram with the SETTINGS alone.
pub(crate) fn settings_id(datagram: &[u8]) -> u64 {
    let Ok(Packet::Data { frames, .. }) = Packet::decode(datagram, 0) else {
        panic!("no SETTINGS");
    };
    let [Frame::Settings { connection_id, .. }] = frames[..] else {
        panic!("SETTINGS alone: {frames:?}");
    };
    connection_id
}

/// An ACK of one range.
pub(crate) fn ack(range: Range<u64>) -> Frame<'static> {
    ack_after(Duration::ZERO, range)
}

pub(crate) fn ack_after(delay: Duration, range: Range<u64>) -> Frame<'static> {
    let ranges = core::iter::once(range).collect();
    Frame::Ack(Ack { delay, ranges })
}
