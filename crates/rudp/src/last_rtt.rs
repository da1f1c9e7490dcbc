//! The round trip of the last connection to a server: a hint for the next one.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rto::{Estimator, Snapshot};
use rudp_proto::{Config, Stats};

/// A hint raises the initial RTO to this at most, as RFC 6298 does where a path proves slower (5.7-1):
/// the last that was heard may be an ACK which an outage held up for much longer.
const MOST: Duration = Duration::from_secs(3);

/// SRTT and RTTVAR of the last connection to a server. The next one measures for itself, but it
/// repeats its Hello after the RTO that they make, in place of `initial_rto` (T5).
#[derive(Clone, Debug, Default)]
pub(crate) struct LastRtt(Arc<Mutex<Option<Snapshot>>>);

impl LastRtt {
    /// A connection has ended; one that measured nothing says nothing.
    pub(crate) fn learn(&self, ended: &Stats) {
        if let (Some(srtt), Some(rttvar)) = (ended.srtt, ended.rttvar) {
            let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some(Snapshot { srtt, rttvar });
        }
    }

    /// Gives the hint to the next one.
    pub(crate) fn hint(&self, config: &mut Config) {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Settings that are refused stay as they are, for whoever refuses them.
        let (Some(last), Ok(mut estimator)) = (last, Estimator::new(config.rto)) else {
            return;
        };
        estimator.seed(last);
        let hinted = estimator.rto().min(MOST.max(config.rto.initial_rto));
        let timeout = config.limits.user_timeout; // longer than the initial RTO (K11)
        if timeout.is_none_or(|timeout| timeout > hinted) {
            config.rto.initial_rto = hinted;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// The initial RTO after a connection with this round trip, which never varied much.
    fn hinted(srtt: u64, rttvar: u64, mut config: Config) -> Duration {
        let last = LastRtt::default();
        last.learn(&Stats {
            srtt: Some(ms(srtt)),
            rttvar: Some(ms(rttvar)),
            ..Stats::default()
        });
        last.learn(&Stats::default()); // the one after it measured nothing
        last.hint(&mut config);
        assert!(rudp_proto::Endpoint::new(config, secrets()).is_ok());
        config.rto.initial_rto
    }

    fn secrets() -> rudp_proto::Secrets {
        let (reset_key, seed) = ([1; 32], [2; 32]);
        rudp_proto::Secrets { reset_key, seed }
    }

    /// (T5)
    #[test]
    fn a_hint_keeps_to_the_floor_and_to_three_seconds() {
        let default = Config::DEFAULT;
        assert_eq!(hinted(50, 10, default), ms(1_000), "the floor, 2.4-1");
        assert_eq!(hinted(700, 200, default), ms(1_500));
        assert_eq!(hinted(2_000, 2_000, default), MOST);
        let mut games = default;
        games.rto = rto::Config::GAMES;
        assert_eq!(hinted(10, 1, games), ms(200), "its floor");
        assert_eq!(hinted(150, 25, games), ms(250));
        let mut slow = default;
        slow.rto.initial_rto = ms(5_000);
        assert_eq!(hinted(2_000, 2_000, slow), ms(5_000));
        assert_eq!(hinted(50, 10, slow), ms(1_000));
    }

    #[test]
    fn without_a_round_trip_and_below_a_user_timeout_the_settings_stay() {
        let mut config = Config::DEFAULT;
        LastRtt::default().hint(&mut config);
        assert_eq!(config, Config::DEFAULT);
        config.limits.user_timeout = Some(ms(1_500));
        assert_eq!(hinted(700, 200, config), ms(1_000));
        assert_eq!(hinted(600, 200, config), ms(1_400));
    }
}
