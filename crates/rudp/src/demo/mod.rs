//! `rudp demo`: a play in which a file crosses a hostile network, on real sockets.
//!
//! ```text
//! Stage: receiver, relay, sender ─▶ News ─▶ Record ─▶ Timeline (live), table, findings, page
//!    ▲                                        │
//!    └───────── the next scene's opening ◀────┘ is the scene over?
//! ```
//!
//! When the file is there, an [`Encore`] sends small messages over the same relay.

mod check;
mod encore;
mod figures;
mod line;
mod moments;
mod outages;
mod page;
mod record;
mod scenes;
mod stage;
mod table;
mod timeline;

use std::{fmt, io, net::SocketAddr, path::PathBuf, time::Duration};

use tokio::{sync::mpsc, time::timeout};

pub use check::{Finding, findings};
pub use encore::{Encore, Talk, Tally};
pub use line::Line;
pub use moments::{Ended, Expiry, Late, Resumed, RttSample};
pub use page::html;
pub use record::{Act, Record};
pub use scenes::{Network, SCRIPT, Scene};
pub use table::{Table, attempts, summary};

use crate::{Clock, FolderError, Observer, Report, SendError, SendEvent, words};
use record::News;
use scenes::Opening;
use stage::{Files, STALL, Stage, Tell};
use timeline::Timeline;

/// What to perform.
#[derive(Clone)]
pub struct Options {
    /// The file to send; default: one of `made_length` bytes that `seed` decides.
    pub file: Option<PathBuf>,
    /// The length of the file made, in bytes; default 16 MiB.
    pub made_length: u64,
    /// The seed of the file made and of all chance in the network; default 1.
    pub seed: u64,
    /// Hears everything that the sender tells; default: nobody.
    pub observe: Option<Observer<SendEvent>>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("file", &self.file)
            .field("made_length", &self.made_length)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            file: None,
            made_length: 16 << 20,
            seed: 1,
            observe: None,
        }
    }
}

/// Why the play could not go on.
#[derive(Debug)]
pub enum DemoError {
    /// The file has fewer bytes than [`Network::SMALLEST_FILE`]; carries its name and their number.
    TooSmall(String, u64),
    /// A file cannot be made or read; carries its name.
    File(String, io::Error),
    /// The receiver's folder cannot be used.
    Folder(FolderError),
    /// The receiver cannot start at this address.
    Server(SocketAddr, io::Error),
    /// The relay cannot start, or failed.
    Relay(io::Error),
    /// The sender gave up.
    Send(SendError),
    /// A connection of the encore failed.
    Encore(io::Error),
    /// Nothing happened to the file for so long, in this scene.
    Stalled(Duration, &'static str),
    /// It was told to stop.
    Interrupted,
}

impl fmt::Display for DemoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall(name, length) => write!(
                f,
                "{name}: a file of {length} bytes is too small for the demo: at least {} ({} bytes) are \
                 needed, so that no scene outruns it",
                words::bytes(Network::SMALLEST_FILE),
                Network::SMALLEST_FILE
            ),
            Self::File(name, error) => write!(f, "{name}: {error}"),
            Self::Folder(error) => error.fmt(f),
            Self::Server(address, error) => write!(f, "receiver at {address}: {error}"),
            Self::Relay(error) => write!(f, "relay: {error}"),
            Self::Send(error) => write!(f, "sender: {error}"),
            Self::Encore(error) => write!(f, "encore: {error}"),
            Self::Stalled(lasting, scene) => write!(
                f,
                "stalled: no byte reached the disk for {} in the scene \"{scene}\"",
                words::span(*lasting)
            ),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for DemoError {}

/// Performs the play, and tells each line of it as it happens. Its files are gone afterwards.
///
/// What went otherwise than the script says is no error: see [`findings`].
///
/// # Errors
/// A [`DemoError`] if the play had to be ended before the file was there.
pub async fn perform(
    options: Options,
    mut tell: impl FnMut(Line),
    stop: impl Future<Output = ()>,
) -> Result<Record, DemoError> {
    let play = async {
        let files = Files::prepare(options.file, options.made_length, options.seed).await?;
        let network = Network::for_file(files.length);
        let record = Record::new(files.name.clone(), files.length, options.seed, network);
        let clock = Clock::start();
        let (sender, news) = mpsc::unbounded_channel();
        let told = Tell {
            news: sender,
            observe: options.observe,
        };
        let stage = Stage::open(&files, network, options.seed, clock, told)?;
        let mut director = Director {
            clock,
            stage,
            record,
            timeline: Timeline::default(),
            tell: &mut tell,
        };
        director.prologue();
        let report = director.play(news).await?;
        director.encore().await?;
        director.epilogue(report, &files).await
    };
    tokio::select! {
        played = play => played,
        () = stop => Err(DemoError::Interrupted),
    }
}

struct Director<'a> {
    clock: Clock,
    stage: Stage,
    record: Record,
    timeline: Timeline,
    tell: &'a mut dyn FnMut(Line),
}

