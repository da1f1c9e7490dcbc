//! One test per rule, named by its id. Expected values are written as the formula, in
//! microseconds.

use conformance::time::{ms, ns, s, us};

use super::*;

/// RTTVAR and MDEV are in quarters of a microsecond.
fn quarters(us: u64) -> Option<Duration> {
    Some(ns(us * 250))
}

/// SRTT is in eighths.
fn eighths(us: u64) -> Option<Duration> {
    Some(ns(us * 125))
}

/// (P50) A fraction of a microsecond is cut off.
#[test]
fn rule_family_p50_round_trips_count_in_whole_microseconds() {
    for rtt in [ns(100_000), ns(100_001), ns(100_999)] {
        assert_eq!(fed(BARE, &[rtt]).srtt(), Some(us(100)), "{rtt:?}");
        let later = fed(BARE, &[us(20), rtt]);
        assert_eq!(later.srtt(), eighths(7 * 20 + 100), "{rtt:?}");
    }
}

/// (P51) SRTT = R, MDEV = R/2, 4 x RTTVAR = max(2 R, `rto_min`).
#[test]
fn rule_family_p51_the_first_sample_sets_all_three() {
    let config = Config {
        rto_min: us(200),
        ..BARE
    };
    for (r, term) in [(99, 200), (100, 200), (101, 2 * 101)] {
        let estimator = fed(config, &[us(r)]);
        assert_eq!(estimator.srtt(), Some(us(r)));
        assert_eq!(estimator.mdev(), quarters(2 * r));
        assert_eq!(estimator.rttvar(), quarters(term));
        assert_eq!(estimator.rto(), us(r + term));
    }
    let none = linux(config);
    assert_eq!(
        (none.srtt(), none.mdev(), none.rttvar()),
        (None, None, None)
    );
}

/// (P52) 8 SRTT moves by R - floor(SRTT).
#[test]
fn rule_family_p52_srtt_moves_by_an_eighth_and_keeps_its_eighths() {
    // R after a first sample of 100 us, and what the next sample of 100 us makes of it.
    for (r, srtt8, then) in [
        (101, 800 + 1, 801), // floor(801 / 8) = 100
        (107, 800 + 7, 807),
        (108, 800 + 8, 808 - 1), // floor(808 / 8) = 101
        (93, 800 - 7, 793 + 1),  // floor(793 / 8) = 99
        (0, 800 - 100, 700 + 13),
    ] {
        assert_eq!(fed(BARE, &[us(100), us(r)]).srtt(), eighths(srtt8), "{r}");
        assert_eq!(
            fed(BARE, &[us(100), us(r), us(100)]).srtt(),
            eighths(then),
            "{r}"
        );
    }
}

/// (P53) 4 MDEV moves by abs(e) - floor(MDEV), up or down.
#[test]
fn rule_family_p53_mdev_moves_by_a_quarter() {
    // After a first sample of 101 us 4 MDEV is 202 and floor(MDEV) 50.
    for (r, mdev4) in [
        (101 + 90, 202 + 90 - 50), // a longer round trip raises it
        (101 + 20, 202 + 20 - 50), // or lowers it
        (101, 202 - 50),
        (101 - 20, 202 + 20 - 50), // a shorter one lowers it alike
        (101 - 50, 202),
    ] {
        assert_eq!(fed(BARE, &[us(101), us(r)]).mdev(), quarters(mdev4), "{r}");
    }
}

/// (P54) 4 MDEV rises by floor((abs(e) - floor(MDEV)) / 8) where R < SRTT.
#[test]
fn rule_family_p54_a_shorter_round_trip_hardly_raises_mdev() {
    for (r, mdev4) in [
        (101 - 57, 202), // 57 - 50 = 7: an eighth is cut off
        (101 - 58, 202 + 1),
        (101 - 101, 202 + (101 - 50) / 8),
    ] {
        assert_eq!(fed(BARE, &[us(101), us(r)]).mdev(), quarters(mdev4), "{r}");
    }
    // As much longer raises it four times as fast, by a quarter.
    assert_eq!(
        fed(BARE, &[us(101), us(202)]).mdev(),
        quarters(202 + (101 - 50))
    );
}

/// (P55) Within a round trip RTTVAR follows the largest MDEV up, and not down.
#[test]
fn rule_family_p55_rttvar_is_the_largest_mdev_of_a_round_trip() {
    let mut estimator = fed(BARE, &[us(100)]);
    estimator.sample(us(500), Round::Continues);
    let largest = 200 - 50 + 400;
    assert_eq!(estimator.mdev(), quarters(largest));
    assert_eq!(estimator.rttvar(), quarters(largest));
    for _ in 0..10 {
        estimator.sample(us(150), Round::Continues);
        assert!(estimator.mdev() < quarters(largest));
        assert_eq!(estimator.rttvar(), quarters(largest));
    }
}

