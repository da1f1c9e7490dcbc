//! The connector inside tonic's own channel.

use super::{assert_refused_once, call, endpoint, over, retry_delay, virtual_now};
use conformance::time::{ms, s};
use grpc_backoff::Config;
use grpc_backoff::tonic::{Builder, Connector, LazyChannel};
use grpc_faults::{Fault, Memory};
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tonic::Code;
use tower::Service;

fn lazy(server: &Memory) -> LazyChannel {
    over(server).build().expect("valid").lazy(endpoint())
}

/// (C3) Calls that fail fast dial when the backoff allows, and no more.
#[tokio::test(start_paused = true)]
async fn rule_grpc_c3_calls_that_fail_fast_do_not_dial_during_the_backoff() {
    let server = Memory::new(Fault::Refuse);
    let mut channel = lazy(&server);
    for _ in 0..300 {
        let failed = call(&mut channel).await.expect_err("refused");
        assert_eq!(failed.code(), Code::Unavailable, "{failed}");
        assert!(
            failed.message().contains("; last: TCP: connection refused"),
            "{failed}"
        );
        let wait = retry_delay(&failed).expect("an attempt is to come");
        assert!(wait <= ms(6_554), "{wait:?}");
        sleep(ms(50)).await;
    }
    assert_eq!(server.starts(), [0, 1_000, 2_600, 5_200, 9_300].map(ms));
}

#[tokio::test(start_paused = true)]
async fn a_failing_call_tells_the_reason_and_when_to_try_again() {
    let server = Memory::new(Fault::Refuse);
    let mut channel = lazy(&server);
    let _ = call(&mut channel).await;
    sleep(ms(250)).await;
    let failed = call(&mut channel).await.expect_err("refused");
    assert_eq!(failed.code(), Code::Unavailable);
    let told = "TRANSIENT_FAILURE after 1 failure; last: TCP: connection refused; \
                next attempt in 0.8 s";
    assert_eq!(failed.message(), told);
    assert_eq!(retry_delay(&failed), Some(ms(750)));
}

/// Tonic's connect error keeps the words and hides the details.
#[tokio::test(start_paused = true)]
async fn through_an_endpoint_the_words_remain_and_the_wrapper_finds_the_details() {
    let server = Memory::new(Fault::Refuse);
    let connector = over(&server).build().expect("valid");
    let handle = connector.handle().clone();
    let mut channel = endpoint().connect_with_connector_lazy(connector);
    let failed = call(&mut channel).await.expect_err("refused");
    assert_refused_once(&failed);
    assert_eq!(retry_delay(&failed), None);

    let mut channel = LazyChannel::new(channel, handle);
    let failed = call(&mut channel).await.expect_err("refused");
    assert_eq!(failed.code(), Code::Unavailable);
    assert_eq!(retry_delay(&failed), Some(s(1)));
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_get_the_first_connection_there_is() {
    let server = Memory::new(Fault::Refuse).after(4, Fault::Healthy);
    let connector = over(&server).build().expect("valid").wait_for_ready();
    let mut channel = connector.lazy(endpoint());
    call(&mut channel).await.expect("the fifth attempt");
    let starts = [0, 1_000, 2_600, 5_160, 9_256].map(ms);
    assert_eq!(server.starts(), starts);
    // Lost: the next call begins a new run (S14), no sooner than a second after the last start (D9).
    sleep(s(2)).await;
    server.restart(Fault::Healthy);
    sleep(s(1)).await;
    let begun = virtual_now();
    call(&mut channel).await.expect("a new connection");
    assert_eq!(
        (begun.elapsed(), server.starts().len()),
        (Duration::ZERO, 6)
    );
}

/// A call that is given up in tonic's queue leaves the wait as it was, and the next goes on with
/// it. That it was given up is UNKNOWN by tonic's word.
#[tokio::test(start_paused = true)]
async fn calls_that_are_given_up_do_not_change_the_wait() {
    let server = Memory::new(Fault::Refuse);
    let connector = over(&server).build().expect("valid").wait_for_ready();
    let patient = endpoint().connect_timeout(ms(300));
    let mut channel = patient.connect_with_connector_lazy(connector);
    let begun = virtual_now();
    while begun.elapsed() < s(6) {
        let waited = timeout(s(1), call(&mut channel)).await;
        let failed = waited
            .expect("within its connect timeout")
            .expect_err("refused");
        assert_eq!(failed.code(), Code::Unknown, "{failed}");
    }
    let starts = server.starts();
    assert_eq!(starts.len(), 4);
    for (start, planned) in starts.iter().zip([0, 1_000, 2_600, 5_160].map(ms)) {
        assert!((planned..planned + ms(5)).contains(start), "{starts:?}");
    }
}

/// An inner connector that is not ready fails the attempt: an error from the connector's readiness
/// would close tonic's channel for good.
#[tokio::test(start_paused = true)]
async fn an_inner_connector_that_is_not_ready_does_not_poison_the_channel() {
    let server = Memory::new(Fault::Healthy);
    let moody = Moody {
        server,
        refusals: 3,
    };
    let connector = Builder::new(Config::GRPC)
        .over(moody)
        .build()
        .expect("valid");
    let mut channel = connector.wait_for_ready().lazy(endpoint());
    call(&mut channel).await.expect("the fourth attempt");
    call(&mut channel).await.expect("the same connection");
}

struct Moody {
    server: Memory,
    refusals: u32,
}

impl Service<http::Uri> for Moody {
    type Response = <Memory as Service<http::Uri>>::Response;
    type Error = io::Error;
    type Future = <Memory as Service<http::Uri>>::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.refusals > 0 {
            self.refusals -= 1;
            return Poll::Ready(Err(io::Error::other("out of order")));
        }
        self.server.poll_ready(cx)
    }

    fn call(&mut self, uri: http::Uri) -> Self::Future {
        self.server.call(uri)
    }
}

