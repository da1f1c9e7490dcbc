//! Which events a timer tells its observer of.

use core::time::Duration;

use super::RetransmitTimer;
use crate::{Estimator, Event, Observer, Sample, Snapshot};

impl<O: Observer> RetransmitTimer<O> {
    /// Tells of an event, which may need the deadline.
    #[inline]
    pub(super) fn tell(&mut self, now: Duration, event: impl FnOnce(Duration) -> Event) {
        if self.observer.listens() {
            let deadline = Duration::from_nanos(self.deadline_ns());
            self.observer.observe(now, event(deadline));
        }
    }

    /// Lets something but a sample happen to the estimator, and tells what it did to the RTO.
    #[inline]
    pub(super) fn watch(&mut self, now: Duration, change: impl FnOnce(&mut Estimator)) {
        let before = self.observer.listens().then_some(self.estimator);
        change(&mut self.estimator);
        if let Some(before) = before {
            self.tell_change(now, &before);
        }
    }

    fn tell_change(&mut self, now: Duration, before: &Estimator) {
        let (rto, backoffs) = (self.estimator.rto(), self.estimator.backoffs());
        let undone = before.backoffs().saturating_sub(backoffs);
        if before.backoffs() < backoffs {
            self.tell(now, |_| Event::BackedOff { rto, backoffs });
        } else if undone > 0 || before.rto() != rto {
            self.tell(now, |_| Event::Collapsed { rto, undone });
        }
        if before.srtt().is_some() && self.estimator.srtt().is_none() {
            self.tell(now, |_| Event::Cleared);
        }
    }

    pub(super) fn tell_sampled(&mut self, now: Duration, sample: Sample, undone: u32) {
        let rto = self.estimator.rto();
        if undone > 0 {
            self.tell(now, |_| Event::Collapsed { rto, undone });
        }
        if let (Ok(rtt), Some(Snapshot { srtt, rttvar })) =
            (sample.rtt(), self.estimator.snapshot())
        {
            self.tell(now, |_| Event::Sampled {
                rtt,
                srtt,
                rttvar,
                rto,
            });
        }
    }
}
