//! How the owner gets a connection: one loop, polled by whoever waits.

use super::Reconnector;
use super::attempt::Attempt;
use super::catch::{Panic, catch, discard};
use super::core::{Core, Ended, Given, Step};
use super::report::{Error, Failure, Outcome, Wait};
use super::resolver::Running;
use super::tell;
use crate::{AttemptId, Start};
use core::fmt;
use core::mem::take;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::boxed::Box;
use std::string::ToString;
use std::sync::Arc;
use std::vec::Vec;
use tokio::time::{Instant, Sleep, sleep_until};
use tracing::Span;

/// A future of the connect function.
pub(super) struct Dial<Fut> {
    attempt: AttemptId,
    future: Pin<Box<Fut>>,
    span: Span,
}

/// Why the loop ends without a connection.
pub(super) enum Stop<E> {
    Error(Error<E>),
    /// The connect function panicked; its attempt has failed.
    Panicked(Panic),
}

/// Somebody who waits: has a timer, and is woken by commands until it is dropped.
pub(super) struct Waiting<A: Clone + Eq> {
    core: Arc<Core<A>>,
    timer: Option<Pin<Box<Sleep>>>,
    /// How often `withdraw` had been called when this wait began.
    withdrawals: u32,
}

impl<A: Clone + Eq> Waiting<A> {
    /// The owner wants a connection from now on.
    pub(super) fn begin(core: Arc<Core<A>>) -> Self {
        let withdrawals = core.with(|inner, now| inner.begin(now));
        Self {
            core,
            timer: None,
            withdrawals,
        }
    }

    /// Nobody has withdrawn since.
    pub(super) fn is_wanted(&self) -> bool {
        self.core.look(|inner, _| inner.withdrawals) == self.withdrawals
    }

    fn poll_timer(&mut self, at: Option<Instant>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(at) = at else {
            return Poll::Pending;
        };
        let timer = (self.timer).get_or_insert_with(|| Box::pin(sleep_until(at)));
        if timer.deadline() != at {
            timer.as_mut().reset(at);
        }
        timer.as_mut().poll(cx)
    }
}

impl<A: Clone + Eq> Drop for Waiting<A> {
    fn drop(&mut self) {
        self.core.look(|inner, _| inner.forget_waker());
    }
}

