use core::fmt;

/// What a text should have had, and what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unexpected {
    expected: &'static str,
    found: Excerpt,
}

impl Unexpected {
    pub(crate) fn new(expected: &'static str, found: &str) -> Self {
        Self {
            expected,
            found: Excerpt::of(found),
        }
    }
}

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (expected, found) = (self.expected, self.found.as_str());
        write!(f, "expected {expected}, found {found:?}")
    }
}

/// The start of a text that could not be read, kept without allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Excerpt {
    bytes: [u8; Self::MOST],
    length: u8,
}

impl Excerpt {
    const MOST: usize = 47;

    fn of(text: &str) -> Self {
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

    fn as_str(&self) -> &str {
        let kept = self.bytes.get(..usize::from(self.length));
        kept.and_then(|kept| core::str::from_utf8(kept).ok())
            .unwrap_or("")
    }
}