/// (P56) At its end 4 RTTVAR falls by a quarter of what it is above the largest 4 MDEV, which
/// starts again from `rto_min`.
#[test]
fn rule_family_p56_rttvar_falls_once_a_round_trip() {
    let config = Config {
        rto_min: us(40),
        ..BARE
    };
    let mut estimator = fed(config, &[us(100)]); // 200 each, and a round trip begins
    estimator.sample(us(100), Round::Ends); // its largest is the 200 it began with
    assert_eq!(estimator.mdev(), quarters(200 - 50));
    assert_eq!(estimator.rttvar(), quarters(200));

    estimator.sample(us(100), Round::Continues); // 150 - 37 = 113, the largest of the next
    assert_eq!(estimator.rttvar(), quarters(200));
    estimator.sample(us(100), Round::Ends); // 113 - 28 = 85, and its end
    assert_eq!(estimator.mdev(), quarters(85));
    assert_eq!(estimator.rttvar(), quarters(200 - (200 - 113) / 4));

    // With MDEV below the floor it falls towards the floor, and stops up to 3 above.
    for _ in 0..100 {
        estimator.sample(us(100), Round::Ends);
    }
    assert_eq!(estimator.mdev(), quarters(3));
    assert_eq!(estimator.rttvar(), quarters(40 + 3));
}

/// (P57) 200 ms are added, not compared.
#[test]
fn rule_family_p57_the_floor_is_of_the_variance_term() {
    let steady = |rtt| fed(Config::LINUX, &[rtt; 200]).rto();
    assert_eq!(steady(ms(20)), ms(20 + 200));
    assert_eq!(steady(ms(100)), ms(100 + 200));
    // From R/2 = 500 ms down, RTTVAR stops 3 us above (P56): one jiffy more.
    assert_eq!(steady(ms(1_000)), ms(1_000 + 200 + 4));
    // RFC 6298 with a floor of 200 ms would be at 200 ms here.
    assert_eq!(steady(us(1)), ms(200 + 4));
}

/// (P58) floor(SRTT) + 4 RTTVAR, up to the next jiffy.
#[test]
fn rule_family_p58_the_rto_is_rounded_up_to_a_jiffy() {
    // 3 R, in jiffies of 4 ms, 10 ms, 1 ms.
    for (r, four, ten, one) in [
        (us(400_000), 1_200, 1_200, 1_200),
        (us(400_001), 1_204, 1_210, 1_201),
        (us(403_333), 1_212, 1_210, 1_210),
    ] {
        for (jiffy, rto) in [(4, four), (10, ten), (1, one)] {
            let config = Config {
                jiffy: ms(jiffy),
                ..Config::LINUX
            };
            assert_eq!(
                fed(config, &[r]).rto(),
                ms(rto),
                "{r:?} in jiffies of {jiffy} ms"
            );
        }
    }
    // The eighths of SRTT do not count: 8 SRTT = 807.
    let estimator = fed(BARE, &[us(100), us(107)]);
    assert_eq!(estimator.srtt(), eighths(807));
    assert_eq!(
        Some(estimator.rto() - us(100)),
        estimator.rttvar().map(|rttvar| 4 * rttvar)
    );
}

/// (P59) 120 s, or what is set.
#[test]
fn rule_family_p59_the_rto_has_a_cap() {
    for cap in [s(120), s(60), ms(1_500)] {
        let config = Config {
            rto_max: cap,
            ..Config::LINUX
        };
        assert_eq!(fed(config, &[s(100)]).rto(), cap, "a computed one");
        let mut estimator = linux(config);
        for _ in 0..1_000_000 {
            let before = estimator.rto();
            estimator.back_off();
            assert_eq!(estimator.rto(), (before * 2).min(cap), "a doubled one");
        }
        assert_eq!(estimator.backoffs(), 1_000_000);
    }
}

/// (P60) 1 s before any sample.
#[test]
fn rule_family_p60_the_initial_rto_is_a_second() {
    assert_eq!(linux(Config::LINUX).rto(), s(1));
    assert_eq!(linux(Config::default()).rto(), s(1));
    assert_eq!(
        linux(Config {
            initial_rto: s(3),
            ..Config::LINUX
        })
        .rto(),
        s(3)
    );
}

