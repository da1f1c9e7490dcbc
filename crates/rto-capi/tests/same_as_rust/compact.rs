//! `rto_compact_timer` and `compact::RetransmitTimer`, call by call.

use proptest::{collection::vec, sample::Index};
use rto::compact::{Estimator, Params, Progress, RetransmitTimer, Sample, Unsupported, elapsed};
use rto_capi::*;

use super::*;

#[derive(Clone, Copy, Debug)]
enum Call {
    Sent(u32),
    HandshakeSent(u32),
    DataPhase,
    Acked(u32, u32, u32),
    AckedSince(u32, u32, u32),
    Sample(u32),
    Timeout(u32),
    /// At the deadline, or a microsecond beside it.
    TimeoutBy(Index),
    Stop,
}

fn ticks() -> impl Strategy<Value = u32> {
    prop_oneof![4 => (0_u32..5_000).prop_map(|ms| ms * 1_000), 1 => any::<u32>()]
}

fn rtt_us() -> impl Strategy<Value = u32> {
    prop_oneof![4 => ticks(), 1 => Just(RTO_COMPACT_NONE)]
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        3 => ticks().prop_map(Call::Sent),
        1 => ticks().prop_map(Call::HandshakeSent),
        1 => Just(Call::DataPhase),
        4 => (ticks(), number(3), rtt_us()).prop_map(|(now, progress, rtt)| {
            Call::Acked(now, progress, rtt)
        }),
        1 => (ticks(), ticks(), rtt_us()).prop_map(|(now, sent, rtt)| {
            Call::AckedSince(now, sent, rtt)
        }),
        2 => rtt_us().prop_map(Call::Sample),
        3 => ticks().prop_map(Call::Timeout),
        6 => any::<Index>().prop_map(Call::TimeoutBy),
        1 => Just(Call::Stop),
    ]
}

#[derive(Debug, PartialEq)]
enum Answer {
    Status(rto_status),
    Timeout(rto_action, Option<rto_compact_expiry>),
}

fn through_c(timer: &mut rto_compact_timer, params: &rto_compact_params, call: Call) -> Answer {
    let (timer, params) = (Some(timer), Some(params));
    Answer::Status(match call {
        Call::Sent(now) => rto_compact_sent(timer, now),
        Call::HandshakeSent(now) => rto_compact_handshake_sent(timer, now),
        Call::DataPhase => rto_compact_data_phase(timer, params),
        Call::Acked(now, progress, rtt) => rto_compact_acked(timer, params, now, progress, rtt),
        Call::AckedSince(now, sent, rtt) => rto_compact_acked_since(timer, params, now, sent, rtt),
        Call::Sample(rtt) => rto_compact_sample(timer, params, rtt),
        Call::Stop => rto_compact_stop(timer),
        Call::TimeoutBy(_) => unreachable!("has an instant by now"),
        Call::Timeout(now) => {
            let mut expiry = MaybeUninit::uninit();
            let action = rto_compact_timeout(timer, params, now, Some(&mut expiry));
            // SAFETY: The timer expired, so the details are there.
            let expiry =
                (action == rto_action::Retransmit).then(|| unsafe { expiry.assume_init() });
            return Answer::Timeout(action, expiry);
        }
    })
}

fn in_rust(timer: &mut RetransmitTimer, params: &Params, call: Call) -> Answer {
    let sample = |rtt| (rtt != RTO_COMPACT_NONE).then_some(Sample::measured(rtt));
    match call {
        Call::Sent(now) => timer.handle_sent(now),
        Call::HandshakeSent(now) => timer.handle_handshake_sent(now),
        Call::DataPhase => timer.handle_data_phase(params),
        Call::Acked(now, progress, rtt) => {
            let covered = [Progress::None, Progress::Some, Progress::All];
            let Some(progress) = covered.get(progress as usize) else {
                return Answer::Status(rto_status::Progress);
            };
            timer.handle_acked(params, now, *progress, sample(rtt));
        }
        Call::AckedSince(now, sent, rtt) => {
            timer.handle_acked(params, now, Progress::SomeSince(sent), sample(rtt));
        }
        Call::Sample(rtt) => {
            sample(rtt).map(|sample| timer.handle_sample(params, sample));
        }
        Call::Stop => timer.stop(),
        Call::TimeoutBy(_) => unreachable!("has an instant by now"),
        Call::Timeout(now) => {
            let expiry = timer.handle_timeout(params, now);
            let details = expiry.map(|expiry| rto_compact_expiry {
                rto_us: expiry.rto_us,
                next_rto_us: expiry.next_rto_us,
                backoffs: expiry.backoffs.into(),
            });
            let action = details.map_or(rto_action::None, |_| rto_action::Retransmit);
            return Answer::Timeout(action, details);
        }
    }
    Answer::Status(rto_status::Ok)
}

