//! Retries in a thread of one's own.

use super::session::Next;
use super::{RetryError, Retrying, clock, layer};
use crate::Policy;
use core::time::Duration;

/// Tries an operation in this thread until it succeeds or the policy gives up.
///
/// `op` is called for each attempt. Set what you need, then [`run`](Retrying::run) it:
///
/// ```
/// # use {backoff_policy::*, std::{fs, io}};
/// # fn read(path: &str) -> Result<String, RetryError<io::Error>> {
/// retry_blocking(Policy::CALLS, || fs::read_to_string(path))
///     .classify(|error| Class::of_io(error.kind()))
///     .run()
/// # }
/// # let refused = read("no/such/file").expect_err("permanent");
/// # assert_eq!(refused.end.reason, Reason::Permanent);
/// ```
pub fn retry_blocking<'a, Op, T, E>(policy: Policy, op: Op) -> Retrying<'a, Op, E>
where
    Op: FnMut() -> Result<T, E>,
{
    Retrying::new(policy, op)
}

impl<Op, T, E> Retrying<'_, Op, E>
where
    Op: FnMut() -> Result<T, E>,
{
    /// Runs it, by the system's monotonic clock and [`std::thread::sleep`].
    ///
    /// # Errors
    ///
    /// The last error, and why there is no other attempt.
    pub fn run(self) -> Result<T, RetryError<E>> {
        self.run_with(clock::now, std::thread::sleep)
    }

    /// Runs it by a clock and a sleep of your own: for tests, which need not wait, and for hosts
    /// that sleep in another way. `now` is the time since any moment, the same for all that share a
    /// budget.
    ///
    /// ```
    /// # use {backoff_policy::*, std::{cell::Cell, time::Duration}};
    /// let now = Cell::new(Duration::ZERO);
    /// let error = retry_blocking(Policy::CALLS, || Err::<(), _>("down"))
    ///     .draws(|| u64::MAX)
    ///     .run_with(|| now.get(), |delay| now.set(now.get() + delay))
    ///     .expect_err("it is down");
    /// assert_eq!(now.get(), Duration::from_secs(1 + 2 + 4 + 8));
    /// assert_eq!((error.source, error.end.reason), (Some("down"), Reason::Attempts));
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_with(
        self,
        mut now: impl FnMut() -> Duration,
        mut sleep: impl FnMut(Duration),
    ) -> Result<T, RetryError<E>> {
        let Self { mut op, options } = self;
        let mut read_at = now();
        let mut runner = options.begin(read_at);
        let mut next = runner.woken(read_at)?;
        loop {
            next = match next {
                // A span from the reading that it was planned at: a clock set back since then makes
                // it no longer (B11).
                Next::Sleep(at) => {
                    sleep(at.saturating_sub(read_at));
                    read_at = now();
                    runner.woken(read_at)?
                }
                Next::Attempt => {
                    let result = layer::inside(&mut op);
                    read_at = now();
                    match result {
                        Ok(value) => {
                            runner.succeeded(read_at);
                            return Ok(value);
                        }
                        Err(error) => runner.failed(error, read_at)?,
                    }
                }
            };
        }
    }
}
