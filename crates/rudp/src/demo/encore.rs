//! The encore: small messages over the same relay, with repeats and without.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::AsyncReadExt,
    time::{interval, timeout},
    try_join,
};

use super::{DemoError, stage::STALL};
use crate::{Clock, Connection, Endpoint, EndpointOptions, Step, TraceSink};

/// How many messages each connection sends.
pub(super) const MESSAGES: u32 = 250;
/// How long a message is, in bytes.
pub(super) const LENGTH: usize = 100;
/// The pause between two of them.
pub(super) const EVERY: Duration = Duration::from_millis(20);

/// What it is called.
pub(super) const TITLE: &str = "encore: small messages";
/// What there is to see.
pub(super) const ABOUT: &str = "The file is there. Now two connections send 100 bytes each 20 ms, \
    while 10 % of the packets are lost each way. A packet with room repeats what the ones before \
    it carried: where one is lost, the next one brings it. The second connection does without, \
    and waits until a loss shows.";

/// Small messages over two connections at the same time, which differ in one setting.
#[derive(Clone, Debug)]
pub struct Encore {
    /// Packets repeat what those before them carried (L15).
    pub with: Talk,
    /// They do not.
    pub without: Talk,
}

/// Small messages over one connection.
#[derive(Clone, Debug, Default)]
pub struct Talk {
    /// When each message was written, since the first one, and how long it took to be read.
    pub messages: Vec<(Duration, Duration)>,
    /// Bytes on the wire from the writer to the reader.
    pub bytes_sent: u64,
    /// What its packets did.
    pub tally: Tally,
}

/// What a connection traced of lost packets and repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets taken for lost.
    pub lost: u64,
    /// Those of them that cost nothing, since a later packet had repeated what was on them.
    pub repaired: u64,
    /// Bytes of messages that were sent as repeats.
    pub repeated: u64,
}

impl Talk {
    /// How long the message took that so many percent were not slower than.
    #[must_use]
    pub fn delay(&self, percent: usize) -> Duration {
        let mut delays: Vec<_> = self.messages.iter().map(|&(_, took)| took).collect();
        delays.sort_unstable();
        let rank = (delays.len() * percent).div_ceil(100);
        let delay = delays.get(rank.saturating_sub(1));
        delay.copied().unwrap_or_default()
    }

    /// Bytes on the wire for each message.
    #[must_use]
    pub fn bytes_per_message(&self) -> u64 {
        self.bytes_sent / (self.messages.len() as u64).max(1)
    }
}

impl Tally {
    fn count(&mut self, step: Step) {
        match step {
            Step::Lost { repaired, .. } => {
                self.lost += 1;
                self.repaired += u64::from(repaired);
            }
            Step::Bundled { bytes, .. } => self.repeated += bytes,
            _ => {}
        }
    }
}

/// Lets a server and two clients in, and the weather turn bad once they are connected.
pub(super) async fn perform(
    server: SocketAddr,
    relay: SocketAddr,
    clock: Clock,
    turn: impl FnOnce() -> Result<(), DemoError>,
) -> Result<Encore, DemoError> {
    let options = EndpointOptions {
        clock,
        ..EndpointOptions::default()
    };
    let listening =
        Endpoint::bind(server, options).map_err(|error| DemoError::Server(server, error))?;
    let play = async {
        let with = Pair::connect(&listening, relay, clock, true).await?;
        let without = Pair::connect(&listening, relay, clock, false).await?;
        turn()?;
        let (with, without) =
            try_join!(with.talk(clock), without.talk(clock)).map_err(DemoError::Encore)?;
        Ok(Encore { with, without })
    };
    let played = timeout(STALL, play).await;
    played.unwrap_or(Err(DemoError::Stalled(STALL, TITLE)))
}

/// Both ends of a connection.
struct Pair {
    writer: Connection,
    reader: Connection,
    tally: Arc<Mutex<Tally>>,
    _endpoint: Endpoint, // the writer's socket
}

impl Pair {
    async fn connect(
        listening: &Endpoint,
        relay: SocketAddr,
        clock: Clock,
        bundles: bool,
    ) -> Result<Self, DemoError> {
        let tally = Arc::new(Mutex::new(Tally::default()));
        let counted = tally.clone();
        let count: TraceSink = Arc::new(move |_, trace| {
            let mut tally = counted.lock().unwrap_or_else(PoisonError::into_inner);
            tally.count(trace.step);
        });
        let mut options = EndpointOptions {
            clock,
            on_trace: Some(count),
            ..EndpointOptions::default()
        };
        options.config.bundles = bundles;
        let endpoint = Endpoint::client_to(relay, options).map_err(DemoError::Encore)?;
        let failed = |what: String| DemoError::Encore(io::Error::other(what));
        let (writer, reader) = tokio::join!(endpoint.connect(relay), listening.accept());
        Ok(Self {
            writer: writer.map_err(|error| failed(error.to_string()))?,
            reader: reader.ok_or_else(|| failed("its server ended".to_owned()))?,
            tally,
            _endpoint: endpoint,
        })
    }

    /// Writes all messages on one stream, each when it is time, and reads them.
    async fn talk(&self, clock: Clock) -> io::Result<Talk> {
        let before = self.writer.stats().bytes_sent;
        let (mut send, _recv) = self.writer.open_stream().await?;
        let write = async {
            let (mut ticks, mut written) = (interval(EVERY), Vec::new());
            for _ in 0..MESSAGES {
                ticks.tick().await;
                written.push(clock.now());
                send.write_all(&[0; LENGTH]).await?;
            }
            io::Result::Ok(written)
        };
        let read = async {
            let (_send, mut recv) = self.reader.accept_stream().await?;
            let (mut message, mut read) = ([0; LENGTH], Vec::new());
            for _ in 0..MESSAGES {
                recv.read_exact(&mut message).await?;
                read.push(clock.now());
            }
            Ok(read)
        };
        let (written, read) = try_join!(write, read)?;
        let start = written.first().copied().unwrap_or_default();
        let messages = written.iter().zip(read);
        let messages = messages.map(|(&at, read)| (at - start, read.saturating_sub(at)));
        Ok(Talk {
            messages: messages.collect(),
            bytes_sent: self.writer.stats().bytes_sent - before,
            tally: *self.tally.lock().unwrap_or_else(PoisonError::into_inner),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_hundred_messages_one_may_be_slower_than_the_99th() {
        let ms = Duration::from_millis;
        let mut talk = Talk {
            messages: (1..=100).rev().map(|took| (ms(0), ms(took))).collect(),
            bytes_sent: 25_050,
            ..Talk::default()
        };
        assert_eq!(
            [50, 99, 100].map(|it| talk.delay(it)),
            [50, 99, 100].map(ms)
        );
        assert_eq!(talk.bytes_per_message(), 250);
        talk.messages.clear();
        assert_eq!((talk.delay(99), talk.bytes_per_message()), (ms(0), 25_050));
    }
}