#[tokio::test(start_paused = true)]
async fn a_connector_serves_one_target() {
    let mut connector = over(&Memory::new(Fault::Healthy)).build().expect("valid");
    connector
        .call("http://a.test".parse().expect("a URI"))
        .await
        .expect("its target");
    let other = connector
        .call("http://b.test".parse().expect("a URI"))
        .await;
    let told = other.expect_err("another target").to_string();
    assert_eq!(
        told,
        "the connector is for http://a.test/, not for http://b.test/"
    );
}

#[test]
fn a_config_that_makes_no_sense_is_refused() {
    let mut config = Config::GRPC;
    config.initial_backoff = Duration::ZERO;
    assert!(Connector::new(config).is_err());
}

/// (D13) A call that went out before SETTINGS breaks off with the attempt. Tonic says UNKNOWN.
#[tokio::test(start_paused = true)]
async fn a_call_that_breaks_off_says_why() {
    for (fault, why) in [
        (Fault::BlackHole, "no SETTINGS by the connect deadline (S5)"),
        (Fault::Http1, "begin no SETTINGS frame (S11)"),
    ] {
        let mut channel = lazy(&Memory::new(fault));
        let failed = call(&mut channel).await.expect_err("no answer");
        assert_eq!(failed.code(), Code::Unavailable, "{fault:?}: {failed}");
        assert!(failed.message().contains(why), "{fault:?}: {failed}");
        let wait = retry_delay(&failed).expect("an attempt is to come");
        assert!(wait <= s(1), "{fault:?}: {wait:?}");
    }
}

/// Tonic's channel would die with a connector that panics.
#[tokio::test(start_paused = true)]
async fn a_panic_of_the_inner_connector_is_a_failed_attempt() {
    #[derive(Clone)]
    struct Panics(Memory, bool);
    impl Service<http::Uri> for Panics {
        type Response = <Memory as Service<http::Uri>>::Response;
        type Error = <Memory as Service<http::Uri>>::Error;
        type Future = <Memory as Service<http::Uri>>::Future;

        fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
            self.0.poll_ready(cx)
        }

        fn call(&mut self, target: http::Uri) -> Self::Future {
            assert!(std::mem::replace(&mut self.1, true), "the first time");
            self.0.call(target)
        }
    }
    let server = Panics(Memory::new(Fault::Healthy), false);
    let connector = Builder::new(Config::GRPC).over(server).build();
    let mut channel = connector.expect("valid").lazy(endpoint());
    let failed = call(&mut channel).await.expect_err("it panicked");
    assert_eq!(failed.code(), Code::Unavailable, "{failed}");
    assert!(failed.message().contains("panicked"), "{failed}");
    sleep(s(2)).await;
    call(&mut channel).await.expect("it is alive");
}

/// Where nothing follows, a call is not told to try again.
#[tokio::test(start_paused = true)]
async fn after_a_limit_no_attempt_is_promised() {
    let mut config = Config::GRPC;
    config.max_attempts = 1.try_into().ok();
    let builder = Builder::new(config).over(Memory::new(Fault::Refuse));
    let mut channel = builder.build().expect("valid").lazy(endpoint());
    for _ in 0..2 {
        let failed = call(&mut channel).await.expect_err("refused");
        let told = "GAVE_UP after 1 failure: max_attempts reached; last: TCP: connection refused";
        assert_eq!((failed.code(), failed.message()), (Code::Unavailable, told));
        assert_eq!(retry_delay(&failed), None);
    }
}
