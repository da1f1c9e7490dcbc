use crate::{Abort, Action, AttemptId, Config, ConfigError, Snapshot, State, Verdict};
use core::fmt;
use core::time::Duration;
pub(crate) use machine::Machine;
pub(crate) use params::Params;

mod machine;
mod params;
mod reading;
mod spacing;
#[cfg(test)]
mod tests;

/// One connection to one server: it says when to dial, you dial.
///
/// The [crate documentation](crate) shows its run loop. Any order of calls with any times is
/// allowed. After every call, call [`poll_action`](Self::poll_action) until it gives `None`: that
/// is at most one `Abort` and one `Start` for any instant. Time ends after 2^64 ns (584 years): a
/// deadline beyond that reads [`Duration::MAX`], and never comes (D7).
///
/// # Deviations
///
/// None from the document; where it leaves room, decisions D1 to D13 and D15 apply. It knows one
/// address and keeps no metrics: those are for what is built on it.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(crate) params: Params,
    pub(crate) machine: Machine,
}

impl Connection {
    /// Makes a machine in IDLE that wants no connection yet.
    ///
    /// # Errors
    ///
    /// A config that makes no sense is refused, see [`ConfigError`] (D3).
    pub const fn new(config: Config) -> Result<Self, ConfigError> {
        match Params::new(&config) {
            Err(error) => Err(error),
            Ok(params) => Ok(Self::with_params(params)),
        }
    }

    pub(crate) const fn with_params(params: Params) -> Self {
        Self {
            params,
            machine: Machine::NEW,
        }
    }

    /// Makes a machine in IDLE that goes on where a [`snapshot`](Self::snapshot) left off: it
    /// waits what is left, but never longer than the config's longest delay (D7, D10). One that
    /// gave up may try again, once per restart if its failures are at `max_attempts`.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn restore(config: Config, now: Duration, snapshot: Snapshot) -> Result<Self, ConfigError> {
        let params = Params::new(&config)?;
        let machine = Machine::resumed(&params, now, snapshot);
        Ok(Self { params, machine })
    }

    // ---- What the application wants ----

    /// Wants a connection: the first attempt of a run starts at once (S4) (S14), any other when
    /// its wait is over. Gives up at once where that is not before `max_elapsed` (D11). Says
    /// nothing new while a connection is wanted or there, or after an end.
    pub fn connect(&mut self, now: Duration) {
        self.machine.connect(&self.params, now);
    }

    /// Wants no connection any more: IDLE, where no attempt starts and the wait still counts
    /// (D8). A READY connection stays; an attempt in flight is cancelled, which is neither
    /// success nor failure (D12).
    #[must_use]
    pub fn withdraw(&mut self, now: Duration) -> Option<Abort> {
        self.machine.withdraw(&self.params, now)
    }

    /// Restarts the series, and ends a wait (C4). An attempt in flight goes on; if it fails, the
    /// next one starts at once (D5). Leads out of `GaveUp`, to IDLE.
    pub fn reset(&mut self, now: Duration) {
        self.machine.reset(now);
    }

    /// As [`reset`](Self::reset), but a wait ends at a point of `window` from now that `draw`,
    /// uniform over all of `u64`, chooses; or when it would have ended, if that is sooner. So a
    /// fleet that is reset together does not return together (D15).
    pub fn reset_within(&mut self, now: Duration, window: Duration, draw: u64) {
        self.machine.reset_within(now, window, draw);
    }

    /// The server to connect to has changed: starts afresh, at once if a connection is wanted and
    /// missing. What there is of the old one must be closed: from READY it leads to IDLE, where
    /// nothing starts before `connect`, as after a loss (C2). Leads out of `GaveUp`, to IDLE.
    #[must_use]
    pub fn retarget(&mut self, now: Duration) -> Option<Abort> {
        self.machine.retarget(now)
    }

    /// Ends everything for good (C1): no deadline and no action follow.
    #[must_use]
    pub fn shutdown(&mut self) -> Option<Abort> {
        self.machine.shutdown()
    }

    // ---- What happened ----

    /// The server's SETTINGS has arrived: success (S10). Only now has the server accepted the
    /// connection; a TCP or TLS handshake is no reason to call this (S11). Calls need not wait
    /// for it (D13). It counts as long as the machine has not asked to abort the attempt.
    #[must_use]
    pub fn handle_settings(&mut self, now: Duration, attempt: AttemptId) -> Verdict {
        self.machine.handle_settings(&self.params, now, attempt)
    }

    /// The attempt failed before SETTINGS arrived, for whatever reason: back off (S1). Of a
    /// connection that is READY it says what [`handle_lost`](Self::handle_lost) does.
    #[must_use]
    pub fn handle_failed(&mut self, now: Duration, attempt: AttemptId) -> Verdict {
        self.machine.handle_end(&self.params, now, attempt)
    }

    /// The READY connection that this attempt made is gone: IDLE until it is wanted again (C2),
    /// then a new run (S14). Of an attempt in flight it says what
    /// [`handle_failed`](Self::handle_failed) does.
    #[must_use]
    pub fn handle_lost(&mut self, now: Duration, attempt: AttemptId) -> Verdict {
        self.machine.handle_end(&self.params, now, attempt)
    }

    // ---- What to do ----

    /// The deadline by which to call [`poll_action`](Self::poll_action); it may lie in the past,
    /// and `None` asks for no call. Every other call that takes `&mut self` may change it.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.machine.poll_timeout()
    }

    /// Says what to do now, if anything. Calling early is harmless, calling late is one action.
    /// Call it until it gives `None`. `draw`, uniform over all of `u64`, is called exactly once
    /// for each `Start` and not otherwise (S9).
    #[must_use]
    pub fn poll_action(&mut self, now: Duration, draw: impl FnOnce() -> u64) -> Option<Action> {
        self.machine.poll_action(&self.params, now, draw)
    }

    // ---- What is known ----

    /// The state, with its deadline where it has one (C1).
    #[must_use]
    pub fn state(&self) -> State {
        self.machine.state()
    }

    /// Attempts started in the machine's life, and in that of the one it was restored from.
    #[must_use]
    pub const fn attempts(&self) -> u64 {
        self.machine.attempts()
    }

    /// Failures since the series last restarted: attempts, and with
    /// [`Reset::AfterStable`](crate::Reset::AfterStable) connections that were lost too soon (D9).
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.machine.failures()
    }

    /// Says whether a connection is wanted and missing.
    #[must_use]
    pub const fn is_wanted(&self) -> bool {
        self.machine.is_wanted()
    }

    /// The config that the machine runs by. A span of 2^64 ns or more has no end.
    #[must_use]
    pub const fn config(&self) -> Config {
        self.params.config()
    }

    /// What to keep for [`restore`](Self::restore), as if the connection or attempt there is
    /// ended now: lost or cancelled. Take it before `shutdown`, which forgets the wait.
    #[must_use]
    pub fn snapshot(&self, now: Duration) -> Snapshot {
        self.machine.snapshot(&self.params, now)
    }

    /// Says in one line what the machine is doing and why, for a human.
    #[must_use]
    pub fn explain(&self, now: Duration) -> impl fmt::Display + use<'_> {
        self.machine.explain(now)
    }
}