/// (P61) Doubled by a timeout, kept by everything but a sample.
#[test]
fn rule_family_p61_a_back_off_lasts_until_a_sample() {
    let mut estimator = fed(Config::LINUX, &[ms(100)]);
    for n in 1..=5 {
        estimator.back_off();
        assert_eq!(
            (estimator.rto(), estimator.backoffs()),
            (ms(300) * (1 << n), n)
        );
    }
    estimator.establish(); // there was a sample: nothing to fall back to (P63)
    assert_eq!((estimator.rto(), estimator.backoffs()), (ms(300) * 32, 5));
    estimator.sample(ms(100), Round::Ends);
    assert_eq!((estimator.rto(), estimator.backoffs()), (ms(300), 0));
}

/// (P62) Four timeouts of a SYN at 1 s each, unless another number is set.
#[test]
fn rule_family_p62_the_first_syn_timeouts_are_linear() {
    let sent_at = |syn_linear_timeouts| {
        let mut estimator = linux(Config {
            syn_linear_timeouts,
            ..Config::LINUX
        });
        let mut at = s(0);
        [(); 7].map(|()| {
            at += estimator.rto();
            estimator.back_off_syn();
            at.as_secs()
        })
    };
    assert_eq!(sent_at(4), [1, 2, 3, 4, 5, 7, 11]);
    assert_eq!(sent_at(0), [1, 3, 7, 15, 31, 63, 127]);
    assert_eq!(sent_at(255), [1, 2, 3, 4, 5, 6, 7]);
}

/// (P63) Exactly 3 s, from below, from above, and above the cap, until the next doubling or sample.
#[test]
fn rule_family_p63_without_a_sample_data_starts_at_three_seconds() {
    let config = |rto_max| Config {
        syn_linear_timeouts: 0,
        rto_max,
        ..Config::LINUX
    };
    for (syn_timeouts, cap, doubled) in [
        (0, s(120), s(6)),
        (1, s(120), s(6)),
        (3, s(120), s(6)),
        (1, s(2), s(2)),
    ] {
        let mut estimator = linux(config(cap));
        for _ in 0..syn_timeouts {
            estimator.back_off_syn();
        }
        estimator.establish();
        assert_eq!(
            (estimator.rto(), estimator.backoffs()),
            (s(3), syn_timeouts)
        );
        let mut sampled = estimator;
        estimator.back_off();
        assert_eq!(
            (estimator.rto(), estimator.backoffs()),
            (doubled, syn_timeouts + 1)
        );
        sampled.sample(ms(100), Round::Ends);
        assert_eq!((sampled.rto(), sampled.backoffs()), (ms(300), 0));
        assert_eq!(sampled.srtt(), Some(ms(100)), "it is a first sample");
    }
    let mut sampled = fed(Config::LINUX, &[ms(100)]);
    sampled.establish();
    assert_eq!(sampled.rto(), ms(300));
}

/// (P64) An eighth of a microsecond stands for no round trip at all.
#[test]
fn rule_family_p64_srtt_is_never_zero() {
    let mut estimator = fed(Config::LINUX, &[us(0)]);
    assert_eq!(estimator.srtt(), eighths(1));
    assert_eq!(estimator.rto(), ms(200));
    estimator.sample(us(0), Round::Ends);
    assert_eq!(estimator.srtt(), eighths(1));
    // It is a sample, not the lack of one: the next is a later one.
    estimator.sample(us(80), Round::Ends);
    assert_eq!(estimator.srtt(), eighths(1 + 80));
}

/// (P66) 2^29 - 1 us at most; nothing wraps.
#[test]
fn rule_family_p66_huge_samples_saturate() {
    let largest = Estimator::MAX_SAMPLE;
    assert_eq!(largest, us((1 << 29) - 1));
    for first in [us(0), us(1), largest, Duration::MAX] {
        for rtt in [
            largest + MICROSECOND,
            us(u64::from(u32::MAX) + 1),
            Duration::MAX,
        ] {
            let mut saturated = fed(Config::LINUX, &[first, rtt]);
            let mut plain = fed(Config::LINUX, &[first.min(largest), largest]);
            assert_eq!(saturated, plain);
            assert_eq!(saturated.rto(), s(120));
            saturated.sample(rtt, Round::Continues);
            plain.sample(largest, Round::Continues);
            assert_eq!(saturated, plain);
        }
    }
    assert_eq!(fed(BARE, &[Duration::MAX]).srtt(), Some(largest));
    // Good samples make it forget.
    let mut estimator = fed(Config::LINUX, &[Duration::MAX]);
    for _ in 0..300 {
        estimator.sample(ms(100), Round::Ends);
    }
    assert_eq!(estimator.rto(), ms(300 + 4));
}
