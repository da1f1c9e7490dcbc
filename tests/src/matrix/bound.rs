//! What a number is held to, beside the gate that is asked for.

/// A floor or a ceiling, about 2 % from what is reached today, and the gate.
///
/// A row reads `least(80_000).holds(75_000)`; without a gate, nothing is asked for, and the number is
/// only kept from falling further.
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
        let allowed = |bound: Bound, numbers: [u64; 4]| numbers.map(|it| bound.allows(it));
        let floor = [79, 80, 89, 90];
        assert_eq!(allowed(least(80), floor), [false, true, true, true]);
        assert_eq!(
            allowed(least(80).holds(75), floor),
            [false, true, true, true]
        );
        let ceiling = [50, 51, 60, 61];
        assert_eq!(allowed(most(60), ceiling), [true, true, true, false]);
        assert_eq!(
            allowed(most(60).holds(60), ceiling),
            [true, true, true, false]
        );
    }

    #[test]
    #[should_panic = "the gate is missed"]
    fn a_bound_beyond_its_gate_is_refused() {
        let _ = most(61).holds(60);
    }
}
