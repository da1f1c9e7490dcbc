use crate::names::Names;
use crate::{Class, GiveUp, Reason};
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

/// What many operations came to: attempts, retries by what they followed, ends by their reason
/// (B12). An alarm watches the share of retries in the attempts, or the rate of give-ups.
///
/// A copy counts into the same numbers. They count from zero, wrap after 2^64, and are
/// never reset: who wants a rate takes the difference of two readings.
///
/// ```
/// # use {backoff_policy::*, std::time::Duration};
/// let counters = Counters::default();
/// let mut answers = [Err("busy"), Ok(7)].into_iter();
/// let answer = retry_blocking(Policy::CALLS, || answers.next().expect("two"))
///     .classify(|_| Class::Throttled)
///     .counters(&counters)
///     .run_with(|| Duration::ZERO, |_| ());
/// assert_eq!(answer, Ok(7));
/// assert_eq!((counters.attempts(), counters.retries_after(Class::Throttled)), (2, 1));
/// assert_eq!(counters.to_string(), "2 attempts, 1 retry (1 throttled), 1 success, 0 give-ups");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Counters {
    numbers: Arc<Numbers>,
}

#[derive(Debug, Default)]
struct Numbers {
    attempts: AtomicU64,
    successes: AtomicU64,
    retries: [AtomicU64; Class::NAMES.len()],
    give_ups: [AtomicU64; Reason::NAMES.len()],
}

impl Numbers {
    fn retries(&self, class: Class) -> Option<&AtomicU64> {
        let is = |&(_, known): &(_, Class)| known == class;
        self.retries.get(Class::NAMES.iter().position(is)?)
    }

    /// One number for a reason, whatever it carries.
    fn give_ups(&self, reason: Reason) -> Option<&AtomicU64> {
        let is = |&(_, known): &(_, Reason)| known == reason.kind();
        self.give_ups.get(Reason::NAMES.iter().position(is)?)
    }
}

impl Counters {
    /// Attempts that have started.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.numbers.attempts.load(Relaxed)
    }

    /// Operations that have succeeded.
    #[must_use]
    pub fn successes(&self) -> u64 {
        self.numbers.successes.load(Relaxed)
    }

    /// Attempts that have started after another failed: one that was dropped in its wait is none
    /// (B10).
    #[must_use]
    pub fn retries(&self) -> u64 {
        sum(&self.numbers.retries)
    }

    /// Those of them after a failure of this class.
    #[must_use]
    pub fn retries_after(&self, class: Class) -> u64 {
        load(self.numbers.retries(class))
    }

    /// Operations that were given up.
    #[must_use]
    pub fn give_ups(&self) -> u64 {
        sum(&self.numbers.give_ups)
    }

    /// Those of them for this reason; which hint was beyond the deadline makes no difference.
    #[must_use]
    pub fn give_ups_by(&self, reason: Reason) -> u64 {
        load(self.numbers.give_ups(reason))
    }

    /// An attempt starts, after a failure of this class if it is a retry. The runners of this crate
    /// say so by themselves; this and the next two are for a runner of your own, such as that of a
    /// queue of [`Job`](crate::Job)s.
    pub fn handle_started(&self, after: Option<Class>) {
        add(Some(&self.numbers.attempts));
        if let Some(class) = after {
            add(self.numbers.retries(class));
        }
    }

    /// An operation has succeeded.
    pub fn handle_succeeded(&self) {
        add(Some(&self.numbers.successes));
    }

    /// An operation is given up.
    pub fn handle_gave_up(&self, end: &GiveUp) {
        add(self.numbers.give_ups(end.reason));
    }
}

fn add(number: Option<&AtomicU64>) {
    if let Some(number) = number {
        number.fetch_add(1, Relaxed);
    }
}

fn load(number: Option<&AtomicU64>) -> u64 {
    number.map_or(0, |number| number.load(Relaxed))
}

fn sum(numbers: &[AtomicU64]) -> u64 {
    let each = numbers.iter().map(|number| number.load(Relaxed));
    each.fold(0, u64::saturating_add)
}

/// One line, with what is not zero in parentheses.
impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |f: &mut fmt::Formatter<'_>, count, one, many| {
            write!(f, "{count} {}", if count == 1 { one } else { many })
        };
        counted(f, self.attempts(), "attempt", "attempts")?;
        f.write_str(", ")?;
        counted(f, self.retries(), "retry", "retries")?;
        each(f, Class::NAMES, &self.numbers.retries)?;
        f.write_str(", ")?;
        counted(f, self.successes(), "success", "successes")?;
        f.write_str(", ")?;
        counted(f, self.give_ups(), "give-up", "give-ups")?;
        each(f, Reason::NAMES, &self.numbers.give_ups)
    }
}

fn each<T>(f: &mut fmt::Formatter<'_>, names: Names<T>, numbers: &[AtomicU64]) -> fmt::Result {
    let mut before = " (";
    for ((name, _), number) in names.iter().zip(numbers) {
        let count = number.load(Relaxed);
        if count > 0 {
            write!(f, "{before}{count} {name}")?;
            before = ", ";
        }
    }
    f.write_str(if before == ", " { ")" } else { "" })
}
