/// The start of a text that could not be read, kept without allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    bytes: [u8; Self::MOST],
    length: u8,
}

impl Excerpt {
    const MOST: usize = 47;

    pub(crate) fn of(text: &str) -> Self {
        let mut bytes = [0; Self::MOST];
        let length = text.floor_char_boundary(Self::MOST);
        let kept = text.as_bytes().iter().take(length);
        for (byte, kept) in bytes.iter_mut().zip(kept) {
            *byte = *kept;
        }
        Self {
            bytes,
            length: u8::try_from(length).unwrap_or(0),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        let kept = self.bytes.get(..usize::from(self.length));
        kept.and_then(|kept| core::str::from_utf8(kept).ok())
            .unwrap_or("")
    }
}
