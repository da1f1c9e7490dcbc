/// What a failed attempt means for the next one.
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
