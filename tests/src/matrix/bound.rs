//! What a number is held to, beside the gate that is asked for.

/// A floor or a ceiling, and the gate.
///
/// A row reads `least(82_000).holds(75_000)` where it holds its gate with room to spare, and
/// `least(71_000).misses(72_000)` where it is only kept from falling further. Without either,
/// nothing is asked for.
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
        assert!(self.implies(gate), "the gate is missed");
        self.beside(gate)
    }

    /// The gate, which the bound does not imply: what is measured may miss it.
    ///
    /// # Panics
    ///
    /// If it does.
    #[must_use]
    pub const fn misses(self, gate: u64) -> Self {
        assert!(!self.implies(gate), "the gate is held");
        self.beside(gate)
    }

    const fn implies(self, gate: u64) -> bool {
        if self.more_is_better {
            self.held >= gate
        } else {
            self.held <= gate
        }
    }

    const fn beside(self, gate: u64) -> Self {
        Self {
            gate: Some(gate),
            ..self
        }
    }

    /// What is asked for, where anything is.
    #[must_use]
    pub const fn gate(self) -> Option<u64> {
        self.gate
    }

    /// Whether a number is within.
    #[must_use]
    pub const fn allows(self, number: u64) -> bool {
        if self.more_is_better {
            number >= self.held
        } else {
            number <= self.held
        }
    }
}
