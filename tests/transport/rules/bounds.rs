//! What a peer that allows everything, or repeats itself, cannot bring about: S3, K3.

use conformance::pair::{CLIENTS, Pair, SingleStream, clean};
use conformance::time::s;
use rudp_proto::wire::Frame;
use rudp_proto::{CloseReason, Config, Event, Lost, MessageError, OpenError};

use super::established;

/// Whatever the peer allows (S3).
#[test]
fn rule_rudp_s3_a_side_has_65_536_streams_of_a_kind_at_most() {
    let generous = Config {
        max_streams: 100_000,
        max_messages: 100_000,
        ..Config::DEFAULT
    };
    let (mut pair, client, _) = Pair::connected(generous, clean());
    let now = pair.now;
    let conn = pair.client.conn(client);
    let opened = (0..100_000).take_while(|_| conn.open_stream().is_ok());
    assert_eq!(opened.count(), 65_536);
    assert_eq!(conn.open_stream(), Err(OpenError::TooMany));
    let sent = (0..100_000).take_while(|_| conn.send_message(now, b"", None).is_ok());
    assert_eq!(sent.count(), 65_536);
    let more = conn.send_message(now, b"", None);
    assert_eq!(more, Err(MessageError::TooMany));

    pair.run_for(s(10)); // the peer has them
    let told = |event: &Event| *event == Event::MessageWritable;
    let events = pair.client.events.iter();
    assert_eq!(events.filter(|(_, _, event)| told(event)).count(), 1);
    let now = pair.now;
    let conn = pair.client.conn(client);
    assert!(conn.send_message(now, b"", None).is_ok());
}

/// (K3)
#[test]
fn rule_rudp_k3_a_reset_that_comes_again_is_no_step() {
    let (mut pair, client, server) = established();
    pair.client.conn(client).put(b"x").unwrap();
    pair.run_for(s(1));
    pair.lets_pass = Box::new(|_, from_client, _| from_client);
    pair.server.conn(server).put(b"never acknowledged").unwrap();
    pair.server.conn(server).close(0, "");
    let closed_at = pair.now;
    let reset = Frame::ResetStream {
        id: CLIENTS,
        code: 1,
        size: 1,
    };
    for number in 0..20 {
        pair.inject(true, 1_000 + number, vec![reset.clone()]);
        pair.run_for(s(10));
    }
    let Some((at, _, Event::Closed(reason))) = pair.server.events.last() else {
        panic!("{:?}", pair.server.events);
    };
    assert_eq!(*reason, CloseReason::Lost(Lost::TimedOut));
    assert!(*at <= closed_at + Config::DEFAULT.idle_timeout);
}
