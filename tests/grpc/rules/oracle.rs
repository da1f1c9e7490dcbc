//! The judgement of the official interop test, over the gaps between connections, and without
//! its weak spots: no connection, or a single one, is no proof.

/// Why a record was rejected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rejected {
    /// There is no gap to judge.
    TooFewConnections,
    /// This gap, counted from 0, is too short or too long.
    Gap(usize),
}

/// Judges gaps in ms against 1 s, grown by 1.6 up to `max_ms`: each within a fifth and 100 ms.
///
/// The expected gap is kept in tenths of a microsecond and rounds down, so limits are exact.
pub(crate) fn judge(gaps_ms: &[u64], max_ms: u64) -> Result<(), Rejected> {
    const PER_MS: u64 = 10_000;
    if gaps_ms.is_empty() {
        return Err(Rejected::TooFewConnections);
    }
    let mut expected = 1_000 * PER_MS;
    for (n, gap) in gaps_ms.iter().map(|gap| gap * PER_MS).enumerate() {
        let least = (expected * 8 / 10).saturating_sub(100 * PER_MS);
        let most = expected * 12 / 10 + 100 * PER_MS;
        if gap < least || gap > most {
            return Err(Rejected::Gap(n));
        }
        expected = (expected * 16 / 10).min(max_ms * PER_MS);
    }
    Ok(())
}
