//! Streams that a whole HTTP/2 server looks at: sent once or not at all, ended in peace, or large.

use super::{TARGET, endpoint, request, settled, virtual_now};
use bytes::Bytes;
use conformance::draws::middle;
use conformance::time::s;
use grpc_backoff::tonic::{Builder, Channel};
use grpc_backoff::{Config, Wait};
use h2::server::{Connection, SendResponse};
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use hyper_util::rt::TokioIo;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{DuplexStream, duplex};
use tokio::time::sleep;
use tonic::body::Body;
use tonic::metadata::MetadataValue;
use tonic::{Code, Request, Status};
use tower::Service;
use tower::service_fn;

type Served = Pin<Box<dyn Future<Output = Result<(), h2::Error>> + Send>>;
type Http2 = Connection<DuplexStream, Bytes>;

/// A way to a server that does this with its n-th connection.
fn over(
    settings: impl Fn(&mut h2::server::Builder) + Clone + Send + Sync + 'static,
    serve: impl Fn(usize, Http2) -> Served + Clone + Send + Sync + 'static,
) -> Builder {
    let dials = AtomicUsize::new(0);
    Builder::new(Config::GRPC)
        .with_draws(middle)
        .over(service_fn(move |_: http::Uri| {
            let nth = dials.fetch_add(1, Ordering::Relaxed);
            let (client, server) = duplex(256 * 1024);
            let (settings, serve) = (settings.clone(), serve.clone());
            tokio::spawn(async move {
                let mut builder = h2::server::Builder::new();
                settings(&mut builder);
                serve(nth, builder.handshake(server).await?).await
            });
            async move { Ok::<_, io::Error>(TokioIo::new(client)) }
        }))
}

fn channel(builder: Builder) -> Channel {
    let channel = builder.channel(TARGET.parse().expect("a URI"));
    channel.expect("valid").calls(Wait::ForReady)
}

/// An empty message and OK, with these headers.
fn answer(mut respond: SendResponse<Bytes>, headers: HeaderMap) -> Result<(), h2::Error> {
    let mut response = Response::new(());
    *response.headers_mut() = headers;
    let grpc = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert("content-type", grpc);
    let mut body = respond.send_response(response, false)?;
    body.send_data(Bytes::from_static(&[0; 5]), false)?;
    let ok = (
        HeaderName::from_static("grpc-status"),
        HeaderValue::from_static("0"),
    );
    body.send_trailers(HeaderMap::from_iter([ok]))
}

/// Calls with their own mark in the metadata.
async fn marked<S>(service: &mut S, mark: &'static str) -> Result<(), Status>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>> + std::fmt::Debug,
{
    let mut marked = Request::new(());
    let mark = MetadataValue::from_static(mark);
    marked.metadata_mut().insert("mark", mark);
    request(service, marked).await
}

fn mark_of(headers: &HeaderMap) -> String {
    let mark = headers.get("mark").expect("each call has one");
    mark.to_str().expect("it is text").to_owned()
}

/// One stream at a time, and a server that goes away with it: what was sent fails, what was not
/// goes to the next connection, and no call is seen twice.
#[tokio::test(start_paused = true)]
async fn a_call_is_sent_on_the_next_connection_or_fails_and_never_twice() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = Arc::clone(&seen);
    let one_at_a_time = |builder: &mut h2::server::Builder| {
        builder.max_concurrent_streams(1);
    };
    let builder = over(one_at_a_time, move |nth, mut connection| {
        let sees = Arc::clone(&sees);
        Box::pin(async move {
            let mut open = Vec::new();
            let closes = sleep(s(2));
            tokio::pin!(closes);
            loop {
                let accepted = tokio::select! {
                    accepted = connection.accept() => accepted,
                    () = &mut closes, if nth == 0 => return Ok(()), // without a word
                };
                let Some(accepted) = accepted else {
                    return Ok(());
                };
                let (request, respond) = accepted?;
                let mark = mark_of(request.headers());
                sees.lock().expect("sound").push((nth, mark));
                if nth == 0 {
                    open.push(respond); // it never answers
                } else {
                    answer(respond, HeaderMap::new())?;
                }
            }
        })
    });
    let channel = channel(builder);
    settled().await; // the server's limit is known
    let calls = ["a", "b", "c", "d", "e"].map(|mark| {
        let mut channel = channel.clone();
        tokio::spawn(async move { marked(&mut channel, mark).await })
    });
    let mut results = Vec::new();
    for call in calls {
        let ended = call.await.expect("no panic");
        println!("{ended:?}");
        results.push(ended.map_err(|failed| failed.code()));
    }
    let seen = seen.lock().expect("sound");
    let unique: std::collections::BTreeSet<_> = seen.iter().map(|(_, mark)| mark).collect();
    assert_eq!(unique.len(), seen.len(), "twice on the wire: {seen:?}");
    let answered = seen.iter().filter(|(nth, _)| *nth > 0).count();
    let succeeded = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(answered, succeeded, "{seen:?}");
    assert_eq!(results[0], Err(Code::Unavailable), "it was sent");
    assert_eq!(results[2..], [Ok(()); 3], "these were not");
    assert!(
        results
            .iter()
            .all(|result| matches!(result, Ok(()) | Err(Code::Unavailable))),
        "{results:?}"
    );
}

