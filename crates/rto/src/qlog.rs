//! Events as lines of JSON, in the words of [qlog] (feature `qlog`).
//!
//! ```
//! # use {core::time::Duration, rto::{*, qlog::*}};
//! let ms = Duration::from_millis;
//! let header = Header { title: "my transport", vantage_point: VantagePoint::Client };
//! let mut lines = JsonLines::new(String::new(), &header);
//!
//! let timer = RetransmitTimer::new(Estimator::new(Config::RFC6298)?);
//! let mut timer = timer.observed_by(&mut lines);
//! timer.handle_sent(ms(20));
//! timer.handle_acked(ms(63), Progress::All, Some(Sample::of_transmission(ms(20), ms(63))));
//!
//! lines.check()?; // everything that happened is there
//! assert_eq!(lines.into_inner(), concat!(
//!     r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","title":"my transport","trace":"#,
//!     r#"{"vantage_point":{"type":"client"},"#,
//!     r#""common_fields":{"time_format":"relative","reference_time":0}}}"#, "\n",
//!     r#"{"time":20,"name":"recovery:loss_timer_updated","data":"#,
//!     r#"{"event_type":"set","timer_type":"pto","delta":1000,"trigger":"armed"}}"#, "\n",
//!     r#"{"time":63,"name":"recovery:metrics_updated","data":"#,
//!     r#"{"latest_rtt":43,"smoothed_rtt":43,"rtt_variance":21.5,"rto":1000}}"#, "\n",
//!     r#"{"time":63,"name":"recovery:loss_timer_updated","data":"#,
//!     r#"{"event_type":"cancelled","timer_type":"pto"}}"#, "\n",
//! ));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # The fields
//!
//! Every time and span is in milliseconds and exact: a decimal with as many places as its
//! nanoseconds need, never a float on its way here.
//!
//! | [`Event`] | `name` | `data` |
//! |---|---|---|
//! | [`Armed`](Event::Armed) | `recovery:loss_timer_updated` | `event_type` "set", `timer_type` "pto", `delta`: from now to the deadline, `trigger` "armed" |
//! | [`Restarted`](Event::Restarted) | `recovery:loss_timer_updated` | `event_type` "set", `timer_type` "pto", `delta`, `trigger` "restarted" |
//! | [`Stopped`](Event::Stopped) | `recovery:loss_timer_updated` | `event_type` "cancelled", `timer_type` "pto" |
//! | [`Expired`](Event::Expired) | `recovery:loss_timer_updated` | `event_type` "expired", `timer_type` "pto", `rto`: in force until now, `retransmissions` |
//! | [`Sampled`](Event::Sampled) | `recovery:metrics_updated` | `latest_rtt`, `smoothed_rtt`, `rtt_variance`, `rto` |
//! | [`BackedOff`](Event::BackedOff) | `rto:backed_off` | `rto`, `backoffs` |
//! | [`Collapsed`](Event::Collapsed) | `rto:collapsed` | `rto`, `undone`: how many back-offs |
//! | [`Cleared`](Event::Cleared) | `rto:cleared` | none |
//! | [`PostSyn`](Event::PostSyn) | `rto:post_syn` | `rto` |
//! | [`R1`](Event::R1) | `rto:r1` | `retransmissions` |
//! | [`GaveUp`](Event::GaveUp) | `rto:gave_up` | `limit` "r2" or "user_timeout", `retransmissions`, `elapsed` |
//!
//! Elsewhere `rto` is the RTO in force from then on.
//!
//! # How far this is qlog
//!
//! The header and the names `recovery:...` are those of qlog 0.3 and of the QUIC events that went
//! with it. The probe timeout of QUIC is what the RTO is here, so the timer's type is "pto".
//! Names with `rto:` are this crate's own, as are the fields `rto`, `retransmissions` and the values of
//! `trigger`; a reader of qlog skips what it does not know. Unlike a JSON text sequence, a line
//! has no record separator before it, so that line tools can read it; `sed 's/^/\x1e/'` adds it.
//!
//! [qlog]: https://datatracker.ietf.org/doc/draft-ietf-quic-qlog-main-schema/

