//! The receiver: fails in each known way, knows what it has done, and counts.

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;

pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    requests: watch::Sender<u64>,
    seen: Mutex<HashMap<i64, Seen>>,
}

/// Of one webhook.
#[derive(Clone, Copy, Default)]
struct Seen {
    requests: u32,
    done: u32,
    /// Requests for what its key says was done.
    repeats: u32,
}

/// What becomes of a request.
enum Answer {
    Status(u16),
    Busy,
    /// The connection breaks.
    Cut,
    Silence,
}

impl Server {
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            requests: watch::Sender::new(0),
            seen: Mutex::default(),
        });
        tokio::spawn(serve(listener, Arc::clone(&state)));
        Ok(Self { address, state })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn requests(&self) -> u64 {
        *self.state.requests.borrow()
    }

    /// Resolves once it has had so many requests.
    pub(crate) async fn has_had(&self, requests: u64) {
        let mut watch = self.state.requests.subscribe();
        _ = watch.wait_for(|&had| had >= requests).await;
    }

    pub(crate) fn times_done(&self, webhook: i64) -> u32 {
        self.state.seen().get(&webhook).map_or(0, |seen| seen.done)
    }

    pub(crate) fn repeats(&self) -> u32 {
        self.state.seen().values().map(|seen| seen.repeats).sum()
    }
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        let service = service_fn(move |request| respond(Arc::clone(&state), request));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn respond(
    state: Arc<State>,
    request: Request<Incoming>,
) -> Result<Response<Empty<Bytes>>, io::Error> {
    let answer = state.answer(request.headers());
    state.requests.send_modify(|requests| *requests += 1);
    tokio::time::sleep(Duration::from_millis(5)).await; // its work
    let mut response = Response::new(Empty::new());
    match answer {
        Some(Answer::Status(status)) => {
            *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
        }
        Some(Answer::Busy) => {
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            response.headers_mut().insert("retry-after", 1.into());
        }
        Some(Answer::Cut) => return Err(io::ErrorKind::ConnectionReset.into()),
        Some(Answer::Silence) => std::future::pending().await,
        None => *response.status_mut() = StatusCode::BAD_REQUEST,
    }
    Ok(response)
}

impl State {
    fn seen(&self) -> MutexGuard<'_, HashMap<i64, Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Each webhook is received in one of eight ways. `None`: the request makes no sense.
    fn answer(&self, headers: &HeaderMap) -> Option<Answer> {
        let id: i64 = headers.get("x-webhook")?.to_str().ok()?.parse().ok()?;
        let mut seen = self.seen();
        let seen = seen.entry(id).or_default();
        seen.requests += 1;
        if seen.done > 0 && headers.contains_key("idempotency-key") {
            seen.repeats += 1;
            return Some(Answer::Status(200)); // done before, and said so
        }
        let answer = match (id % 8, seen.requests) {
            (1, 1 | 2) => Answer::Status(503),
            (2, 1) => Answer::Busy,
            (3, 1) => Answer::Silence,
            (4, _) => Answer::Status(500),
            (5, _) => Answer::Status(410),
            (6, 1) => {
                seen.done += 1; // and nobody hears of it
                Answer::Cut
            }
            _ => {
                seen.done += 1;
                Answer::Status(200)
            }
        };
        Some(answer)
    }
}
