//! Settings that make no sense are refused at once, with the error that says which and why.

use std::{io, path::Path, sync::Arc, time::Duration};

use rudp::{
    Clock, Endpoint, EndpointOptions, Folder, ListenerOptions, OptionsError, Receiver, Resumable,
    ResumableListener, ResumableOptions, SendError, SendOptions, grpc_backoff,
    relay::{Relay, RelayConfig},
    rudp_proto, send,
};

use crate::{any, closed};

/// The transport's, whose idle timeout is nothing.
fn transport() -> EndpointOptions {
    let mut options = EndpointOptions::default();
    options.config.idle_timeout = Duration::ZERO;
    options
}

const WRONG: rudp_proto::ConfigError = rudp_proto::ConfigError::IdleTimeout(Duration::ZERO);

/// When to connect again, whose limit is nothing.
fn backoff() -> grpc_backoff::Config {
    grpc_backoff::Config {
        max_elapsed: Some(Duration::ZERO),
        ..grpc_backoff::Config::GRPC
    }
}

/// What observers must not hear.
fn nothing<E>(_: E) {
    unreachable!("nothing happens");
}

#[track_caller]
fn assert_inside<T>(result: io::Result<T>, wrong: &(impl std::error::Error + PartialEq + 'static)) {
    let error = result.err().expect("refused");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    let inside = error.get_ref().and_then(|inside| inside.downcast_ref());
    assert_eq!(inside, Some(wrong));
}

#[tokio::test]
async fn an_endpoint_says_what_is_wrong_with_its_settings() {
    assert_inside(Endpoint::bind(any(), transport()), &WRONG);
    assert_inside(Endpoint::client_to(any(), transport()), &WRONG);
    let folder = tempfile::tempdir().expect("a folder");
    let folder = Folder::open(folder.path()).expect("writable");
    let observe = Arc::new(nothing);
    assert_inside(Receiver::start(folder, any(), transport(), observe), &WRONG);
}

#[tokio::test]
async fn a_session_is_not_begun_with_settings_that_make_no_sense() {
    let observe = || Some(Arc::new(nothing) as _);
    let options = ResumableOptions {
        endpoint: transport(),
        observe: observe(),
        ..ResumableOptions::default()
    };
    let refused = Resumable::connect(any(), options).err();
    assert_eq!(refused, Some(OptionsError::Transport(WRONG)));
    let options = ResumableOptions {
        backoff: backoff(),
        observe: observe(),
        ..ResumableOptions::default()
    };
    let refused = Resumable::connect(any(), options).err();
    let wrong = grpc_backoff::ConfigError::MaxElapsedZero;
    assert_eq!(refused, Some(OptionsError::Backoff(wrong)));
}

#[tokio::test]
async fn a_listener_without_room_for_a_session_is_refused() {
    let endpoint = Endpoint::bind(any(), EndpointOptions::default()).expect("a socket");
    let options = ListenerOptions {
        max_sessions: 0,
        ..ListenerOptions::default()
    };
    let wrong = ResumableListener::start(endpoint, options).expect_err("nobody could come");
    assert_eq!(wrong, OptionsError::NoSessions);
    let said = "max_sessions is 0: no session could begin";
    assert_eq!(wrong.to_string(), said);
}

#[tokio::test]
async fn a_file_is_not_sent_with_settings_that_make_no_sense() {
    let refused = async |options| {
        let observe = Arc::new(nothing);
        let file = Path::new("/proc/self/exe"); // a file that there is
        match send(any(), file, options, observe, std::future::pending()).await {
            Err(SendError::Options(wrong)) => wrong,
            other => panic!("{other:?}"),
        }
    };
    let options = SendOptions {
        endpoint: transport(),
        ..SendOptions::default()
    };
    assert_eq!(refused(options).await, OptionsError::Transport(WRONG));
    let options = SendOptions {
        backoff: backoff(),
        ..SendOptions::default()
    };
    let wrong = grpc_backoff::ConfigError::MaxElapsedZero;
    assert_eq!(refused(options).await, OptionsError::Backoff(wrong));
}

#[tokio::test]
async fn a_relay_says_what_is_wrong_with_its_settings_and_does_not_relay_to_itself() {
    let mut config = RelayConfig::default();
    config.back.rate = Some(0);
    let relay = Relay::bind(any(), any(), config, Clock::start());
    assert_inside(relay, &netsim::ConfigError::ZeroRate("rate"));

    let no_flows = RelayConfig {
        max_flows: 0,
        ..RelayConfig::default()
    };
    let no_time = RelayConfig {
        idle_timeout: Duration::ZERO,
        ..RelayConfig::default()
    };
    for (config, said) in [
        (no_flows, "max_flows is 0: at least 1 is needed"),
        (no_time, "idle_timeout is 0s: a flow needs more to live"),
    ] {
        let relay = Relay::bind(any(), any(), config, Clock::start());
        let error = relay.expect_err("nothing would pass");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(error.to_string(), said);
    }

    let (_keeper, listen) = closed();
    let relay = Relay::bind(listen, listen, RelayConfig::default(), Clock::start());
    let error = relay.expect_err("it would go round and round");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    let said = format!("{listen} is where it listens: it would relay to itself");
    assert_eq!(error.to_string(), said);
}
