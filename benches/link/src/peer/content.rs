//! Bytes that the receiver knows, so that a wrong, missing or repeated one is seen.

/// Bytes of a block.
pub(super) const BLOCK: usize = 64 << 10;

/// A stream of blocks: each is the same noise behind its own number.
pub(super) struct Content {
    block: Vec<u8>,
}

impl Content {
    pub(super) fn new() -> Self {
        let mut word = 0x9e37_79b9_7f4a_7c15_u64;
        let block = (0..BLOCK / 8).flat_map(|_| {
            word ^= word << 13; // xorshift64
            word ^= word >> 7;
            word ^= word << 17;
            word.to_be_bytes()
        });
        Self {
            block: block.collect(),
        }
    }

    /// The bytes from `offset` on, to the end of their block at most.
    pub(super) fn at(&mut self, offset: u64) -> &[u8] {
        let (number, within) = (offset / BLOCK as u64, offset % BLOCK as u64);
        self.block[..8].copy_from_slice(&number.to_be_bytes());
        &self.block[usize::try_from(within).unwrap_or(0)..]
    }

    /// Whether these bytes are those from `offset` on.
    pub(super) fn is(&mut self, mut offset: u64, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            let expected = self.at(offset);
            let length = expected.len().min(bytes.len());
            if expected[..length] != bytes[..length] {
                return false;
            }
            bytes = &bytes[length..];
            offset += length as u64;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_known_byte_by_byte() {
        let mut content = Content::new();
        let mut stream = Vec::new();
        while stream.len() < 3 * BLOCK {
            let next = content.at(stream.len() as u64).to_vec();
            stream.extend(next);
        }
        assert!(content.is(0, &stream) && content.is(70_001, &stream[70_001..]));
        assert!(!content.is(1, &stream), "shifted by one");
        assert!(!content.is(BLOCK as u64, &stream[..BLOCK]), "another block");
        for wrong in [0, BLOCK - 1, BLOCK, 2 * BLOCK + 9] {
            let mut stream = stream.clone();
            stream[wrong] ^= 1;
            assert!(!content.is(0, &stream), "{wrong}");
        }
    }
}
