//! What is said of settings that are refused: which, its value, the bound, the rule.

use std::time::Duration;

use rudp_proto::{Config, Endpoint, Secrets};

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn refused(change: impl FnOnce(&mut Config)) -> String {
    let mut config = Config::DEFAULT;
    change(&mut config);
    let secrets = Secrets {
        reset_key: [1; 32],
        seed: [1; 32],
    };
    match Endpoint::new(config, secrets) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_refused_span_is_named_with_its_bound() {
    assert_eq!(
        refused(|config| config.limits.user_timeout = Some(ms(500))),
        "limits.user_timeout 500ms is not above rto.initial_rto 1s (K11)"
    );
    assert_eq!(
        refused(|config| config.rto.min_rto = ms(20)),
        "max_ack_delay 25ms is not below the floor of the RTO, 20ms (L7)"
    );
    assert_eq!(
        refused(|config| config.idle_timeout = ms(999)),
        "idle_timeout 999ms is below 1s (K2)"
    );
    // The default, with an idle timeout that is shorter.
    assert_eq!(
        refused(|config| config.idle_timeout = s(5)),
        "keepalive 10s is not above zero and below idle_timeout 5s (K1)"
    );
    assert_eq!(
        refused(|config| config.keepalive = Some(s(0))),
        "keepalive 0ns is not above zero and below idle_timeout 60s (K1)"
    );
}

#[test]
fn a_refused_size_is_named_with_its_bound() {
    for (name, refusal) in [
        ("send_buffer", refused(|config| config.send_buffer = 1_199)),
        (
            "receive_window",
            refused(|config| config.receive_window = 1_199),
        ),
        (
            "stream_window",
            refused(|config| config.stream_window = 1_199),
        ),
    ] {
        let expected = format!("{name} of 1199 bytes holds less than one datagram of 1200 (F1)");
        assert_eq!(refusal, expected);
    }
    assert_eq!(
        refused(|config| config.max_datagram = Some(1_199)),
        "max_datagram 1199 is not between 1200 and 65507 (U3)"
    );
    assert_eq!(
        refused(|config| config.max_connections = 0),
        "max_connections is 0: nothing could connect (H9)"
    );
    assert_eq!(
        refused(|config| config.max_streams = 0),
        "max_streams is 0: at least 1 is needed (S3)"
    );
    assert_eq!(
        refused(|config| config.max_messages = 0),
        "max_messages is 0: at least 1 is needed (S3)"
    );
    let least = |config: &mut Config| (config.max_streams, config.max_messages) = (1, 1);
    assert_eq!(refused(least), "accepted");
}
