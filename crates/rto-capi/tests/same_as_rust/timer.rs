//! `rto_timer` and `RetransmitTimer`, call by call.

use std::num::NonZeroU16;

use proptest::{collection::vec, sample::Index};
use rto::{Config, Estimator, Limit, Limits, Progress, RetransmitTimer, Sample, Snapshot, Timeout};
use rto_capi::*;

use super::*;

/// A call, with the numbers that C hands over.
#[derive(Clone, Copy, Debug)]
enum Call {
    Sent(u64),
    HandshakeSent(u64),
    DataPhase(u64),
    Acked(u64, u32, u64),
    AckedSince(u64, u64, u64),
    Sample(u64, u64, u32),
    FastRetransmit(u64),
    Retransmitted(u64),
    Unreachable(u64, u64),
    SpuriousTimeout(u64),
    SampleAfterSpurious(u64, u64),
    Timeout(u64),
    /// At the deadline, or a nanosecond beside it.
    TimeoutBy(Index),
    Stop(u64),
}

fn call() -> impl Strategy<Value = Call> {
    let expected = prop_oneof![4 => 1_u32..20, 1 => any::<u32>(), 1 => 0_u32..2];
    prop_oneof![
        4 => instant().prop_map(Call::Sent),
        1 => instant().prop_map(Call::HandshakeSent),
        1 => instant().prop_map(Call::DataPhase),
        4 => (instant(), number(3), rtt()).prop_map(|(now, progress, rtt)| {
            Call::Acked(now, progress, rtt)
        }),
        1 => (instant(), instant(), rtt()).prop_map(|(now, sent, rtt)| {
            Call::AckedSince(now, sent, rtt)
        }),
        2 => (instant(), rtt(), expected).prop_map(|(now, rtt, n)| Call::Sample(now, rtt, n)),
        1 => instant().prop_map(Call::FastRetransmit),
        1 => instant().prop_map(Call::Retransmitted),
        1 => (instant(), instant()).prop_map(|(now, sent)| Call::Unreachable(now, sent)),
        1 => instant().prop_map(Call::SpuriousTimeout),
        1 => (instant(), rtt()).prop_map(|(now, rtt)| Call::SampleAfterSpurious(now, rtt)),
        3 => instant().prop_map(Call::Timeout),
        6 => any::<Index>().prop_map(Call::TimeoutBy),
        1 => instant().prop_map(Call::Stop),
    ]
}

/// What a call answers: of a timeout, its details.
#[derive(Debug, PartialEq)]
enum Answer {
    Status(rto_status),
    Timeout(rto_action, Option<rto_timeout>),
}

const DONE: Answer = Answer::Status(rto_status::Ok);

fn through_c(timer: &mut rto_timer, before: rto_snapshot, call: Call) -> Answer {
    let timer = Some(timer);
    Answer::Status(match call {
        Call::Sent(now) => rto_timer_sent(timer, now),
        Call::HandshakeSent(now) => rto_timer_handshake_sent(timer, now),
        Call::DataPhase(now) => rto_timer_data_phase(timer, now),
        Call::Acked(now, progress, rtt) => rto_timer_acked(timer, now, progress, rtt),
        Call::AckedSince(now, sent, rtt) => rto_timer_acked_since(timer, now, sent, rtt),
        Call::Sample(now, rtt, expected) => rto_timer_sample(timer, now, rtt, expected),
        Call::FastRetransmit(now) => rto_timer_fast_retransmit(timer, now),
        Call::Retransmitted(now) => rto_timer_retransmitted(timer, now),
        Call::Unreachable(now, sent) => rto_timer_unreachable(timer, now, sent),
        Call::SpuriousTimeout(now) => rto_timer_spurious_timeout(timer, now),
        Call::SampleAfterSpurious(now, rtt) => {
            rto_timer_sample_after_spurious(timer, now, before, rtt)
        }
        Call::Stop(now) => rto_timer_stop(timer, now),
        Call::TimeoutBy(_) => unreachable!("has an instant by now"),
        Call::Timeout(now) => {
            let mut details = MaybeUninit::uninit();
            let action = rto_timer_timeout(timer, now, Some(&mut details));
            let happened = matches!(action, rto_action::Retransmit | rto_action::GiveUp);
            // SAFETY: Something happened, so the details are there.
            let details = happened.then(|| unsafe { details.assume_init() });
            return Answer::Timeout(action, details);
        }
    })
}

