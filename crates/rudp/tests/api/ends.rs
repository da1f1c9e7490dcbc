//! How connections end, as each side sees it.

use rudp::{CloseReason, StreamError};

use crate::{own_end, pair::default_pair, within};

/// (K4)
#[tokio::test]
async fn an_abort_is_seen_with_its_code_and_reason_on_both_sides() {
    let long = "é".repeat(200); // 256 bytes of it travel
    for (code, reason, told) in [
        (7, "no such file", "no such file"),
        (7, "", ""),
        (0, "", ""),
        (u64::MAX, long.as_str(), &long[..256]),
    ] {
        let pair = default_pair().await;
        pair.server.abort(code, reason);
        let own = own_end(code, told);
        assert_eq!(within(pair.server.closed()).await, own);
        assert_eq!(pair.server.explain(), own.to_string());
        let error = within(pair.server.open_stream()).await.expect_err("ended");
        assert_eq!(error, StreamError::Closed(own.clone()));
        pair.server.abort(9, "too late");
        assert_eq!(pair.server.closed().await, own);
        let reason = told.to_owned();
        let told = CloseReason::Peer { code, reason };
        assert_eq!(within(pair.client.closed()).await, told);
    }
}

#[tokio::test]
async fn an_abort_is_told_to_its_own_side_even_if_the_endpoint_goes_at_once() {
    let pair = default_pair().await;
    pair.server.abort(7, "enough");
    drop(pair.endpoints.1); // its task had no turn since
    assert_eq!(within(pair.server.closed()).await, own_end(7, "enough"));
    drop(pair.endpoints.0);
    assert_eq!(within(pair.client.closed()).await, own_end(0, ""));
}

#[test]
fn an_endpoint_ends_with_its_runtime_and_so_do_its_connections() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().expect("a runtime")
    };
    let first = runtime();
    let pair = first.block_on(default_pair());
    drop(first);
    runtime().block_on(async {
        assert!(within(pair.endpoints.1.accept()).await.is_none());
        for connection in [pair.client, pair.server] {
            assert_eq!(within(connection.closed()).await, own_end(0, ""));
        }
    });
}

#[test]
fn an_end_says_whose_it_was_and_why() {
    let peer = |code, reason: &str| {
        let reason = reason.to_owned();
        CloseReason::Peer { code, reason }
    };
    for (reason, text) in [
        (own_end(0, ""), "closed by this side"),
        (own_end(7, ""), "closed by this side, code 7"),
        (own_end(7, "full"), "closed by this side, code 7: full"),
        (peer(0, ""), "closed by the peer"),
        (peer(7, ""), "closed by the peer, code 7"),
        (peer(0, "bye"), "closed by the peer, code 0: bye"),
    ] {
        assert_eq!(reason.to_string(), text);
    }
}
