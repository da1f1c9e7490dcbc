//! The ECN field in the header of an IPv4 packet (RFC 3168).

use netsim::Ecn;

/// The bits of the field in the header's second byte.
const FIELD: u8 = 0b11;
/// Where the checksum of the header ends.
const CHECKSUM_END: usize = 12;

/// What the field says; a packet that is not IPv4 takes no marks.
pub(crate) fn read(packet: &[u8]) -> Ecn {
    match packet {
        [first, second, ..] if first >> 4 == 4 => match second & FIELD {
            0b01 => Ecn::Capable1,
            0b10 => Ecn::Capable0,
            0b11 => Ecn::Marked,
            _ => Ecn::NotCapable,
        },
        _ => Ecn::NotCapable,
    }
}

/// Sets the field of an IPv4 packet. The checksum of its header is as right as it was (RFC 1624).
pub(crate) fn write(packet: &mut [u8], ecn: Ecn) {
    let old = read(packet);
    let Some(header) = packet.first_chunk_mut::<CHECKSUM_END>() else {
        return;
    };
    if old == ecn || header[0] >> 4 != 4 {
        return;
    }
    let bits = match ecn {
        Ecn::NotCapable => 0b00,
        Ecn::Capable1 => 0b01,
        Ecn::Capable0 => 0b10,
        Ecn::Marked => 0b11,
    };
    let before = u16::from_be_bytes([header[0], header[1]]);
    header[1] = header[1] & !FIELD | bits;
    let after = u16::from_be_bytes([header[0], header[1]]);
    let checksum = u16::from_be_bytes([header[10], header[11]]);
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    // Twice folded, it has 16 bits.
    let checksum = !u16::try_from(folded).unwrap_or_default();
    header[10..].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Ecn; 4] = [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::Marked];

    /// The checksum of RFC 791, over a header whose own is left out.
    fn checksum(header: &[u8]) -> u16 {
        let words = header
            .chunks(2)
            .enumerate()
            .filter(|(index, _)| *index != 5);
        let sum: u32 = words
            .map(|(_, word)| u32::from(u16::from_be_bytes([word[0], word[1]])))
            .sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        !u16::try_from(folded & 0xffff).expect("16 bits") - u16::from(folded > 0xffff)
    }

    #[test]
    fn any_field_is_written_and_the_checksum_stays_right() {
        for identification in (0..=u16::MAX).step_by(257) {
            for (from, to) in ALL.into_iter().flat_map(|from| ALL.map(|to| (from, to))) {
                let mut header = [
                    0x45, 0xb8, 0, 84, 0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2,
                ];
                header[4..6].copy_from_slice(&identification.to_be_bytes());
                write(&mut header, from);
                let right = checksum(&header).to_be_bytes();
                header[10..12].copy_from_slice(&right);

                write(&mut header, to);
                assert_eq!((read(&header), header[1] >> 2), (to, 0xb8 >> 2));
                assert_eq!(
                    header[10..12],
                    checksum(&header).to_be_bytes(),
                    "{from:?} to {to:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_not_a_whole_header_of_ipv4_stays_as_it_is() {
        for packet in [&[0x65; 20][..], &[0x45; 11], &[]] {
            let mut written = packet.to_vec();
            write(&mut written, Ecn::Marked);
            assert_eq!(written, packet);
        }
        assert_eq!(read(&[0x65, 0x03]), Ecn::NotCapable);
    }
}
