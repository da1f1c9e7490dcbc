//! The channel that reconnects by itself.

use super::{TARGET, assert_refused_once, call, over, request, retry_delay, settled, virtual_now};
use conformance::grpc::FAILING;
use conformance::time::{assert_close, ms, s};
use grpc_backoff::tonic::{Builder, Channel};
use grpc_backoff::{AttemptBudget, Config, State, Wait};
use grpc_faults::{Fault, GoAway, Memory};
use hyper_util::rt::TokioIo;
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use tonic::{Code, Request};
use tower::balance::p2c::Balance;
use tower::discover::ServiceList;
use tower::load::Load;
use tower::{ServiceExt, service_fn};

fn channel(server: &Memory) -> Channel {
    over(server)
        .channel(TARGET.parse().expect("a URI"))
        .expect("valid")
}

#[tokio::test(start_paused = true)]
async fn it_reconnects_without_any_call() {
    let server = Memory::new(Fault::Refuse).after(8, Fault::Healthy);
    let channel = channel(&server);
    let mut watch = channel.watch();
    let ready = watch.wait_for(|status| matches!(status.state, State::Ready { .. }));
    ready.await.expect("the channel is there");
    assert_close(&server.starts(), &FAILING[..9]);
}

/// As it is made it is not ready in the backoff, so that a balancer passes over it.
#[tokio::test(start_paused = true)]
async fn it_is_pending_during_the_backoff() {
    let server = Memory::new(Fault::Refuse).after(2, Fault::Healthy);
    let mut channel = channel(&server);
    let ready = timeout(ms(2_500), channel.ready()).await;
    assert!(ready.is_err(), "it waits");
    let begun = virtual_now();
    channel.ready().await.expect("the third attempt");
    assert_eq!(begun.elapsed(), ms(100));
    call(&mut channel).await.expect("it answers");
}

