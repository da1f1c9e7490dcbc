//! What holds for any settings, any calls and any times.

use crate::common::{drain, index, link, ms, packet, percent};
use netsim::{Ecn, GilbertElliott, Link, LinkConfig, Policer, Probability};
use proptest::{collection::vec, prelude::*};
use std::{collections::BTreeSet, time::Duration};

#[derive(Clone, Debug)]
enum Call {
    Handle(Duration, usize),
    Poll(Duration),
    SetConfig(LinkConfig),
    BlackOut(Duration, Duration),
}

/// Any time, with those that matter more often.
fn any_time() -> impl Strategy<Value = Duration> {
    prop_oneof![
        8 => (0..100_000_000_u64).prop_map(Duration::from_nanos),
        1 => any::<Duration>(),
        1 => Just(Duration::MAX),
    ]
}

fn any_probability() -> impl Strategy<Value = Probability> {
    let any = (0..=1_000_000_000_u32).prop_map(|ppb| Probability::from_ppb(ppb).expect("<= 1"));
    prop_oneof![Just(Probability::NEVER), Just(Probability::ALWAYS), any]
}

fn any_burst() -> impl Strategy<Value = GilbertElliott> {
    let one = any_probability;
    (one(), one(), one(), one()).prop_map(|(good_to_bad, bad_to_good, in_good, in_bad)| {
        GilbertElliott {
            good_to_bad,
            bad_to_good,
            loss_in_good: in_good,
            loss_in_bad: in_bad,
        }
    })
}

/// Any settings, also those that a link refuses.
fn any_config() -> impl Strategy<Value = LinkConfig> {
    let chances = (
        any_probability(),
        proptest::option::of(any_burst()),
        any_probability(),
        any_probability(),
        any_probability(),
    );
    let times = (any_time(), any_time(), any::<bool>(), any_time());
    let rate = proptest::option::of(prop_oneof![0..4_u64, 0..10_000_000_u64, any::<u64>()]);
    let queue = prop_oneof![0..5_000_usize, Just(usize::MAX)];
    let policer = (rate.clone(), queue.clone())
        .prop_map(|(rate, burst)| rate.map(|rate| Policer { rate, burst }));
    let blackouts = vec(any_time(), 0..4).prop_map(|mut times| {
        times.sort_unstable();
        times.chunks_exact(2).map(|ends| ends[0]..ends[1]).collect()
    });
    let header = (
        proptest::option::of(0..5_000_usize),
        any::<bool>(),
        proptest::option::of(0..1_500_usize),
        prop_oneof![0..100_usize, Just(usize::MAX)],
    );
    (chances, times, rate, queue, header, policer, blackouts).prop_map(
        |(
            (loss, burst, reorder, duplicate, corrupt),
            (delay, jitter, keep_order, reorder_delay),
            rate,
            queue,
            (mark_above, bleach_ecn, mtu, overhead),
            policer,
            blackouts,
        )| LinkConfig {
            delay,
            jitter: jitter.min(delay),
            keep_order,
            loss,
            burst,
            reorder,
            reorder_delay,
            duplicate,
            corrupt,
            rate,
            queue,
            mark_above,
            bleach_ecn,
            mtu,
            overhead,
            policer,
            blackouts,
        },
    )
}

fn any_call() -> impl Strategy<Value = Call> {
    prop_oneof![
        10 => (any_time(), 0..1_500_usize).prop_map(|(now, bytes)| Call::Handle(now, bytes)),
        5 => any_time().prop_map(Call::Poll),
        1 => any_config().prop_map(Call::SetConfig),
        1 => (any_time(), any_time()).prop_map(|(now, until)| Call::BlackOut(now, until)),
    ]
}

/// Makes one call; what came out is returned.
fn make(link: &mut Link, call: Call) -> Option<Vec<u8>> {
    match call {
        Call::Handle(now, bytes) => link.handle_ecn_packet(now, vec![7; bytes], Ecn::Capable0),
        Call::Poll(now) => return link.poll_packet(now),
        Call::SetConfig(config) => drop(link.set_config(config)),
        Call::BlackOut(now, until) => link.black_out(now, until),
    }
    None
}

