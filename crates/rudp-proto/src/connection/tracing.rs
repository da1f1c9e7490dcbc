//! What a host that asked for traces hears.

use core::time::Duration;

use super::Connection;
use crate::trace::{CongestionMetrics, CongestionPhase, Step, Trace};

/// The pause between two looks at congestion control, which would change with every packet.
const EVERY: Duration = Duration::from_millis(5);

/// When congestion control was last told of, what it did then, and how it stood.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Sampler(Option<(Duration, CongestionPhase, CongestionMetrics)>);

impl Sampler {
    /// Whether to tell how it stands now: at once what may stay so for long.
    fn is_news(&self, now: Duration, phase: CongestionPhase, metrics: CongestionMetrics) -> bool {
        self.0.is_none_or(|(at, last_phase, last)| {
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
        if !self.sampler.is_news(self.now, phase, metrics) {
            return;
        }
        let told = self.sampler.0.replace((self.now, phase, metrics));
        let old = told.map(|(_, phase, _)| phase);
        if old != Some(phase) {
            self.trace(self.now, Step::CongestionPhase { old, new: phase });
        }
        self.trace(self.now, Step::Congestion(metrics));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_and_an_empty_flight_are_told_at_once_and_the_rest_after_a_while() {
        use CongestionPhase::{Drain, Startup};
        let ms = Duration::from_millis;
        let mut sampler = Sampler::default();
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
            let told = sampler.is_news(ms(at), phase, metrics);
            assert_eq!(told, news, "at {at} ms: {phase}, {bytes_in_flight}");
            if told {
                sampler.0 = Some((ms(at), phase, metrics));
            }
        }
    }
}
