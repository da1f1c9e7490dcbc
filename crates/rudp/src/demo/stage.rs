//! The stage: a receiver, a relay and a sender on real loopback sockets, in this process.

use std::{
    fs::File,
    io::{self, Write},
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use netsim::LinkConfig;
use tempfile::TempDir;
use tokio::{sync::mpsc, task::JoinHandle};

use super::{
    DemoError, News,
    encore::{self, Encore},
    scenes::{Network, Opening, Weather},
};
use crate::{
    Clock, EndpointOptions, Folder, Observer, ReceiveEvent, Receiver, Report, SendError, SendEvent,
    SendOptions,
    blocking::blocking,
    relay::{Relay, RelayConfig, RelayControl, RelayCounters},
    send,
};

const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// Bytes in flight at most; a fast network with a long queue needs more than the default.
const WINDOW: usize = 8 << 20;
/// The longest datagram, in bytes.
const ETHERNET: usize = 1_472;

/// The files of a performance, gone when dropped.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) source: PathBuf,
    pub(super) length: u64,
    pub(super) name: String,
    folder: PathBuf,
    _all: TempDir,
}

impl Files {
    /// Takes the file given, or makes one of `made_length` bytes.
    pub(super) async fn prepare(
        given: Option<PathBuf>,
        made_length: u64,
        seed: u64,
    ) -> Result<Self, DemoError> {
        let failed = |what: &str, error| DemoError::File(what.to_owned(), error);
        let all = tempfile::Builder::new()
            .prefix("rudp-demo-")
            .tempdir()
            .map_err(|error| failed("a temporary folder", error))?;
        let folder = all.path().join("received");
        std::fs::create_dir(&folder).map_err(|error| failed("a temporary folder", error))?;
        let source = match given {
            Some(path) => path,
            None => {
                let path = all.path().join("demo.bin");
                let made = path.clone();
                blocking(move || make_file(&made, made_length, seed))
                    .await
                    .map_err(|error| failed("a file for the demo", error))?;
                path
            }
        };
        let shown = source.display().to_string();
        let metadata = std::fs::metadata(&source).map_err(|error| failed(&shown, error))?;
        let Some(name) = source.file_name().filter(|_| metadata.is_file()) else {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "not a file");
            return Err(failed(&shown, error));
        };
        let length = metadata.len();
        if length < Network::SMALLEST_FILE {
            return Err(DemoError::TooSmall(shown, length));
        }
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            source,
            length,
            folder,
            _all: all,
        })
    }

    /// The hashes of the file sent and of the file received, both read from disk.
    pub(super) async fn hashes(&self) -> Result<(blake3::Hash, blake3::Hash), DemoError> {
        let received = self.folder.join(&self.name);
        let sent = self.source.clone();
        let hash = |path: &Path| -> Result<blake3::Hash, DemoError> {
            let failed = |error| DemoError::File(path.display().to_string(), error);
            let mut hasher = blake3::Hasher::new();
            hasher
                .update_reader(File::open(path).map_err(failed)?)
                .map_err(failed)?;
            Ok(hasher.finalize())
        };
        blocking(move || Ok((hash(&sent)?, hash(&received)?))).await
    }
}

/// Fills a file with bytes that the seed decides.
fn make_file(path: &Path, length: u64, seed: u64) -> io::Result<()> {
    let mut bytes = blake3::Hasher::new()
        .update(&seed.to_le_bytes())
        .finalize_xof();
    let mut file = File::create(path)?;
    let mut chunk = vec![0; 1 << 20];
    let mut left = length;
    while left > 0 {
        let count = usize::try_from(left).map_or(chunk.len(), |left| left.min(chunk.len()));
        bytes.fill(&mut chunk[..count]);
        file.write_all(&chunk[..count])?;
        left -= count as u64;
    }
    Ok(())
}

/// Who hears what the actors tell.
#[derive(Clone)]
pub(super) struct Tell {
    /// Without a listener the demo is over, and so are the actors.
    pub(super) news: mpsc::UnboundedSender<News>,
    pub(super) observe: Option<Observer<SendEvent>>,
}

impl Tell {
    fn sender(&self, event: SendEvent) {
        if let Some(observe) = &self.observe {
            observe(event.clone());
        }
        _ = self.news.send(News::Sender(event));
    }

    fn receiver(&self, event: ReceiveEvent) {
        _ = self.news.send(News::Receiver(event));
    }
}

/// The actors, and what can be done to them.
pub(super) struct Stage {
    clock: Clock,
    network: Network,
    folder: PathBuf,
    server: SocketAddr,
    receiver: Option<Receiver>,
    relay: RelayControl,
    pub(super) relay_at: SocketAddr,
    pub(super) relay_task: JoinHandle<io::Error>,
    pub(super) sender: JoinHandle<Result<Report, SendError>>,
    tell: Tell,
}

