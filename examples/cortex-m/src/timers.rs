//! The timers that are compared, on a clock of microseconds that wraps.

use core::time::Duration;

use rto::{
    Config, Estimator, RetransmitTimer, Sample,
    compact::{self, Params, Progress, elapsed},
};

/// A retransmission timer as the transfer needs it.
pub trait Timer {
    /// What the log calls it.
    const NAME: &'static str;
    /// A segment left.
    fn handle_sent(&mut self, now: u32);
    /// An ACK came that echoes when the segment it answers was sent.
    fn handle_acked(&mut self, now: u32, progress: Progress, sent_at: u32);
    /// Whether the timer has expired, and for the last time.
    fn handle_timeout(&mut self, now: u32) -> bool;
    /// The RTO in force.
    fn rto(&self) -> u32;
    /// When it expires.
    fn deadline(&self) -> Option<u32>;
}

/// A floor of 200 ms, fit for a link of 140 ms.
const CONFIG: Config = Config::GAMES;

/// In flash, checked when it is compiled.
static PARAMS: Params = match Params::new(CONFIG) {
    Ok(params) => params,
    Err(_) => panic!("illegal settings"),
};

/// `rto::compact`: made for this.
pub struct Compact(compact::RetransmitTimer);

impl Default for Compact {
    fn default() -> Self {
        Self(compact::RetransmitTimer::new(compact::Estimator::new(
            &PARAMS,
        )))
    }
}

impl Timer for Compact {
    const NAME: &'static str = "compact timer";

    fn handle_sent(&mut self, now: u32) {
        self.0.handle_sent(now);
    }

    fn handle_acked(&mut self, now: u32, progress: Progress, sent_at: u32) {
        let sample = compact::Sample::from_timestamp(sent_at, now);
        (self.0).handle_acked(&PARAMS, now, progress, Some(sample));
    }

    fn handle_timeout(&mut self, now: u32) -> bool {
        self.0.handle_timeout(&PARAMS, now).is_some()
    }

    fn rto(&self) -> u32 {
        self.0.estimator().rto_us()
    }

    fn deadline(&self) -> Option<u32> {
        self.0.poll_timeout()
    }
}

/// The timer for hosts with 64-bit time, which the clock's ticks are made into.
pub struct Full {
    timer: RetransmitTimer,
    /// The tick that was converted last, and what it became.
    tick: u32,
    now: Duration,
}

impl Default for Full {
    fn default() -> Self {
        let estimator = Estimator::new(CONFIG).expect("the settings are legal");
        Self {
            timer: RetransmitTimer::new(estimator),
            tick: 0,
            now: Duration::from_secs(3_600), // so that ticks before the first have a place
        }
    }
}

impl Full {
    fn at(&self, tick: u32) -> Duration {
        let span = |us: u32| Duration::from_micros(us.into());
        match elapsed(self.tick, tick) {
            Some(ahead) => self.now + span(ahead),
            None => self.now - span(self.tick.wrapping_sub(tick)),
        }
    }

    fn advance(&mut self, tick: u32) -> Duration {
        (self.now, self.tick) = (self.at(tick), tick);
        self.now
    }
}

impl Timer for Full {
    const NAME: &'static str = "full timer";

    fn handle_sent(&mut self, now: u32) {
        let now = self.advance(now);
        self.timer.handle_sent(now);
    }

    fn handle_acked(&mut self, now: u32, progress: Progress, sent_at: u32) {
        let progress = match progress {
            Progress::None => rto::Progress::None,
            Progress::Some => rto::Progress::Some,
            Progress::SomeSince(tick) => rto::Progress::SomeSince(self.at(tick)),
            Progress::All => rto::Progress::All,
        };
        let (sent_at, now) = (self.at(sent_at), self.advance(now));
        let sample = Sample::from_timestamp(sent_at, now);
        self.timer.handle_acked(now, progress, Some(sample));
    }

    fn handle_timeout(&mut self, now: u32) -> bool {
        let now = self.advance(now);
        self.timer.handle_timeout(now).is_some()
    }

    fn rto(&self) -> u32 {
        micros_up(self.timer.estimator().rto())
    }

    fn deadline(&self) -> Option<u32> {
        let left = |due: Duration| micros_up(due.saturating_sub(self.now));
        (self.timer.poll_timeout()).map(|due| self.tick.wrapping_add(left(due)))
    }
}

/// Rounded up: a tick too early is too early.
fn micros_up(span: Duration) -> u32 {
    let nanos = span + Duration::from_nanos(999);
    nanos.as_secs() as u32 * 1_000_000 + nanos.subsec_micros()
}

/// A second, whatever happens: what the sizes of the others are compared with.
#[derive(Default)]
pub struct Fixed(Option<u32>);

impl Fixed {
    const INTERVAL: u32 = 1_000_000;
}

impl Timer for Fixed {
    const NAME: &'static str = "fixed interval";

    fn handle_sent(&mut self, now: u32) {
        self.0.get_or_insert(now.wrapping_add(Self::INTERVAL));
    }

    fn handle_acked(&mut self, now: u32, progress: Progress, _: u32) {
        match progress {
            Progress::None => {}
            Progress::Some | Progress::SomeSince(_) => {
                self.0 = Some(now.wrapping_add(Self::INTERVAL));
            }
            Progress::All => self.0 = None,
        }
    }

    fn handle_timeout(&mut self, now: u32) -> bool {
        let due = (self.0).is_some_and(|deadline| elapsed(deadline, now).is_some());
        if due {
            self.0 = Some(now.wrapping_add(Self::INTERVAL));
        }
        due
    }

    fn rto(&self) -> u32 {
        Self::INTERVAL
    }

    fn deadline(&self) -> Option<u32> {
        self.0
    }
}