impl<A, F, Fut, C, E> Reconnector<A, F, Fut>
where
    A: Clone + Eq + fmt::Debug,
    F: FnMut(Attempt<A>) -> Fut,
    Fut: Future<Output = Result<C, Failure<E>>>,
    E: fmt::Display,
{
    pub(super) fn poll_connect(
        &mut self,
        waiting: &mut Waiting<A>,
        wait: Wait,
        cx: &mut Context<'_>,
    ) -> Poll<Result<C, Stop<E>>> {
        // Watchers see every failure (C1), and an instant failure starves nobody.
        if take(&mut self.owes_yield) {
            return yield_now(cx);
        }
        loop {
            self.sweep();
            let core = Arc::clone(&self.handle.core);
            let suspended = core.time_suspended();
            let withdrawals = waiting.withdrawals;
            match core.with(|inner, now| inner.step(now, suspended, cx.waker(), wait, withdrawals))
            {
                Step::Start(start, address, deadline) => {
                    let attempt = Attempt::new(core, start.attempt, address, deadline);
                    self.start(&start, attempt)?;
                }
                Step::Again => {
                    self.sweep();
                    return yield_now(cx);
                }
                Step::Resolve(id) => self.resolve(id)?,
                Step::End(ended) => return Poll::Ready(Err(Stop::Error(ended.into()))),
                Step::Wait(at) => match self.poll_attempts(cx) {
                    Poll::Ready(Some(result)) => return Poll::Ready(result),
                    Poll::Ready(None) => return yield_now(cx),
                    Poll::Pending => match self.poll_resolving(cx) {
                        Poll::Ready(resolved) => resolved?,
                        Poll::Pending => ready!(waiting.poll_timer(at, cx)),
                    },
                },
            }
        }
    }

    /// Calls the connect function.
    fn start(&mut self, start: &Start, attempt: Attempt<A>) -> Result<(), Stop<E>> {
        let id = attempt.id();
        let (teller, now) = (self.handle.core).look(|inner, now| (inner.teller.clone(), now));
        let called = catch(|| {
            let target = teller.as_ref().and_then(|teller| teller.target.as_deref());
            let span = tell::span(target, id, attempt.address());
            let future = span.in_scope(|| {
                tell::started(start, now);
                (self.dial)(attempt)
            });
            (future, span)
        });
        match called {
            Ok((future, span)) => {
                self.dials.reserve_exact(1);
                self.dials.push(Dial {
                    attempt: id,
                    future: Box::pin(future),
                    span,
                });
                Ok(())
            }
            Err(panic) => Err(self.panicked(id, panic)),
        }
    }

    /// Polls what is in flight. `None`: an attempt has ended, and it goes on.
    fn poll_attempts(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<C, Stop<E>>>> {
        let polled = self.dials.iter_mut().enumerate().find_map(|(at, dial)| {
            let Dial { future, span, .. } = dial;
            let poll = || future.as_mut().poll(cx).map_err(in_words);
            match catch(|| span.in_scope(poll)) {
                Ok(Poll::Pending) => None,
                Ok(Poll::Ready(result)) => Some((at, Ok(result))),
                Err(panic) => Some((at, Err(panic))),
            }
        });
        let Some((at, result)) = polled else {
            return Poll::Pending;
        };
        let dial = self.dials.swap_remove(at);
        let attempt = dial.attempt;
        discard(dial);
        let core = &self.handle.core;
        Poll::Ready(match result {
            Ok(Ok(connection)) => {
                let given = core.with(|inner, now| inner.connected(now, attempt));
                self.sweep();
                self.owes_yield = matches!(given, Given::Connection);
                if self.owes_yield {
                    return Poll::Ready(Some(Ok(connection)));
                }
                discard(connection);
                None
            }
            Ok(Err((Failure::Retry(error), words))) => {
                discard(error);
                let outcome = Outcome::Failed(words);
                let _ = core.with(|inner, now| inner.failed(now, attempt, outcome));
                None
            }
            Ok(Err((Failure::Final(error), words))) => {
                let outcome = Outcome::Refused(words);
                core.with(|inner, now| {
                    let _ = inner.failed(now, attempt, outcome);
                    inner.withdraw(now);
                });
                self.sweep();
                Some(Err(Stop::Error(Error::Refused(error))))
            }
            Err(panic) => Some(Err(self.panicked(attempt, panic))),
        })
    }

    fn panicked(&mut self, attempt: AttemptId, panic: Panic) -> Stop<E> {
        let outcome = Outcome::Failed("the connect function panicked".into());
        (self.handle.core).with(|inner, now| inner.failed(now, attempt, outcome));
        self.owes_yield = true;
        Stop::Panicked(panic)
    }
}

impl<A: Clone + Eq, F, Fut> Reconnector<A, F, Fut> {
    /// Drops the futures of attempts that are over.
    pub(super) fn sweep(&mut self) {
        let core = &self.handle.core;
        let is_over = |dial: &mut Dial<_>| !core.look(|inner, _| inner.is_live(dial.attempt));
        self.dials.extract_if(.., is_over).for_each(discard);
        if self.dials.is_empty() {
            self.dials = Vec::new(); // a wait needs no room
        }
        if let Some(resolver) = &mut self.resolver {
            let is_over =
                |running: &mut Running<A>| !core.look(|inner, _| inner.is_resolving(running.id));
            discard(resolver.running.take_if(is_over));
        }
    }
}

/// The failure, and its error in words for those who are told.
fn in_words<E: fmt::Display>(failure: Failure<E>) -> (Failure<E>, Arc<str>) {
    let (Failure::Retry(error) | Failure::Final(error)) = &failure;
    let words = error.to_string().into();
    (failure, words)
}

fn yield_now<T>(cx: &Context<'_>) -> Poll<T> {
    cx.waker().wake_by_ref();
    Poll::Pending
}

impl<E> From<Ended> for Error<E> {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Unavailable(status) => Self::Unavailable(status),
            Ended::GaveUp(status) => Self::GaveUp(status),
            Ended::Withdrawn(status) => Self::Withdrawn(status),
            Ended::Shutdown => Self::Shutdown,
        }
    }
}
