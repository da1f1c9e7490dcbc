//! What happens to a timer, told to whoever wants to know.

use core::time::Duration;

use crate::GiveUp;

/// Something that happened to a [`RetransmitTimer`](crate::RetransmitTimer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The stopped timer was started: by a send (5.1-1), or an ACK of part of the data (5.3-1).
    Armed {
        /// When it will expire.
        deadline: Duration,
    },
    /// The running timer was moved: by an ACK of new data (5.3-1), after an expiry (5.6-1), when
    /// the retransmission left, or because a timeout was undone.
    Restarted {
        /// When it will expire.
        deadline: Duration,
    },
    /// The timer was stopped (5.2-1).
    Stopped,
    /// The timer expired (5.4-1).
    Expired {
        /// How often the data has been retransmitted now, this time included.
        retransmissions: u32,
        /// The RTO in force until now, see [`Expiry::rto`](crate::Expiry::rto).
        rto: Duration,
    },
    /// The RTO was doubled (5.5-1).
    BackedOff {
        /// The RTO in force from here on.
        rto: Duration,
        /// How often it was doubled since the last sample.
        backoffs: u32,
    },
    /// A sample was taken in (2.2-1), (2.3-1).
    Sampled {
        /// The round trip.
        rtt: Duration,
        /// SRTT after it.
        srtt: Duration,
        /// RTTVAR after it.
        rttvar: Duration,
        /// The RTO in force from here on.
        rto: Duration,
    },
    /// Back-offs ended: by a sample (5-N1), an ACK (D16), or because they were undone (T3, T4).
    Collapsed {
        /// The RTO in force from here on.
        rto: Duration,
        /// How many doublings it was rid of; 0 where only the 3 s of a lost handshake ended.
        undone: u32,
    },
    /// SRTT and RTTVAR were cleared (5-N2).
    Cleared,
    /// Data transmission began after a handshake that timed out (5.7-1). What that doubled
    /// counts no longer.
    PostSyn {
        /// The RTO in force from here on.
        rto: Duration,
    },
    /// R1 was reached: the route may be stale (T7).
    R1 {
        /// How often the data has been retransmitted.
        retransmissions: u32,
    },
    /// R2 or the user timeout was reached, and the timer stopped (T8, T9).
    GaveUp(GiveUp),
}

/// Hears of every [`Event`] of a timer, see
/// [`RetransmitTimer::observed_by`](crate::RetransmitTimer::observed_by).
///
/// `()`, which every timer has by default, hears nothing and costs nothing.
///
/// ```
/// # use {core::time::Duration, rto::*};
/// #[derive(Default)]
/// struct Expiries(u32);
/// impl Observer for Expiries {
///     fn observe(&mut self, _now: Duration, event: Event) {
///         self.0 += u32::from(matches!(event, Event::Expired { .. }));
///     }
/// }
///
/// let ms = Duration::from_millis;
/// let timer = RetransmitTimer::new(Estimator::new(Config::RFC6298)?);
/// let mut timer = timer.observed_by(Expiries::default());
/// timer.handle_sent(ms(0));
/// let _ = timer.handle_timeout(ms(1_000));
/// assert_eq!(timer.observer().0, 1);
/// # Ok::<(), ConfigError>(())
/// ```
pub trait Observer {
    /// `event` happened at `now`.
    fn observe(&mut self, now: Duration, event: Event);

    /// Whether anybody listens just now; while nobody does, no event is made.
    fn listens(&self) -> bool {
        true
    }
}

impl Observer for () {
    fn observe(&mut self, _: Duration, _: Event) {}

    fn listens(&self) -> bool {
        false
    }
}

impl<O: Observer + ?Sized> Observer for &mut O {
    fn observe(&mut self, now: Duration, event: Event) {
        (**self).observe(now, event);
    }

    fn listens(&self) -> bool {
        (**self).listens()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Estimator, RetransmitTimer};

    struct Switched {
        on: bool,
        heard: u32,
    }

    impl Observer for Switched {
        fn observe(&mut self, _: Duration, _: Event) {
            self.heard += 1;
        }

        fn listens(&self) -> bool {
            self.on
        }
    }

    #[test]
    fn an_observer_may_close_its_ears_and_be_of_any_type() {
        for (on, heard) in [(false, 0), (true, 4)] {
            let mut switched = Switched { on, heard: 0 };
            let timer = RetransmitTimer::new(Estimator::new(Config::RFC6298).unwrap());
            let mut timer = timer.observed_by(&mut switched as &mut dyn Observer);
            timer.handle_sent(Duration::ZERO);
            assert!(timer.handle_timeout(Duration::from_secs(1)).is_some());
            assert_eq!(switched.heard, heard);
        }
    }
}
