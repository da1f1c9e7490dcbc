//! The application's handle of a connection.

use std::{net::SocketAddr, pin::pin, sync::Arc};

use rudp_proto::{CloseReason, Handle, OpenError, Stats};
use tokio::sync::{Notify, watch};

use crate::{
    RecvStream, SendStream, StreamError,
    state::{Phase, Shared, gone},
    waiting::{Signals, Waiting},
};

/// A connection: any number of byte streams in both directions, and messages.
///
/// It is a cheap handle: clones and the connection's streams share the connection, from any
/// number of tasks. When the last of them is dropped, the connection is closed with code 0:
/// what was written to streams that were finished still arrives, as long as the [`Endpoint`]
/// lives.
///
/// Methods that wait for something are cancel-safe: a future that is dropped has done nothing.
///
/// [`Endpoint`]: crate::Endpoint
#[derive(Clone, Debug)]
pub struct Connection {
    inner: Arc<Inner>,
}

/// What the handles of a connection, of its streams and of its messages share.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) shared: Arc<Shared>,
    pub(crate) handle: Handle,
    phase: watch::Receiver<Phase>,
    pub(crate) signals: Arc<Signals>,
}

impl Connection {
    pub(crate) fn new(
        shared: Arc<Shared>,
        handle: Handle,
        phase: watch::Receiver<Phase>,
        signals: Arc<Signals>,
    ) -> Self {
        let inner = Inner {
            shared,
            handle,
            phase,
            signals,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// The name of the connection in traces.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.inner.handle
    }

    /// The peer's address, while the connection is open.
    #[must_use]
    pub fn peer_addr(&self) -> Option<SocketAddr> {
        self.inner.look(|connection| connection.peer_addr())
    }

    /// The counters; those of the end once it is closed.
    #[must_use]
    pub fn stats(&self) -> Stats {
        if let Phase::Closed(_, stats) = &*self.inner.phase.borrow() {
            return **stats;
        }
        let stats = self.inner.look(|connection| connection.stats());
        stats.unwrap_or_default()
    }

    /// What it is doing and why, in one line.
    #[must_use]
    pub fn explain(&self) -> String {
        if let Phase::Closed(reason, _) = &*self.inner.phase.borrow() {
            return reason.to_string();
        }
        let now = self.inner.shared.clock.now();
        let explained = |connection: &rudp_proto::Connection| connection.explain(now).to_string();
        self.inner.look(explained).unwrap_or_default()
    }

    /// Opens a stream, waiting until the peer allows one more (S3). The peer hears of it with the
    /// first bytes, or when it is finished: who opens a stream writes first.
    ///
    /// # Errors
    ///
    /// The connection is closing or closed.
    pub async fn open_stream(&self) -> Result<(SendStream, RecvStream), StreamError> {
        let open =
            |connection: &mut rudp_proto::Connection, _: &mut _| match connection.open_stream() {
                Ok(id) => Some(Ok(id)),
                Err(OpenError::TooMany) => None,
                Err(OpenError::Closed) => Some(Err(StreamError::Closing)),
            };
        let id = self.inner.until(&self.inner.signals.may_open, open).await?;
        Ok(self.streams(id))
    }

    /// Waits for the next stream that the peer opens. Of several tasks that wait, each gets
    /// streams of its own.
    ///
    /// # Errors
    ///
    /// The connection is closing or closed, and no stream is left to accept.
    pub async fn accept_stream(&self) -> Result<(SendStream, RecvStream), StreamError> {
        let accept =
            |connection: &mut rudp_proto::Connection, _: &mut _| match connection.accept_stream() {
                Some(id) => Some(Ok(id)),
                None if connection.is_established() => None,
                None => Some(Err(StreamError::Closing)),
            };
        let id = self.inner.until(&self.inner.signals.opened, accept).await?;
        Ok(self.streams(id))
    }

    fn streams(&self, id: rudp_proto::StreamId) -> (SendStream, RecvStream) {
        let send = SendStream::new(self.inner.clone(), id);
        (send, RecvStream::new(self.inner.clone(), id))
    }

    /// The bytes written that the peer's transport has not acknowledged yet, of all streams and
    /// messages.
    #[must_use]
    pub fn unacknowledged(&self) -> u64 {
        let left = self.inner.look(|connection| connection.unacknowledged());
        left.unwrap_or_default()
    }

    /// Waits until what was sent has gone without an answer for as long as R1 of
    /// [`Config::limits`](crate::Config::limits) says: time to tell a person that the peer is out of
    /// reach, while the connection goes on trying. Returns at once while that is so; without an R1,
    /// as by default, only the end of the connection ends the wait (K10). Cancel-safe.
    ///
    /// ```
    /// # use rudp::{Connection, StreamError, rto};
    /// let mut options = rudp::EndpointOptions::default();
    /// options.config.limits.r1 = rto::Threshold::Retransmissions(2); // 3 s, if the RTO is 1 s
    /// # async fn watch(connection: Connection) -> Result<(), StreamError> {
    /// loop {
    ///     connection.unanswered().await?;
    ///     println!("trying to reach the server");
    ///     connection.answered().await?;
    ///     println!("online again");
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The connection has ended.
    pub async fn unanswered(&self) -> Result<(), StreamError> {
        self.until_unanswered(true).await
    }

    /// Waits until something is acknowledged after [`unanswered`](Self::unanswered); returns at once
    /// if nothing waits for so long (K10). Cancel-safe.
    ///
    /// # Errors
    ///
    /// The connection has ended.
    pub async fn answered(&self) -> Result<(), StreamError> {
        self.until_unanswered(false).await
    }

    async fn until_unanswered(&self, wanted: bool) -> Result<(), StreamError> {
        let ask = |connection: &mut rudp_proto::Connection, _: &mut _| {
            (connection.is_unanswered() == wanted).then_some(Ok(()))
        };
        self.inner.until(&self.inner.signals.answers, ask).await
    }

    /// Closes once everything written is acknowledged, and waits for that. Code 0 means "no
    /// error"; of `reason` at most 256 bytes travel. Streams that were not finished are finished;
    /// what the peer has sent and this side not read may be lost: read to the end first. The
    /// closing goes on if the future is dropped.
    pub async fn close(&self, code: u64, reason: &str) -> CloseReason {
        self.inner.end(|connection| connection.close(code, reason));
        self.closed().await
    }

    /// Closes at once; what is not delivered yet is dropped. A refusal is an
    /// abort with a code other than 0. Does nothing if it is closed.
    pub fn abort(&self, code: u64, reason: &str) {
        self.inner.end(|connection| connection.abort(code, reason));
    }

    /// Waits for the end of the connection.
    pub async fn closed(&self) -> CloseReason {
        let mut phase = self.inner.phase.clone();
        let closed = phase
            .wait_for(|phase| matches!(phase, Phase::Closed(..)))
            .await;
        match closed.as_deref() {
            Ok(Phase::Closed(reason, _)) => reason.clone(),
            _ => gone(),
        }
    }

    /// Waits for the end of the handshake.
    pub(crate) async fn connected(&self) -> Result<(), CloseReason> {
        let mut phase = self.inner.phase.clone();
        let done = phase
            .wait_for(|phase| !matches!(phase, Phase::Connecting))
            .await;
        match done.as_deref() {
            Ok(Phase::Connected) => Ok(()),
            Ok(Phase::Closed(reason, _)) => Err(reason.clone()),
            Ok(Phase::Connecting) | Err(_) => Err(gone()),
        }
    }
}

impl Inner {
    /// Reads from the core, while the connection is open.
    fn look<T>(&self, read: impl FnOnce(&rudp_proto::Connection) -> T) -> Option<T> {
        let mut state = self.shared.lock();
        state.connection(self.handle).map(|it| read(it))
    }

