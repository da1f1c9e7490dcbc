//! The SCTP association of sctp-proto: nobody answers its INIT, and each retransmission leaves
//! when our timer says so. It begins with 3 s unless told otherwise, as RFC 4960 had it; RFC 9260
//! begins with 1 s.

use std::{net::SocketAddr, sync::Arc, time::Instant};

use conformance::time::s;
use rto::{Config, Estimator, RetransmitTimer, Timeout};
use sctp_proto::{ClientConfig, Endpoint, EndpointConfig, TransportConfig};

/// Runs both until the peer gives up: INIT is sent at each of these instants, in seconds.
fn run(initial: u64, transport: TransportConfig, expected: &[u64]) {
    let mut config = ClientConfig::new();
    config.transport = Arc::new(transport);
    let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::new()), None);
    let remote = SocketAddr::from(([192, 0, 2, 1], 5_000));
    // It reads the clock when it begins, and only then: its first INIT is sent in between.
    #[expect(clippy::disallowed_methods, reason = "what the peer does")]
    let clock = Instant::now;
    let before = clock();
    let (_, mut theirs) = endpoint.connect(config, remote).expect("it begins");
    let after = clock();
    let first = theirs.poll_timeout().expect("its timer runs");
    let start = first - s(initial);
    assert!(
        (before..=after).contains(&start),
        "it does not begin with {initial} s"
    );

    let mut ours = RetransmitTimer::new(
        Estimator::new(Config {
            initial_rto: s(initial),
            ..Config::RFC9260
        })
        .expect("legal"),
    );
    let (last, sends) = expected.split_last().expect("it sends");
    ours.handle_handshake_sent(s(0));
    for (count, &at) in sends.iter().enumerate() {
        let now = start + s(at);
        assert!(theirs.poll_transmit(now).is_some(), "INIT at {at} s");
        assert!(theirs.poll_transmit(now).is_none(), "one INIT at {at} s");
        let deadline = theirs.poll_timeout().expect("its timer runs") - start;
        assert_eq!(Some(deadline), ours.poll_timeout());
        assert_eq!(deadline, s(expected[count + 1]));
        theirs.handle_timeout(start + deadline);
        assert!(matches!(
            ours.handle_timeout(deadline),
            Some(Timeout::Retransmit(_))
        ));
    }
    assert!(
        theirs.poll_transmit(start + s(*last)).is_some(),
        "INIT at {last} s"
    );
    let end = theirs.poll_timeout().expect("it waits once more") - start;
    assert_eq!(Some(end), ours.poll_timeout());
    theirs.handle_timeout(start + end); // the peer's own limit of 8 retransmissions
    assert!(theirs.poll_timeout().is_none(), "it has given up");
}

#[test]
fn sctp_proto_retransmits_init_when_our_timer_expires() {
    let expected = [0, 3, 9, 21, 45, 93, 153, 213, 273];
    run(3, TransportConfig::default(), &expected);
}

#[test]
fn sctp_proto_agrees_with_the_initial_rto_of_rfc_9260() {
    let expected = [0, 1, 3, 7, 15, 31, 63, 123, 183];
    let transport = TransportConfig::default().with_rto_initial_ms(1_000);
    run(1, transport, &expected);
}
