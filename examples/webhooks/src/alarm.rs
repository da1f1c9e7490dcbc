use backoff_policy::Counters;

/// Looks at the counters after each delivery, and says a line when too many of the last attempts were
/// retries, or were the last of their webhook.
#[derive(Default)]
pub(crate) struct Alarm {
    attempts: u64,
    retries: u64,
    give_ups: u64,
}

impl Alarm {
    /// In attempts.
    const WINDOW: u64 = 20;

    pub(crate) fn look(&mut self, counters: &Counters) {
        let attempts = counters.attempts() - self.attempts;
        if attempts < Self::WINDOW {
            return;
        }
        let retries = counters.retries() - self.retries;
        let give_ups = counters.give_ups() - self.give_ups;
        if retries * 2 > attempts || give_ups * 5 > attempts {
            println!(
                "ALARM: of the last {attempts} attempts {retries} were retries; {give_ups} webhooks were given up"
            );
        }
        *self = Self {
            attempts: counters.attempts(),
            retries: counters.retries(),
            give_ups: counters.give_ups(),
        };
    }
}
