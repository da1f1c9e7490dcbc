//! What a simulation measures while it runs.

use std::{collections::VecDeque, time::Duration};

use backoff_policy::nanos;

/// The most events in any window of a fixed length, wherever it begins, both ends included.
#[derive(Clone, Debug)]
pub struct Peak {
    window: u64,
    recent: VecDeque<u64>,
    most: usize,
}

impl Peak {
    /// Before the first event.
    #[must_use]
    pub fn new(window: Duration) -> Self {
        Self {
            window: nanos(window),
            recent: VecDeque::new(),
            most: 0,
        }
    }

    /// An event, no earlier than the one before.
    #[inline]
    pub fn add(&mut self, at: u64) {
        while self
            .recent
            .front()
            .is_some_and(|first| at - first > self.window)
        {
            self.recent.pop_front();
        }
        self.recent.push_back(at);
        self.most = self.most.max(self.recent.len());
    }

    /// The most so far.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most
    }
}

/// How many events fell into each of many bins of one width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    width: u64,
    /// Those with an event, by number: a narrow bin or a late event takes no memory.
    bins: Vec<(u64, u64)>,
}

impl Histogram {
    /// An empty one; bins of zero width count as 1 ns.
    #[must_use]
    pub fn new(width: Duration) -> Self {
        Self {
            width: nanos(width).max(1),
            bins: Vec::new(),
        }
    }

    /// An event at this instant, no earlier than the one before.
    #[inline]
    pub fn add(&mut self, at: u64) {
        let bin = at / self.width;
        match self.bins.last_mut() {
            Some((last, events)) if *last >= bin => *events += 1,
            _ => self.bins.push((bin, 1)),
        }
    }

    /// The width of a bin.
    #[must_use]
    pub fn width(&self) -> Duration {
        Duration::from_nanos(self.width)
    }

    /// The bins that have an event, in order: the number of each, where 0 begins at instant 0, and
    /// its events.
    #[must_use]
    pub fn bins(&self) -> &[(u64, u64)] {
        &self.bins
    }
}

/// When this share of `all` had got there, where `sorted` has the instants, in ns, of those that
/// did.
#[must_use]
pub fn reached(sorted: &[u64], all: u32, share: f64) -> Option<Duration> {
    let rank = (share * f64::from(all)).ceil() as usize;
    let at = sorted.get(rank.max(1) - 1);
    at.map(|&at| Duration::from_nanos(at))
}

/// The mean; 0 of nothing.
#[must_use]
pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = values
        .into_iter()
        .fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    if count == 0.0 { 0.0 } else { sum / count }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_counts_both_ends_of_its_window() {
        let mut peak = Peak::new(Duration::from_nanos(10));
        [0, 5, 10, 21, 21].into_iter().for_each(|at| peak.add(at));
        assert_eq!(peak.most(), 3); // 0, 5, 10; then 21 and 21 alone
    }

    #[test]
    fn a_share_is_reached_by_its_last_member() {
        let instants: Vec<_> = (1..=180).collect();
        let ns = |at| Some(Duration::from_nanos(at));
        assert_eq!(reached(&instants, 200, 0.0), ns(1));
        assert_eq!(reached(&instants, 200, 0.5), ns(100));
        assert_eq!(reached(&instants, 200, 0.9), ns(180));
        assert_eq!(reached(&instants, 200, 0.901), None);
        assert_eq!(reached(&[], 0, 0.5), None);
    }
}
