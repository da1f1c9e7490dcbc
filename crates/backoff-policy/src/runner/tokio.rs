//! Retries by tokio's clock.

use super::session::Next;
use super::{Options, RetryError, Retrying, Runner, clock, layer};
use crate::Policy;
use ::tokio::time::{Sleep, sleep};
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::boxed::Box;

/// Tries an asynchronous operation until it succeeds or the policy gives up.
///
/// `op` is called for each attempt and gives the future that makes it. Set what you need, then await
/// it:
///
/// ```
/// # use {backoff_policy::*, std::{io, time::Duration}};
/// # async fn get(_: &str) -> io::Result<u8> { Err(io::ErrorKind::ConnectionRefused.into()) }
/// static QUOTA: AwsQuota = AwsQuota::standard_2_0(); // shared by all calls of the program
///
/// async fn page(url: &str) -> Result<u8, RetryError<io::Error>> {
///     retry(Policy::CALLS, || get(url))
///         .classify(|error| Class::of_io(error.kind()))
///         .attempt_timeout(Duration::from_secs(5))
///         .budget(&QUOTA)
///         .await
/// }
/// # #[::tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// #     let error = page("url").await.expect_err("refused");
/// #     assert_eq!((error.end.reason, error.end.attempts, QUOTA.available()), (Reason::Attempts, 5, 480));
/// # }
/// ```
///
/// # Cancel safety
///
/// Everything happens inside the future; no task is spawned. Dropping it drops the attempt that
/// runs, or cancels the wait; no attempt follows, and what it holds of a budget goes back (B10).
///
/// # Virtual time
///
/// It reads no clock but tokio's: while that is paused, hours of waiting take moments (B11).
pub fn retry<'a, Op, Fut, T, E>(policy: Policy, op: Op) -> Retrying<'a, Op, E>
where
    Op: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    Retrying::new(policy, op)
}

impl<'a, Op, Fut, T, E> Retrying<'a, Op, E>
where
    Op: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    /// Drops an attempt that takes longer than this, as a failure of the class
    /// [`Timeout`](crate::Class::Timeout). Without it an attempt takes as long as it likes, whatever the
    /// deadline of the policy.
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.options.attempt_timeout = Some(timeout);
        self
    }
}

impl<'a, Op, Fut, T, E> IntoFuture for Retrying<'a, Op, E>
where
    Op: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    type Output = Result<T, RetryError<E>>;
    type IntoFuture = Running<'a, Op, Fut, E>;

    fn into_future(self) -> Self::IntoFuture {
        let Options {
            attempt_timeout, ..
        } = self.options;
        Running {
            op: self.op,
            runner: self.options.begin(clock::tokio_now()),
            attempt_timeout,
            doing: Doing::Woken,
            timer: None,
        }
    }
}

/// The future of [`retry`]. The operation begins when it is made: where it is awaited.
#[must_use = "futures do nothing until they are polled"]
pub struct Running<'a, Op, Fut, E> {
    op: Op,
    runner: Runner<'a, E>,
    attempt_timeout: Option<Duration>,
    doing: Doing<Fut>,
    /// Of the wait, or of the attempt if that has one.
    timer: Option<Pin<Box<Sleep>>>,
}

enum Doing<Fut> {
    Woken,
    Attempt(Pin<Box<Fut>>),
    Sleep,
    Done,
}

/// Nothing in it is pinned but what has a box of its own.
impl<Op, Fut, E> Unpin for Running<'_, Op, Fut, E> {}

impl<Op, Fut, T, E> Future for Running<'_, Op, Fut, E>
where
    Op: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    type Output = Result<T, RetryError<E>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            let next = match &mut this.doing {
                Doing::Woken => this.runner.woken(clock::tokio_now()),
                Doing::Sleep => {
                    ready!(poll_timer(&mut this.timer, cx));
                    this.runner.woken(clock::tokio_now())
                }
                Doing::Attempt(attempt) => match layer::inside(|| attempt.as_mut().poll(cx)) {
                    Poll::Ready(Ok(value)) => {
                        this.doing = Doing::Done;
                        this.runner.succeeded(clock::tokio_now());
                        return Poll::Ready(Ok(value));
                    }
                    Poll::Ready(Err(error)) => this.runner.failed(error, clock::tokio_now()),
                    Poll::Pending => {
                        ready!(poll_timer(&mut this.timer, cx));
                        this.runner.timed_out(clock::tokio_now())
                    }
                },
                Doing::Done => panic!("polled after it was done"),
            };
            this.doing = Doing::Done; // drops the attempt
            match next {
                Err(gave_up) => return Poll::Ready(Err(gave_up)),
                Ok(Next::Sleep(at)) => {
                    let span = at.saturating_sub(clock::tokio_now());
                    this.timer = Some(Box::pin(sleep(span)));
                    this.doing = Doing::Sleep;
                }
                Ok(Next::Attempt) => {
                    this.timer = this.attempt_timeout.map(|span| Box::pin(sleep(span)));
                    this.doing = Doing::Attempt(Box::pin(layer::inside(&mut this.op)));
                }
            }
        }
    }
}

/// Never, without a timer.
fn poll_timer(timer: &mut Option<Pin<Box<Sleep>>>, cx: &mut Context<'_>) -> Poll<()> {
    match timer {
        Some(timer) => timer.as_mut().poll(cx),
        None => Poll::Pending,
    }
}

impl<Op, Fut, E> fmt::Debug for Running<'_, Op, Fut, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}
