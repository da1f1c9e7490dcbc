//! A `Connection` and a `PickFirst` with one address, which do everything alike (A2).

use std::time::Duration;

use grpc_backoff::{
    Abort, Action, AttemptId, Config, ConfigError, Connection, PickAction, PickFirst, State,
    Verdict,
};

/// Makes every call to both, and panics where they differ in anything but the form of an abort.
#[derive(Debug)]
pub struct Twin {
    one: Connection,
    pick: PickFirst<u8>,
}

impl Twin {
    /// Both with this config.
    ///
    /// # Errors
    ///
    /// Where the config is refused.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let one = Connection::new(config)?;
        let pick = PickFirst::new(config, [0])?;
        Ok(Self { one, pick })
    }

    /// See [`Connection::connect`].
    pub fn connect(&mut self, now: Duration) {
        self.one.connect(now);
        self.pick.connect(now);
        self.compare();
    }

    /// See [`Connection::reset`].
    pub fn reset(&mut self, now: Duration) {
        self.one.reset(now);
        self.pick.reset(now);
        self.compare();
    }

    /// See [`Connection::reset_within`].
    pub fn reset_within(&mut self, now: Duration, window: Duration, draw: u64) {
        self.one.reset_within(now, window, draw);
        self.pick.reset_within(now, window, draw);
        self.compare();
    }

    /// See [`Connection::withdraw`].
    pub fn withdraw(&mut self, now: Duration) -> Option<Abort> {
        let abort = self.one.withdraw(now);
        self.pick.withdraw(now);
        self.aborted(now, abort)
    }

    /// See [`Connection::retarget`]; to another address.
    pub fn retarget(&mut self, now: Duration) -> Option<Abort> {
        let abort = self.one.retarget(now);
        let addresses = self.pick.connections().map(|(address, _)| !address);
        let addresses: Vec<_> = addresses.collect();
        self.pick.retarget(now, addresses);
        self.aborted(now, abort)
    }

    /// See [`Connection::shutdown`].
    pub fn shutdown(&mut self, now: Duration) -> Option<Abort> {
        let abort = self.one.shutdown();
        self.pick.shutdown();
        self.aborted(now, abort)
    }

    /// The list of one address comes again, which changes nothing.
    pub fn same_list(&mut self, now: Duration) {
        let addresses: Vec<_> = self
            .pick
            .connections()
            .map(|(address, _)| *address)
            .collect();
        self.pick.set_addresses(now, addresses);
        self.compare();
    }

    /// The program restarts: both are restored from a snapshot.
    ///
    /// # Panics
    ///
    /// Where the snapshots differ.
    pub fn restart(&mut self, now: Duration) {
        let config = self.one.config();
        let snapshot = self.one.snapshot(now);
        let picked: Vec<_> = self.pick.snapshot(now).map(|(a, own)| (*a, own)).collect();
        assert!(
            matches!(picked[..], [(_, own)] if own == snapshot),
            "{picked:?}"
        );
        self.one = Connection::restore(config, now, snapshot).expect("valid");
        self.pick = PickFirst::restore(config, now, picked).expect("valid");
        self.compare();
    }

    /// See [`Connection::handle_settings`].
    ///
    /// # Panics
    ///
    /// Where the verdicts differ.
    pub fn handle_settings(&mut self, now: Duration, attempt: AttemptId) -> Verdict {
        let verdict = self.one.handle_settings(now, attempt);
        assert_eq!(self.pick.handle_settings(now, attempt), verdict);
        self.compare();
        verdict
    }

    /// See [`Connection::handle_failed`].
    ///
    /// # Panics
    ///
    /// Where the verdicts differ.
    pub fn handle_failed(&mut self, now: Duration, attempt: AttemptId) -> Verdict {
        let verdict = self.one.handle_failed(now, attempt);
        assert_eq!(self.pick.handle_failed(now, attempt), verdict);
        self.compare();
        verdict
    }

    /// See [`Connection::handle_lost`].
    ///
    /// # Panics
    ///
    /// Where the verdicts differ.
    pub fn handle_lost(&mut self, now: Duration, attempt: AttemptId) -> Verdict {
        let verdict = self.one.handle_lost(now, attempt);
        assert_eq!(self.pick.handle_lost(now, attempt), verdict);
        self.compare();
        verdict
    }

    /// Polls until there is nothing more to do at this instant.
    ///
    /// # Panics
    ///
    /// Where the actions differ, or are more than an abort and a start.
    pub fn actions(&mut self, now: Duration, mut draw: impl FnMut() -> u64) -> Vec<Action> {
        let mut actions = Vec::new();
        loop {
            let mut drawn = None;
            let action = self.one.poll_action(now, || *drawn.insert(draw()));
            let picked = self
                .pick
                .poll_action(now, || drawn.take().expect("one draw"));
            match (action, picked) {
                (None, None) => break,
                (Some(Action::Start(start)), Some(PickAction::Start { start: same, .. })) => {
                    assert_eq!(same, start);
                }
                (Some(Action::Abort(abort)), Some(PickAction::Abort(same))) => {
                    assert_eq!(same, abort);
                }
                other => panic!("not the same at {now:?}: {other:?}"),
            }
            self.compare();
            actions.extend(action);
            assert!(
                actions.len() <= 2,
                "more than an abort and a start at {now:?}"
            );
        }
        actions
    }

    /// See [`Connection::state`].
    #[must_use]
    pub fn state(&self) -> State {
        self.one.state()
    }

    /// See [`Connection::failures`].
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.one.failures()
    }

    /// See [`Connection::poll_timeout`].
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.one.poll_timeout()
    }

    /// See [`Connection::explain`].
    ///
    /// # Panics
    ///
    /// Where the lines differ.
    #[must_use]
    pub fn explain(&self, now: Duration) -> String {
        let line = self.one.explain(now).to_string();
        assert_eq!(self.pick.explain(now).to_string(), line);
        line
    }

    /// The machine with several addresses gives an abort by its next action.
    fn aborted(&mut self, now: Duration, abort: Option<Abort>) -> Option<Abort> {
        if let Some(abort) = abort {
            let picked = self
                .pick
                .poll_action(now, || panic!("no draw for an abort"));
            assert_eq!(picked, Some(PickAction::Abort(abort)));
        }
        self.compare();
        abort
    }

    fn compare(&self) {
        let (one, pick) = (&self.one, &self.pick);
        assert_eq!(pick.state(), one.state());
        assert_eq!(pick.poll_timeout(), one.poll_timeout());
        assert_eq!(pick.is_wanted(), one.is_wanted());
        assert_eq!(pick.failures(), one.failures());
        assert_eq!(pick.attempts(), one.attempts());
    }
}
