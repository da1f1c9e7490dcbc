//! What the owner does, step by step.

use super::super::clock::{Clock, shared_end};
use super::super::disconnect::Disconnect;
use super::super::report::Wait;
use super::super::status::Status;
use super::super::tell::News;
use super::{Extras, Flight, Inner, Resolution};
use crate::{Abort, AttemptId, PickAction, Start, State};
use core::task::{Poll, Waker};
use core::time::Duration;
use tokio::time::Instant;

/// What the owner does next.
pub(in super::super) enum Step<A> {
    /// Call the connect function for this attempt.
    Start(Start, A, Instant),
    /// Look for addresses.
    Resolve(AttemptId),
    /// Drop what was aborted, and ask again.
    Again,
    /// Nothing before this instant, if it comes at all, unless something happens.
    Wait(Option<Instant>),
    /// The caller gets no connection.
    End(Ended),
}

/// Why a caller gets no connection.
pub(in super::super) enum Ended {
    Unavailable(Status),
    GaveUp(Status),
    Withdrawn(Status),
    Shutdown,
}

/// A wait is slept in slices of this at most, so that a suspend is noticed soon, at few wakes (D16).
const SLICE: Duration = Duration::from_secs(30);

/// The attempts that a suspend makes due are dispersed over this (D16).
const DISPERSAL: Duration = Duration::from_secs(15);
/// Two readings of the clocks differ by less without a suspend: 1 s.
const SUSPENDED: Duration = Duration::from_secs(1);
/// How long a token is kept for an attempt that does not use it: 1 s (D17).
const KEPT: Duration = Duration::from_secs(1);

impl<A: Clone + Eq> Inner<A> {
    /// The owner wants a connection, so the one it was given is gone. Gives how often `withdraw`
    /// has been called.
    pub(in super::super) fn begin(&mut self, now: Duration) -> u32 {
        self.lost(now);
        self.machine.connect(now);
        self.withdrawals
    }

    /// The owner does not wait any more.
    pub(in super::super) fn forget_waker(&mut self) {
        self.waker = None;
    }

    /// The connection that the owner was given is gone, if there is one.
    pub(in super::super) fn lost(&mut self, now: Duration) {
        if let Some(attempt) = self.live.given {
            let _ = self.gone(now, attempt, Disconnect::Unknown, None);
        }
    }

    /// The next thing to do for an owner who waits since there had been so many `withdrawals`,
    /// when the system has been `suspended` for so long.
    pub(in super::super) fn step(
        &mut self,
        now: Duration,
        suspended: Duration,
        waker: &Waker,
        wait: Wait,
        withdrawals: u32,
    ) -> Step<A> {
        if !(self.waker.as_ref()).is_some_and(|known| known.will_wake(waker)) {
            self.waker = Some(waker.clone());
        }
        self.look_for_suspend(now, suspended);
        let wait_until = self.wait_for_permit(now);
        if wait_until.is_none() {
            let draws = &mut self.draws;
            match self.machine.poll_action(now, || draws.next()) {
                Some(PickAction::Start { start, address }) => {
                    let deadline = self.clock.at_most(start.deadline);
                    let step = Step::Start(start, address.clone(), deadline);
                    self.extras
                        .iter_mut()
                        .for_each(|extras| extras.permit = None);
                    self.live.flights.reserve_exact(1);
                    self.live.flights.push(Flight::new(start));
                    return step;
                }
                Some(PickAction::Abort(Abort { attempt })) => {
                    self.aborted(now, attempt);
                    return Step::Again;
                }
                Some(PickAction::Resolve(start)) => {
                    self.live.resolving = Some(Resolution {
                        id: start.attempt,
                        started_at: now,
                        deadline: start.deadline,
                    });
                    return Step::Resolve(start.attempt);
                }
                None => {}
            }
        }
        let busy = self.live.resolving.is_some() || !self.live.flights.is_empty();
        match self.machine.state() {
            State::Shutdown => Step::End(Ended::Shutdown),
            State::GaveUp { .. } => Step::End(Ended::GaveUp(self.status())),
            State::Idle if !self.machine.is_wanted() && self.withdrawals == withdrawals => {
                self.machine.connect(now); // accepted, and lost before the owner had it
                Step::Again
            }
            State::Idle if !self.machine.is_wanted() => Step::End(Ended::Withdrawn(self.status())),
            _ if wait == Wait::FailFast && !busy => Step::End(Ended::Unavailable(self.status())),
            _ => Step::Wait(self.sleep_until(now, wait_until, busy)),
        }
    }

