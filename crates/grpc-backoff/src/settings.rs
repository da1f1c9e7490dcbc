use core::fmt;

/// Tells from the first bytes of a server whether it has accepted the connection: an HTTP/2 server
/// begins with a SETTINGS frame, and nothing before that frame is acceptance (S11).
///
/// Give it what the connection reads, in pieces of any size, without holding anything back: a
/// server may wait for the client's preface first.
///
/// ```
/// # use grpc_backoff::*;
/// let mut probe = SettingsProbe::new();
/// // Nine bytes of header: length 6, type 4, no flags, stream 0; here in two pieces.
/// assert_eq!(probe.handle_received(&[0, 0, 6, 4, 0]), FirstFrame::Unknown);
/// assert_eq!(probe.handle_received(&[0, 0, 0, 0, 0, 3]), FirstFrame::Settings);
///
/// let mut probe = SettingsProbe::new();
/// let FirstFrame::Other(why) = probe.handle_received(b"HTTP/1") else { panic!() };
/// assert_eq!(why.to_string(), "the first bytes, 48 54 54 50 2f 31, begin no SETTINGS frame (S11)");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SettingsProbe {
    /// The header of the first frame, as far as it has arrived.
    header: [u8; HEADER],
    len: usize,
}

/// What the first frame is, as far as the bytes tell. Once known, it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstFrame {
    /// Too few bytes have arrived, and none that a SETTINGS frame could not begin with.
    Unknown,
    /// SETTINGS: the server has accepted (S11).
    Settings,
    /// Anything else: the attempt has failed.
    Other(NotSettings),
}

/// The first bytes of a server that are no SETTINGS frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSettings {
    header: [u8; HEADER],
    len: usize,
}

/// A frame header of HTTP/2: length (3 bytes), type, flags, stream (4).
const HEADER: usize = 9;

impl SettingsProbe {
    /// Nothing has arrived yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            header: [0; HEADER],
            len: 0,
        }
    }

    /// The next bytes have arrived. Says what is known then; what comes after the first header
    /// changes nothing.
    pub fn handle_received(&mut self, bytes: &[u8]) -> FirstFrame {
        if self.first_frame() == FirstFrame::Unknown {
            let free = self.header.iter_mut().skip(self.len);
            let filled = free.zip(bytes).map(|(place, byte)| *place = *byte).count();
            self.len = self.len.saturating_add(filled);
        }
        self.first_frame()
    }

    /// What is known so far.
    #[must_use]
    pub fn first_frame(&self) -> FirstFrame {
        let Self { header, len } = *self;
        let [high, middle, low, kind, flags, stream @ ..] = header;
        let length = u32::from_be_bytes([0, high, middle, low]);
        // What has not arrived is zero, which says nothing yet; only the type must be 4.
        let settings = length <= MAX_LENGTH
            && (len < 3 || length.is_multiple_of(6))
            && (len < 4 || kind == SETTINGS)
            && flags & ACK == 0
            && u32::from_be_bytes(stream) & !RESERVED == 0;
        match (settings, len) {
            (false, _) => FirstFrame::Other(NotSettings { header, len }),
            (true, HEADER) => FirstFrame::Settings,
            (true, _) => FirstFrame::Unknown,
        }
    }
}

/// The frame type of SETTINGS; its settings take six bytes each.
const SETTINGS: u8 = 4;
/// The flag of a SETTINGS frame that answers another: the first one cannot.
const ACK: u8 = 1;
/// The greatest frame that an endpoint may send before it is told otherwise.
const MAX_LENGTH: u32 = 16_384;
/// The bit before the stream's number, without meaning.
const RESERVED: u32 = 1 << 31;

impl fmt::Display for NotSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the first bytes,")?;
        for byte in self.header.iter().take(self.len) {
            write!(f, " {byte:02x}")?;
        }
        f.write_str(", begin no SETTINGS frame (S11)")
    }
}

impl core::error::Error for NotSettings {}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(bytes: &[u8]) -> FirstFrame {
        SettingsProbe::new().handle_received(bytes)
    }

    #[test]
    fn settings_of_any_legal_length_are_settings() {
        for length in [0_u32, 6, 12, 16_380] {
            let [_, high, middle, low] = length.to_be_bytes();
            assert_eq!(
                probe(&[high, middle, low, 4, 0, 0, 0, 0, 0]),
                FirstFrame::Settings
            );
        }
        // Other flags and the reserved bit have no meaning.
        assert_eq!(
            probe(&[0, 0, 6, 4, 0xfe, 0x80, 0, 0, 0, 9, 9]),
            FirstFrame::Settings
        );
    }

    #[test]
    fn any_other_first_frame_is_known_at_its_first_wrong_byte() {
        for (bytes, wrong_at) in [
            (&[0, 0, 6, 0, 0, 0, 0, 0, 0][..], 3), // DATA
            (&[0, 0, 6, 7, 0, 0, 0, 0, 0], 3),     // GOAWAY
            (&[0, 0, 6, 4, 1, 0, 0, 0, 0], 4),     // an ACK
            (&[0, 0, 6, 4, 0, 0, 0, 0, 1], 8),     // on a stream
            (&[0, 0, 7, 4, 0, 0, 0, 0, 0], 2),     // no whole settings
            (&[0, 64, 2, 4, 0, 0, 0, 0, 0], 2),    // 16,386 bytes
            (&[1, 0, 0, 4, 0, 0, 0, 0, 0], 0),
            (b"HTTP/1.1 ", 0),
            (b"\x15\x03\x03\0\x02\x02\x46--", 0), // a TLS alert
        ] {
            let mut probe = SettingsProbe::new();
            for (at, &byte) in bytes.iter().enumerate() {
                let frame = probe.handle_received(&[byte]);
                assert_eq!(
                    frame == FirstFrame::Unknown,
                    at < wrong_at,
                    "{bytes:?}, {at}: {frame:?}"
                );
            }
            assert!(matches!(probe.first_frame(), FirstFrame::Other(_)));
        }
    }

    #[test]
    fn pieces_of_any_size_give_the_same_and_later_bytes_change_nothing() {
        let bytes = [0, 0, 12, 4, 0, 0, 0, 0, 0, 0xff, 0xff];
        for cut in 0..=bytes.len() {
            let mut probe = SettingsProbe::new();
            let (head, tail) = bytes.split_at(cut);
            let early = probe.handle_received(head);
            assert_eq!(early == FirstFrame::Settings, cut >= HEADER);
            assert_eq!(probe.handle_received(tail), FirstFrame::Settings);
            assert_eq!(probe.handle_received(b"garbage"), FirstFrame::Settings);
        }
        assert_eq!(probe(&[]), FirstFrame::Unknown);
    }
}
