//! A short course: what the backoff decides, how to run it, which layer to take, and what a
//! server's SETTINGS has to do with it.
//!
//! Numbers in parentheses, such as (S7), are rules; the [crate's page](crate) says where they are
//! listed.
//!
//! # What it decides
//!
//! A server is gone, and a thousand clients notice at once. If each dials again as soon as it
//! can, the server comes back to a flood, and goes down again. If each waits for long, users wait
//! for a server that has been there all the time. So the first wait is short, 1 s, and each
//! further one is 1.6 times as long, up to 2 minutes (S2). A fifth of each is random, so that
//! those who failed together do not return together (S7, D1).
//!
//! ```text
//!            connect            SETTINGS
//!   IDLE ──────────▶ CONNECTING ─────────▶ READY ───▶ lost: IDLE, and a new run
//!                     ▲      │ failed, or its connect deadline passed
//!        the wait is  │      ▼
//!        over, or a   └─ TRANSIENT_FAILURE
//!        reset             1 s, 1.6 s, 2.56 s ... 120 s, each +-20 %
//! ```
//!
//! Two things are easily got wrong. A wait spaces the *starts* of two attempts; it is no pause
//! after a failure (S3), so an attempt that hangs for 20 s is followed by the next at once. And
//! an attempt has a deadline, at least 20 s after its start, for all of it up to SETTINGS (S5), so
//! a server that accepts and says nothing does not hold a client for ever.
//!
//! # The run loop
//!
//! One [`Connection`] per server, and three steps in whatever loop you have:
//!
//! 1. Tell it what happened, or what you want.
//! 2. Call [`poll_action`](Connection::poll_action) until it gives `None`, and do what it says:
//!    start an attempt, or abort one.
//! 3. Sleep until [`poll_timeout`](Connection::poll_timeout), or until something happens.
//!
//! Here the clock is a variable, and the server refuses four times:
//!
//! ```
//! use {core::time::Duration, grpc_backoff::*};
//! let mut connection = Connection::new(Config::GRPC)?;
//! let (mut now, mut starts) = (Duration::ZERO, Vec::new());
//!
//! connection.connect(now); // 1
//! while !matches!(connection.state(), State::Ready { .. }) {
//!     let draw = || 1 << 63; // the middle: no jitter
//!     while let Some(action) = connection.poll_action(now, draw) { // 2
//!         let Action::Start(start) = action else { continue };
//!         starts.push(now.as_millis());
//!         let _ = match starts.len() {
//!             5 => connection.handle_settings(now, start.attempt), // 1
//!             _ => connection.handle_failed(now, start.attempt), // 1
//!         };
//!     }
//!     now = connection.poll_timeout().unwrap_or(now); // 3: "sleep"
//! }
//! assert_eq!(starts, [0, 1_000, 2_600, 5_160, 9_256]);
//! # Ok::<(), ConfigError>(())
//! ```
//!
//! # Choose a mode
//!
//! Each layer drives the one above it and decides nothing itself. Take the lowest that fits.
//!
//! | you have | take | it |
//! |---|---|---|
//! | a loop, a clock and a socket of your own, or no std | [`Connection`] | says when to dial, and when to give an attempt up |
//! | the same, and a server with several addresses | [`PickFirst`] (feature `alloc`) | says which, too: the next one after 250 ms |
//! | a tokio task that owns its connection | [`Reconnector`] (feature `tokio`) | runs that loop around your connect function, inside your `connect().await` |
//! | many tasks that share a connection | [`Reconnector::share`] with [`Mode::OnDemand`] | has a task, and connects when somebody asks |
//! | the same, and a connection must be there before they ask | [`Reconnector::share`] with [`Mode::KeepConnected`] | has a task, and connects at once, and again after each loss |
//! | a tonic client, with all of its `Endpoint` | [`tonic::Connector`] (feature `tonic`) | is a connector for tonic's channel |
//! | a tonic client behind a balancer, or one that must be connected without calls | [`tonic::Channel`] | is a channel of its own that reconnects by itself |
//!
//! # Tonic in five lines
//!
//! By itself tonic dials for each call that finds no connection. One line changes:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), grpc_backoff::ConfigError> {
//! # use tonic_health::pb::health_client::HealthClient;
//! use grpc_backoff::{Config, tonic::Connector};
//! use tonic::transport::Endpoint;
//!
//! let endpoint = Endpoint::from_static("http://127.0.0.1:50051");
//! let channel = Connector::new(Config::GRPC)?.lazy(endpoint); // was: endpoint.connect_lazy()
//! let client = HealthClient::new(channel); // any generated client
//! # Ok(()) }
//! ```
//!
//! The first call connects, so `HealthClient::connect(url).await` becomes these lines too. Where a
//! type names tonic's `Channel`, it names [`tonic::LazyChannel`] now. To keep the type, take
//! `endpoint.connect_with_connector_lazy(connector)`: its calls fail without `RetryInfo`, and one
//! that breaks off with its connection is UNKNOWN.
//!
//! Calls fail fast: while the channel waits, they get UNAVAILABLE with the reason, and the time
//! until the next attempt as `google.rpc.RetryInfo`. With
//! [`wait_for_ready`](tonic::Connector::wait_for_ready) they wait instead (C3); put a
//! `tokio::time::timeout` around them, since tonic's own begins when a call is sent. Calls through a
//! [`tonic::Channel`] wait no longer than their `grpc-timeout`.
//!
//! # What SETTINGS means
//!
//! When does an attempt count as a success? A TCP connection proves little: the kernel accepts for
//! a process that hangs, and a load balancer for a server that is gone. A client that then starts
//! its series over dials such a server without end, once a second or without any pause. The first
//! thing that an HTTP/2 server itself says is its SETTINGS frame, so the series starts over when
//! that arrives, and not before (S11). [`SettingsProbe`] recognises it from the first nine bytes.
//!
//! *Using* a connection is another matter. Some servers stand behind a protocol sniffer, and say
//! SETTINGS only after the client's first request; a client that waits for it waits for ever. So
//! calls go out at once, and only the reset waits for SETTINGS (D13).
//!
//! With TLS the frame is inside, which is why the connectors here speak TLS themselves. For other
//! protocols, what corresponds is the first answer that only a working server can give: a PONG, a
//! greeting, a WebSocket's `101`. Let your connect function resolve then.
//!
//! A server may send SETTINGS and close, again and again: a crash loop that gets that far, a proxy
//! without a backend. Each is a success, and by the document's letter a new run starts at once
//! (S14). Here it keeps a first delay's distance from the start before, about 1 s (D9).
//!
//! # From a hand-written loop
//!
//! A loop as many programs have it, and what is wrong with it:
//!
//! ```no_run
//! # use std::{io, time::Duration}; use tokio::{net::TcpStream, time::sleep};
//! # async fn serve(_: TcpStream) {}
//! # async fn before() {
//! let mut delay = Duration::from_secs(1);
//! loop {
//!     match TcpStream::connect("server:4600").await { // no deadline: hangs for minutes
//!         Ok(stream) => {
//!             delay = Duration::from_secs(1); // accepted by the kernel, not by the server
//!             serve(stream).await; // and after it the loop dials at once, however often
//!         }
//!         Err(_) => {
//!             sleep(delay).await; // no jitter: the whole fleet returns together
//!             delay = (delay * 2).min(Duration::from_secs(60));
//!         }
//!     }
//! }
//! # }
//! ```
//!
//! The same with a [`Reconnector`]: the loop keeps its shape, and what was wrong is gone.
//!
//! ```no_run
//! # use std::io; use tokio::{io::AsyncReadExt, net::TcpStream};
//! # async fn serve(_: TcpStream) {}
//! # async fn after() -> Result<(), Box<dyn std::error::Error>> {
//! use grpc_backoff::{Config, Failure, Reconnector};
//!
//! let mut server = Reconnector::new(Config::GRPC, |_attempt| async {
//!     let mut stream = TcpStream::connect("server:4600").await?;
//!     stream.read_u8().await?; // the server's own first word
//!     Ok::<_, Failure<io::Error>>(stream)
//! })?;
//! loop {
//!     let stream = server.connect().await?; // an error: final, a limit, or a shutdown
//!     serve(stream).await;
//! }
//! # }
//! ```
//!
//! # What callers are told
//!
//! There is one text for people, from [`Handle::status`], [`Handle::watch`] and the error of a
//! call that fails fast:
//!
//! ```text
//! TRANSIENT_FAILURE after 4 failures; last: no SETTINGS within 20 s; next attempt in 3.2 s
//! ```
//!
//! Where a connection ends soon after it began, nothing has failed, and yet the next attempt waits
//! (D9): a call then fails with `IDLE; next attempt in 0.7 s`.
//!
//! The same [`Status`] has it in parts (D14). [`Reconnector::on_attempt`] hears of every attempt:
//! when it was due, when it started and ended, what came of it, and how long each [`Phase`] took.
//!
//! # Choosing other values
//!
//! The document's values ([`Config::GRPC`]) suit servers on the Internet and within a data centre.
//! Slower is always allowed. What is legal but risky, [`Config::lint`] lists, so that a
//! configuration can be reviewed:
//!
//! ```
//! use {core::time::Duration, grpc_backoff::Config};
//! let eager = Config { initial_backoff: Duration::from_millis(100), ..Config::GRPC };
//! let risks: Vec<String> = eager.lint().map(|risk| risk.to_string()).collect();
//! assert_eq!(risks,
//!     ["initial_backoff may connect more often than the document's value (S2, S13)"]);
//! ```
//!
//! When a whole fleet hears at once that the network is back, it should not dial at once:
//! [`Handle::reset_within`] spreads it over a window (D15). Many connections of one process may
//! share an [`AttemptBudget`] (D17).
//!
//! # Complete programs
//!
//! `cargo run -p grpc-backoff --features tls --example NAME`; each starts a server of its own,
//! loses it, gets it back and ends:
//!
//! | NAME | what comes back |
//! |---|---|
//! | `tokio_loop` | a TCP connection, in a loop that owns it |
//! | `redis_like` | one connection for many callers, on demand |
//! | `websocket` | a WebSocket that subscribes again |
//! | `tonic_client` | a generated client; only one line is new |
//! | `tonic_tls` | the same over TLS, with calls that wait |
//! | `tonic_balanced` | three servers behind a balancer that passes over the dead one |
//!
//! # How it compares
//!
//! The example `dials` has plain tonic and this crate's connector call servers that let them
//! down, all side by side, one call after another, for 10 s:
//!
//! | dials in 10 s of a server that | plain tonic | ours |
//! |---|---|---|
//! | refuses | 243,744 | 5 |
//! | accepts and closes | 53,459 | 5 |
//! | never says anything | 1 | 1 |
//! | stops in the TLS handshake | 1 | 1 |
//! | refuses in the TLS handshake | 56,817 | 5 |
//! | sends SETTINGS after 3 s | 1 | 1 |
//! | sends a byte of SETTINGS every 50 ms | 1 | 1 |
//! | sends SETTINGS after the first request | 1 | 1 |
//! | sends a PING before SETTINGS | 1 | 5 |
//! | answers in HTTP/1.1 | 14,855 | 5 |
//! | sends SETTINGS, closes after 50 ms | 192 | 12 |
//! | says GOAWAY `max_age` after 50 ms | 192 | 10 |
//! | says GOAWAY `too_many_pings` after 50 ms | 193 | 10 |
//! | is silent after SETTINGS, keepalive of 1 s | 5 | 5 |
//! | works | 1 | 1 |
//!
//! Each of those calls dials, with plain tonic, once the connection is gone. Where both dialled
//! once and the server never says anything, plain tonic's first call hangs for ever, and ours
//! fails after 20 s. A PING before SETTINGS is against HTTP/2: plain tonic overlooks it, we close.
//!
//! How gRPC's own clients do before such servers is in `CONFORMANCE.md`, beside this crate's
//! manifest, made from runs against them.
#![expect(unused_imports, reason = "for the links of the text")]

use crate::*;
