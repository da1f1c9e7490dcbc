use crate::connection::{Machine, Params};
use crate::{Abort, AttemptId, Config, ConfigError, Connection, FlapGuard, Limit, Snapshot, Start};
use address::{Address, contains, revive};
use addresses::Addresses;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;
use leftovers::Leftovers;

mod address;
mod addresses;
mod explain;
mod interleave;
mod leftovers;
mod list;
mod outcomes;
mod pass;
mod state;

pub use interleave::interleave;

/// One connection to a server that has several addresses: it says which to dial and when.
///
/// Every address has a [`Connection`] of its own, with its own backoff (D10). While none is
/// connected, a pass goes over the list in order: the next address is tried when the one before
/// has failed or has had [`Config::connection_attempt_delay`] without an answer, so several
/// attempts may be in flight, at most one for each address (A2, A3). The first server whose
/// SETTINGS arrives wins, and all other attempts are aborted (A5). Once every address has failed,
/// each is tried again whenever its own wait ends, and a new list is asked for (A6, A7).
///
/// The calls are those of a [`Connection`], and with one address so is what it does. What it
/// wants done, aborts too, comes from [`poll_action`](Self::poll_action) alone: after every call,
/// call that until it gives `None`. Ids are unique over all addresses and resolutions.
///
/// ```
/// # use {core::time::Duration, grpc_backoff::*};
/// let ms = Duration::from_millis;
/// let draw = || 1 << 63; // the middle of the jitter: bring your own generator
/// let mut server = PickFirst::new(Config::GRPC, ["v6", "v4"])?;
///
/// server.connect(ms(0));
/// let Some(PickAction::Start { start: v6, address: &"v6" }) = server.poll_action(ms(0), draw)
/// else { panic!() };
/// assert_eq!(server.poll_action(ms(249), draw), None);
/// let Some(PickAction::Start { start: v4, address: &"v4" }) = server.poll_action(ms(250), draw)
/// else { panic!() };
///
/// assert_eq!(server.handle_settings(ms(300), v4.attempt), Verdict::Accepted);
/// let abort = Abort { attempt: v6.attempt };
/// assert_eq!(server.poll_action(ms(300), draw), Some(PickAction::Abort(abort)));
/// # Ok::<(), ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PickFirst<A> {
    /// What every machine runs by.
    params: Params,
    /// In the order of preference (A1).
    addresses: Addresses<A>,
    leftovers: Leftovers<A>,
    /// When to ask for a new list, where there is somebody to ask (A7).
    resolver: Option<Box<Connection>>,
    /// Since when a connection is wanted and missing.
    wanted_since: Option<Duration>,
    /// How many addresses have had their turn in this pass: all of them, once it has failed.
    turns: usize,
    /// When the next address has its turn, while there is one.
    next_turn: Duration,
    /// A pass has failed since a connection was wanted (A6).
    failing: bool,
    end: Option<End>,
    /// Attempts and resolutions started so far: the latest has the id `attempts - 1`.
    attempts: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    GaveUp(Limit),
    Shutdown,
}

/// What the host of a [`PickFirst`] has to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PickAction<'a, A> {
    /// Begin to connect to this address.
    Start {
        /// Under which id, and by when.
        start: Start,
        /// Where to.
        address: &'a A,
    },
    /// Resolve the server's name, and report the list by
    /// [`handle_resolved`](PickFirst::handle_resolved) or an error by
    /// [`handle_failed`](PickFirst::handle_failed) (A7).
    Resolve(Start),
    /// Stop this attempt or resolution, or close the connection that it made.
    Abort(Abort),
}

