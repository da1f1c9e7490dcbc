//! What a session that connects again knows of the path.

use std::{sync::Arc, time::Duration};

use rto::{Config, Estimator, Snapshot};
use rudp::{HandshakeStep, ListenerOptions, Resumable, ResumeEvent, Resuming, Step, rto};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::mpsc::unbounded_channel,
};

use super::harness::{client_options, listen, relay_to};
use crate::within;

/// What is told of that is of interest.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    RoundTrip(Snapshot),
    CutOff,
    Hello,
    Again(Duration),
}

/// (T5)
#[tokio::test]
async fn a_lost_hello_is_repeated_by_the_last_connection_s_round_trip() {
    let (listener, server) = listen(ListenerOptions::default());
    let (address, path) = relay_to(server);
    let (tell, mut told) = unbounded_channel();
    let mut options = client_options();
    options.endpoint.config.rto = Config::GAMES; // begins with 1 s, and the floor is 200 ms
    options.endpoint.config.idle_timeout = Duration::from_secs(10); // of handshakes; the server has 1 s
    let (session, trace) = (tell.clone(), tell);
    options.observe = Some(Arc::new(move |event: ResumeEvent| {
        if matches!(event.what, Resuming::CutOff(_)) {
            _ = session.send(Told::CutOff);
        }
    }));
    options.endpoint.on_trace = Some(Arc::new(move |_, traced| {
        let estimate = traced.estimator.snapshot().map(Told::RoundTrip);
        let step = match traced.step {
            Step::Handshake(HandshakeStep::Hello) => Some(Told::Hello),
            Step::Retransmit { rto, .. } => Some(Told::Again(rto)),
            _ => None,
        };
        for told in estimate.into_iter().chain(step) {
            _ = trace.send(told);
        }
    }));
    let mut next = async || within(told.recv()).await.expect("it goes on");

    path.black_out(Duration::from_secs(3_600));
    let mut client = Resumable::connect(address, options).expect("a good config");
    assert_eq!(next().await, Told::Hello);
    assert_eq!(next().await, Told::Again(Config::GAMES.initial_rto));
    path.black_out(Duration::ZERO);
    let mut server = within(listener.accept()).await;
    within(client.write_all(b"there and back"))
        .await
        .expect("room");
    within(server.read_exact(&mut [0; 14]))
        .await
        .expect("14 bytes");
    within(client.delivered()).await.expect("read");

    path.black_out(Duration::from_secs(3_600));
    let mut last = None;
    loop {
        match next().await {
            Told::RoundTrip(snapshot) => last = Some(snapshot),
            Told::CutOff => break,
            Told::Hello | Told::Again(_) => {}
        }
    }
    let mut estimator = Estimator::new(Config::GAMES).expect("a preset");
    estimator.seed(last.expect("a round trip"));
    let hint = estimator.rto().min(Duration::from_secs(3));
    assert_eq!(next().await, Told::Hello);
    assert_eq!(next().await, Told::Again(hint));
    path.black_out(Duration::ZERO);
    within(client.connected(2))
        .await
        .expect("it is light again");
}