fn in_rust(timer: &mut RetransmitTimer, before: Option<Snapshot>, call: Call) -> Answer {
    let at = Duration::from_nanos;
    let sample = |rtt| time(rtt).map(Sample::measured);
    match call {
        Call::Sent(now) => timer.handle_sent(at(now)),
        Call::HandshakeSent(now) => timer.handle_handshake_sent(at(now)),
        Call::DataPhase(now) => timer.handle_data_phase(at(now)),
        Call::Acked(now, progress, rtt) => {
            let covered = [Progress::None, Progress::Some, Progress::All];
            let Some(progress) = covered.get(progress as usize) else {
                return Answer::Status(rto_status::Progress);
            };
            timer.handle_acked(at(now), *progress, sample(rtt));
        }
        Call::AckedSince(now, sent, rtt) => {
            timer.handle_acked(at(now), Progress::SomeSince(at(sent)), sample(rtt));
        }
        Call::Sample(now, rtt, expected) => {
            let expected = u16::try_from(expected).ok().and_then(NonZeroU16::new);
            let Some(expected) = expected else {
                return Answer::Status(rto_status::Expected);
            };
            sample(rtt).map(|sample| timer.handle_sample(at(now), sample.one_of(expected)));
        }
        Call::FastRetransmit(now) => timer.handle_fast_retransmit(at(now)),
        Call::Retransmitted(now) => timer.handle_retransmitted(at(now)),
        Call::Unreachable(now, sent) => timer.handle_unreachable(at(now), at(sent)),
        Call::SpuriousTimeout(now) => timer.handle_spurious_timeout(at(now)),
        Call::SampleAfterSpurious(now, rtt) => {
            sample(rtt).map(|sample| match before {
                Some(before) => timer.handle_sample_after_spurious(at(now), before, sample),
                None => timer.handle_sample(at(now), sample),
            });
        }
        Call::Stop(now) => timer.stop(at(now)),
        Call::TimeoutBy(_) => unreachable!("has an instant by now"),
        Call::Timeout(now) => return timed_out(timer.handle_timeout(at(now))),
    }
    DONE
}

fn timed_out(timeout: Option<Timeout>) -> Answer {
    let nothing = rto_timeout {
        rto_ns: 0,
        next_rto_ns: 0,
        elapsed_ns: 0,
        backoffs: 0,
        retransmissions: 0,
        limit: rto_limit::None,
        r1: false,
    };
    let (action, details) = match timeout {
        None => return Answer::Timeout(rto_action::None, None),
        Some(Timeout::Retransmit(expiry)) => (
            rto_action::Retransmit,
            rto_timeout {
                rto_ns: nanos(Some(expiry.rto)),
                next_rto_ns: nanos(Some(expiry.next_rto)),
                backoffs: expiry.backoffs,
                r1: expiry.r1,
                ..nothing
            },
        ),
        Some(Timeout::GiveUp(give_up)) => (
            rto_action::GiveUp,
            rto_timeout {
                elapsed_ns: nanos(Some(give_up.elapsed)),
                retransmissions: give_up.retransmissions,
                limit: match give_up.limit {
                    Limit::R2 => rto_limit::R2,
                    Limit::UserTimeout => rto_limit::UserTimeout,
                },
                ..nothing
            },
        ),
    };
    Answer::Timeout(action, Some(details))
}

