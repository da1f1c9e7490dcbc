//! The script: how each scene opens, and what it waits for. Nothing here waits for the clock.

use std::time::Duration;

use netsim::{LinkConfig, Probability};

/// One scene of the play.
#[derive(Debug)]
pub struct Scene {
    /// What it is called.
    pub title: &'static str,
    /// What there is to see, in a sentence or two.
    pub about: &'static str,
    pub(super) opening: Opening,
    pub(super) ends: Ends,
}

/// What the stage does as a scene opens.
#[derive(Clone, Copy, Debug)]
pub(super) enum Opening {
    /// Both links of the relay get this weather.
    Weather(Weather),
    /// Fair weather, but the next packet takes so long to the server, and all others wait behind it.
    StandStill(Duration),
    /// Fair weather, but dark for this long.
    BlackOut(Duration),
    /// The server's process dies.
    Kill,
    /// A new one takes its place: same folder, same port.
    Restart,
}

/// What a link is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weather {
    Fair,
    /// Nothing is lost, and packets overtake each other.
    Disorder,
    Foul,
    /// Much is lost, and nothing else.
    Holes,
}

/// What a scene waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ends {
    /// This share of the file is on the receiver's disk.
    OnDisk { percent: u64 },
    /// A fresh sample, after so many rounds and so many fast retransmits in this scene.
    Fresh { rounds: u64, fast_retransmits: u64 },
    /// So many rounds since a sample undid a back-off.
    Collapsed { rounds: u64 },
    /// So many refused attempts.
    Refused { attempts: u64 },
    /// The file is there.
    Delivered,
}

/// The play.
pub static SCRIPT: [Scene; 7] = [
    Scene {
        title: "a clean start",
        about: "The sender learns the round trip from the first answer and sends faster until no \
                more arrives. The RTO stays on its floor of 1 s.",
        opening: Opening::Weather(Weather::Fair),
        ends: Ends::OnDisk { percent: 15 },
    },
    Scene {
        title: "two seconds at a standstill",
        about: "Nothing is lost, but for two seconds nothing gets to the receiver. After 1 s the timer expires, \
                which takes the oldest packet for lost and leaves a window of one. Then all that was held \
                arrives at once, that packet too, and the window is what it was before.",
        opening: Opening::StandStill(Duration::from_secs(2)),
        ends: Ends::Fresh {
            rounds: 12, // the last answers before it are one or two
            fast_retransmits: 0,
        },
    },
    Scene {
        title: "packets overtake each other",
        about: "Nothing is lost, but each packet takes 20 to 50 ms. At first every packet that three \
                others overtake is taken for lost. Then it arrives: what congestion control did \
                about it, if anything, is undone, and from there on the sender waits as long as packets \
                were late.",
        opening: Opening::Weather(Weather::Disorder),
        ends: Ends::Fresh {
            rounds: 40,
            fast_retransmits: 1,
        },
    },
    Scene {
        title: "5 % loss",
        about: "Each way, 5 % of the packets are lost and 2 % are overtaken. Most losses show by \
                later packets that arrive, and are repaired within a round trip. Where the window \
                is too small for that, the timer has to do it.",
        opening: Opening::Weather(Weather::Foul),
        ends: Ends::Fresh {
            rounds: 45,
            fast_retransmits: 3,
        },
    },
    Scene {
        title: "eight seconds of darkness",
        about: "Right after a fresh sample, nothing gets through any more. The timer expires 1, 3 \
                and 7 s after the last send, since each expiry doubles the RTO. A small probe \
                every quarter of a second finds the path again, and the sample it brings undoes all \
                that at once.",
        opening: Opening::BlackOut(Duration::from_secs(8)),
        ends: Ends::Collapsed { rounds: 40 },
    },
    Scene {
        title: "the server is killed",
        about: "Its port is closed, and the relay tells so. One such report is only a hint; after \
                a silent RTO the connection is given up. New attempts are refused, about 1, 1.6 \
                and 2.56 s apart.",
        opening: Opening::Kill,
        ends: Ends::Refused { attempts: 4 },
    },
    Scene {
        title: "the server is back",
        about: "Same port, same folder. The sender does not know and waits for its time. Then \
                SETTINGS arrives, the series is reset, and the file goes on from the last byte on \
                disk.",
        opening: Opening::Restart,
        ends: Ends::Delivered,
    },
];

/// The relay's link, each way, for a file of this length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Bits per second.
    pub rate: u64,
    /// Bytes that may wait for the bottleneck.
    pub queue: usize,
    /// From end to end, without waiting.
    pub delay: Duration,
}

impl Network {
    /// The smallest file for the play, in bytes: 4 MiB. A smaller one would make so slow a network
    /// that the sender could not fill a window.
    pub const SMALLEST_FILE: u64 = 4 << 20;
    /// The fastest network, in bits per second: 240 Mbit/s. For a larger file than 360 MB the last
    /// scene takes longer.
    pub const FASTEST: u64 = 240_000_000;

    /// A network that the file would cross in 12 s if nothing happened to it.
    #[must_use]
    pub fn for_file(length: u64) -> Self {
        let delay = Duration::from_millis(20);
        let rate = (length.saturating_mul(8) / 12).clamp(1, Self::FASTEST);
        // As much as is under way in one round trip, so that losses leave the line busy.
        let round_trip = 2 * u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        let queue = rate / 8 * round_trip / 1000;
        Self {
            rate,
            queue: usize::try_from(queue).unwrap_or(usize::MAX),
            delay,
        }
    }

    /// One direction of it.
    pub(super) fn link(&self, weather: Weather) -> LinkConfig {
        let (loss, reorder) = match weather {
            Weather::Fair | Weather::Disorder => (0, 0),
            Weather::Foul => (5, 2),
            Weather::Holes => (10, 0),
        };
        let percent = |share| Probability::from_percent(share).unwrap_or(Probability::NEVER);
        // Disorder makes no round trip shorter: a shorter one would mean a smaller pipe.
        let (detour, jitter) = match weather {
            Weather::Disorder => (15, 15),
            Weather::Fair | Weather::Foul | Weather::Holes => (0, 2),
        };
        LinkConfig {
            delay: self.delay + Duration::from_millis(detour),
            jitter: Duration::from_millis(jitter),
            keep_order: weather != Weather::Disorder,
            loss: percent(loss),
            reorder: percent(reorder),
            rate: Some(self.rate),
            queue: self.queue,
            ..LinkConfig::PERFECT
        }
    }
}