impl Stage {
    /// Lets everybody in. The sender begins at once.
    pub(super) fn open(
        files: &Files,
        network: Network,
        seed: u64,
        clock: Clock,
        tell: Tell,
    ) -> Result<Self, DemoError> {
        let receiver = start_receiver(&files.folder, ANY_PORT, clock, &tell)?;
        let server = receiver.local_addr();
        let link = network.link(Weather::Fair);
        let config = RelayConfig {
            there: link.clone(),
            back: link,
            seed,
            ..RelayConfig::default()
        };
        let relay = Relay::bind(ANY_PORT, server, config, clock).map_err(DemoError::Relay)?;
        let relay_at = relay.local_addr().map_err(DemoError::Relay)?;
        let control = relay.control();
        let relay_task = tokio::spawn(async move {
            match relay.run().await {
                Err(error) => error,
            }
        });

        let mut options = SendOptions {
            endpoint: options(clock),
            ..SendOptions::default()
        };
        options.endpoint.config.trace = true;
        let (source, told) = (files.source.clone(), tell.clone());
        let sender = tokio::spawn(async move {
            let observe = Arc::new(move |event| told.sender(event));
            send(relay_at, &source, options, observe, std::future::pending()).await
        });
        Ok(Self {
            clock,
            network,
            folder: files.folder.clone(),
            server,
            receiver: Some(receiver),
            relay: control,
            relay_at,
            relay_task,
            sender,
            tell,
        })
    }

    pub(super) fn server(&self) -> SocketAddr {
        self.server
    }

    pub(super) fn relay(&self) -> &RelayControl {
        &self.relay
    }

    /// Does what a scene opens with.
    pub(super) async fn set(&mut self, opening: Opening) -> Result<(), DemoError> {
        match opening {
            Opening::Weather(weather) => self.weather(weather)?,
            Opening::StandStill(lasting) => {
                let fair = self.network.link(Weather::Fair);
                let slow = LinkConfig {
                    delay: lasting,
                    ..fair.clone()
                };
                self.links(slow, fair)?;
                let entered = self.relay.counters().there.entered;
                // The link keeps the order: what comes after that packet arrives with it.
                let held = |it: &RelayCounters| it.there.entered > entered;
                self.relay.wait_for(held).await;
                self.weather(Weather::Fair)?;
            }
            Opening::BlackOut(lasting) => {
                self.weather(Weather::Fair)?;
                self.relay.black_out(lasting);
            }
            Opening::Kill => {
                if let Some(receiver) = self.receiver.take() {
                    receiver.kill().await;
                }
            }
            Opening::Restart => {
                let server = start_receiver(&self.folder, self.server, self.clock, &self.tell)?;
                self.receiver = Some(server);
            }
        }
        Ok(())
    }

    /// Lets a server for small messages take the receiver's place, and two clients in.
    pub(super) async fn encore(&mut self) -> Result<Encore, DemoError> {
        if let Some(receiver) = self.receiver.take() {
            receiver.shutdown().await;
        }
        self.weather(Weather::Fair)?;
        let turn = || self.weather(Weather::Holes);
        encore::perform(self.server, self.relay_at, self.clock, turn).await
    }

    fn weather(&self, weather: Weather) -> Result<(), DemoError> {
        let link = self.network.link(weather);
        self.links(link.clone(), link)
    }

    fn links(&self, there: LinkConfig, back: LinkConfig) -> Result<(), DemoError> {
        self.relay
            .set_config(there, back)
            .map_err(|error| DemoError::Relay(io::Error::new(io::ErrorKind::InvalidInput, error)))
    }

    /// Ends everything; the receiver's part of it in peace.
    pub(super) async fn close(mut self) {
        if let Some(receiver) = self.receiver.take() {
            receiver.shutdown().await;
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.sender.abort();
        self.relay_task.abort();
    }
}

fn options(clock: Clock) -> EndpointOptions {
    let mut options = EndpointOptions {
        clock,
        ..EndpointOptions::default()
    };
    options.config.send_buffer = WINDOW;
    options.config.receive_window = WINDOW;
    options.config.max_datagram = Some(ETHERNET); // past the relay it is no loopback interface
    options
}

fn start_receiver(
    folder: &Path,
    listen: SocketAddr,
    clock: Clock,
    tell: &Tell,
) -> Result<Receiver, DemoError> {
    let folder = Folder::open(folder).map_err(DemoError::Folder)?;
    let tell = tell.clone();
    let observe = Arc::new(move |event| tell.receiver(event));
    Receiver::start(folder, listen, options(clock), observe)
        .map_err(|error| DemoError::Server(listen, error))
}

/// How long nothing may happen to the file before it counts as a stall: 30 s. The longest silence
/// in the script is that of the dead server, about 12 s.
pub(super) const STALL: Duration = Duration::from_secs(30);
