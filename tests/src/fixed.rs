//! SRTT and RTTVAR in 256-bit fixed point, for chains that exact rationals cannot follow:
//! those grow by three bits with every sample.

use num_bigint::BigInt;
use num_traits::Signed;

/// 64 bits of whole nanoseconds, 192 of fraction. An update is off by less than one unit,
/// so that any chain stays within 28 units, 2^-187 ns, of exact.
const FRACTION_BITS: u32 = 192;

/// The estimate of RFC 6298 with its own gains, 1/8 and 1/4.
#[derive(Clone, Debug)]
pub struct Fixed {
    srtt: BigInt,
    rttvar: BigInt,
}

impl Fixed {
    /// Rule 2.2-1.
    #[must_use]
    pub fn first(rtt_ns: u64) -> Self {
        let srtt = BigInt::from(rtt_ns) << FRACTION_BITS;
        let rttvar = &srtt >> 1;
        Self { srtt, rttvar }
    }

    /// Rules 2.3-1 and 2.3-2.
    pub fn update(&mut self, rtt_ns: u64) {
        let distance = (BigInt::from(rtt_ns) << FRACTION_BITS) - &self.srtt;
        let deviation: BigInt = distance.abs() - &self.rttvar;
        self.rttvar += deviation >> 2;
        self.srtt += distance >> 3;
    }

    /// SRTT in units of 2^-`bits` ns, rounded down.
    ///
    /// # Panics
    ///
    /// Where that does not fit in an `i128`: never for `bits` up to 60.
    #[must_use]
    pub fn srtt(&self, bits: u32) -> i128 {
        narrow(&self.srtt, bits)
    }

    /// RTTVAR in units of 2^-`bits` ns, rounded down.
    ///
    /// # Panics
    ///
    /// Where that does not fit in an `i128`: never for `bits` up to 60.
    #[must_use]
    pub fn rttvar(&self, bits: u32) -> i128 {
        narrow(&self.rttvar, bits)
    }
}

fn narrow(value: &BigInt, bits: u32) -> i128 {
    (value >> (FRACTION_BITS - bits))
        .try_into()
        .expect("64 whole bits and these fit")
}