    /// Ends the connection, and tells those who wait for something new.
    fn end(&self, end: impl FnOnce(&mut rudp_proto::Connection)) {
        if let Some(connection) = self.shared.lock().connection(self.handle) {
            end(connection);
        }
        self.signals.all();
        self.shared.work.notify_one();
    }

    /// Asks the core for something, again at each signal, until it answers.
    pub(crate) async fn until<T>(
        &self,
        signal: &Notify,
        mut ask: impl FnMut(&mut rudp_proto::Connection, &mut Waiting) -> Option<Result<T, StreamError>>,
    ) -> Result<T, StreamError> {
        loop {
            let mut signaled = pin!(signal.notified());
            signaled.as_mut().enable(); // before asking, so that no signal is missed
            let answer = match self.shared.lock().open_connection(self.handle) {
                Some((connection, waiting)) => ask(connection, waiting),
                None => Some(Err(self.ended())),
            };
            if let Some(answer) = answer {
                self.shared.work.notify_one();
                return answer;
            }
            signaled.await;
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        !matches!(*self.phase.borrow(), Phase::Closed(..))
    }

    /// Why nothing more will come.
    pub(crate) fn ended(&self) -> StreamError {
        match &*self.phase.borrow() {
            Phase::Closed(reason, _) => StreamError::Closed(reason.clone()),
            _ => StreamError::Closing,
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let connecting = matches!(*self.phase.borrow(), Phase::Connecting);
        self.end(|connection| {
            if connecting {
                connection.abort(0, "");
            } else {
                connection.close(0, "");
            }
        });
    }
}