impl<A: PartialEq> PickFirst<A> {
    /// Makes a machine in IDLE that wants no connection yet. Without an address it waits for
    /// [`set_addresses`](Self::set_addresses) or a [resolver](Self::with_resolver).
    ///
    /// # Errors
    ///
    /// A config that makes no sense is refused, see [`ConfigError`] (D3).
    pub fn new(
        config: Config,
        addresses: impl IntoIterator<Item = A>,
    ) -> Result<Self, ConfigError> {
        let mut pick_first = Self {
            params: Params::new(&config)?,
            addresses: Addresses::NONE,
            leftovers: Leftovers::NONE,
            resolver: None,
            wanted_since: None,
            turns: 0,
            next_turn: Duration::ZERO,
            failing: false,
            end: None,
            attempts: 0,
        };
        pick_first.replace(Duration::ZERO, addresses);
        Ok(pick_first)
    }

    /// Makes a machine in IDLE that goes on where a [`snapshot`](Self::snapshot) left off, as
    /// [`Connection::restore`] does for each address (D10).
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn restore(
        config: Config,
        now: Duration,
        snapshot: impl IntoIterator<Item = (A, Snapshot)>,
    ) -> Result<Self, ConfigError> {
        let mut pick_first = Self::new(config, [])?;
        let mut addresses = Vec::new();
        for (value, snapshot) in snapshot {
            let machine = Machine::resumed(&pick_first.params, now, snapshot);
            let address = Address::new(value, machine);
            pick_first.attempts = pick_first.attempts.max(snapshot.attempts);
            if !contains(&addresses, &address.value) {
                addresses.push(address);
            }
        }
        pick_first.addresses = addresses.into();
        Ok(pick_first)
    }

    /// Asks for a new list by [`PickAction::Resolve`]: when a connection is wanted and there is no
    /// address, and once for every failed pass. Resolutions back off as attempts do, and two that
    /// succeed keep a first delay between them (A7).
    #[must_use]
    pub fn with_resolver(mut self) -> Self {
        let params = Params {
            stable_time: 0, // a list is no connection that could be stable
            flap_guard: FlapGuard::On,
            ..self.params.clone()
        };
        self.resolver = Some(Box::new(Connection::with_params(params)));
        self
    }

    // ---- What the application wants ----

    /// Wants a connection: begins a pass at the head of the list (A1). Says nothing new while a
    /// connection is wanted or there, or after an end.
    pub fn connect(&mut self, now: Duration) {
        if self.is_wanted() || self.end.is_some() || self.ready().is_some() {
            return;
        }
        self.wanted_since = Some(now);
        for address in self.addresses.iter_mut() {
            revive(&mut address.machine, &self.params, now);
            address.failed = address.waits_after_failure(&self.params, now);
        }
        self.check_pass(now);
        self.begin_pass(now);
    }

    /// Wants no connection any more: IDLE, where no attempt starts and each wait still counts
    /// (D8). A READY connection stays; what is in flight is cancelled (D12).
    pub fn withdraw(&mut self, now: Duration) {
        self.wanted_since = None;
        self.failing = false;
        self.end_each(|params, machine| machine.withdraw(params, now));
    }

    /// Restarts the series of every address, ends all waits and begins a new pass (C4). Attempts
    /// in flight go on; where one fails, its address may be tried again at once (D5). Leads out
    /// of `GaveUp`, to IDLE.
    pub fn reset(&mut self, now: Duration) {
        for machine in self.machines() {
            machine.reset(now);
        }
        self.restart(now);
    }

    /// As [`reset`](Self::reset), but waits end within `window`, as those of
    /// [`Connection::reset_within`] do (D15): each address at a point of its own, spread from the
    /// one that `draw` chooses for the first.
    pub fn reset_within(&mut self, now: Duration, window: Duration, draw: u64) {
        let mut draw = draw;
        for machine in self.machines() {
            machine.reset_within(now, window, draw);
            draw = draw.wrapping_add(0x9e37_79b9_7f4a_7c15); // 2^64 by the golden ratio: even
        }
        self.restart(now);
    }