fn deadline(timer: &rto_compact_timer) -> Option<u32> {
    let mut deadline = MaybeUninit::uninit();
    let runs = rto_compact_poll_timeout(Some(timer), Some(&mut deadline));
    // SAFETY: The timer runs, so the deadline is there.
    runs.then(|| unsafe { deadline.assume_init() })
}

fn assert_same(ours: &rto_compact_timer, rust: &RetransmitTimer) {
    let estimator = rust.estimator();
    let number = |time: Option<u32>| time.unwrap_or(RTO_COMPACT_NONE);
    assert_eq!(deadline(ours), rust.poll_timeout());
    let ours = Some(ours);
    assert_eq!(rto_compact_rto(ours), estimator.rto_us());
    assert_eq!(rto_compact_srtt(ours), number(estimator.srtt_us()));
    assert_eq!(rto_compact_rttvar(ours), number(estimator.rttvar_us()));
    assert_eq!(rto_compact_backoffs(ours), estimator.backoffs().into());
}

fn status(error: &Unsupported) -> rto_status {
    match error {
        Unsupported::MaxRto(_) => rto_status::CompactMaxRto,
        Unsupported::Gains { .. } => rto_status::CompactGains,
        Unsupported::VarianceFloor(_) => rto_status::CompactVarianceFloor,
        Unsupported::ClearAfter(_) => rto_status::CompactClearAfter,
        other => panic!("{other}: a status of its own?"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_calls_give_the_answers_of_rust(
        config in settings::configs(),
        calls in vec(call(), 1..60),
    ) {
        let mut params = rto_compact_params::default();
        let status = rto_compact_params_init(Some(&mut params), Some(&config));
        let rust_params = settings::config(&config).and_then(|config| Params::new(config).ok());
        prop_assert_eq!(status == rto_status::Ok, rust_params.is_some());
        let mut ours = rto_compact_timer::default();
        let status = rto_compact_init(Some(&mut ours), Some(&params));
        let Some(rust_params) = rust_params else {
            prop_assert_eq!(status, rto_status::Uninitialised);
            return Ok(());
        };
        prop_assert_eq!(status, rto_status::Ok);
        let mut rust = RetransmitTimer::new(Estimator::new(&rust_params));
        for call in calls {
            let call = match call {
                Call::TimeoutBy(beside) => {
                    let deadline = deadline(&ours).unwrap_or(0);
                    Call::Timeout(deadline.wrapping_add(beside.index(4) as u32).wrapping_sub(1))
                }
                call => call,
            };
            let answer = through_c(&mut ours, &params, call);
            prop_assert_eq!(answer, in_rust(&mut rust, &rust_params, call), "{:?}", call);
            assert_same(&ours, &rust);
        }
    }

    #[test]
    fn what_is_compact_only_is_refused_alike(config in settings::configs()) {
        let mut params = rto_compact_params::default();
        let got = rto_compact_params_init(Some(&mut params), Some(&config));
        let message = text(|buffer, size| {
            // SAFETY: The buffer has that size.
            let checked = unsafe { rto_compact_check(Some(&config), buffer, size) };
            assert_eq!(checked, got);
        });
        match settings::config(&config).map(Params::new) {
            Some(Ok(_)) => prop_assert_eq!(got, rto_status::Ok),
            Some(Err(Unsupported::Config(error))) => {
                prop_assert_eq!(got, settings::status(&error));
                prop_assert_eq!(message, error.to_string());
            }
            Some(Err(error)) => {
                prop_assert_eq!(got, status(&error));
                prop_assert_eq!(message, error.to_string());
            }
            None => prop_assert!(message.contains(" is no rto_"), "{message}"),
        }
    }

    #[test]
    fn clocks_are_compared_as_in_rust(earlier: u32, later: u32) {
        let expected = elapsed(earlier, later).unwrap_or(RTO_COMPACT_NONE);
        prop_assert_eq!(rto_compact_elapsed(earlier, later), expected);
    }
}
