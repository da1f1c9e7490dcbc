//! A connection that carries a session, for as long as it lasts.
//!
//! The client opens one stream and says [`Hello`]; the server answers with its position, and from
//! there on both halves carry plain bytes. How far an application has read travels in messages of
//! 8 bytes, of which only the largest counts. A refusal is an abort with a [`code`].

use std::{convert::Infallible, future::pending};

use rudp_proto::CloseReason;
use tokio::io::AsyncReadExt;

use super::{
    Resuming,
    positions::{Impossible, Next},
    session::{Session, SessionId},
};
use crate::{Connection, RecvStream, SendStream, StreamError};

/// What a session hands to a connection, and takes from it, at once.
const CHUNK: usize = 64 << 10;

/// Why a side aborts a connection of a session.
pub(super) mod code {
    pub(in super::super) const UNKNOWN: u64 = 1;
    pub(in super::super) const FULL: u64 = 2;
    pub(in super::super) const DROPPED: u64 = 3;
    pub(in super::super) const PROTOCOL: u64 = 4;
}

/// What a client says first: which session, whether it may be new, and up to where it has the
/// server's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) session: SessionId,
    pub(super) is_new: bool,
    pub(super) received: u64,
}

impl Hello {
    const MAGIC: [u8; 4] = *b"RSM1";
    pub(super) const LENGTH: usize = 4 + 16 + 1 + 8;

    pub(super) fn encode(&self) -> Vec<u8> {
        let received = self.received.to_be_bytes();
        [
            &Self::MAGIC[..],
            &self.session,
            &[u8::from(self.is_new)],
            &received,
        ]
        .concat()
    }

    pub(super) fn decode(bytes: &[u8; Self::LENGTH]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk()?;
        let (session, rest) = rest.split_first_chunk()?;
        let (&[is_new], rest) = rest.split_first_chunk()?;
        let received = u64::from_be_bytes(*rest.first_chunk()?);
        (*magic == Self::MAGIC && is_new <= 1).then_some(Self {
            session: *session,
            is_new: is_new == 1,
            received,
        })
    }
}

/// A connection and the stream on it.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) connection: Connection,
    pub(super) send: SendStream,
    pub(super) recv: RecvStream,
}

/// How a connection stopped carrying its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Both sides have everything, and know it.
    Complete,
    /// The connection is gone.
    Lost(CloseReason),
    /// The application dropped its handle.
    Abandoned,
    /// The peer broke the rules.
    Protocol,
}

/// Why a part of the carrying stopped.
enum Cut {
    Stream(StreamError),
    Protocol,
}

impl From<StreamError> for Cut {
    fn from(error: StreamError) -> Self {
        Self::Stream(error)
    }
}

impl From<Impossible> for Cut {
    fn from(_: Impossible) -> Self {
        Self::Protocol
    }
}

impl Link {
    /// Carries the session until one of them ends, and ends the connection.
    pub(super) async fn carry(mut self, session: &Session) -> End {
        let (send, recv) = (&mut self.send, &mut self.recv);
        let done = session.until(|state| match () {
            () if state.is_complete() => Some(End::Complete),
            () if state.is_abandoned() => Some(End::Abandoned),
            () => None,
        });
        let cut = tokio::select! {
            end = done => Ok(end),
            Err(cut) = send_written(session, send) => Err(cut),
            Err(cut) = receive(session, recv) => Err(cut),
            Err(cut) = tell_read(session, &self.connection) => Err(cut),
            Err(cut) = hear_read(session, &self.connection) => Err(cut),
            Err(cut) = tell_unanswered(session, &self.connection) => Err(cut),
        };
        match cut {
            Ok(End::Abandoned) => {
                self.connection
                    .abort(code::DROPPED, "the session was dropped");
                End::Abandoned
            }
            Ok(end) => self.close(end).await,
            Err(Cut::Protocol) => {
                self.connection
                    .abort(code::PROTOCOL, "not a position of this session");
                End::Protocol
            }
            Err(Cut::Stream(StreamError::Closed(_) | StreamError::Closing)) => {
                // What the peer told before it closed is still there.
                if let Err(Cut::Protocol) = hear_read(session, &self.connection).await {
                    return End::Protocol;
                }
                let is_over = session.lock().is_over();
                self.close(if is_over {
                    End::Complete
                } else {
                    End::Abandoned
                })
                .await
            }
            Err(Cut::Stream(_)) => {
                self.connection.abort(0, "a half of the stream was cut");
                End::Lost(self.connection.closed().await)
            }
        }
    }

    /// Closes, or waits for the end of what is closing: only if nothing is lost, it is complete.
    async fn close(self, end: End) -> End {
        let Self {
            connection,
            send,
            recv,
        } = self;
        if end == End::Complete {
            return match connection.close(0, "").await {
                reason @ CloseReason::Lost(_) => End::Lost(reason),
                CloseReason::Local { .. } | CloseReason::Peer { .. } => End::Complete,
            };
        }
        drop((send, recv)); // nobody reads on: then it ends
        End::Lost(connection.closed().await)
    }
}

async fn send_written(session: &Session, send: &mut SendStream) -> Result<Infallible, Cut> {
    let mut chunk = Vec::new();
    loop {
        match session.next(&mut chunk, CHUNK) {
            Next::Bytes => send.write_all(&chunk).await?,
            Next::End => send.finish()?,
            Next::Nothing => session.to_send.notified().await,
        }
    }
}

async fn receive(session: &Session, recv: &mut RecvStream) -> Result<Infallible, Cut> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let room = session.lock().incoming.room().min(CHUNK);
        if room == 0 {
            session.to_receive.notified().await;
            continue;
        }
        let count = recv.read(&mut chunk[..room]).await?;
        session.handle_data(&chunk[..count])?;
        if count == 0 {
            return pending().await;
        }
    }
}

/// Tells how far the application has read: once in a round trip, so that it costs little.
async fn tell_read(session: &Session, connection: &Connection) -> Result<Infallible, Cut> {
    loop {
        let position = session.lock().incoming.to_tell();
        let Some(position) = position else {
            session.to_tell.notified().await;
            continue;
        };
        let sent = connection
            .send_message(&position.to_be_bytes(), None)
            .await?;
        session.handle_told(position);
        sent.outcome().await?;
    }
}

async fn hear_read(session: &Session, connection: &Connection) -> Result<Infallible, Cut> {
    loop {
        let message = connection.recv_message().await?;
        let position = message.try_into().map_err(|_| Cut::Protocol)?;
        session.handle_read(u64::from_be_bytes(position))?;
    }
}

/// Tells the program when the peer is out of reach, and when it is back.
async fn tell_unanswered(session: &Session, connection: &Connection) -> Result<Infallible, Cut> {
    loop {
        connection.unanswered().await?;
        session.teller.tell(Resuming::Unanswered);
        connection.answered().await?;
        session.teller.tell(Resuming::Answered);
    }
}

/// Reads the server's answer: up to where it has the client's bytes.
pub(super) async fn read_answer(recv: &mut RecvStream) -> std::io::Result<u64> {
    recv.read_u64().await
}
