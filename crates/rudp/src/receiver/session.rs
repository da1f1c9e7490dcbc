//! One connection of a receiver: one file.

use std::{io, sync::Arc, time::Duration};

use blake3::Hash;
use tokio::{sync::Mutex, time::timeout};

use super::{Host, Receiving};
use crate::{
    Connection, FileName, RecvStream, SendStream, StreamError,
    blocking::blocking,
    protocol::{Message, Refusal, RefusalCode, read_message, write_message},
    storage::{Existing, Part, name_is_taken},
};

/// How long a client may take to make an offer: 30 s.
const OFFER_TIMEOUT: Duration = Duration::from_secs(30);

/// The most bytes written to disk at once.
const CHUNK: usize = 256 << 10;

pub(super) struct Session {
    host: Arc<Host>,
    connection: Connection,
    send: Arc<Mutex<SendStream>>, // shared with whoever asks for a proof of life
    recv: RecvStream,
}

/// Why a session ended without a file.
enum End {
    Refused(Refusal),
    Lost,
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// An error of the stream: either the peer broke the file protocol, or the
/// connection ended.
impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidData => Self::Refused(protocol_error(error.to_string())),
            io::ErrorKind::UnexpectedEof => Self::Refused(ends_early()),
            _ => Self::Lost,
        }
    }
}

impl From<StreamError> for End {
    fn from(error: StreamError) -> Self {
        io::Error::from(error).into()
    }
}

fn protocol_error(reason: impl Into<String>) -> Refusal {
    Refusal::new(RefusalCode::Protocol, reason)
}

fn ends_early() -> Refusal {
    protocol_error("the stream ended early")
}

/// What the peer offers to send.
struct Offer {
    name: FileName,
    length: u64,
    force: bool,
}

impl Session {
    /// Receives a file, and stays until the connection is closed.
    pub(super) async fn run(host: Arc<Host>, connection: Connection) {
        let report = |what| host.report(connection.handle(), what);
        if let Some(peer) = connection.peer_addr() {
            report(Receiving::Accepted { peer });
        }
        match Self::serve(&host, &connection).await {
            Ok(()) => {}
            Err(End::Refused(refusal)) => {
                let code = refusal.code.map_or(0, RefusalCode::to_wire);
                connection.abort(code, &refusal.reason);
                report(Receiving::Refused(refusal));
            }
            Err(End::Lost) => report(Receiving::Lost(connection.closed().await)),
        }
        connection.closed().await;
    }

    async fn serve(host: &Arc<Host>, connection: &Connection) -> Result<(), End> {
        let begin = async {
            let (send, recv) = connection.accept_stream().await?;
            let mut session = Self {
                host: host.clone(),
                connection: connection.clone(),
                send: Arc::new(Mutex::new(send)),
                recv,
            };
            let offer = session.read_offer().await?;
            Ok::<_, End>((session, offer))
        };
        let begun = timeout(OFFER_TIMEOUT, begin).await;
        let (mut session, offer) =
            begun.map_err(|_| protocol_error("no offer within 30 seconds"))??;
        session.take(offer).await
    }

    async fn take(&mut self, offer: Offer) -> Result<(), End> {
        let Offer { name, length, .. } = &offer;
        self.report(Receiving::Offered {
            name: name.clone(),
            length: *length,
        });

        let host = self.host.clone();
        let claim = host
            .claims
            .claim(name, &self.connection, &self.send)
            .await?;
        let (hash, already_there) = match self.compare_with_existing(&offer).await? {
            Some(hash) => (hash, true),
            None => (self.receive(&offer).await?, false),
        };
        drop(claim);
        self.report(Receiving::Done {
            name: offer.name,
            length: offer.length,
            hash,
            already_there,
        });
        self.write(Message::Done).await?;
        self.send.lock().await.finish()?;
        // Now the sender closes, and the end of its stream wants to be read.
        _ = self.recv.read(&mut [0]).await;
        Ok(())
    }

