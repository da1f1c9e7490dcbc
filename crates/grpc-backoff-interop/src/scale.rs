use grpc_backoff::Config;
use grpc_faults::Judge;
use std::num::NonZeroU32;
use std::time::Duration;

/// What every time of the document is divided by: 1 is the document itself (S2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale(pub NonZeroU32);

impl Scale {
    /// A time of the document, divided.
    #[must_use]
    pub fn of(self, time: Duration) -> Duration {
        time / self.0.get()
    }

    /// The parameters of a client with this greatest delay.
    #[must_use]
    pub fn config(self, max_backoff: Duration) -> Config {
        Config {
            initial_backoff: self.of(Config::GRPC.initial_backoff),
            max_backoff,
            min_connect_timeout: self.of(Config::GRPC.min_connect_timeout),
            ..Config::GRPC
        }
    }

    /// The windows for clients so scaled. The tolerance is for the network and the machine, so
    /// it does not scale.
    #[must_use]
    pub fn judge(self, tolerance: Duration) -> Judge {
        Judge {
            initial: self.of(Judge::OFFICIAL.initial),
            max: self.of(Judge::OFFICIAL.max),
            early: tolerance,
            late: tolerance,
            ..Judge::OFFICIAL
        }
    }
}
