//! A short course: what the timer decides, how to run it, and how to choose its settings.
//!
//! Numbers in parentheses, such as (2.3-4), are rules; the [crate's page](crate) says where they
//! are listed.
//!
//! # What the timer decides
//!
//! A packet that is not acknowledged is lost, or late, or its ACK is. The sender cannot know, so
//! it waits, and the retransmission timeout (RTO) is how long. Too short, and packets that are
//! merely late are sent twice, most of all where the network is busy. Too long, and the user
//! waits for nothing.
//!
//! The timer keeps two averages of the round trips it is told of, the smoothed round trip SRTT
//! and how far round trips stray from it, RTTVAR. Four times the stray on top of the average is
//! rarely exceeded: RTO = SRTT + 4 x RTTVAR (2.3-4). The first round trip R sets SRTT to R and
//! RTTVAR to R/2; each later one moves SRTT an eighth of the way to it, and RTTVAR a quarter of the
//! way to its distance from SRTT (2.2-1), (2.3-1). Every expiry in a row doubles it (5.5-1),
//! since silence may mean that the network has had enough, and a fresh round trip brings it
//! back (5-N1).
//!
//! ```text
//!        sample                      RTO in force
//!  ACK ─────────▶ Estimator ─────────────────────────▶ deadline ──▶ expiry
//!                 SRTT, RTTVAR ◀──── doubled ◀──────────────────────  │
//!                                                                     ▼
//!                                                     retransmit the earliest, or give up
//! ```
//!
//! # The run loop
//!
//! One [`RetransmitTimer`] per connection, and five steps in whatever loop you have. The
//! numbers come back in every example of this project.
//!
//! 1. Whenever a segment leaves, tell [`handle_sent`](RetransmitTimer::handle_sent).
//! 2. Sleep until [`poll_timeout`](RetransmitTimer::poll_timeout), or until a packet comes.
//! 3. For each ACK, find what it covers ([`Progress`]) and whether it gives a round trip
//!    ([`Sample`]), and tell [`handle_acked`](RetransmitTimer::handle_acked).
//! 4. Call [`handle_timeout`](RetransmitTimer::handle_timeout); early is harmless. If it says
//!    [`Retransmit`](Timeout::Retransmit), send the earliest unacknowledged segment again. If it
//!    says [`GiveUp`](Timeout::GiveUp), close.
//! 5. Go on with 2: the deadline may have moved.
//!
//! ```
//! use {core::time::Duration, rto::*};
//! let ms = Duration::from_millis;
//! let estimator = Estimator::new(Config::RFC6298)?;
//! let mut timer = RetransmitTimer::new(estimator).with_limits(Limits::RFC9293);
//!
//! timer.handle_sent(ms(0)); // 1
//! assert_eq!(timer.poll_timeout(), Some(ms(1_000))); // 2
//! assert!(matches!(timer.handle_timeout(ms(1_000)), Some(Timeout::Retransmit(_)))); // 4
//! assert_eq!(timer.poll_timeout(), Some(ms(3_000))); // 5, 2
//! // An ACK, but of the original or of the repetition? Karn: no sample.
//! timer.handle_acked(ms(1_080), Progress::All, None); // 3
//! assert_eq!(timer.poll_timeout(), None); // nothing is outstanding
//! assert_eq!(timer.estimator().rto(), ms(2_000)); // and the doubling stays
//!
//! timer.handle_sent(ms(2_000)); // 1
//! let sample = Sample::of_transmission(ms(2_000), ms(2_080));
//! timer.handle_acked(ms(2_080), Progress::All, Some(sample)); // 3
//! assert_eq!(timer.estimator().rto(), ms(1_000)); // 80 + 4 x 40, raised to the floor
//! # Ok::<(), ConfigError>(())
//! ```
//!
//! Two things go wrong most often in such loops. A timer that is restarted by *every* ACK, or
//! by every send, never expires while the connection chats on: tell the truth with
//! [`Progress::None`], and leave the rest to the timer. And a deadline that is forgotten after
//! step 3 or 4: poll again each time.
//!
//! # Which round trips count
//!
//! Sent, sent again, acknowledged: was that ACK for the first copy or the second? Measured from
//! the first, the round trip contains an RTO; from the second, it may be nearly zero. Either
//! spoils the averages for long. Karn's answer is to take no sample at all (3-2), and to keep the
//! doubled RTO until there is a clean one (5-N1), or else a path slower than the RTO would be
//! retransmitted on for ever and never measured.
//!
//! | your protocol | you write |
//! |---|---|
//! | repeats a number when it retransmits, as TCP does | a [`Sampler`] decides: tell it every send and ACK |
//! | gives every transmission a number of its own, as QUIC does | [`Sample::of_transmission`]: no ACK is ambiguous |
//! | echoes timestamps | [`Sample::from_timestamp`]: every ACK gives one, see [`expected_samples`] |
//! | measures elsewhere | [`Sample::measured`] |
//!
//! ```
//! use {core::time::Duration, rto::*};
//! let ms = Duration::from_millis;
//! let mut sampler = Sampler::new();
//! sampler.handle_sent(ms(0), 0..1_000);
//! sampler.handle_sent(ms(1_000), 0..1_000); // again
//! sampler.handle_sent(ms(1_001), 1_000..2_000); // fresh
//! // One ACK for both: the fresh segment waited for the old one, so its round trip is no good.
//! let sample = sampler.handle_acked(ms(1_090), 2_000);
//! assert_eq!(sample.map(|sample| sample.rtt()), Some(Err(Rejection::Retransmitted)));
//! ```
//!
//! # Choosing the granularity
//!
//! [`Config::granularity`], the G of the RFC, is the tick of the clock that measures round trips. A
//! stack that counts in 10 ms cannot see less: its RTTVAR may be zero while round trips vary by
//! 9 ms. So the variance term is at least G (4-2). Set it to your tick. With `Duration`s from a
//! real clock the tick is nothing, and so is the default.
//!
//! ```
//! use {core::time::Duration, rto::*};
//! let ms = Duration::from_millis;
//! let ticks = Config { granularity: ms(10), min_rto: ms(10), ..Config::RFC6298 };
//! let mut estimator = Estimator::new(ticks)?;
//! for _ in 0..100 {
//!     estimator.sample(Sample::measured(ms(40))); // always four ticks
//! }
//! assert_eq!(estimator.rto(), ms(50) + Duration::from_nanos(1)); // not 40 ms
//! # Ok::<(), ConfigError>(())
//! ```
//!
//! The nanosecond is the error bound of SRTT, rounded up: later, never earlier.
//!
//! # Choosing the floor
//!
//! RFC 6298 has a floor of 1 s (2.4-1), for two reasons. A receiver may hold an ACK back, up to
//! 500 ms in TCP, and a sender must not take that for a loss. And a timeout costs a TCP its
//! window, so a spurious one is dear.
//!
//! [`Config::min_rto`] may be lower where you know more than the RFC can: how long your own
//! receiver holds ACKs back, and what a spurious retransmission costs you. Keep it above that
//! delay plus the jitter of your hosts' schedulers; 200 ms ([`Config::GAMES`]) is what many
//! stacks use on the Internet, 5 to 20 ms are possible inside a data centre. Whatever you choose,
//! [`Config::deviations`] names the rules it breaks, so that a configuration can be reviewed.
//!
//! ```
//! use {core::time::Duration, rto::*};
//! let mine = Config { min_rto: Duration::from_millis(20), ..Config::RFC6298 };
//! let broken: Vec<String> = mine.deviations().map(|broken| broken.to_string()).collect();
//! assert_eq!(broken, ["(2.4-1) the floor 20ms is below 1 s"]);
//! ```
//!
//! # Choosing R2
//!
//! A timer alone never ends: it doubles up to its cap and goes on. RFC 9293 asks for two limits,
//! by count or by time. R1 says that the route may be stale; R2 closes the connection, after
//! 100 s at least, 3 minutes for a SYN ([`Limits::RFC9293`]). Because the RTO doubles, the
//! expiries are far apart by then, and a limit acts at the first one it has passed: see them
//! before you choose.
//!
//! ```
//! use {core::time::Duration, rto::*};
//! let estimator = Estimator::new(Config::RFC6298)?;
//! let seconds: Vec<u64> = estimator.schedule().take(9).map(|at| at.as_secs()).collect();
//! assert_eq!(seconds, [1, 3, 7, 15, 31, 63, 123, 183, 243]); // an R2 of 100 s acts at 123 s
//! # Ok::<(), ConfigError>(())
//! ```
//!
//! An application that has a deadline of its own sets [`Limits::user_timeout`]. It acts on the
//! instant, not at the next expiry: the timer's deadline never lies beyond it, while the RTO and
//! its doublings stay what they are (T9).
//!
//! # Five hosts
//!
//! The timer needs a clock and something that can sleep. Complete programs; those of
//! `examples/hosts` run by `cargo run -p hosts --bin thread` and so on:
//!
//! | host | clock | sleeps in | program in the repository |
//! |---|---|---|---|
//! | a thread on a blocking socket | `Instant` | the socket's read timeout | `examples/hosts/src/thread.rs` |
//! | a tokio task | `tokio::time::Instant` | `timeout_at` | `examples/hosts/src/tokio.rs` |
//! | firmware, as embassy's time driver | a 32-bit counter that wraps | an alarm's interrupt | `examples/hosts/src/ticks.rs`, `examples/cortex-m` |
//! | C | `clock_gettime` | `poll(2)` | `crates/rto-capi/examples/udp_retransmit.c` |
//! | a simulation | the event queue | the event queue | `examples/hosts/src/simulation.rs` |
//!
//! A million connections need no million sleepers: `benches/examples/million` arms one queue
//! lazily, so that an ACK does not touch it. The whole of a host, with nothing but this crate and
//! the standard library:
//!
//! ```
//! use std::time::{Duration, Instant};
//! use rto::{Config, Estimator, RetransmitTimer, Timeout};
//!
//! struct Clock(Instant);
//! impl Clock {
//!     fn now(&self) -> Duration {
//!         self.0.elapsed()
//!     }
//! }
//!
//! let clock = Clock(Instant::now());
//! let fast = Config { initial_rto: Duration::from_millis(2), min_rto: Duration::ZERO,
//!                     granularity: Duration::from_nanos(1), ..Config::RFC6298 };
//! let mut timer = RetransmitTimer::new(Estimator::new(fast)?);
//! let mut transmissions = 1;
//! timer.handle_sent(clock.now()); // 1
//! while let Some(deadline) = timer.poll_timeout() {
//!     std::thread::sleep(deadline.saturating_sub(clock.now())); // 2
//!     if let Some(Timeout::Retransmit(_)) = timer.handle_timeout(clock.now()) {
//!         transmissions += 1; // 4
//!     }
//!     if transmissions == 3 {
//!         timer.stop(clock.now());
//!     }
//! }
//! assert_eq!(timer.estimator().rto(), Duration::from_millis(2 * 2 * 2));
//! # Ok::<(), rto::ConfigError>(())
//! ```
#![expect(unused_imports, reason = "for the links of the text")]

use crate::*;