/// The packets that survive the losses of chance, when sent as told.
fn survivors(config: LinkConfig, seed: u64, gap: Duration, bytes: usize) -> BTreeSet<u32> {
    let mut link = link(config, seed);
    for sent in 0..1_000 {
        let mut packet = packet(sent);
        packet.resize(4 + bytes, 0);
        link.handle_packet(gap * sent, packet);
    }
    let arrivals = drain(&mut link).into_iter();
    arrivals.map(|(_, packet)| index(&packet[..4])).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_packet_is_accounted_for_after_any_calls_at_any_times(
        config in any_config(),
        seed in any::<u64>(),
        calls in vec(any_call(), 0..200),
    ) {
        let Ok(mut link) = Link::new(config, seed) else { return Ok(()) };
        let mut delivered = 0;
        for call in calls {
            delivered += u64::from(make(&mut link, call).is_some());
            let counters = link.counters();
            prop_assert_eq!(counters.delivered, delivered);
            prop_assert_eq!(
                counters.entered + counters.duplicated,
                counters.delivered + counters.lost() + link.in_flight() as u64
            );
            prop_assert_eq!(link.poll_timeout().is_none(), link.in_flight() == 0);
        }
        // Whatever is left arrives at its deadlines.
        let left = link.in_flight();
        prop_assert_eq!(drain(&mut link).len(), left);
    }

    #[test]
    fn the_same_calls_give_the_same_results(
        config in any_config(),
        seed in any::<u64>(),
        calls in vec(any_call(), 0..100),
    ) {
        let Ok(mut first) = Link::new(config.clone(), seed) else { return Ok(()) };
        let mut second = Link::new(config, seed).expect("as the first");
        for call in calls {
            prop_assert_eq!(make(&mut first, call.clone()), make(&mut second, call));
            prop_assert_eq!(first.poll_timeout(), second.poll_timeout());
        }
        prop_assert_eq!(first.counters(), second.counters());
        prop_assert_eq!(drain(&mut first), drain(&mut second));
    }

    #[test]
    fn a_link_that_keeps_order_delivers_in_order_however_the_settings_change(
        configs in vec(any_config(), 1..10),
        gaps in vec(0..20_000_000_u64, 100),
    ) {
        let ordered = |config: LinkConfig| LinkConfig {
            keep_order: true,
            reorder: Probability::NEVER,
            ..config
        };
        let mut link = link(LinkConfig::PERFECT, 1);
        let mut now = Duration::ZERO;
        let mut configs = configs.into_iter().cycle();
        for (sent, gap) in gaps.into_iter().enumerate() {
            if sent % 10 == 0 {
                let _ = link.set_config(ordered(configs.next().expect("cycles")));
            }
            now += Duration::from_nanos(gap);
            // Corrupted numbers would look out of order.
            let unharmed = LinkConfig { corrupt: Probability::NEVER, ..link.config().clone() };
            link.set_config(unharmed).expect("as valid as before");
            link.handle_packet(now, packet(sent as u32));
        }
        let arrivals = drain(&mut link);
        prop_assert!(arrivals.is_sorted_by_key(|(_, packet)| index(packet)));
    }

    #[test]
    fn fate_does_not_depend_on_what_is_sent_and_when(
        seed in any::<u64>(),
        gap_ns in 0..10_000_000_u64,
        bytes in 0..100_usize,
    ) {
        let burst = GilbertElliott::from_means(3, percent(10)).ok();
        let lossy = LinkConfig { loss: percent(10), burst, ..LinkConfig::PERFECT };
        let reference = survivors(lossy.clone(), seed, Duration::ZERO, 0);
        // Neither time and size nor other effects change which packets are lost.
        let other = LinkConfig {
            delay: ms(40),
            jitter: ms(30),
            reorder: percent(20),
            duplicate: percent(20),
            rate: Some(1_000_000),
            queue: usize::MAX,
            ..lossy.clone()
        };
        let gap = Duration::from_nanos(gap_ns);
        prop_assert_eq!(&survivors(other, seed, gap, bytes), &reference);
        // More loss loses the same packets and more.
        let worse = LinkConfig { loss: percent(30), ..lossy };
        prop_assert!(survivors(worse, seed, gap, bytes).is_subset(&reference));
    }

    #[test]
    fn neighbouring_seeds_give_different_fates(seed in 0..u64::MAX) {
        let config = LinkConfig { loss: percent(50), ..LinkConfig::PERFECT };
        let fates = |seed| survivors(config.clone(), seed, Duration::ZERO, 0);
        // Of 1,000 packets 500 +- 5 x 16 fare differently.
        let different = fates(seed).symmetric_difference(&fates(seed + 1)).count();
        prop_assert!((420..=580).contains(&different), "{different}");
    }
}

/// Pins the streams: a new generator or another order of draws would change old simulations.
#[test]
fn a_seed_means_the_same_fates_forever() {
    let config = LinkConfig {
        loss: percent(50),
        ..LinkConfig::PERFECT
    };
    let first: Vec<u32> = survivors(config, 1, Duration::ZERO, 0)
        .into_iter()
        .take(8)
        .collect();
    assert_eq!(first, [0, 3, 5, 7, 8, 12, 18, 19]);
}
