//! Messages: whole, unordered, perhaps only good for a while.

use std::{sync::Arc, time::Duration};

use rudp_proto::MessageError;
use tokio::sync::oneshot;

use crate::{
    Connection, StreamError,
    connection::Inner,
    waiting::{Settled, Waiting},
};

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageOutcome {
    /// The peer's transport has all of it.
    Delivered,
    /// Its lifetime passed first: it was given up, though it may have arrived (M4).
    Expired,
}

/// A message that was sent; dropping this changes nothing for the message.
#[derive(Debug)]
pub struct SentMessage {
    connection: Arc<Inner>,
    settled: oneshot::Receiver<Settled>,
}

impl Connection {
    /// Sends a message, waiting for room: it arrives once and whole, in any order among others. If
    /// its `lifetime`, counted from when there is room, passes before all of it is acknowledged, it
    /// is given up and not sent again (M1 to M4). It has at most [`MAX_MESSAGE`](crate::MAX_MESSAGE)
    /// bytes, and at most half of what the peer's window is at first, which is more by default (M5).
    /// Cancel-safe.
    ///
    /// # Errors
    ///
    /// [`StreamError::TooLong`], or the connection is closing or closed.
    pub async fn send_message(
        &self,
        data: &[u8],
        lifetime: Option<Duration>,
    ) -> Result<SentMessage, StreamError> {
        let inner = self.inner();
        let send = |connection: &mut rudp_proto::Connection, waiting: &mut Waiting| {
            let now = inner.shared.clock.now();
            match connection.send_message(now, data, lifetime) {
                Ok(id) => {
                    _ = connection.is_acknowledged(id); // not yet: an event will say so
                    Some(Ok(waiting.settled(id)))
                }
                Err(MessageError::TooMany | MessageError::BufferFull) => None,
                Err(MessageError::TooLong { length, limit }) => {
                    Some(Err(StreamError::TooLong { length, limit }))
                }
                Err(MessageError::Closed) => Some(Err(StreamError::Closing)),
            }
        };
        let settled = inner.until(&inner.signals.room_for_message, send).await?;
        Ok(SentMessage {
            connection: inner.clone(),
            settled,
        })
    }

    /// Waits for the next message, in the order in which they became whole. Of several tasks that
    /// wait, each gets messages of its own. Cancel-safe.
    ///
    /// A message that nobody reads keeps its room: once
    /// [`Config::max_messages`](crate::Config::max_messages) of them wait, 1,024 by default, the
    /// peer's next ones do, and once they fill
    /// [`Config::receive_window`](crate::Config::receive_window), its streams do too (M3, F1). So
    /// whoever has a peer that sends messages reads them, if only to throw them away.
    ///
    /// # Errors
    ///
    /// The connection is closing or closed, and no message is left.
    pub async fn recv_message(&self) -> Result<Vec<u8>, StreamError> {
        let inner = self.inner();
        let read =
            |connection: &mut rudp_proto::Connection, _: &mut _| match connection.read_message() {
                Some(message) => Some(Ok(message)),
                None if connection.is_established() => None,
                None => Some(Err(StreamError::Closing)),
            };
        inner.until(&inner.signals.message, read).await
    }
}

impl SentMessage {
    /// Waits until it is known what became of the message.
    ///
    /// # Errors
    ///
    /// The connection ended before.
    pub async fn outcome(self) -> Result<MessageOutcome, StreamError> {
        match self.settled.await {
            Ok(Settled::Expired) => Ok(MessageOutcome::Expired),
            Ok(_) => Ok(MessageOutcome::Delivered),
            Err(_) => Err(self.connection.ended()),
        }
    }
}
