//! What a trace file tells, in the units of plots: seconds, bytes, bits per second.

use std::{fmt, time::Duration};

use super::congestion::Congestion;
use crate::words::{count, span};

/// What a trace file tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traces {
    /// The title in its header.
    pub title: String,
    /// Its connections, in the order in which they appear.
    pub connections: Vec<History>,
    /// Whether the last line is cut off, as when the program was killed. It is left out.
    pub cut: bool,
}

/// The history of one connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Its `group_id`, or the file's title where it has none.
    pub name: String,
    /// The first and the last time.
    pub(super) life: (f64, f64),
    /// When, and what was measured.
    pub(super) rtt: Vec<(f64, f64)>,
    pub(super) srtt: Vec<(f64, f64)>,
    pub(super) rto: Vec<(f64, f64)>,
    /// When, and the RTO that ran out.
    pub(super) expiries: Vec<(f64, f64)>,
    pub(super) congestion: Congestion,
    /// Since when congestion control was in which phase.
    pub(super) phases: Vec<(f64, String)>,
    /// Since when full datagrams have so many bytes.
    pub(super) sizes: Vec<(f64, String)>,
    /// Since when so much is known of ECN on the path.
    pub(super) ecn: Vec<(f64, String)>,
    /// When each packet left, and its number.
    pub(super) sent: Vec<(f64, f64)>,
    /// Packets taken for lost.
    pub(super) losses: Vec<Loss>,
    /// Late acknowledgements of such packets.
    pub(super) spurious: Vec<Spurious>,
    pub(super) path_probes: Vec<f64>,
    pub(super) tail_probes: Vec<f64>,
    /// Packets that repeat pieces of those before them, and stream bytes in these.
    pub(super) bundles: u64,
    pub(super) bundled: u64,
    pub(super) received: u64,
    /// Lines of the trace that its writer could not keep up with.
    pub(super) missed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Loss {
    pub(super) at: f64,
    /// The packet's number, where the trace has it.
    pub(super) number: Option<f64>,
    /// A later packet has brought its pieces.
    pub(super) repaired: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spurious {
    pub(super) at: f64,
    pub(super) packets: u64,
    pub(super) undone: bool,
}

impl History {
    /// Whether there is anything to draw.
    pub(super) fn is_empty(&self) -> bool {
        *self
            == Self {
                name: self.name.clone(),
                life: self.life,
                missed: self.missed,
                ..Self::default()
            }
    }

    /// How many losses cost nothing, since a later packet had repeated the pieces.
    fn repaired(&self) -> u64 {
        self.losses.iter().filter(|loss| loss.repaired).count() as u64
    }

    fn late(&self) -> u64 {
        let packets = self.spurious.iter().map(|late| late.packets);
        packets.fold(0, u64::saturating_add)
    }
}

impl fmt::Display for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.connections.len() {
            0 => f.write_str("Nothing happened on any connection.")?,
            one_or_more => write!(
                f,
                "{}.",
                count(one_or_more as u64, "connection", "connections")
            )?,
        }
        if self.cut {
            f.write_str(" The last line is cut off, and left out.")?;
        }
        Ok(())
    }
}

/// In a sentence: how long, and what happened how often.
impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lasted = Duration::try_from_secs_f64(self.life.1 - self.life.0).unwrap_or_default();
        let undone = self.spurious.iter().filter(|late| late.undone).count() as u64;
        write!(f, "{}", span(lasted))?;
        let counts = [
            (self.sent.len() as u64, "packet sent", "packets sent"),
            (self.received, "received", "received"),
            (
                self.rtt.len() as u64,
                "round trip measured",
                "round trips measured",
            ),
            (self.expiries.len() as u64, "expiry", "expiries"),
            (
                self.losses.len() as u64,
                "packet taken for lost",
                "packets taken for lost",
            ),
            (
                self.repaired(),
                "of these repaired by a repeat",
                "of these repaired by repeats",
            ),
            (self.late(), "of these came late", "of these came late"),
            (undone, "reduction undone", "reductions undone"),
            (self.tail_probes.len() as u64, "tail probe", "tail probes"),
            (self.path_probes.len() as u64, "path probe", "path probes"),
            (self.bundles, "packet with repeats", "packets with repeats"),
            (self.bundled, "byte in these", "bytes in these"),
            (
                self.missed,
                "step missing in the trace",
                "steps missing in the trace",
            ),
        ];
        for (number, one, many) in counts {
            if number > 0 {
                write!(f, ", {}", count(number, one, many))?;
            }
        }
        f.write_str(".")
    }
}
