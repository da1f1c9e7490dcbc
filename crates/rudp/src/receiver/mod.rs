//! Receiving files: an endpoint, a folder, and a task for each connection.

mod claims;
mod session;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use blake3::Hash;
use rudp_proto::{CloseReason, Handle, Trace};
use tokio::{
    sync::oneshot,
    task::{JoinHandle, JoinSet},
};

use self::{claims::Claims, session::Session};
use crate::{
    Clock, Endpoint, EndpointOptions, FileName, Folder, Observer, TraceSink, protocol::Refusal,
};

/// Something that happened at a receiver.
#[derive(Clone, Debug)]
pub struct ReceiveEvent {
    /// When, by the clock of the receiver's [`EndpointOptions`].
    pub at: Duration,
    /// On which connection.
    pub connection: Handle,
    /// What.
    pub what: Receiving,
}

/// What can happen at a receiver.
#[derive(Clone, Debug)]
pub enum Receiving {
    /// A client connected.
    Accepted {
        /// Its address.
        peer: SocketAddr,
    },
    /// It offers a file under a possible name.
    Offered {
        /// The name.
        name: FileName,
        /// Its length, in bytes.
        length: u64,
    },
    /// Data follows.
    Started {
        /// The name.
        name: FileName,
        /// Its length, in bytes.
        length: u64,
        /// Where the data starts.
        offset: u64,
        /// The bytes that were on disk. More than `offset`: they are not the
        /// start of the sender's file, and were thrown away.
        on_disk: u64,
    },
    /// Data was written.
    Progress {
        /// The name.
        name: FileName,
        /// Its length, in bytes.
        length: u64,
        /// The bytes on disk.
        on_disk: u64,
    },
    /// The file is verified and has its name.
    Done {
        /// The name.
        name: FileName,
        /// Its length, in bytes.
        length: u64,
        /// Its BLAKE3 hash.
        hash: Hash,
        /// Whether it was there before.
        already_there: bool,
    },
    /// The connection was ended with a refusal.
    Refused(Refusal),
    /// The connection ended before the file was done; its part is kept.
    Lost(CloseReason),
    /// A step of the transport.
    Trace(Trace),
}

/// A running receiver. Dropping it kills it.
#[derive(Debug)]
pub struct Receiver {
    local: SocketAddr,
    stop: oneshot::Sender<Stop>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
enum Stop {
    Kill,
    Shutdown,
}

/// What the sessions of a receiver share.
struct Host {
    folder: Folder,
    claims: Claims,
    clock: Clock,
    observe: Observer<ReceiveEvent>,
}

impl Host {
    fn report(&self, connection: Handle, what: Receiving) {
        (self.observe)(ReceiveEvent {
            at: self.clock.now(),
            connection,
            what,
        });
    }
}

impl Receiver {
    /// Starts to accept files into a folder. Must be called within a runtime.
    /// Of the options, `reset_key` comes from the folder and `on_trace` from
    /// the observer, which hears traces if `config.trace` says so.
    ///
    /// # Errors
    ///
    /// Those of [`Endpoint::bind`].
    pub fn start(
        folder: Folder,
        listen: SocketAddr,
        options: EndpointOptions,
        observe: Observer<ReceiveEvent>,
    ) -> io::Result<Self> {
        let clock = options.clock;
        let tell = observe.clone();
        let on_trace = move |connection, trace: Trace| {
            tell(ReceiveEvent {
                at: trace.at,
                connection,
                what: Receiving::Trace(trace),
            });
        };
        let options = EndpointOptions {
            reset_key: folder.reset_key(),
            on_trace: (options.config.trace).then(|| -> TraceSink { Arc::new(on_trace) }),
            ..options
        };
        let endpoint = Endpoint::bind(listen, options)?;
        let local = endpoint.local_addr();
        let host = Arc::new(Host {
            folder,
            claims: Claims::default(),
            clock,
            observe,
        });
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(run(endpoint, host, stopped));
        Ok(Self { local, stop, task })
    }

    /// The address of the socket.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Ends it as SIGKILL would: nothing more is sent. Returns when the port
    /// and the folder are free again.
    pub async fn kill(self) {
        self.end(Stop::Kill).await;
    }

    /// Ends it and tells the senders, with code 0: they will come back.
    pub async fn shutdown(self) {
        self.end(Stop::Shutdown).await;
    }

    async fn end(self, how: Stop) {
        // If the task is gone already, so is what it held.
        _ = self.stop.send(how);
        _ = self.task.await;
    }
}

async fn run(endpoint: Endpoint, host: Arc<Host>, mut stop: oneshot::Receiver<Stop>) {
    let mut sessions = JoinSet::new();
    let how = loop {
        tokio::select! {
            accepted = endpoint.accept() => match accepted {
                Some(connection) => sessions.spawn(Session::run(host.clone(), connection)),
                None => break Stop::Kill,
            },
            Some(_) = sessions.join_next() => continue,
            how = &mut stop => break how.unwrap_or(Stop::Kill),
        };
    };
    match how {
        Stop::Kill => endpoint.abandon().await,
        Stop::Shutdown => endpoint.shutdown().await,
    }
    // Their connections are closed: they end by themselves.
    while sessions.join_next().await.is_some() {}
}
