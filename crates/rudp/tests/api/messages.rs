//! Messages: whole or not at all, and what became of each.

use std::time::Duration;

use netsim::LinkConfig;
use rudp::{
    Clock, Endpoint, EndpointOptions, MessageOutcome, StreamError,
    relay::{Relay, RelayConfig},
};

use crate::{any, pair::default_pair, within};

#[tokio::test]
async fn messages_arrive_whole_and_too_long_ones_are_refused() {
    let pair = default_pair().await;
    let long = vec![7; 65_536];
    let sent = within(pair.client.send_message(&long, None))
        .await
        .expect("room");
    within(pair.client.send_message(b"", None))
        .await
        .expect("room");
    let mut lengths = [0, 1].map(|_| usize::MAX);
    for length in &mut lengths {
        *length = within(pair.server.recv_message()).await.expect("one").len();
    }
    lengths.sort_unstable();
    assert_eq!(lengths, [0, 65_536]);
    assert_eq!(within(sent.outcome()).await, Ok(MessageOutcome::Delivered));
    let error = within(pair.client.send_message(&[0; 65_537], None)).await;
    let (length, limit) = (65_537, 65_536);
    assert_eq!(
        error.map(|_| ()),
        Err(StreamError::TooLong { length, limit })
    );
}

/// Nearly a third of all packets are lost there; nothing is lost back.
#[tokio::test]
async fn every_message_with_a_deadline_arrives_or_is_reported() {
    let server = Endpoint::bind(any(), EndpointOptions::default()).expect("a socket");
    let mut lossy = RelayConfig {
        seed: 11,
        ..RelayConfig::default()
    };
    lossy.there = LinkConfig {
        loss: "30%".parse().expect("a share"),
        ..LinkConfig::PERFECT
    };
    let relay = Relay::bind(any(), server.local_addr(), lossy, Clock::start()).expect("a socket");
    let address = relay.local_addr().expect("bound");
    tokio::spawn(relay.run());
    let client = Endpoint::client_to(address, EndpointOptions::default()).expect("a socket");
    let both = async { tokio::join!(client.connect(address), server.accept()) };
    let (connected, accepted) = within(both).await;
    let (connected, accepted) = (connected.expect("accepted"), accepted.expect("one"));

    let send = async {
        let (mut delivered, mut expired) = (Vec::new(), 0);
        for n in 0..60_u32 {
            let lifetime = Some(Duration::from_millis(50));
            let sent = connected
                .send_message(&n.to_be_bytes(), lifetime)
                .await
                .expect("room");
            match sent.outcome().await.expect("open") {
                MessageOutcome::Delivered => delivered.push(n),
                MessageOutcome::Expired => expired += 1,
            }
        }
        connected.close(0, "").await;
        (delivered, expired)
    };
    let receive = async {
        let mut received = Vec::new();
        while let Ok(message) = accepted.recv_message().await {
            received.push(u32::from_be_bytes(message.try_into().expect("4 bytes")));
        }
        received
    };
    let ((delivered, expired), received) = within(async { tokio::join!(send, receive) }).await;
    assert_eq!(delivered.len() + expired, 60);
    assert!(expired > 0 && !delivered.is_empty(), "{expired} expired");
    assert!(
        delivered.iter().all(|n| received.contains(n)),
        "what is delivered arrives"
    );
    let mut once = received.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), received.len(), "each at most once");
}
