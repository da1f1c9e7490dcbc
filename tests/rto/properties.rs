//! What holds for every input, checked on random ones.

mod errors;
mod events;
mod machine;
mod observer;
mod sampler;

use std::{num::NonZeroU32, time::Duration};

use conformance::settings::{AfterHandshake, CollapseOn, FloorOf, Limits, Settings, Threshold};
use proptest::prelude::*;
use rto::Config;

/// Every legal configuration in plain numbers.
fn settings() -> impl Strategy<Value = Settings> {
    let cap = prop_oneof![Just(None), (1_u64..=120_000_000_000).prop_map(Some)];
    let gain = || (1_u16..=u16::MAX).prop_flat_map(|den| (1..=den, Just(den)));
    let small = || prop_oneof![Just((1, 8)), Just((1, 4)), gain()];
    let bounds = cap.prop_flat_map(|cap| {
        let most = cap.unwrap_or(120_000_000_000);
        (Just(cap), 0..=most, 0..=most, 0..=most, any::<bool>())
    });
    let gains = (small(), small(), 1..=Config::MAX_K);
    let rest = (
        1..=limit(),
        proptest::option::of((1_u32..10).prop_map(|n| NonZeroU32::new(n).expect("positive"))),
        prop_oneof![
            Just(AfterHandshake::Raise),
            Just(AfterHandshake::Replace),
            Just(AfterHandshake::Keep)
        ],
        prop_oneof![Just(CollapseOn::OnSample), Just(CollapseOn::OnAnyAck)],
        prop_oneof![Just(FloorOf::Term), Just(FloorOf::ZeroRttvar)],
    );
    (bounds, gains, rest, limits()).prop_map(|(bounds, gains, rest, limits)| {
        let (max_rto_ns, a, b, granularity_ns, ticks) = bounds;
        let (alpha, beta, k) = gains;
        let (max_sample_ns, clear_after, post_syn, collapse, variance_floor) = rest;
        Settings {
            initial_rto_ns: a.max(b).max(1),
            min_rto_ns: a.min(b).max(1),
            max_rto_ns,
            granularity_ns: if ticks { granularity_ns } else { 0 },
            alpha,
            beta,
            k,
            max_sample_ns,
            clear_after,
            variance_floor,
            post_syn,
            collapse,
            limits,
        }
    })
}

/// Any limits, near ones and none more often.
fn limits() -> impl Strategy<Value = Limits> {
    let span_ns =
        || prop_oneof![4 => (0_u64..300).prop_map(|s| s * 1_000_000_000), 1 => any::<u64>()];
    let threshold = move || {
        prop_oneof![
            2 => Just(None),
            1 => (0_u32..6).prop_map(|count| Some(Threshold::Retransmissions(count))),
            1 => span_ns().prop_map(|ns| Some(Threshold::AfterNs(ns)))
        ]
    };
    let user_timeout = prop_oneof![Just(None), span_ns().prop_map(Some)];
    (threshold(), threshold(), threshold(), user_timeout).prop_map(
        |(r1, r2, handshake_r2, user_timeout_ns)| Limits {
            r1,
            r2,
            handshake_r2,
            user_timeout_ns,
        },
    )
}

/// Any instant, near ones more often, up to the end of time.
fn instant() -> impl Strategy<Value = Duration> + Clone {
    prop_oneof![
        6 => (0_u64..500_000).prop_map(Duration::from_millis),
        1 => any::<u64>().prop_map(Duration::from_nanos),
        1 => any::<u64>().prop_map(Duration::from_secs),
        1 => Just(Duration::MAX),
    ]
}

/// [`Config::LIMIT`] in ns.
fn limit() -> u64 {
    u64::try_from(Config::LIMIT.as_nanos()).expect("2^50")
}