use core::{error::Error, fmt, time::Duration};

use crate::{Event, GiveUp, Limit, Observer};

/// One event as an object of JSON, without the line feed after it. `D` shows `data`, an object too:
/// [`Line::new`] makes the line of an [`Event`], and a host may have lines of its own.
///
/// ```
/// # use {core::time::Duration, rto::qlog::*};
/// let line = Line {
///     time: Duration::from_micros(1_500),
///     group_id: Some("connection 7"),
///     name: "mine:closed",
///     data: r#"{"code":0}"#,
/// };
/// assert_eq!(
///     line.to_string(),
///     r#"{"time":1.5,"group_id":"connection 7","name":"mine:closed","data":{"code":0}}"#
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a, D> {
    /// When, on the host's clock.
    pub time: Duration,
    /// Which connection, where one file tells of several.
    pub group_id: Option<&'a str>,
    /// What happened: a namespace, a colon, a word; nothing that JSON would escape.
    pub name: &'static str,
    /// The particulars.
    pub data: D,
}

/// The particulars of an [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    now: Duration,
    event: Event,
}

impl Line<'_, Data> {
    /// The line of an event at `now`; of no group.
    #[must_use]
    pub const fn new(now: Duration, event: Event) -> Self {
        let name = match event {
            Event::Armed { .. }
            | Event::Restarted { .. }
            | Event::Stopped
            | Event::Expired { .. } => "recovery:loss_timer_updated",
            Event::Sampled { .. } => "recovery:metrics_updated",
            Event::BackedOff { .. } => "rto:backed_off",
            Event::Collapsed { .. } => "rto:collapsed",
            Event::Cleared => "rto:cleared",
            Event::PostSyn { .. } => "rto:post_syn",
            Event::R1 { .. } => "rto:r1",
            Event::GaveUp(_) => "rto:gave_up",
        };
        Self {
            time: now,
            group_id: None,
            name,
            data: Data { now, event },
        }
    }
}

impl<D: fmt::Display> fmt::Display for Line<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"{{"time":{},"#, Millis(self.time))?;
        if let Some(group_id) = self.group_id {
            write!(f, r#""group_id":{},"#, Text(group_id))?;
        }
        write!(f, r#""name":"{}","data":{}}}"#, self.name, self.data)
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.event {
            Event::Armed { deadline } => self.fmt_set(f, deadline, "armed"),
            Event::Restarted { deadline } => self.fmt_set(f, deadline, "restarted"),
            Event::Stopped => f.write_str(r#"{"event_type":"cancelled","timer_type":"pto"}"#),
            Event::Expired {
                retransmissions,
                rto,
            } => write!(
                f,
                r#"{{"event_type":"expired","timer_type":"pto","rto":{},"retransmissions":{retransmissions}}}"#,
                Millis(rto)
            ),
            Event::Sampled {
                rtt,
                srtt,
                rttvar,
                rto,
            } => write!(
                f,
                r#"{{"latest_rtt":{},"smoothed_rtt":{},"rtt_variance":{},"rto":{}}}"#,
                Millis(rtt),
                Millis(srtt),
                Millis(rttvar),
                Millis(rto)
            ),
            Event::BackedOff { rto, backoffs } => {
                write!(f, r#"{{"rto":{},"backoffs":{backoffs}}}"#, Millis(rto))
            }
            Event::Collapsed { rto, undone } => {
                write!(f, r#"{{"rto":{},"undone":{undone}}}"#, Millis(rto))
            }
            Event::Cleared => f.write_str("{}"),
            Event::PostSyn { rto } => write!(f, r#"{{"rto":{}}}"#, Millis(rto)),
            Event::R1 { retransmissions } => {
                write!(f, r#"{{"retransmissions":{retransmissions}}}"#)
            }
            Event::GaveUp(GiveUp {
                limit,
                retransmissions,
                elapsed,
            }) => {
                let limit = match limit {
                    Limit::R2 => "r2",
                    Limit::UserTimeout => "user_timeout",
                };
                write!(
                    f,
                    r#"{{"limit":"{limit}","retransmissions":{retransmissions},"elapsed":{}}}"#,
                    Millis(elapsed)
                )
            }
        }
    }
}

impl Data {
    fn fmt_set(
        &self,
        f: &mut fmt::Formatter<'_>,
        deadline: Duration,
        trigger: &str,
    ) -> fmt::Result {
        let delta = Millis(deadline.saturating_sub(self.now));
        write!(
            f,
            r#"{{"event_type":"set","timer_type":"pto","delta":{delta},"trigger":"{trigger}"}}"#
        )
    }
}

/// The first line of a file, which says what the others are.
///
/// The times count from wherever the host's clock does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// For a human.
    pub title: &'a str,
    /// Whose events these are.
    pub vantage_point: VantagePoint,
}

/// Which end of the connections tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VantagePoint {
    /// The one that opens them.
    Client,
    /// The one that accepts them.
    Server,
    /// Either.
    Unknown,
}

impl fmt::Display for Header<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vantage_point = match self.vantage_point {
            VantagePoint::Client => "client",
            VantagePoint::Server => "server",
            VantagePoint::Unknown => "unknown",
        };
        write!(
            f,
            concat!(
                r#"{{"qlog_version":"0.3","qlog_format":"JSON-SEQ","title":{},"#,
                r#""trace":{{"vantage_point":{{"type":"{}"}},"#,
                r#""common_fields":{{"time_format":"relative","reference_time":0}}}}}}"#
            ),
            Text(self.title),
            vantage_point
        )
    }
}

/// A span in milliseconds, exact to the nanosecond: `0.000001`, `1000`, `21.5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Millis(pub Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.as_millis())?;
        let mut fraction = self.0.subsec_nanos().rem_euclid(1_000_000);
        if fraction == 0 {
            return Ok(());
        }
        let mut places = 6_usize;
        while fraction.rem_euclid(10) == 0 {
            fraction = fraction.div_euclid(10);
            places = places.saturating_sub(1);
        }
        write!(f, ".{fraction:0places$}")
    }
}

