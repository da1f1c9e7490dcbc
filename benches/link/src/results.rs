//! What was measured, as it is kept.

use serde::{Deserialize, Serialize};

use crate::{protocol::Protocol, system::Machine};

/// A whole session.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Results {
    pub machine: Machine,
    pub quick: bool,
    pub seeds: Vec<u64>,
    /// The load of the machine before it began.
    pub load_before: f64,
    pub minutes: f64,
    pub bulk: Vec<Bulk>,
    pub messages: Vec<Messages>,
    pub outages: Vec<Outage>,
    pub fairness: Vec<Shares>,
    pub integrity: Vec<Integrity>,
    pub handshakes: Vec<Handshakes>,
    pub loopback: Vec<Loopback>,
    /// Runs that came to nothing, and why.
    pub failures: Vec<String>,
}

/// A transfer.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Bulk {
    pub row: String,
    pub protocol: Protocol,
    pub seed: u64,
    /// Mbit/s of payload.
    pub goodput: f64,
    /// Whether it ended within the limit.
    pub done: bool,
    /// Bytes that entered the link on the way there, for each byte of payload.
    pub wire: f64,
    pub queue_drops: u64,
    /// The share of packets that the tunnel delivered late, both ways: a busy machine.
    #[serde(default)]
    pub late: f64,
}

/// Small messages.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Messages {
    pub loss: u32,
    pub protocol: Protocol,
    pub seed: u64,
    /// Milliseconds that 50, 99 and 99.9 % took at most; a message without an echo took for ever.
    pub latency: [Option<f64>; 3],
    /// Bytes that entered the link on the way there, for each message.
    pub wire: f64,
    pub missing: usize,
}

/// Small messages through an outage.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Outage {
    pub protocol: Protocol,
    pub seed: u64,
    /// Milliseconds from its end to the first echo; `None` if there never was one.
    pub silence: Option<f64>,
    /// The longest time between two echoes after that one.
    pub second_hole: f64,
    pub missing: usize,
}

/// Two flows over one bottleneck.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Shares {
    pub bottleneck: String,
    pub flows: [Protocol; 2],
    pub seed: u64,
    /// Mbit/s of payload from the 10th to the 30th second.
    pub goodput: [f64; 2],
    /// Packets that found the queue full, or exceeded the policer's rate.
    pub drops: u64,
}

/// A transfer over a link that flips bits, past the checksum of UDP.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Integrity {
    pub protocol: Protocol,
    pub seed: u64,
    pub done: bool,
    pub intact: bool,
    /// Packets with a flipped bit on the way there.
    pub flipped: u64,
    /// Datagrams that the transport found to be corrupted, if it counts them.
    pub found: Option<u64>,
}

/// Fresh connections under loss.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Handshakes {
    pub protocol: Protocol,
    /// Seconds from nothing to the first answer that 50, 90 and 99 % took at most.
    pub answered: [Option<f64>; 3],
    pub count: usize,
    pub failed: usize,
}

/// A transfer over the loopback device.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Loopback {
    pub protocol: Protocol,
    pub gb_per_s: f64,
    pub cpu_s_per_gb: f64,
}

/// The smallest value that `share` of all, `missing` ones included, do not exceed.
pub fn quantile(sorted: &[f64], missing: usize, share: f64) -> Option<f64> {
    let all = sorted.len() + missing;
    let rank = (all as f64 * share).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

/// The middle one; of an even number, the lower.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_value_is_larger_than_all_others() {
        let sorted = [1.0, 2.0, 3.0];
        assert_eq!(quantile(&sorted, 0, 0.5), Some(2.0));
        assert_eq!(quantile(&sorted, 0, 0.99), Some(3.0));
        assert_eq!(quantile(&sorted, 1, 0.5), Some(2.0));
        assert_eq!(quantile(&sorted, 1, 0.99), None);
        assert_eq!(quantile(&[], 0, 0.5), None);
    }

    #[test]
    fn the_median_is_one_of_the_values() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), Some(2.0));
        assert_eq!(median([]), None);
    }
}
