//! A trace of the kernel's beside an account of what it does.

use std::time::Duration;

use conformance::linux::{Kernel, Seen};
use rto::linux::Config;

use super::{peer::Step, tcp_info::TcpInfo};

/// Where the kernel did something else, a line each. Nothing is near enough: every number is the
/// kernel's, to the microsecond.
pub(super) fn misses(trace: &[Step], model: &mut dyn Kernel) -> Vec<String> {
    let mut misses = Vec::new();
    for (index, step) in trace.iter().enumerate() {
        model.apply(step.event);
        let (told, expected) = (told(&step.info), model.seen());
        if told != expected {
            misses.push(format!(
                "step {index}, {:?}: the kernel has {told:?}, not {expected:?}",
                step.event
            ));
        }
    }
    misses
}

fn told(info: &TcpInfo) -> Seen {
    let sampled = info.rtt_us > 0;
    Seen {
        rto_us: info.rto_us.into(),
        backoffs: info.backoff.into(),
        estimate_us: sampled.then_some((info.rtt_us.into(), info.rttvar_us.into())),
    }
}

/// Where the kernel sent again before its RTO was over, or later than its timer wheel explains.
pub(super) fn mistimed(trace: &[Step], config: &Config) -> Vec<String> {
    let (mut rto, jiffy) = (config.initial_rto, config.jiffy);
    let mut mistimed = Vec::new();
    for (index, step) in trace.iter().enumerate() {
        if let Some(waited) = step.waited {
            let (least, most) = (rto, rto + grain(rto, jiffy) + 2 * jiffy);
            if !(least..=most).contains(&waited) {
                mistimed.push(format!(
                    "step {index}: sent again after {waited:?}, not {least:?} to {most:?}"
                ));
            }
        }
        rto = Duration::from_micros(step.info.rto_us.into());
    }
    mistimed
}

/// How coarse the kernel's timer wheel is for a timer of this span: a jiffy below 63, and eight
/// times as much for every eight times as long.
fn grain(span: Duration, jiffy: Duration) -> Duration {
    let mut grain = jiffy;
    while span >= 63 * grain {
        grain *= 8;
    }
    grain
}

#[cfg(test)]
mod tests {
    use conformance::{linux::Event, time::ms};

    use super::*;

    /// 3,712 ms are 928 jiffies of 4 ms: 504 or more, so the wheel turns by 64 of them.
    #[test]
    fn an_early_retransmission_and_a_late_one_are_found() {
        let told = |rto_ms: u32, waited| Step {
            event: Event::Timeout,
            info: TcpInfo {
                rto_us: 1_000 * rto_ms,
                ..TcpInfo::default()
            },
            waited,
        };
        for (rto, waited, well) in [
            (1_000, 999, false),
            (1_000, 1_000, true),
            (1_000, 1_000 + 8 * 4 + 2 * 4, true),
            (1_000, 1_000 + 8 * 4 + 2 * 4 + 1, false),
            (248, 248 + 4 + 2 * 4, true), // 62 jiffies
            (248, 248 + 4 + 2 * 4 + 1, false),
            (3_712, 3_711, false),
            (3_712, 3_712 + 64 * 4 + 2 * 4, true),
            (3_712, 2 * 3_712, false),
        ] {
            let trace = [told(rto, None), told(2 * rto, Some(ms(waited)))];
            let mistimed = mistimed(&trace, &Config::LINUX);
            assert_eq!(
                mistimed.is_empty(),
                well,
                "{waited} ms for {rto} ms: {mistimed:?}"
            );
        }
    }
}