fn assert_same(ours: &rto_timer, rust: &RetransmitTimer, now: u64) {
    let ours = Some(ours);
    let estimator = rust.estimator();
    assert_eq!(rto_timer_poll_timeout(ours), nanos(rust.poll_timeout()));
    assert_eq!(rto_timer_rto(ours), nanos(Some(estimator.rto())));
    assert_eq!(rto_timer_srtt(ours), nanos(estimator.srtt()));
    assert_eq!(rto_timer_rttvar(ours), nanos(estimator.rttvar()));
    assert_eq!(rto_timer_backoffs(ours), estimator.backoffs());
    assert_eq!(rto_timer_snapshot(ours).srtt_ns, rto_timer_srtt(ours));
    assert_eq!(rto_timer_snapshot(ours).rttvar_ns, rto_timer_rttvar(ours));
    let mut schedule = [7; 5];
    // SAFETY: There is room for one more.
    let status = unsafe { rto_timer_schedule(ours, schedule.as_mut_ptr(), 4) };
    assert_eq!(status, rto_status::Ok);
    let expected = estimator.schedule().map(|at| nanos(Some(at)));
    assert_eq!(schedule[..4], expected.take(4).collect::<Vec<_>>());
    assert_eq!(schedule[4], 7);
    let explained = text(|buffer, size| {
        // SAFETY: The buffer has that size.
        let status = unsafe { rto_timer_explain(ours, now, buffer, size) };
        assert_eq!(status, rto_status::Ok);
    });
    assert_eq!(
        explained,
        rust.explain(Duration::from_nanos(now)).to_string()
    );
}

/// Legal settings, in both languages.
fn legal() -> impl Strategy<Value = ((rto_config, rto_limits), Config, Limits)> {
    let both = (settings::configs(), settings::limits());
    both.prop_filter_map("illegal", |(config, limits)| {
        let rust = settings::config(&config)?;
        Estimator::new(rust).ok()?;
        Some(((config, limits), rust, settings::meant(&limits)?))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_calls_give_the_answers_of_rust(
        ((config, limits), rust_config, rust_limits) in legal(),
        cached in proptest::option::of((rtt(), rtt())),
        calls in vec(call(), 1..60),
    ) {
        let cached = cached.map(|(srtt_ns, rttvar_ns)| rto_snapshot { srtt_ns, rttvar_ns });
        let known = |snapshot: rto_snapshot| {
            let (srtt, rttvar) = (time(snapshot.srtt_ns)?, time(snapshot.rttvar_ns)?);
            Some(Snapshot { srtt, rttvar })
        };
        let mut estimator = Estimator::new(rust_config).expect("legal");
        if let Some(snapshot) = cached.and_then(known) {
            estimator.seed(snapshot);
        }
        let mut rust = RetransmitTimer::new(estimator).with_limits(rust_limits);
        let mut ours = rto_timer::default();
        let status = rto_timer_init(Some(&mut ours), Some(&config), Some(&limits), cached.as_ref());
        prop_assert_eq!(status, rto_status::Ok);
        let mut before = rto_timer_snapshot(Some(&ours));
        for call in calls {
            let call = match call {
                Call::TimeoutBy(beside) => {
                    let deadline = rto_timer_poll_timeout(Some(&ours));
                    Call::Timeout(deadline.saturating_add(beside.index(4) as u64).saturating_sub(1))
                }
                call => call,
            };
            ours = std::hint::black_box(ours); // copied and moved, as C may
            if let Call::Timeout(_) = call {
                before = rto_timer_snapshot(Some(&ours));
            }
            let answer = through_c(&mut ours, before, call);
            prop_assert_eq!(answer, in_rust(&mut rust, known(before), call), "{:?}", call);
            let now = match call {
                Call::Timeout(now) | Call::Sent(now) => now,
                _ => 0,
            };
            assert_same(&ours, &rust, now);
        }
    }
}
