//! A connection used as one stream in each direction.

use rudp_proto::{Connection, OpenError, ReadError, Side, StreamId, StreamKind, WriteError};

/// The first stream that a client opens.
pub const CLIENTS: StreamId = StreamId::new(Side::Client, StreamKind::Bytes, 0);
/// The first stream that a server opens.
pub const SERVERS: StreamId = StreamId::new(Side::Server, StreamKind::Bytes, 0);

/// The first stream of a side.
#[must_use]
pub const fn first(opener: Side) -> StreamId {
    StreamId::new(opener, StreamKind::Bytes, 0)
}

/// Writes on the first stream that this side opens, reads from the first that the peer opens.
pub trait SingleStream {
    /// Opens this side's stream, if it is not, and writes.
    ///
    /// # Errors
    ///
    /// Those of [`Connection::write`].
    fn put(&mut self, data: &[u8]) -> Result<usize, WriteError>;
    /// Finishes this side's stream, opened if it is not.
    ///
    /// # Errors
    ///
    /// Those of [`Connection::finish`].
    fn end(&mut self) -> Result<(), WriteError>;
    /// Reads from the peer's stream; as long as there is none, nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Connection::read`].
    fn take(&mut self, buf: &mut [u8]) -> Result<Option<usize>, ReadError>;
}

fn open(connection: &mut Connection) -> Result<(), WriteError> {
    match connection.write(first(connection.side()), b"") {
        Err(WriteError::NoStream) => match connection.open_stream() {
            Ok(_) => Ok(()),
            Err(OpenError::Closed) => Err(WriteError::Closed),
            Err(OpenError::TooMany) => panic!("the first stream is always allowed"),
        },
        other => other.map(|_| ()),
    }
}

impl SingleStream for Connection {
    fn put(&mut self, data: &[u8]) -> Result<usize, WriteError> {
        open(self)?;
        self.write(first(self.side()), data)
    }

    fn end(&mut self) -> Result<(), WriteError> {
        open(self)?;
        self.finish(first(self.side()))
    }

    fn take(&mut self, buf: &mut [u8]) -> Result<Option<usize>, ReadError> {
        match self.read(first(self.side().other()), buf) {
            Err(ReadError::NoStream) => Ok(None),
            read => read,
        }
    }
}
