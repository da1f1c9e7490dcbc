//! Datagrams of the transport: made, and looked into.

use std::collections::BTreeMap;

use rudp_proto::wire::{DecodeError, Frame, Header, Packet};

/// The packet on the wire.
#[must_use]
pub fn encoded(packet: &Packet<'_>) -> Vec<u8> {
    let mut datagram = Vec::new();
    packet.encode(&mut datagram);
    datagram
}

/// The bytes with a right checksum under them, computed without a line of `rudp-proto`: CRC-32
/// (IEEE), bit by bit. In a Data packet it begins with the whole packet number, here the one that
/// is in the header.
#[must_use]
pub fn sealed(mut body: Vec<u8>) -> Vec<u8> {
    let number = match body[..] {
        [2, kind @ (0x02 | 0x12 | 0x22 | 0x32), ..] => {
            let len = usize::from(kind >> 4) + 1;
            body.get(10..10 + len)
                .map(|low| [&[0; 8][len..], low].concat())
        }
        _ => None,
    };
    let step = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), step);
    let covered = number.iter().flatten().chain(&body);
    let crc = !covered.fold(u32::MAX, byte);
    body.extend(crc.to_be_bytes());
    body
}

/// Decodes what is sent, in the order in which it is sent: packet numbers are cut short (W10).
#[derive(Debug, Default)]
pub struct Decoder {
    /// The number after the last, by connection id.
    expected: BTreeMap<u64, u64>,
}

impl Decoder {
    /// The packet.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn decode<'a>(&mut self, datagram: &'a [u8]) -> Result<Packet<'a>, DecodeError> {
        let header = Header::of(datagram)?;
        let expected = self.expected.get(&header.id).copied();
        let packet = Packet::decode(datagram, expected.unwrap_or_default())?;
        if let Packet::Data { to, number, .. } = packet {
            self.expected.insert(to, number + 1);
        }
        Ok(packet)
    }
}

/// Whether a datagram is a Data packet with such a frame, and one of the first 32,000 of its
/// connection.
#[must_use]
pub fn has(datagram: &[u8], wanted: impl Fn(&Frame<'_>) -> bool) -> bool {
    let near = (0..250).find_map(|turn| Packet::decode(datagram, turn * 128).ok());
    match near {
        Some(Packet::Data { frames, .. }) => frames.iter().any(wanted),
        _ => false,
    }
}
