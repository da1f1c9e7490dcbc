//! What happens to a timer, told to whoever wants to know.

use core::time::Duration;

use crate::GiveUp;

/// Something that happened to a [`RetransmitTimer`](crate::RetransmitTimer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A send started the stopped timer (5.1-1).
    Armed {
        /// When it will expire.
        deadline: Duration,
    },
    /// The running timer was moved: by an ACK of new data (5.3-1), after an expiry (5.6-1), or
    /// because a back-off was undone.
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
        /// How many doublings it was rid of.
        undone: u32,
    },
    /// SRTT and RTTVAR were cleared (5-N2).
    Cleared,
    /// Data transmission began after a handshake that timed out (5.7-1).
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
    /// Whether anybody listens; if not, no event is ever made.
    const LISTENS: bool = true;

    /// `event` happened at `now`.
    fn observe(&mut self, now: Duration, event: Event);
}

impl Observer for () {
    const LISTENS: bool = false;

    fn observe(&mut self, _: Duration, _: Event) {}
}

impl<O: Observer + ?Sized> Observer for &mut O {
    const LISTENS: bool = true;

    fn observe(&mut self, now: Duration, event: Event) {
        (**self).observe(now, event);
    }
}
