//! One connection of a sender: the file, or what is left of it.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use blake3::Hash;

use super::{Delivered, SendError, SendEvent, Sending};
use crate::{
    Clock, Connection, Observer, RecvStream, SendStream, StreamError,
    blocking::blocking,
    protocol::{Message, read_message, write_message},
    storage::Source,
};

/// The bytes read from the file at once.
const CHUNK: usize = 256 << 10;

/// A file to send, on whatever connection.
pub(super) struct Transfer {
    pub(super) name: String,
    pub(super) length: u64,
    pub(super) force: bool,
    pub(super) source: Arc<Mutex<Source>>,
    pub(super) clock: Clock,
    pub(super) observe: Observer<SendEvent>,
}

/// Why a transfer ended without success.
pub(super) enum End {
    /// The connection is closed or closing.
    Closed,
    /// Another connection would not help.
    Final(SendError),
}

/// An error of the stream: either the receiver broke the file protocol, or the
/// connection ended.
impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidData => Self::Final(SendError::Protocol(error.to_string())),
            io::ErrorKind::UnexpectedEof => protocol_error("the stream ended early"),
            _ => Self::Closed,
        }
    }
}

/// Nobody but the receiver ends streams, and then with the connection.
impl From<StreamError> for End {
    fn from(_: StreamError) -> Self {
        Self::Closed
    }
}

fn protocol_error(what: &str) -> End {
    End::Final(SendError::Protocol(what.to_owned()))
}

impl Transfer {
    pub(super) fn report(&self, what: Sending) {
        (self.observe)(SendEvent {
            at: self.clock.now(),
            what,
        });
    }

    /// Offers the file and sends what the receiver does not have.
    pub(super) async fn run(&self, connection: &Connection) -> Result<Delivered, End> {
        let (mut send, mut recv) = connection.open_stream().await?;
        let (length, force, name) = (self.length, self.force, self.name.clone());
        write_message(
            &mut send,
            &Message::Offer {
                length,
                force,
                name,
            },
        )
        .await?;
        let mut answer = read_answer(&mut recv).await?;
        if let Message::Exists { hash } = answer {
            let same = hash == self.hash_up_to(length).await?;
            write_message(&mut send, &Message::Compared { same }).await?;
            answer = read_answer(&mut recv).await?;
            if same && answer == Message::Done {
                return Ok(Delivered {
                    hash,
                    already_there: true,
                });
            }
        }
        let Message::Resume {
            offset: on_disk,
            prefix,
        } = answer
        else {
            return Err(protocol_error("it did not answer the offer"));
        };
        if on_disk > length {
            return Err(protocol_error("it has more than the whole file"));
        }
        let agreed = self.hash_up_to(on_disk).await? == prefix;
        let offset = if agreed { on_disk } else { 0 };
        write_message(&mut send, &Message::Begin { offset }).await?;
        self.report(Sending::Started {
            length,
            offset,
            on_disk,
        });

        let hash = self.send_data(connection, &mut send, offset).await?;
        write_message(&mut send, &Message::End { hash }).await?;
        match read_answer(&mut recv).await? {
            Message::Done => Ok(Delivered {
                hash,
                already_there: false,
            }),
            _ => Err(protocol_error("it did not confirm the file")),
        }
    }

    /// Sends everything from `offset` on and returns the hash of the whole file.
    async fn send_data(
        &self,
        connection: &Connection,
        send: &mut SendStream,
        offset: u64,
    ) -> Result<Hash, End> {
        self.with_source(move |source| {
            if source.offset() == offset {
                Ok(())
            } else {
                source.seek(offset)
            }
        })
        .await?;
        let mut chunk = vec![0; CHUNK];
        loop {
            let (filled, count, sent) = self
                .with_source(move |source| {
                    let count = source.read(&mut chunk)?;
                    Ok((chunk, count, source.offset()))
                })
                .await?;
            chunk = filled;
            if count == 0 {
                return self
                    .with_source(|source| source.check_unchanged().map(|()| source.hash()))
                    .await;
            }
            send.write_all(&chunk[..count]).await?;
            let acknowledged = sent.saturating_sub(connection.unacknowledged());
            self.report(Sending::Progress {
                length: self.length,
                sent,
                acknowledged,
            });
        }
    }

    async fn hash_up_to(&self, offset: u64) -> Result<Hash, End> {
        self.with_source(move |source| source.seek(offset).map(|()| source.hash()))
            .await
    }

    /// Runs something that blocks on the file.
    async fn with_source<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Source) -> io::Result<T> + Send + 'static,
    ) -> Result<T, End> {
        let source = self.source.clone();
        let done =
            blocking(move || act(&mut source.lock().unwrap_or_else(PoisonError::into_inner)));
        done.await
            .map_err(|error| End::Final(SendError::Source(error)))
    }
}

/// Reads the next message that means something.
async fn read_answer(recv: &mut RecvStream) -> io::Result<Message> {
    loop {
        match read_message(recv).await? {
            Message::Ping => {}
            answer => return Ok(answer),
        }
    }
}
