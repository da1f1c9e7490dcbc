use super::PickFirst;
use super::address::is_connecting;
use crate::State;
use crate::explain::{Failures, next_attempt};
use core::fmt;
use core::time::Duration;

impl<A> PickFirst<A> {
    /// Says in one line what the machine is doing and why, for a human.
    #[must_use]
    pub fn explain(&self, now: Duration) -> impl fmt::Display + use<'_, A> {
        fmt::from_fn(move |f| match (&*self.addresses, self.ready()) {
            ([only], _) => write!(f, "{}", only.machine.explain(now)),
            (_, Some(ready)) => write!(f, "{}", ready.explain(now)),
            (_, None) => self.explain_several(f, now),
        })
    }

    fn explain_several(&self, f: &mut fmt::Formatter<'_>, now: Duration) -> fmt::Result {
        let (state, failures) = (self.state(), Failures(self.failures()));
        f.write_str(state.name())?;
        match state {
            State::Shutdown => return Ok(()),
            State::GaveUp { limit } => {
                return write!(f, " after {failures}: {limit} reached");
            }
            State::Idle if !self.is_wanted() => return f.write_str("; no connection wanted"),
            _ => write!(f, " after {failures}")?,
        }
        let (in_flight, all) = (self.in_flight().count(), self.addresses.len());
        if all == 0 {
            f.write_str("; no address")?;
        } else if in_flight > 0 {
            write!(f, "; trying {in_flight} of {all} addresses")?;
        }
        if self.resolver_machine().is_some_and(is_connecting) {
            f.write_str("; resolving")?;
        }
        match self.next_start() {
            Some(due_at) => next_attempt(f, due_at.saturating_sub(now)),
            None => Ok(()),
        }
    }
}
