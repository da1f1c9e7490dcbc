//! The checksum of UDP, which its sender may leave out (RFC 768).

/// The protocol number of UDP.
const UDP: u8 = 17;

/// Leaves the checksum out of an IPv4 packet that begins a UDP datagram; others stay as they are.
pub(crate) fn strip_udp(packet: &mut [u8]) {
    let first = packet.first().copied().unwrap_or_default();
    let offset = [6, 7].map(|at: usize| packet.get(at).copied().unwrap_or_default());
    let begins = u16::from_be_bytes(offset) & 0x1fff == 0;
    if first >> 4 != 4 || !begins || packet.get(9) != Some(&UDP) {
        return;
    }
    let header = usize::from(first & 0x0f) * 4;
    if let Some(checksum) = packet.get_mut(header + 6..header + 8) {
        checksum.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with options in its IP header of 24 bytes, and no zero anywhere else.
    fn packet(protocol: u8, fragment: u8) -> Vec<u8> {
        let mut packet = vec![0xff; 40];
        packet[0] = 0x46;
        packet[6..8].copy_from_slice(&[0x40, fragment]);
        packet[9] = protocol;
        packet
    }

    #[test]
    fn only_the_checksum_of_udp_goes() {
        let mut udp = packet(17, 0);
        strip_udp(&mut udp);
        let mut expected = packet(17, 0);
        expected[30..32].fill(0);
        assert_eq!(udp, expected);

        let mut ipv6 = packet(17, 0);
        ipv6[0] = 0x66;
        for other in [packet(6, 0), packet(17, 1), ipv6] {
            let mut stripped = other.clone();
            strip_udp(&mut stripped);
            assert_eq!(stripped, other);
        }
    }

    #[test]
    fn a_cut_packet_is_left_alone() {
        for length in 0..32 {
            let mut cut = packet(17, 0)[..length].to_vec();
            strip_udp(&mut cut);
            assert_eq!(cut, packet(17, 0)[..length]);
        }
    }
}
