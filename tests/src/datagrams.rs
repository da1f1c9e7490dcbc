//! Datagrams of the transport: made, and looked into.

use rudp_proto::wire::{Frame, Packet};

/// The packet on the wire.
#[must_use]
pub fn encoded(packet: &Packet<'_>) -> Vec<u8> {
    let mut datagram = Vec::new();
    packet.encode(&mut datagram);
    datagram
}

/// The bytes with a right checksum under them, computed without a line of `rudp-proto`: CRC-32
/// (IEEE), bit by bit.
#[must_use]
pub fn sealed(mut body: Vec<u8>) -> Vec<u8> {
    let step = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), step);
    let crc = !body.iter().fold(u32::MAX, byte);
    body.extend(crc.to_be_bytes());
    body
}

/// Whether a datagram is a Data packet with such a frame.
#[must_use]
pub fn has(datagram: &[u8], wanted: impl Fn(&Frame<'_>) -> bool) -> bool {
    match Packet::decode(datagram) {
        Ok(Packet::Data { frames, .. }) => frames.iter().any(wanted),
        _ => false,
    }
}