    async fn read_offer(&mut self) -> Result<Offer, End> {
        let Message::Offer {
            length,
            force,
            name,
        } = self.read().await?
        else {
            return Err(protocol_error("expected an offer").into());
        };
        match FileName::new(&name) {
            Ok(name) => Ok(Offer {
                name,
                length,
                force,
            }),
            Err(error) => Err(Refusal::new(RefusalCode::BadName, error.to_string()).into()),
        }
    }

    /// If the very file is there, returns its hash: an earlier `Done` may have
    /// been lost on its way. If another one is, only `force` goes on.
    async fn compare_with_existing(&mut self, offer: &Offer) -> Result<Option<Hash>, End> {
        let Offer {
            name,
            length,
            force,
        } = offer;
        match self
            .with_folder(name, |host, name| host.folder.existing(name))
            .await?
        {
            Existing::Nothing => return Ok(None),
            Existing::File(found) if found == *length => {
                let hash = self
                    .with_folder(name, |host, name| host.folder.hash(name))
                    .await?;
                self.write(Message::Exists { hash }).await?;
                match self.read().await? {
                    Message::Compared { same: true } => return Ok(Some(hash)),
                    Message::Compared { same: false } => {}
                    _ => return Err(protocol_error("expected a comparison").into()),
                }
            }
            Existing::File(_) => {}
            Existing::Other => {
                let reason = "something that is no file has this name";
                return Err(Refusal::new(RefusalCode::Exists, reason).into());
            }
        }
        if *force {
            Ok(None)
        } else {
            Err(name_is_taken().into())
        }
    }

    async fn receive(&mut self, offer: &Offer) -> Result<Hash, End> {
        let &Offer {
            ref name,
            length,
            force,
        } = offer;
        let mut part = self
            .with_folder(name, move |host, name| host.folder.part(name, length))
            .await?;
        let on_disk = part.offset();
        self.write(Message::Resume {
            offset: on_disk,
            prefix: part.hash(),
        })
        .await?;
        let offset = match self.read().await? {
            Message::Begin { offset } if offset == on_disk => offset,
            Message::Begin { offset: 0 } => {
                part = blocking(move || part.restart().map(|()| part)).await?;
                0
            }
            _ => return Err(protocol_error("expected the start of the data").into()),
        };
        self.report(Receiving::Started {
            name: name.clone(),
            length,
            offset,
            on_disk,
        });

        let part = self.receive_data(offer, part).await?;
        let Message::End { hash } = self.read().await? else {
            return Err(protocol_error("expected the end of the data").into());
        };
        blocking(move || part.publish(hash, force)).await?;
        Ok(hash)
    }

    async fn receive_data(&mut self, offer: &Offer, mut part: Part) -> Result<Part, End> {
        let mut chunk = vec![0; CHUNK];
        while part.offset() < offer.length {
            let left = usize::try_from(offer.length - part.offset()).unwrap_or(CHUNK);
            let read = self.recv.read(&mut chunk[..left.min(CHUNK)]).await;
            let count = match read {
                Ok(count @ 1..) => count,
                early => {
                    blocking(move || part.sync()).await?;
                    return Err(early.map_or_else(End::from, |_| ends_early().into()));
                }
            };
            // Meanwhile the transport collects the next chunk.
            let write = move || part.write(&chunk[..count]).map(|()| (part, chunk));
            (part, chunk) = blocking(write).await?;
            let on_disk = part.offset();
            let name = offer.name.clone();
            self.report(Receiving::Progress {
                name,
                length: offer.length,
                on_disk,
            });
        }
        Ok(part)
    }

    /// Runs something that blocks on the folder.
    async fn with_folder<T: Send + 'static>(
        &self,
        name: &FileName,
        act: impl FnOnce(&Host, &FileName) -> T + Send + 'static,
    ) -> T {
        let (host, name) = (self.host.clone(), name.clone());
        blocking(move || act(&host, &name)).await
    }

    fn report(&self, what: Receiving) {
        self.host.report(self.connection.handle(), what);
    }

    async fn read(&mut self) -> io::Result<Message> {
        read_message(&mut self.recv).await
    }

    async fn write(&self, message: Message) -> io::Result<()> {
        write_message(&mut *self.send.lock().await, &message).await
    }
}
