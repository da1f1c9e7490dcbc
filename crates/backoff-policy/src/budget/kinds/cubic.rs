//! The curve of CUBIC with the constants of the AWS SDKs, in integers: rates in billionths of a
//! request per second, spans in ns.

/// Beyond so many ns (73 minutes) from its inflection the curve stays where it is: at 3 x 10^10
/// requests per second, which is more than a rate can be.
const FAR: i128 = 1 << 42;

/// What throttling leaves of a rate: beta = 0.7.
pub(super) fn after_throttling(rate: u64) -> u64 {
    saturate(u128::from(rate).saturating_mul(7) / 10)
}

/// How long after throttling the rate is back where it was: cbrt(rate x (1 - beta) / 0.4) s,
/// rounded down.
pub(super) fn recovery(rate: u64) -> u64 {
    // In ns: cbrt(0.75 x rate / 10^9) x 10^9, and rate x 3 x 10^18 is below 2^126.
    cube_root(u128::from(rate).saturating_mul(3_000_000_000_000_000_000) / 4)
}

/// The rate `elapsed` after throttling at `rate`: 0.4 x (elapsed - recovery)^3 + rate.
pub(super) fn recovering(rate: u64, elapsed: u64, recovery: u64) -> u64 {
    let from_recovery = i128::from(elapsed).saturating_sub(recovery.into());
    let from_recovery = from_recovery.clamp(-FAR, FAR);
    // 0.4 x (x / 10^9)^3 x 10^9 = x^3 / (2.5 x 10^18), and x^3 is at most 2^126.
    let more = from_recovery.saturating_pow(3) / 2_500_000_000_000_000_000;
    u64::try_from(i128::from(rate).saturating_add(more).max(0)).unwrap_or(u64::MAX)
}

pub(super) fn saturate(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// Rounded down, bit by bit; exact below 2^126.
fn cube_root(value: u128) -> u64 {
    let mut root = 0u64;
    for bit in (0..42u32).rev() {
        let larger = root | 1 << bit;
        if u128::from(larger).saturating_pow(3) <= value {
            root = larger;
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The published test of the SDKs: a maximum of 10 requests per second.
    #[test]
    fn the_curve_is_that_of_the_sdks() {
        let most = 10_000_000_000;
        let window = recovery(most);
        assert_eq!(window, 1_957_433_820); // 1.9574338205844317 s
        assert_eq!(after_throttling(most), 7_000_000_000);
        for (second, expected) in [
            (0, 7.0),
            (1, 9.64893600966),
            (2, 10.000030849917364),
            (3, 10.453284520772092),
            (4, 13.408697022224185),
            (5, 21.26626835427364),
            (6, 36.425998516920465),
        ] {
            let rate = recovering(most, second * 1_000_000_000, window) as f64 / 1e9;
            assert!(
                (rate - expected).abs() < 3e-8,
                "{second} s: {rate}, not {expected}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_cube_root_is_rounded_down(value in 0..1u128 << 126) {
            let root = u128::from(cube_root(value));
            prop_assert!(root.pow(3) <= value && (root + 1).pow(3) > value);
        }

        /// No input leaves the range, and a longer wait never gives a lower rate.
        #[test]
        fn the_curve_rises(rate: u64, elapsed: u64, more: u64) {
            let window = recovery(rate);
            let [first, later] = [elapsed, elapsed.saturating_add(more)].map(|at| recovering(rate, at, window));
            prop_assert!(first <= later);
        }
    }
}
