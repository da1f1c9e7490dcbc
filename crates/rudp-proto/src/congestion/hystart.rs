//! When slow start has gone far enough, by the round trips of its rounds: HyStart++ (RFC 9406), (G6).

use core::time::Duration;

const MIN_THRESHOLD: Duration = Duration::from_millis(4);
const MAX_THRESHOLD: Duration = Duration::from_millis(16);
const THRESHOLD_DIVISOR: u32 = 8;
const SAMPLES: u32 = 8;
const CSS_ROUNDS: u32 = 5;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    SlowStart,
    /// Conservative Slow Start: a quarter of it.
    Conservative,
    /// Congestion avoidance begins here.
    End,
}

#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HyStart {
    last_min: Option<Duration>,
    current_min: Option<Duration>,
    samples: u32,
    /// The round ends with the acknowledgement of this packet.
    round_end: u64,
    /// While conservative: the round trip that began it, and rounds since.
    conservative: Option<(Duration, u32)>,
}

impl HyStart {
    /// An ACK up to packet `largest` in slow start, measured to `rtt`; `next` will be sent next.
    pub(super) fn handle_ack(&mut self, largest: u64, next: u64, rtt: Duration) -> Pace {
        if largest >= self.round_end {
            self.round_end = next;
            self.last_min = self.current_min.take();
            self.samples = 0;
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds = rounds.saturating_add(1);
                if *rounds >= CSS_ROUNDS {
                    return Pace::End;
                }
            }
        }
        let current = self.current_min.map_or(rtt, |min| min.min(rtt));
        self.current_min = Some(current);
        self.samples = self.samples.saturating_add(1);
        if self.samples >= SAMPLES {
            match (self.conservative, self.last_min) {
                (Some((baseline, _)), _) if current < baseline => self.conservative = None,
                (None, Some(last)) => {
                    let eighth = last.checked_div(THRESHOLD_DIVISOR).unwrap_or_default();
                    let threshold = eighth.clamp(MIN_THRESHOLD, MAX_THRESHOLD);
                    if current >= last.saturating_add(threshold) {
                        self.conservative = Some((current, 0));
                    }
                }
                _ => {}
            }
        }
        match self.conservative {
            Some(_) => Pace::Conservative,
            None => Pace::SlowStart,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Rounds of ten ACKs with these round trips in ms; answers what came last of each.
    fn rounds(trips: &[u64]) -> Vec<Pace> {
        let mut hystart = HyStart::default();
        let round = |(round, ms): (usize, &u64)| {
            let first = 10 * round as u64;
            let ack = |number| hystart.handle_ack(number, first + 10, Duration::from_millis(*ms));
            (first..first + 10)
                .map(ack)
                .find(|pace| *pace == Pace::End)
                .unwrap_or_else(|| {
                    if hystart.conservative.is_some() {
                        Pace::Conservative
                    } else {
                        Pace::SlowStart
                    }
                })
        };
        trips.iter().enumerate().map(round).collect()
    }

    #[test]
    fn a_rise_of_an_eighth_slows_down_and_five_rounds_later_slow_start_ends() {
        use Pace::{Conservative, End, SlowStart};
        assert_eq!(
            rounds(&[80, 80, 89]),
            [SlowStart; 3],
            "9 ms is below an eighth"
        );
        assert_eq!(
            rounds(&[80, 80, 90, 95, 95, 95, 95, 95]),
            [
                SlowStart,
                SlowStart,
                Conservative,
                Conservative,
                Conservative,
                Conservative,
                Conservative,
                End
            ]
        );
        assert_eq!(
            rounds(&[80, 90, 81]),
            [SlowStart, Conservative, SlowStart],
            "a false alarm"
        );
        assert_eq!(rounds(&[8, 11]), [SlowStart; 2], "4 ms at least");
        assert_eq!(
            rounds(&[400, 417]),
            [SlowStart, Conservative],
            "16 ms at most"
        );
    }
}