impl Director<'_> {
    fn prologue(&mut self) {
        let (relay, server) = (self.stage.relay_at, self.stage.server());
        for line in timeline::prologue(&self.record, relay, server) {
            (self.tell)(line);
        }
    }

    /// Plays scene after scene until the sender is done.
    async fn play(&mut self, mut news: mpsc::UnboundedReceiver<News>) -> Result<Report, DemoError> {
        let mut script = SCRIPT.iter();
        self.next(script.next()).await?;
        let mut progress_at = self.clock.now();
        let report = loop {
            let stalled = tokio::time::sleep_until(self.clock.at(progress_at + STALL));
            let event = tokio::select! {
                Some(event) = news.recv() => event,
                sent = &mut self.stage.sender => {
                    let sent = sent.unwrap_or(Err(SendError::Interrupted));
                    break sent.map_err(DemoError::Send)?;
                }
                error = &mut self.stage.relay_task => {
                    let gone = |_| io::Error::other("its task ended");
                    return Err(DemoError::Relay(error.unwrap_or_else(gone)));
                }
                () = stalled => {
                    let scene = self.record.acts.last().map_or("", |act| act.scene.title);
                    return Err(DemoError::Stalled(STALL, scene));
                }
            };
            let on_disk = self.record.bytes_on_disk();
            self.take(&event);
            if self.record.bytes_on_disk() != on_disk {
                progress_at = self.clock.now();
            }
            if self.record.scene_is_over(&event) {
                self.next(script.next()).await?;
                progress_at = self.clock.now();
            }
        };
        while let Ok(event) = news.try_recv() {
            self.take(&event);
        }
        Ok(report)
    }

    /// Takes in what happened, and tells it.
    fn take(&mut self, event: &News) {
        self.record.handle(event);
        for line in self.timeline.news(event, &self.record) {
            (self.tell)(line);
        }
    }

    /// Ends the scene and opens the next.
    async fn next(&mut self, scene: Option<&'static Scene>) -> Result<(), DemoError> {
        if let Some(line) = self.timeline.scene_ends(&self.record) {
            (self.tell)(line);
        }
        let Some(scene) = scene else { return Ok(()) };
        let set = timeout(STALL, self.stage.set(scene.opening)).await;
        set.map_err(|_| DemoError::Stalled(STALL, scene.title))??;
        let now = self.clock.now();
        match scene.opening {
            Opening::BlackOut(lasting) => self.record.dark = Some(now..now + lasting),
            Opening::Kill => self.record.down = Some((now, None)),
            Opening::Restart => {
                self.record.down = self.record.down.map(|(from, _)| (from, Some(now)));
            }
            Opening::Weather(_) | Opening::StandStill(_) => {}
        }
        self.record.begin(scene, now);
        for line in self.timeline.scene_begins(&self.record) {
            (self.tell)(line);
        }
        Ok(())
    }

    /// Ends the last scene, and plays on when the file is there.
    async fn encore(&mut self) -> Result<(), DemoError> {
        if let Some(line) = self.timeline.scene_ends(&self.record) {
            (self.tell)(line);
        }
        self.record.relay = self.stage.relay().counters();
        (self.tell)(timeline::encore_begins());
        let encore = self.stage.encore().await?;
        for line in timeline::encore_ends(self.clock.now(), &encore) {
            (self.tell)(line);
        }
        self.record.encore = Some(encore);
        Ok(())
    }

    /// Compares the files and closes the stage.
    async fn epilogue(mut self, report: Report, files: &Files) -> Result<Record, DemoError> {
        self.record.report = Some(report);
        self.stage.close().await;
        self.record.hashes = Some(files.hashes().await?);
        Ok(self.record)
    }
}
