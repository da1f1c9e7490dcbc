//! Section 3, byte by byte.

use std::{collections::BTreeMap, ops::Range, time::Duration};

#[derive(Clone, Debug, Default)]
pub(super) struct Sampler {
    /// How often each byte was sent.
    sends: BTreeMap<u64, u32>,
    timed: Option<(u64, Duration)>,
    acked: u64,
}

impl Sampler {
    pub(super) fn sent(&mut self, at: Duration, bytes: Range<u64>) {
        if bytes.clone().any(|byte| self.sends.contains_key(&byte)) {
            self.timed = None;
        } else if self.timed.is_none() && !bytes.is_empty() {
            self.timed = Some((bytes.end, at));
        }
        for byte in bytes {
            *self.sends.entry(byte).or_default() += 1;
        }
    }

    pub(super) fn acked(&mut self, at: Duration, upto: u64) -> Option<Duration> {
        let resent = (self.acked..upto).any(|byte| self.sends.get(&byte) > Some(&1));
        self.acked = self.acked.max(upto);
        let (_, sent) = self.timed.take_if(|(end, _)| *end <= upto)?;
        at.checked_sub(sent).filter(|_| !resent)
    }
}
