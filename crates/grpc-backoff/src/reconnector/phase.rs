use super::clock::Clock;
use core::fmt;
use core::time::Duration;
use tokio::time::Instant;

/// A phase of an attempt. The connect deadline covers all of them together (S5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// A name is being resolved.
    Resolve,
    /// A TCP connection, or what stands in for one, is being made.
    Tcp,
    /// The TLS handshake is going on.
    Tls,
    /// The server's SETTINGS is awaited, or whatever else says that it has accepted (S11).
    Settings,
}

impl Phase {
    const ALL: [Self; 4] = [Self::Resolve, Self::Tcp, Self::Tls, Self::Settings];

    /// What had not come when the deadline passed in this phase.
    pub(super) const fn missing(phase: Option<Self>) -> &'static str {
        match phase {
            Some(Self::Resolve) => "no address",
            Some(Self::Tcp) => "no TCP connection",
            Some(Self::Tls) => "no TLS handshake",
            Some(Self::Settings) => "no SETTINGS",
            None => "no connection",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resolve => "resolve",
            Self::Tcp => "TCP",
            Self::Tls => "TLS",
            Self::Settings => "SETTINGS",
        })
    }
}

/// How long an attempt was in each [`Phase`] that it entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseTimes {
    spent: [Option<Duration>; Phase::ALL.len()],
}

impl PhaseTimes {
    /// The time spent in this phase; `None` if it was never entered.
    #[must_use]
    pub fn get(&self, phase: Phase) -> Option<Duration> {
        self.spent[phase as usize]
    }

    /// Every phase that was entered, in the order of an establishment.
    pub fn iter(&self) -> impl Iterator<Item = (Phase, Duration)> + use<> {
        let times = *self;
        (Phase::ALL.into_iter()).filter_map(move |phase| Some((phase, times.get(phase)?)))
    }
}

/// Measures the phases of one attempt.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PhaseClock {
    current: Option<(Phase, Instant)>,
    times: PhaseTimes,
}

impl PhaseClock {
    pub(super) fn enter(&mut self, phase: Phase) {
        let now = Clock::read();
        self.times = self.times_at(now);
        self.times.spent[phase as usize].get_or_insert_default();
        self.current = Some((phase, now));
    }

    pub(super) fn current(&self) -> Option<Phase> {
        self.current.map(|(phase, _)| phase)
    }

    /// The times, if the attempt ends now.
    pub(super) fn times_at(&self, now: Instant) -> PhaseTimes {
        let mut times = self.times;
        if let Some((phase, since)) = self.current {
            let spent = times.spent[phase as usize].get_or_insert_default();
            *spent = spent.saturating_add(now.saturating_duration_since(since));
        }
        times
    }
}
