//! Whether a handshake timed out, until data transmission begins (5.7-1).

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handshake {
    /// None was sent, or data transmission has begun.
    Over,
    /// A SYN was sent.
    Waiting,
    /// The timer expired on a SYN, and no valid sample has come since.
    Expired,
}

impl Handshake {
    pub(crate) fn sent(&mut self) {
        if *self == Self::Over {
            *self = Self::Waiting;
        }
    }

    pub(crate) fn timed_out(&mut self) {
        if *self == Self::Waiting {
            *self = Self::Expired;
        }
    }

    /// A valid sample came: it counts for more than the expiry before it (D2).
    #[inline]
    pub(crate) fn sampled(&mut self) {
        if *self == Self::Expired {
            *self = Self::Waiting;
        }
    }

    /// Data transmission begins. Tells whether the handshake timed out.
    pub(crate) fn end(&mut self) -> bool {
        core::mem::replace(self, Self::Over) == Self::Expired
    }
}
