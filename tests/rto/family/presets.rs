//! The presets that share the estimator.

use super::*;

/// (P20) RFC 2988 begins with 3 s; nothing else differs.
#[test]
fn rule_family_p20_rfc_2988_begins_with_three_seconds() {
    let timer = RetransmitTimer::new(fed(Config::RFC2988, &[]));
    expired(timer, &[3_000, 9_000, 21_000, 45_000, 93_000, 153_000]); // the cap is 60 s
    let sampled = fed(Config::RFC2988, &[600, 900]);
    assert_eq!(sampled.rto(), fed(Config::RFC6298, &[600, 900]).rto());
    assert_eq!(Config::RFC2988.deviations().count(), 0);
}

/// (P21) An RTTVAR of zero becomes G, and nothing but zero does.
#[test]
fn rule_family_p21_a_zero_rttvar_becomes_g_in_sctp() {
    let mut config = Config::RFC9260;
    config.min_rto = NANOSECOND;
    assert_estimate(&fed(config, &[0]), 0.0, 1.0, 0.0 + 4.0 * 1.0);
    // RTTVAR = 3/4 x 1 + 1/4 x 0: below G, and it stays.
    assert_estimate(&fed(config, &[0, 0]), 0.0, 0.75, 4.0 * 0.75);
    // RFC 6298 with the same G raises the term, not RTTVAR.
    let term = Config {
        granularity: ms(1),
        ..BARE
    };
    assert_estimate(&fed(term, &[0]), 0.0, 0.0, 1.0);

    let broken: Vec<_> = (Config::RFC9260.deviations())
        .map(|broken| broken.rule())
        .collect();
    assert_eq!(broken, ["4-2", "5.7-1"]);
}

/// (P22) A floor of 200 ms, which the deviations name.
#[test]
fn rule_family_p22_games_have_a_floor_of_200_ms() {
    assert_eq!(fed(Config::GAMES, &[]).rto(), ms(1_000));
    assert_eq!(fed(Config::GAMES, &[10]).rto(), ms(200)); // 10 + 4 x 5 below the floor
    assert_eq!(fed(Config::GAMES, &[90]).rto(), ms(90 + 4 * 45));
    let broken: Vec<_> = (Config::GAMES.deviations())
        .map(|broken| broken.rule())
        .collect();
    assert_eq!(broken, ["2.4-1"]);
}
