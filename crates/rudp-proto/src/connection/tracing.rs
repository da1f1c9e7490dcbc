//! What a host that asked for traces hears.

use core::time::Duration;

use super::Connection;
use crate::EcnState;
use crate::loss::{Acked, Content, SentPacket};
use crate::ranges::length;
use crate::trace::{CongestionMetrics, CongestionPhase, LossTrigger, Step, Trace, TracedPacket};

/// The pause between two looks at congestion control, which would change with every packet.
const EVERY: Duration = Duration::from_millis(5);

/// What was told last, so that only news is told.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Told {
    /// When congestion control was told of, what it did then, and how it stood.
    congestion: Option<(Duration, CongestionPhase, CongestionMetrics)>,
    /// The size of a full datagram, and whether the search for a larger one pauses.
    mtu: Option<(usize, bool)>,
    ecn: Option<EcnState>,
}

impl Told {
    /// Whether to tell how it stands now: at once what may stay so for long.
    fn is_news(&self, now: Duration, phase: CongestionPhase, metrics: CongestionMetrics) -> bool {
        self.congestion.is_none_or(|(at, last_phase, last)| {
            let stays = metrics.bytes_in_flight == 0;
            let due = stays || at.saturating_add(EVERY) <= now;
            last_phase != phase || (last != metrics && due)
        })
    }
}

impl Connection {
    /// Traces a step, after what the timer told before it.
    pub(super) fn trace(&mut self, at: Duration, step: Step) {
        if !self.events.tracing {
            return;
        }
        self.trace_timer();
        let estimator = *self.flight.timer().estimator();
        self.events.trace(Trace {
            at,
            step,
            estimator,
        });
    }

    pub(super) fn trace_timer(&mut self) {
        if !self.events.tracing {
            return;
        }
        let estimator = *self.flight.timer().estimator();
        for (at, event) in self.flight.timer_events() {
            let step = Step::Timer(event);
            self.events.trace(Trace {
                at,
                step,
                estimator,
            });
        }
    }

    pub(super) fn trace_congestion(&mut self) {
        if !self.events.tracing || self.remote.is_none() {
            return;
        }
        let phase = self.congestion.phase();
        let metrics = CongestionMetrics {
            window: self.congestion.window(),
            bytes_in_flight: self.flight.bytes(),
            pacing_rate: self.congestion.pacing_rate(),
            delivery_rate: self.congestion.delivery_rate(),
        };
        if !self.told.is_news(self.now, phase, metrics) {
            return;
        }
        let told = self.told.congestion.replace((self.now, phase, metrics));
        let old = told.map(|(_, phase, _)| phase);
        if old != Some(phase) {
            self.trace(self.now, Step::CongestionPhase { old, new: phase });
        }
        self.trace(self.now, Step::Congestion(metrics));
    }

    /// What is known of the path, if that has changed.
    pub(super) fn trace_path(&mut self) {
        if !self.events.tracing || self.remote.is_none() {
            return;
        }
        let mtu = (self.mtu.size(), self.mtu.is_settled());
        let told = self.told.mtu.replace(mtu);
        if told != Some(mtu) {
            let (new, done) = mtu;
            let old = told.map(|(size, _)| size);
            self.trace(self.now, Step::Mtu { old, new, done });
        }
        let new = self.ecn_path.state();
        let old = self.told.ecn.replace(new);
        if old != Some(new) {
            self.trace(self.now, Step::Ecn { old, new });
        }
    }

    pub(super) fn trace_sent(&mut self, now: Duration, number: u64, bytes: u64) {
        self.trace(now, Step::Sent(traced(number, bytes)));
    }

    /// What packet `packet` repeats of those before it (L15).
    pub(super) fn trace_bundled(&mut self, now: Duration, packet: u64, content: &Content) {
        let pieces = content.bundled;
        if !self.events.tracing || pieces == 0 {
            return;
        }
        let chunks = content.chunks.iter().rev().take(pieces);
        let bytes = chunks.fold(0, |sum: u64, chunk| {
            sum.saturating_add(length(&chunk.range))
        });
        let step = Step::Bundled {
            packet,
            pieces,
            bytes,
        };
        self.trace(now, step);
    }

    /// What an ACK, or the end of the patience, says of packets that were lost or seemed so.
    pub(super) fn trace_judged(&mut self, now: Duration, acked: &Acked) {
        if !self.events.tracing {
            return;
        }
        for packet in acked.packets.iter().filter(|packet| packet.declared_lost) {
            self.trace(now, Step::Late(traced(packet.number, packet.bytes)));
        }
        for packet in &acked.lost {
            let by = if packet.number < acked.lost_by_number {
                LossTrigger::Reordering
            } else {
                LossTrigger::Time
            };
            self.trace_lost(now, packet, by);
        }
    }

    /// Told before its content becomes due again.
    pub(super) fn trace_lost(&mut self, now: Duration, packet: &SentPacket, by: LossTrigger) {
        if !self.events.tracing {
            return;
        }
        let mut pieces = packet.own_chunks().iter();
        let repaired = packet.bundled && pieces.all(|chunk| self.streams.distance(chunk).is_none());
        let packet = traced(packet.number, packet.bytes);
        let step = Step::Lost {
            packet,
            by,
            repaired,
        };
        self.trace(now, step);
    }
}

fn traced(number: u64, bytes: u64) -> TracedPacket {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    TracedPacket { number, bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_and_an_empty_flight_are_told_at_once_and_the_rest_after_a_while() {
        use CongestionPhase::{Drain, Startup};
        let ms = Duration::from_millis;
        let mut told = Told::default();
        // ms, phase, in flight, whether that is told
        for (at, phase, bytes_in_flight, news) in [
            (0, Startup, 1_200, true),
            (4, Startup, 2_400, false),
            (5, Startup, 3_600, true),
            (20, Startup, 3_600, false),
            (20, Startup, 1_200, true),
            (21, Startup, 0, true),
            (21, Startup, 0, false),
            (22, Startup, 1_200, false),
            (22, Drain, 1_200, true),
        ] {
            let metrics = CongestionMetrics {
                window: 12_000,
                bytes_in_flight,
                pacing_rate: None,
                delivery_rate: None,
            };
            let is_news = told.is_news(ms(at), phase, metrics);
            assert_eq!(is_news, news, "at {at} ms: {phase}, {bytes_in_flight}");
            if is_news {
                told.congestion = Some((ms(at), phase, metrics));
            }
        }
    }
}
