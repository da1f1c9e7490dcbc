//! What a program hears of its sessions.

use std::{sync::Arc, time::Duration};

use grpc_backoff::Outcome;
use rudp::{
    CloseReason, Config, Endpoint, EndpointOptions, ListenerOptions, Observer, Resumable,
    ResumableListener, ResumableOptions, ResumeEvent, Resuming, rto,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
};

use super::harness::{Path, client_options, connect, listen, relay_to};
use crate::{any, within};

/// An observer, and what it hears.
fn ear() -> (Observer<ResumeEvent>, UnboundedReceiver<ResumeEvent>) {
    let (sender, heard) = unbounded_channel();
    let observe = move |event| _ = sender.send(event); // an error: nobody listens any more
    (Arc::new(observe), heard)
}

#[tokio::test]
async fn each_side_hears_of_cuts_attempts_and_what_is_sent_again() {
    let (observe, mut at_server) = ear();
    let (listener, server_address) = listen(ListenerOptions {
        observe: Some(observe),
        ..ListenerOptions::default()
    });
    let path = Path::new(any(), server_address).await;
    let (observe, mut at_client) = ear();
    let options = ResumableOptions {
        observe: Some(observe),
        ..client_options()
    };
    let mut client = Resumable::connect(path.address, options).expect("a good config");
    let mut server = within(listener.accept()).await;
    within(client.write_all(b"before")).await.expect("room");
    within(server.read_exact(&mut [0; 6]))
        .await
        .expect("6 bytes");
    within(client.delivered()).await.expect("read");
    let address = path.cut().await;
    within(client.write_all(b"into the dark"))
        .await
        .expect("room");
    let mut heard = Vec::new();
    let mut path = None;
    while heard.last() != Some(&carried(2, 13)) {
        let event = within(at_client.recv()).await.expect("it goes on");
        assert_eq!((event.session, client.number()), (0, 0));
        if matches!(event.what, Resuming::CutOff(_)) {
            path = Some(Path::new(address, server_address).await); // it is light again
        }
        heard.push(event.what);
    }
    drop(path);
    let cut = |what: &Resuming| matches!(what, Resuming::CutOff(CloseReason::Lost(_)));
    let attempts = heard.iter().filter_map(|what| match what {
        Resuming::Attempt(attempt) => Some(attempt),
        _ => None,
    });
    for (number, attempt) in attempts.enumerate() {
        assert_eq!(attempt.number, number as u64);
        assert_eq!(attempt.planned.is_none(), number == 0, "{attempt:?}");
        assert!(
            attempt.backoff >= Duration::from_millis(4),
            "5 ms less 20 %"
        );
    }
    let connected = |what: &Resuming| match what {
        Resuming::Attempt(attempt) => attempt.outcome == Outcome::Connected,
        _ => false,
    };
    assert!(connected(&heard[0]) && heard[1] == carried(1, 0) && cut(&heard[2]));
    let end = heard.len() - 2;
    assert!(connected(&heard[end]), "{heard:?}");

    for number in 0..3 {
        let event = within(at_server.recv()).await.expect("it goes on");
        assert_eq!((event.session, server.number()), (0, 0));
        match number {
            0 => assert_eq!(event.what, carried(1, 0)),
            1 => assert!(matches!(event.what, Resuming::CutOff(_)), "{event:?}"),
            _ => assert_eq!(event.what, carried(2, 0)),
        }
    }
    let _next = connect(server_address);
    let next = within(listener.accept()).await;
    assert_eq!(next.number(), 1);
    let event = within(at_server.recv()).await.expect("it is told of");
    assert_eq!((event.session, event.what), (1, carried(1, 0)));
}

/// R1 is a first sign, before the connection is lost (K10).
#[tokio::test]
async fn a_session_hears_that_nothing_answers_and_that_something_does_again() {
    let endpoint = Endpoint::bind(any(), EndpointOptions::default()).expect("a socket");
    let server_address = endpoint.local_addr();
    let listener = ResumableListener::start(endpoint, ListenerOptions::default()).expect("room");
    let (address, control) = relay_to(server_address);
    let (observe, mut told) = ear();
    let mut options = ResumableOptions {
        observe: Some(observe),
        ..client_options()
    };
    options.endpoint.config = Config {
        rto: rto::Config::GAMES,
        ..Config::DEFAULT
    };
    options.endpoint.config.limits.r1 = rto::Threshold::Retransmissions(1);
    let mut client = Resumable::connect(address, options).expect("a good config");
    within(client.write_all(b"before")).await.expect("room");
    let mut server = within(listener.accept()).await;
    within(server.read_exact(&mut [0; 6]))
        .await
        .expect("6 bytes");
    within(client.delivered()).await.expect("read");

    control.black_out(Duration::from_secs(3_600));
    within(client.write_all(b"dark")).await.expect("room");
    let mut next = async || within(told.recv()).await.expect("it goes on").what;
    assert!(matches!(next().await, Resuming::Attempt(_)));
    assert_eq!(next().await, carried(1, 0));
    assert_eq!(next().await, Resuming::Unanswered);
    control.black_out(Duration::ZERO);
    assert_eq!(next().await, Resuming::Answered);
    within(server.read_exact(&mut [0; 4]))
        .await
        .expect("4 bytes");
}

fn carried(connections: u64, replayed: u64) -> Resuming {
    Resuming::Carried {
        connections,
        replayed,
    }
}
