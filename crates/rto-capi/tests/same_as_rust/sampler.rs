//! `rto_sampler` and `Sampler`.

use proptest::collection::vec;
use rto::{Sample, Sampler};
use rto_capi::*;

use super::*;

#[derive(Clone, Copy, Debug)]
enum Call {
    Sent(u64, u64, u64),
    Acked(u64, u64),
}

fn call() -> impl Strategy<Value = Call> {
    let number = || prop_oneof![9 => 0_u64..30, 1 => any::<u64>()];
    prop_oneof![
        (instant(), number(), number()).prop_map(|(now, start, end)| Call::Sent(now, start, end)),
        (instant(), number()).prop_map(|(now, upto)| Call::Acked(now, upto)),
    ]
}

proptest! {
    #[test]
    fn any_calls_give_the_samples_of_rust(calls in vec(call(), 1..60)) {
        let mut rust = Sampler::new();
        let mut ours = rto_sampler::default();
        prop_assert_eq!(rto_sampler_init(Some(&mut ours)), rto_status::Ok);
        for call in calls {
            match call {
                Call::Sent(now, start, end) => {
                    rust.handle_sent(Duration::from_nanos(now), start..end);
                    let status = rto_sampler_sent(Some(&mut ours), now, start, end);
                    prop_assert_eq!(status, rto_status::Ok);
                }
                Call::Acked(now, upto) => {
                    let sample = rust.handle_acked(Duration::from_nanos(now), upto);
                    let rtt = sample.and_then(|sample| sample.rtt().ok());
                    prop_assert_eq!(rto_sampler_acked(Some(&mut ours), now, upto), nanos(rtt));
                }
            }
        }
    }

    #[test]
    fn the_small_functions_are_those_of_rust(
        sent_at in instant(),
        acked_at in instant(),
        flight_size: u64,
        smss: u32,
    ) {
        let at = Duration::from_nanos;
        let rtt = Sample::of_transmission(at(sent_at), at(acked_at)).rtt().ok();
        prop_assert_eq!(rto_rtt(sent_at, acked_at), nanos(rtt));
        let expected = rto::expected_samples(flight_size, smss);
        prop_assert_eq!(rto_expected_samples(flight_size, smss), u32::from(expected.get()));
    }
}