/// A string of JSON, quotes and all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a>(pub &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}"),
                '\0'..='\x1f' => write!(f, "\\u{:04x}", u32::from(c)),
                c => f.write_char(c),
            }?;
        }
        f.write_char('"')
    }
}

/// An [`Observer`] that writes a header, and a line for every event of a timer.
///
/// After the first write that fails it writes no more, for half a line may be there, and counts what
/// is missing: see [`check`](Self::check).
#[derive(Clone, Debug)]
pub struct JsonLines<W> {
    out: W,
    written: u64,
    lost: u64,
}

impl<W: fmt::Write> JsonLines<W> {
    /// Writes the header.
    pub fn new(out: W, header: &Header<'_>) -> Self {
        let mut lines = Self {
            out,
            written: 0,
            lost: 0,
        };
        lines.write(header);
        lines
    }

    /// Writes a line of the host's own, such as a [`Line`].
    pub fn write(&mut self, line: impl fmt::Display) {
        if self.lost == 0 && writeln!(self.out, "{line}").is_ok() {
            self.written = self.written.saturating_add(1);
        } else {
            self.lost = self.lost.saturating_add(1);
        }
    }

    /// Whether everything was written.
    ///
    /// # Errors
    /// The writer failed; says what is there.
    pub const fn check(&self) -> Result<(), Incomplete> {
        match self.lost {
            0 => Ok(()),
            lost => Err(Incomplete {
                written: self.written,
                lost,
            }),
        }
    }

    /// What was written to.
    pub fn into_inner(self) -> W {
        self.out
    }
}

impl<W: fmt::Write> Observer for JsonLines<W> {
    fn observe(&mut self, now: Duration, event: Event) {
        self.write(Line::new(now, event));
    }
}

/// Not all lines could be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incomplete {
    /// How many are there whole, the header included; half a line may follow.
    pub written: u64,
    /// How many are not.
    pub lost: u64,
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { written, lost } = self;
        write!(
            f,
            "the writer failed after {written} lines, {lost} are lost"
        )
    }
}

impl Error for Incomplete {}