#[tokio::test(start_paused = true)]
async fn rule_grpc_d18_calls_fail_fast_or_wait_until_their_own_deadline() {
    let server = Memory::new(Fault::Refuse).after(5, Fault::Healthy);
    let mut channel = channel(&server).calls(Wait::FailFast);
    let failed = call(&mut channel).await.expect_err("refused");
    assert_refused_once(&failed);
    assert_eq!(retry_delay(&failed), Some(s(1)));

    let begun = virtual_now();
    let mut patient = Request::new(());
    patient.set_timeout(s(2));
    patient.extensions_mut().insert(Wait::ForReady);
    let failed = request(&mut channel, patient)
        .await
        .expect_err("still refused");
    assert_eq!(
        (failed.code(), begun.elapsed()),
        (Code::DeadlineExceeded, s(2))
    );
    assert!(failed.message().contains("TRANSIENT_FAILURE"), "{failed}");

    call(&mut channel.clone().calls(Wait::ForReady))
        .await
        .expect("the sixth attempt");
    assert_eq!(server.starts().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_slow_has_its_own_deadline() {
    let server = Memory::new(Fault::HalfOpen);
    let mut channel = channel(&server).calls(Wait::FailFast);
    let mut slow = Request::new(());
    slow.set_timeout(s(3));
    let begun = virtual_now();
    let failed = request(&mut channel, slow).await.expect_err("no answer");
    assert_eq!(
        (failed.code(), begun.elapsed()),
        (Code::DeadlineExceeded, s(3))
    );
}

/// Three servers, one of which is dead: a balancer never gives it a call.
#[tokio::test(start_paused = true)]
async fn a_balancer_passes_over_a_dead_server() {
    let servers = [Fault::Healthy, Fault::Refuse, Fault::Healthy].map(Memory::new);
    let members = ServiceList::new(servers.each_ref().map(channel));
    let mut balance = Balance::new(members);
    for _ in 0..50 {
        call(&mut balance).await.expect("a server that is there");
        sleep(ms(100)).await;
    }
    assert_eq!(servers[0].starts().len(), 1);
    assert_eq!(servers[1].starts().len(), 3); // 0, 1, 2.6 s, and the next at 5.16 s
    assert_eq!(servers[2].starts().len(), 1);

    // It is back: the balancer takes it again. The others go: it takes over.
    servers[1].restart(Fault::Healthy);
    sleep(s(10)).await;
    servers[0].restart(Fault::Refuse);
    servers[2].restart(Fault::Refuse);
    settled().await;
    for _ in 0..50 {
        call(&mut balance).await.expect("the server that is back");
    }
}

/// A call counts until its answer is read.
#[tokio::test(start_paused = true)]
async fn its_load_is_the_number_of_calls_under_way() {
    let server = Memory::new(Fault::HalfOpen);
    let channel = channel(&server).calls(Wait::FailFast);
    settled().await;
    assert_eq!(channel.load(), 0);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let mut channel = channel.clone();
        calls.spawn(async move { call(&mut channel).await });
    }
    settled().await;
    assert_eq!(channel.load(), 3);
    calls.shutdown().await;
    assert_eq!(channel.load(), 0);
}

#[tokio::test(start_paused = true)]
async fn its_last_clone_takes_every_task_along() {
    let before = Handle::current().metrics().num_alive_tasks();
    for fault in [
        Fault::Healthy,
        Fault::Refuse,
        Fault::BlackHole,
        Fault::TlsStall,
    ] {
        let server = Memory::new(fault);
        let channel = channel(&server);
        let mut other = channel.clone().calls(Wait::FailFast);
        sleep(ms(1_500)).await;
        drop(channel);
        if fault == Fault::Healthy {
            call(&mut other).await.expect("clones share the connection");
        }
        drop(other);
        settled().await;
        assert_eq!(server.connections(), 0, "{fault:?}");
        drop(server);
        settled().await;
        assert_eq!(
            Handle::current().metrics().num_alive_tasks(),
            before,
            "{fault:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn after_shutdown_a_member_is_gone_and_calls_fail() {
    let before = Handle::current().metrics().num_alive_tasks();
    let server = Memory::new(Fault::Healthy);
    let mut member = channel(&server);
    member.ready().await.expect("it is healthy");
    member.shutdown().await;
    let gone = member.ready().await.expect_err("for good");
    assert_eq!(gone.code(), Code::Unavailable);
    let failed = call(&mut member.calls(Wait::ForReady))
        .await
        .expect_err("for good");
    assert_eq!(
        (failed.code(), failed.message()),
        (Code::Unavailable, "shut down")
    );
    assert_eq!(retry_delay(&failed), None);
    drop(server);
    settled().await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), before);
}

/// A request that finds its connection closing is sent on the next one, not failed.
#[tokio::test(start_paused = true)]
async fn calls_survive_a_server_that_ends_its_connections_politely() {
    let server = Memory::new(Fault::GoAway(GoAway::MaxAge, s(3)));
    let mut channel = channel(&server).calls(Wait::ForReady);
    for _ in 0..100 {
        call(&mut channel)
            .await
            .expect("there is always a connection");
        sleep(ms(130)).await;
    }
    assert_eq!(server.starts().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_reset_ends_the_wait() {
    let server = Memory::new(Fault::Refuse).after(5, Fault::Healthy);
    let mut channel = channel(&server);
    sleep(s(10)).await; // the next attempt would be at 15.8 s
    channel.handle().reset();
    timeout(ms(1), channel.ready())
        .await
        .expect("at once")
        .expect("healthy");
}

#[tokio::test(start_paused = true)]
async fn on_demand_it_dials_for_calls_only() {
    let server = Memory::new(Fault::Healthy);
    let channel = over(&server)
        .on_demand()
        .channel(TARGET.parse().expect("a URI"));
    let mut channel = channel.expect("valid").calls(Wait::FailFast);
    sleep(s(100)).await;
    assert_eq!(server.starts().len(), 0);
    call(&mut channel).await.expect("it answers");
    server.restart(Fault::Healthy);
    sleep(s(100)).await;
    assert_eq!(server.starts().len(), 1);
    call(&mut channel).await.expect("it answers");
    assert_eq!(server.starts().len(), 2);
}

/// (D17) Two channels with one token: the second dials when there is another.
#[tokio::test(start_paused = true)]
async fn channels_share_a_budget() {
    let budget = AttemptBudget::new(1, s(10)).expect("valid");
    let servers = [Fault::Healthy; 2].map(Memory::new);
    let channels = servers.each_ref().map(|server| {
        let builder = over(server).with_budget(budget.clone());
        builder.channel(TARGET.parse().expect("a URI"))
    });
    sleep(s(11)).await;
    let starts: Vec<_> = servers.iter().flat_map(Memory::starts).collect();
    assert_close(&starts, &[0, 10].map(s));
    drop(channels);
}

/// Keepalive, for instance: a server that falls silent is noticed.
#[tokio::test(start_paused = true)]
async fn its_http2_can_be_tuned() {
    let server = Memory::new(Fault::HalfOpen);
    let builder = over(&server).with_http2(|http2| {
        http2
            .keep_alive_interval(s(2))
            .keep_alive_timeout(s(1))
            .keep_alive_while_idle(true);
    });
    let channel = builder.channel(TARGET.parse().expect("a URI"));
    sleep(s(8)).await;
    assert_eq!(server.starts(), [0, 3, 6].map(s));
    drop(channel);
}

/// A server that resets the stream of each call for this reason.
fn resetting(reason: u8) -> Channel {
    let inner = service_fn(move |_: http::Uri| {
        let (client, mut server) = duplex(64 * 1024);
        tokio::spawn(async move {
            server.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await?; // SETTINGS
            server.read_exact(&mut [0; 24]).await?; // the preface
            loop {
                let mut head = [0; 9];
                server.read_exact(&mut head).await?;
                let [_, high, low, kind, ..] = head;
                let mut payload = vec![0; usize::from(u16::from_be_bytes([high, low]))];
                server.read_exact(&mut payload).await?;
                if kind == 1 {
                    // HEADERS of the first call: RST_STREAM
                    let reset = [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, reason];
                    server.write_all(&reset).await?;
                }
            }
            #[expect(unreachable_code, reason = "names the type")]
            io::Result::Ok(())
        });
        async move { Ok::<_, io::Error>(TokioIo::new(client)) }
    });
    let channel = Builder::new(Config::GRPC)
        .over(inner)
        .channel(TARGET.parse().expect("a URI"));
    channel.expect("valid").calls(Wait::ForReady)
}

/// A stream that the server resets has the code that gRPC gives its reason.
#[tokio::test(start_paused = true)]
async fn a_reset_stream_has_grpcs_code() {
    for (reason, code) in [
        (0x2, Code::Internal),          // INTERNAL_ERROR
        (0x7, Code::Unavailable),       // REFUSED_STREAM
        (0x8, Code::Cancelled),         // CANCEL
        (0xb, Code::ResourceExhausted), // ENHANCE_YOUR_CALM
        (0xc, Code::PermissionDenied),  // INADEQUATE_SECURITY
    ] {
        let failed = timeout(s(1), call(&mut resetting(reason)))
            .await
            .expect("an answer");
        assert_eq!(failed.expect_err("reset").code(), code, "{reason:#x}");
    }
}