/// Says GOAWAY once the first call is there, and answers that two seconds later.
fn goes_away() -> Builder {
    over(
        |_| {},
        |nth, mut connection| {
            Box::pin(async move {
                while let Some(accepted) = connection.accept().await {
                    let (_, respond) = accepted?;
                    if nth > 0 {
                        answer(respond, HeaderMap::new())?;
                        continue;
                    }
                    connection.graceful_shutdown();
                    tokio::spawn(async move {
                        sleep(s(2)).await;
                        answer(
                            respond,
                            HeaderMap::from_iter([(
                                HeaderName::from_static("from"),
                                HeaderValue::from_static("the first connection"),
                            )]),
                        )
                    });
                }
                Ok(())
            })
        },
    )
}

/// The call that is open ends as if nothing were; the next one goes to another connection, at once.
/// Tonic's channel `finds_out` by a call, which fails.
async fn the_open_stream_ends_and_the_next_goes_elsewhere<S>(service: S, finds_out: bool)
where
    S: Service<http::Request<Body>, Response = http::Response<Body>> + Clone + Send + 'static,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>> + std::fmt::Debug,
    S::Future: Send,
{
    let (mut first, mut second) = (service.clone(), service);
    let begun = virtual_now();
    let open = tokio::spawn(async move {
        let ended = marked(&mut first, "open").await;
        (ended.map_err(|failed| failed.to_string()), begun.elapsed())
    });
    sleep(s(1)).await;
    if finds_out {
        let failed = marked(&mut second, "late").await.expect_err("not sent");
        assert_eq!(failed.code(), Code::Unavailable, "{failed}");
    }
    marked(&mut second, "next").await.expect("there is another");
    assert_eq!(begun.elapsed(), s(1));
    let ended = open.await.expect("no panic");
    assert_eq!(ended, (Ok(()), s(2)));
}

#[tokio::test(start_paused = true)]
async fn goaway_lets_the_open_stream_end() {
    let channel = channel(goes_away());
    sleep(s(5)).await; // connections are a second apart (D9)
    the_open_stream_ends_and_the_next_goes_elsewhere(channel, false).await;
}

#[tokio::test(start_paused = true)]
async fn goaway_lets_the_open_stream_end_in_tonics_channel_too() {
    let channel = goes_away().build().expect("valid").lazy(endpoint());
    the_open_stream_ends_and_the_next_goes_elsewhere(channel, true).await;
}

/// Gives the mark of each call back.
fn echoes() -> Builder {
    over(
        |_| {},
        |_, mut connection| {
            Box::pin(async move {
                while let Some(accepted) = connection.accept().await {
                    let (request, respond) = accepted?;
                    let mark = request.headers().get("mark").cloned();
                    let mark = mark.map(|mark| (HeaderName::from_static("mark"), mark));
                    answer(respond, HeaderMap::from_iter(mark))?;
                }
                Ok(())
            })
        },
    )
}

const LARGE: usize = 16 * 1024;
const ROOM: u32 = 64 * 1024;

/// More than one frame of metadata each way.
async fn large<S>(service: &mut S) -> Result<(), Status>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>> + std::fmt::Debug,
{
    marked(service, Box::leak("m".repeat(LARGE).into_boxed_str())).await
}

#[tokio::test(start_paused = true)]
async fn metadata_of_16_kib_goes_through_both_channels() {
    let mut own = channel(echoes().with_http2(|http2| {
        http2.max_header_list_size(ROOM);
    }));
    large(&mut own).await.expect("there is room");

    let endpoint = endpoint().http2_max_header_list_size(ROOM);
    let mut lazy = echoes().build().expect("valid").lazy(endpoint);
    large(&mut lazy).await.expect("there is room");
}

/// Hyper takes 16 KiB of headers in all unless it is told otherwise: that stream fails alone.
#[tokio::test(start_paused = true)]
async fn an_answer_with_too_much_metadata_fails_alone() {
    let mut own = channel(echoes());
    let failed = large(&mut own).await.expect_err("too much");
    assert_eq!(failed.code(), Code::Internal, "{failed}");
    marked(&mut own, "small")
        .await
        .expect("the same connection");
    assert_eq!(own.status().to_string(), "READY");
}
