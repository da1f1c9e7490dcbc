//! TCP segments between the two ends: read and made by smoltcp's wire formats.

use smoltcp::{
    phy::ChecksumCapabilities,
    wire::{
        IpAddress, IpProtocol, Ipv4Packet, Ipv4Repr, TcpControl, TcpPacket, TcpRepr, TcpSeqNumber,
        TcpTimestampRepr,
    },
};

use super::network::{LOCAL, REMOTE};

/// The port of the end that the test plays.
pub(super) const PORT: u16 = 80;

/// What matters of a segment, whichever way it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// The port of the kernel's end.
    pub(super) port: u16,
    pub(super) syn: bool,
    /// The first sequence number.
    pub(super) seq: u32,
    /// The next one expected from the other end.
    pub(super) ack: Option<u32>,
    /// Bytes of payload.
    pub(super) len: u32,
    /// TSval and TSecr.
    pub(super) timestamp: Option<(u32, u32)>,
    /// The largest segment that its sender takes.
    pub(super) mss: Option<u16>,
}

impl Segment {
    /// Reads what the kernel sent; `None` if it is no TCP over IPv4.
    pub(super) fn parse(packet: &[u8]) -> Option<Self> {
        let ip = Ipv4Packet::new_checked(packet).ok()?;
        if ip.version() != 4 || ip.next_header() != IpProtocol::Tcp {
            return None;
        }
        let tcp = TcpPacket::new_checked(ip.payload()).ok()?;
        let (source, destination) = (ip.src_addr().into(), ip.dst_addr().into());
        let checksums = ChecksumCapabilities::default();
        let repr = TcpRepr::parse(&tcp, &source, &destination, &checksums).ok()?;
        Some(Self {
            port: repr.src_port,
            syn: repr.control == TcpControl::Syn,
            seq: unsigned(repr.seq_number),
            ack: repr.ack_number.map(unsigned),
            len: u32::try_from(repr.payload.len()).expect("a packet is short"),
            timestamp: repr.timestamp.map(|ts| (ts.tsval, ts.tsecr)),
            mss: repr.max_seg_size,
        })
    }

    /// The first sequence number after it.
    pub(super) fn end(&self) -> u32 {
        self.seq.wrapping_add(self.len + u32::from(self.syn))
    }

    /// How many bytes it takes, headers included.
    pub(super) fn buffer_len(&self) -> usize {
        self.ip().buffer_len() + self.tcp().buffer_len()
    }

    /// Writes it, as from the end that the test plays.
    pub(super) fn emit(&self, packet: &mut [u8]) {
        let checksums = ChecksumCapabilities::default();
        let mut ip = Ipv4Packet::new_unchecked(packet);
        self.ip().emit(&mut ip, &checksums);
        let mut tcp = TcpPacket::new_unchecked(ip.payload_mut());
        let (source, destination) = (IpAddress::from(REMOTE), IpAddress::from(LOCAL));
        self.tcp().emit(&mut tcp, &source, &destination, &checksums);
    }

    fn ip(&self) -> Ipv4Repr {
        Ipv4Repr {
            src_addr: REMOTE,
            dst_addr: LOCAL,
            next_header: IpProtocol::Tcp,
            payload_len: self.tcp().buffer_len(),
            hop_limit: 64,
        }
    }

    fn tcp(&self) -> TcpRepr<'static> {
        TcpRepr {
            src_port: PORT,
            dst_port: self.port,
            control: if self.syn {
                TcpControl::Syn
            } else {
                TcpControl::None
            },
            seq_number: signed(self.seq),
            ack_number: self.ack.map(signed),
            window_len: u16::MAX,
            window_scale: None,
            max_seg_size: self.mss,
            sack_permitted: false,
            sack_ranges: [None; 3],
            timestamp: (self.timestamp).map(|(tsval, tsecr)| TcpTimestampRepr { tsval, tsecr }),
            payload: &[],
        }
    }
}

fn unsigned(number: TcpSeqNumber) -> u32 {
    number.0.cast_unsigned()
}

fn signed(number: u32) -> TcpSeqNumber {
    TcpSeqNumber(number.cast_signed())
}
