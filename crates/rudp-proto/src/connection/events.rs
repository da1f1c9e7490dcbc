//! Events of the connection itself until the host fetches them: at most one of each kind, and a
//! bounded number of traces (K9).

use alloc::collections::VecDeque;

use crate::stats::add;
use crate::{CloseReason, Event, Step, Trace};

/// Traces kept for the host; the oldest goes first.
const MAX_TRACES: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Events {
    pub(super) tracing: bool,
    traces: VecDeque<Trace>,
    /// How many were dropped since the host was told.
    missed: u64,
    pub(super) connected: bool,
    /// R1 was reached, and nothing acknowledged since (K10).
    pub(super) unanswered: bool,
    told_unanswered: bool,
    pub(super) closed: Option<CloseReason>,
}

impl Events {
    pub(super) fn new(tracing: bool) -> Self {
        Self {
            tracing,
            ..Self::default()
        }
    }

    pub(super) fn trace(&mut self, trace: Trace) {
        if !self.tracing {
            return;
        }
        if self.traces.len() >= MAX_TRACES {
            self.traces.pop_front();
            add(&mut self.missed, 1);
        }
        self.traces.push_back(trace);
    }

    /// What comes before the streams' events; `closed` comes after them.
    pub(super) fn poll(&mut self) -> Option<Event> {
        use core::mem::take;
        if let (Some(next), 1..) = (self.traces.front(), self.missed) {
            let traces = take(&mut self.missed);
            let step = Step::Missed { traces };
            return Some(Event::Trace(Trace { step, ..*next }));
        }
        if let Some(trace) = self.traces.pop_front() {
            return Some(Event::Trace(trace));
        }
        if take(&mut self.connected) {
            return Some(Event::Connected);
        }
        if self.told_unanswered == self.unanswered {
            return None;
        }
        self.told_unanswered = self.unanswered;
        Some(match self.unanswered {
            true => Event::Unanswered,
            false => Event::Answered,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn traces_are_bounded_and_the_rest_is_told_once() {
        let mut events = Events::new(true);
        events.connected = true;
        let estimator = rto::Estimator::new(rto::Config::RFC6298).unwrap();
        for packets in 0..5000 {
            events.trace(Trace {
                at: Duration::ZERO,
                step: Step::FastRetransmit { packets },
                estimator,
            });
        }
        let missed = |event| match event {
            Some(Event::Trace(trace)) => Some(trace.step),
            _ => None,
        };
        let traces = 5000 - MAX_TRACES as u64;
        assert_eq!(missed(events.poll()), Some(Step::Missed { traces }));
        let mut last = None;
        for _ in 0..=MAX_TRACES {
            last = events.poll();
        }
        assert_eq!(last, Some(Event::Connected));
        assert_eq!(events.poll(), None);
    }
}