    /// When to look again.
    fn sleep_until(&self, now: Duration, permit: Option<Instant>, busy: bool) -> Option<Instant> {
        let due_at = match permit {
            Some(permit) => {
                let ends = self.ends().filter_map(|at| self.clock.at(at));
                ends.fold(permit, Ord::min)
            }
            None => self.clock.at(self.machine.poll_timeout()?)?,
        };
        if busy {
            return Some(due_at);
        }
        let slice = self.clock.at(now.saturating_add(SLICE));
        let until = slice.map_or(due_at, |slice| due_at.min(slice));
        Some(shared_end(until, self.slack_ns))
    }

    /// Until when an attempt that is due has to wait for the budget (D17). An end that is due, of
    /// an attempt or of all (D11), comes first, and needs no permit.
    fn wait_for_permit(&mut self, now: Duration) -> Option<Instant> {
        (self.extras.as_ref()?).budget.as_ref()?;
        let start = self.machine.next_start().filter(|&at| at <= now);
        if start.is_none() || self.ends().any(|end| end <= now) {
            return None;
        }
        let Extras { budget, permit, .. } = self.extras.as_deref_mut()?;
        let kept = permit.filter(|kept| Clock::read().saturating_duration_since(*kept) <= KEPT);
        let permit = *permit.insert(match kept {
            Some(kept) => kept,
            None => budget.as_ref()?.reserve(),
        });
        (permit > Clock::read()).then_some(permit)
    }

    /// When what is in flight ends, and when all does (D11).
    fn ends(&self) -> impl Iterator<Item = Duration> {
        let flights = self.live.flights.iter().map(|flight| flight.start.deadline);
        let resolution = self.live.resolving.map(|resolution| resolution.deadline);
        flights.chain(resolution).chain(self.machine.elapses_at())
    }

    /// Somebody asks for the connection that the owner makes. `withdrawals`: as many as there had
    /// been when this caller asked first. Says why there will be none, as far as is known.
    pub(in super::super) fn ask(
        &mut self,
        now: Duration,
        wait: Wait,
        withdrawals: &mut Option<u32>,
    ) -> Option<Ended> {
        if *withdrawals.get_or_insert(self.withdrawals) != self.withdrawals {
            return Some(Ended::Withdrawn(self.status()));
        }
        self.machine.connect(now);
        let state = self.machine.state();
        match state {
            State::Shutdown => return Some(Ended::Shutdown),
            State::GaveUp { .. } => return Some(Ended::GaveUp(self.status())),
            State::Ready { .. } => return None,
            _ if wait == Wait::ForReady => return None,
            _ => {}
        }
        let busy = self.live.resolving.is_some() || !self.live.flights.is_empty();
        let failing = matches!(state, State::TransientFailure { .. }); // (C3)
        let status = self.status();
        let due = (status.next_attempt_at).is_some_and(|at| at <= Clock::read());
        (!due && (failing || !busy)).then_some(Ended::Unavailable(status))
    }

    /// Waits until it is so.
    pub(in super::super) fn poll_until(
        &mut self,
        waker: &Waker,
        is_so: impl FnOnce(&Self) -> bool,
    ) -> Poll<()> {
        if is_so(self) {
            return Poll::Ready(());
        }
        self.waker = Some(waker.clone());
        Poll::Pending
    }

    /// There is something for the owner to do.
    pub(in super::super) fn is_wanted(&self) -> bool {
        self.machine.is_wanted() || matches!(self.machine.state(), State::Shutdown)
    }

    pub(in super::super) fn gave_up(&self) -> bool {
        matches!(self.machine.state(), State::GaveUp { .. })
    }

    /// The owner has the connection that it was given.
    pub(in super::super) fn is_given(&self) -> bool {
        self.live.given.is_some()
    }

    /// While the machine was suspended its monotonic clock stood still: a wait may have been over
    /// long ago, and the network is another. Ends it within the window (D16).
    fn look_for_suspend(&mut self, now: Duration, suspended: Duration) {
        let jump = suspended.saturating_sub(self.suspended);
        if jump >= SUSPENDED {
            self.suspended = suspended;
            if !matches!(self.machine.state(), State::GaveUp { .. }) {
                self.live.news.push(News::Suspended(jump));
                self.machine.reset_within(now, DISPERSAL, self.draws.next());
            }
        }
    }
}
