//! What a number is held to, beside the gate that is asked for.

/// A floor or a ceiling, about 2 % from what is reached today, and the gate.
///
/// A row reads `least(80_000).holds(75_000)`; without a gate, it is only kept from falling.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    more_is_better: bool,
    held: u64,
    gate: Option<u64>,
}

/// At least so much: what is reached today, a little less.
#[must_use]
pub const fn least(held: u64) -> Bound {
    Bound {
        more_is_better: true,
        held,
        gate: None,
    }
}

/// At most so much: what is reached today, a little more.
#[must_use]
pub const fn most(held: u64) -> Bound {
    Bound {
        more_is_better: false,
        held,
        gate: None,
    }
}

impl Bound {
    /// The gate, which the bound implies.
    ///
    /// # Panics
    ///
    /// If it does not.
    #[must_use]
    pub const fn holds(self, gate: u64) -> Self {
        assert!(self.is_within(self.held, gate), "the gate is missed");
        Self {
            gate: Some(gate),
            ..self
        }
    }

    /// Whether a number is on the good side of a limit.
    const fn is_within(self, number: u64, limit: u64) -> bool {
        if self.more_is_better {
            number >= limit
        } else {
            number <= limit
        }
    }

    /// What is asked for, where anything is.
    #[must_use]
    pub const fn gate(self) -> Option<u64> {
        self.gate
    }

    /// Whether a number is within, and so holds the gate.
    #[must_use]
    pub const fn allows(self, number: u64) -> bool {
        self.is_within(number, self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_fails_beyond_its_bound() {
        let allowed = |bound: Bound, numbers: [u64; 2]| numbers.map(|it| bound.allows(it));
        for floor in [least(80), least(80).holds(75)] {
            assert_eq!(allowed(floor, [79, 80]), [false, true]);
        }
        for ceiling in [most(60), most(60).holds(60)] {
            assert_eq!(allowed(ceiling, [60, 61]), [true, false]);
        }
    }
}
