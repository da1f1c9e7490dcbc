//! R1: a program hears that nothing answers, and that something does again. (K10)

use std::time::Duration;

use rudp::{
    Clock, Endpoint, EndpointOptions, StreamError,
    relay::{Relay, RelayConfig},
    rto,
};

use crate::{any, within};

#[tokio::test]
async fn r1_and_the_next_answer_are_heard_whenever_one_asks() {
    let mut options = EndpointOptions::default();
    options.config.rto = rto::Config::GAMES;
    options.config.limits.r1 = rto::Threshold::Retransmissions(1);
    let server = Endpoint::bind(any(), options.clone()).expect("a socket");
    let path = RelayConfig::default();
    let relay = Relay::bind(any(), server.local_addr(), path, Clock::start()).expect("a socket");
    let (address, control) = (relay.local_addr().expect("bound"), relay.control());
    tokio::spawn(relay.run());
    let client = Endpoint::client_to(address, options).expect("a socket");
    let both = async { tokio::join!(client.connect(address), server.accept()) };
    let (connected, accepted) = within(both).await;
    let (connected, _accepted) = (connected.expect("accepted"), accepted.expect("one"));
    assert_eq!(within(connected.answered()).await, Ok(()), "nothing waits");

    control.black_out(Duration::from_secs(3_600));
    let (mut send, _recv) = within(connected.open_stream()).await.expect("allowed");
    within(send.write_all(b"into the dark"))
        .await
        .expect("room");
    for _ in 0..2 {
        assert_eq!(within(connected.unanswered()).await, Ok(()));
    }
    assert!(connected.unacknowledged() > 0);

    control.black_out(Duration::ZERO);
    for _ in 0..2 {
        assert_eq!(within(connected.answered()).await, Ok(()));
    }
    within(send.acknowledged()).await.expect("it is light");

    let over = async { tokio::join!(connected.unanswered(), connected.close(0, "")) };
    let (unanswered, reason) = within(over).await;
    assert_eq!(unanswered, Err(StreamError::Closed(reason)));
}
