use crate::names::Names;

/// What a failed attempt means for the next one (B13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// May be gone next time: a broken connection, a server that is unwell.
    Transient,
    /// The server asks for less.
    Throttled,
    /// No answer in time: it may have been done, and may be done yet.
    Timeout,
    /// It never reached the server, which has done nothing: even what must not be done twice may
    /// be tried again.
    Unsent,
    /// It will fail again.
    Permanent,
}

impl Class {
    /// What texts and counters call each.
    pub(crate) const NAMES: Names<Self> = &[
        ("transient", Self::Transient),
        ("throttled", Self::Throttled),
        ("timeout", Self::Timeout),
        ("unsent", Self::Unsent),
        ("permanent", Self::Permanent),
    ];

    /// What an HTTP status means, as Google Cloud Storage publishes it: 408, 429 and 5xx may be
    /// retried. `None` is no failure: 1xx, 2xx, 3xx.
    ///
    /// ```
    /// # use backoff_policy::Class;
    /// let classes = [200, 503, 429, 404].map(Class::of_http);
    /// assert_eq!(classes, [None, Some(Class::Transient), Some(Class::Throttled), Some(Class::Permanent)]);
    /// ```
    #[must_use]
    pub const fn of_http(status: u16) -> Option<Self> {
        Some(match status {
            100..=399 => return None,
            408 | 504 => Self::Timeout,
            429 => Self::Throttled,
            500..=599 => Self::Transient,
            _ => Self::Permanent,
        })
    }

    /// What a gRPC status code means, as its documentation advises: UNAVAILABLE may be retried,
    /// RESOURCE_EXHAUSTED asks for less, DEADLINE_EXCEEDED had no answer. ABORTED is to be retried
    /// too, but from further up, so not by this. `None` is OK.
    ///
    /// ```
    /// # use backoff_policy::Class;
    /// assert_eq!(Class::of_grpc(14), Some(Class::Transient)); // UNAVAILABLE
    /// ```
    #[must_use]
    pub const fn of_grpc(code: i32) -> Option<Self> {
        Some(match code {
            0 => return None,
            4 => Self::Timeout,
            8 => Self::Throttled,
            14 => Self::Transient,
            _ => Self::Permanent,
        })
    }

    /// What an I/O error means: a connection that was refused, or had no address to start from, never
    /// got there; what breaks midway may have been done, and the rest (not found, denied, invalid)
    /// will fail again.
    ///
    /// Unreachable and not connected are no proof that nothing was sent: a connection in use ends with
    /// them, too.
    ///
    /// ```
    /// # use {backoff_policy::Class, std::io::ErrorKind};
    /// assert_eq!(Class::of_io(ErrorKind::ConnectionRefused), Class::Unsent);
    /// ```
    #[cfg(feature = "std")]
    #[must_use]
    pub const fn of_io(kind: std::io::ErrorKind) -> Self {
        use std::io::ErrorKind as Kind;
        match kind {
            Kind::ConnectionRefused | Kind::AddrNotAvailable => Self::Unsent,
            Kind::TimedOut => Self::Timeout,
            Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::NetworkDown
            | Kind::NotConnected
            | Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::BrokenPipe
            | Kind::UnexpectedEof
            | Kind::WriteZero
            | Kind::WouldBlock
            | Kind::Interrupted
            | Kind::ResourceBusy => Self::Transient,
            _ => Self::Permanent,
        }
    }
}

/// Whether doing it twice is the same as doing it once (B13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Idempotency {
    /// It is: reading, replacing, deleting.
    #[default]
    Always,
    /// Only where the request carries a condition that a second one fails: a precondition, an
    /// entity tag, an idempotency key. Without one it counts as `Never`.
    Conditionally,
    /// It is not: appending, charging.
    Never,
}

impl Idempotency {
    /// The same where the request carries its condition.
    ///
    /// ```
    /// # use backoff_policy::Idempotency;
    /// assert_eq!(Idempotency::Conditionally.guarded(), Idempotency::Always);
    /// assert_eq!(Idempotency::Never.guarded(), Idempotency::Never);
    /// ```
    #[must_use]
    pub const fn guarded(self) -> Self {
        match self {
            Self::Always | Self::Conditionally => Self::Always,
            Self::Never => Self::Never,
        }
    }

    /// What RFC 9110 (9.2.2) says of a method: GET, HEAD, OPTIONS, TRACE, PUT and DELETE always;
    /// others, such as POST and PATCH, only with a condition.
    ///
    /// ```
    /// # use backoff_policy::Idempotency;
    /// assert_eq!(Idempotency::of_method("PUT"), Idempotency::Always);
    /// assert_eq!(Idempotency::of_method("POST"), Idempotency::Conditionally);
    /// ```
    #[must_use]
    pub fn of_method(method: &str) -> Self {
        match method {
            "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE" => Self::Always,
            _ => Self::Conditionally,
        }
    }
}

/// Which of several layers of retries this is: k layers of a attempts each make a^k calls, so only
/// the outermost retries (B15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Layer {
    /// Nobody further up retries this.
    #[default]
    Outermost,
    /// Somebody further up does.
    Inner,
}