    /// The server to connect to has changed: starts afresh with these addresses and no history,
    /// at once if a connection is wanted and missing. From READY it leads to IDLE (C2), and out
    /// of `GaveUp`.
    pub fn retarget(&mut self, now: Duration, addresses: impl IntoIterator<Item = A>) {
        if self.end == Some(End::Shutdown) {
            return;
        }
        for address in self.addresses.take() {
            self.leftovers.abort(address.end().1);
        }
        self.leftovers.forget_all();
        let wanted = self.wanted_since.take();
        self.replace(now, addresses);
        self.wanted_since = wanted;
        self.end_each(|_, machine| machine.retarget(now));
        self.restart(now);
    }

    /// Ends everything for good (C1): no deadline follows, and no action but aborts.
    pub fn shutdown(&mut self) {
        self.end_each(|_, machine| machine.shutdown());
        self.wanted_since = None;
        self.end = Some(End::Shutdown);
    }

    /// The connection of this attempt is used before its server has accepted (D13): all other
    /// attempts are cancelled, and wait their time (D12), and so is a resolution. This one goes on
    /// under its deadline; should it fail, the addresses behind it have their turn (A4).
    pub fn cancel_others(&mut self, now: Duration, attempt: AttemptId) {
        let Some(since) = self.wanted_since else {
            return;
        };
        self.withdraw_resolution(now);
        for (index, address) in self.addresses.iter_mut().enumerate() {
            if !address.is_connecting() {
                continue;
            }
            if address.machine.latest() == attempt {
                self.turns = self.turns.min(index.saturating_add(1)); // those behind it: anew
                continue;
            }
            let abort = address.machine.withdraw(&self.params, now);
            self.leftovers.abort(abort);
            address.machine.connect(&self.params, since);
        }
    }

    // ---- What to do ----

    /// The deadline by which to call [`poll_action`](Self::poll_action); it may lie in the past,
    /// and `None` asks for no call. Every other call that takes `&mut self` may change it.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        let turns = self.next_turn().into_iter();
        (self.deadlines().chain(turns).chain(self.gives_up_at())).min()
    }

    /// Says what to do now, if anything. Calling early is harmless, calling late is one action for
    /// each address. Call it until it gives `None`. `draw`, uniform over all of `u64`, is called
    /// exactly once for each `Start` and `Resolve` and not otherwise (S9).
    #[must_use]
    pub fn poll_action(
        &mut self,
        now: Duration,
        draw: impl FnMut() -> u64,
    ) -> Option<PickAction<'_, A>> {
        if let Some(abort) = self.leftovers.next_abort() {
            return Some(PickAction::Abort(abort));
        }
        let due = self.poll_machines(now, draw)?;
        Some(match due {
            pass::Due::Start(index, start) => PickAction::Start {
                start,
                address: &self.addresses.get(index)?.value,
            },
            pass::Due::Resolve(start) => PickAction::Resolve(start),
            pass::Due::Abort(abort) => PickAction::Abort(abort),
        })
    }

    fn end_each(&mut self, end: impl Fn(&Params, &mut Machine) -> Option<Abort>) {
        for machine in self.leftovers.machines() {
            let _ = end(&self.params, machine); // ended long ago
        }
        for address in self.addresses.iter_mut() {
            self.leftovers
                .abort(end(&self.params, &mut address.machine));
        }
        if let Some(resolver) = &mut self.resolver {
            (self.leftovers).abort(end(&resolver.params, &mut resolver.machine));
        }
    }

    /// All machines: of the addresses, of those that are remembered, and of the resolver.
    fn machines(&mut self) -> impl Iterator<Item = &mut Machine> {
        let addresses = self.addresses.iter_mut();
        let machines = addresses.map(|address| &mut address.machine);
        let resolver = self.resolver.as_mut().map(|resolver| &mut resolver.machine);
        machines.chain(self.leftovers.machines()).chain(resolver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_takes_little_more_than_its_connection() {
        assert_eq!(size_of::<Address<()>>() - size_of::<Machine>(), 16);
        assert_eq!(size_of::<PickFirst<()>>() - size_of::<Params>(), 176);
        let one = PickFirst::new(Config::GRPC, [()]).expect("valid");
        assert!(matches!(one.addresses, Addresses::One(_)));
    }
}
