//! The play as text, line by line, while it happens.

use std::{net::SocketAddr, time::Duration};

use grpc_backoff::Outcome;

use super::{
    Act, Ended, Line, News, Record, SCRIPT,
    encore::{ABOUT, Encore, TITLE, Talk},
};
use crate::words::{bytes, count, rate, span};
use crate::{HandshakeStep, ReceiveEvent, Receiving, SendEvent, Sending, Step, Trace};

/// How many lines of one kind a scene prints, before it only counts.
const REPEATS: u64 = 3;
/// The pause between two lines that only say how things stand.
const PULSE: Duration = Duration::from_secs(1);

/// Turns what happens into lines.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// The last attempt to connect that had a sample.
    sampled: Option<u64>,
    next_pulse: Duration,
}

impl Timeline {
    pub(super) fn scene_begins(&mut self, record: &Record) -> Vec<Line> {
        let Some(act) = record.acts.last() else {
            return Vec::new();
        };
        self.next_pulse = act.from + PULSE;
        let title = format!(
            "{} of {}: {}",
            record.acts.len(),
            SCRIPT.len(),
            act.scene.title
        );
        let about = act.scene.about.to_owned();
        vec![Line::Title { title, about }]
    }

    pub(super) fn scene_ends(&self, record: &Record) -> Option<Line> {
        let act = record.acts.last()?;
        let text = format!(
            "after {}: {} of {} on disk; in this scene {}, {}, {}{}{}{}",
            span(record.end.saturating_sub(act.from)),
            bytes(record.bytes_on_disk()),
            bytes(record.length),
            count(act.samples, "sample", "samples"),
            count(act.fast_retransmits, "fast retransmit", "fast retransmits"),
            count(act.expiries, "expiry", "expiries"),
            also(act.late, "late packet", "late packets"),
            also(act.tail_probes, "tail probe", "tail probes"),
            also(act.path_probes, "path probe", "path probes"),
        );
        Some(event(record.end, "script", text))
    }

    /// The lines for news that the record has taken in.
    pub(super) fn news(&mut self, news: &News, record: &Record) -> Vec<Line> {
        match news {
            News::Receiver(event) => receiver(event).into_iter().collect(),
            News::Sender(SendEvent {
                what: Sending::Trace { attempt, trace },
                ..
            }) => self.trace(*attempt, trace, record).into_iter().collect(),
            News::Sender(event) => sender(event, record).into_iter().collect(),
        }
    }

    fn trace(&mut self, attempt: u64, trace: &Trace, record: &Record) -> Option<Line> {
        let act = record.acts.last()?;
        let (at, why) = (trace.at, trace.estimator.explain());
        let text = match trace.step {
            Step::Timer(rto::Event::Sampled { rtt, .. }) => {
                let first = self.sampled.replace(attempt) != Some(attempt);
                let text = if record.undone > 0 {
                    let undone = count(record.undone.into(), "back-off", "back-offs");
                    format!("a fresh sample of {} undoes {undone}: {why}", span(rtt))
                } else if first {
                    format!("first sample {}: {why}", span(rtt))
                } else if at >= self.next_pulse {
                    let percent = record.bytes_on_disk() * 100 / record.length.max(1);
                    format!("{percent} % on disk; {why}")
                } else {
                    return None;
                };
                self.next_pulse = at + PULSE;
                text
            }
            Step::TailProbe if act.tail_probes <= REPEATS => {
                let mut text =
                    "tail probe: no ACK for a while, and the oldest packet is overdue: it goes again before \
                     the RTO"
                        .to_owned();
                if act.tail_probes == REPEATS {
                    text += "; more of these are only counted";
                }
                text
            }
            Step::PathProbe if act.path_probes <= REPEATS => {
                let mut text = "a probe asks whether the path is back".to_owned();
                if act.path_probes == REPEATS {
                    text += "; more of these are only counted";
                }
                text
            }
            Step::SpuriousLoss { packets, undone } => self.late(packets, undone, record)?,
            Step::Mtu {
                old: Some(old),
                new,
                ..
            } if new > old => {
                format!("the path carries datagrams of {new} bytes, not only of {old}")
            }
            Step::Mtu {
                old: Some(old),
                new,
                ..
            } if new < old => format!("the path carries no datagrams of {old} bytes any more"),
            // An expiry is told by what it repeats; packets and windows are for the page.
            Step::Timer(_)
            | Step::Mtu { .. }
            | Step::Ecn { .. }
            | Step::Lost { .. }
            | Step::Late(_)
            | Step::Bundled { .. }
            | Step::TailProbe
            | Step::PathProbe
            | Step::CongestionPhase { .. }
            | Step::Congestion(_)
            | Step::Sent(_)
            | Step::Received(_)
            | Step::Missed { .. } => return None,
            Step::Retransmit { rto, .. } => {
                let expiry = record.expiries.last()?;
                let silence = span(at.saturating_sub(expiry.last_sent_at));
                format!(
                    "EXPIRED {silence} after the last send: the RTO of {} ran out; sent again. Now {why}",
                    span(rto)
                )
            }
            Step::FastRetransmit { packets } => {
                if act.fast_retransmits > REPEATS {
                    return None;
                }
                let lost = count(packets.into(), "packet", "packets");
                let mut text =
                    format!("fast retransmit: {lost} taken for lost, since later ones arrived");
                if act.fast_retransmits == REPEATS {
                    text += "; more of these are only counted";
                }
                text
            }
            Step::Handshake(step) => {
                let text = match step {
                    HandshakeStep::Hello => return None, // the attempt tells
                    HandshakeStep::HelloAgain => "no answer yet: Hello again",
                    HandshakeStep::Cookie => "a server is there: Hello again, now with its cookie",
                    HandshakeStep::Settings => "SETTINGS: the server has accepted",
                };
                text.to_owned()
            }
        };
        Some(event(at, "sender", text))
    }

    /// Every undoing is told, and the first of the others.
    fn late(&self, packets: u64, undone: bool, record: &Record) -> Option<String> {
        let act = record.acts.last()?;
        let so_far = record.late.iter().filter(|late| late.at >= act.from);
        let nth = so_far.filter(|late| late.undone == undone).count() as u64;
        let late = count(packets, "packet", "packets");
        match undone {
            _ if nth > REPEATS => None,
            true => Some(format!(
                "{late} taken for lost came late. Nothing is missing any more, so the window is what it was \
                 before"
            )),
            false if nth == 1 => Some(format!("{late} taken for lost came late, after all")),
            false => None,
        }
    }
}

/// The lines before the first scene.
pub(super) fn prologue(record: &Record, relay: SocketAddr, server: SocketAddr) -> Vec<Line> {
    let network = &record.network;
    let about = format!(
        "{}, {}, goes from a sender through a relay ({relay}) to a receiver ({server}), all in this \
         process and over real UDP sockets. The relay delays by {} each way and carries {}; seed {}.",
        record.name,
        bytes(record.length),
        span(network.delay),
        rate(network.rate),
        record.seed
    );
    let title = "rudp demo: a file crosses a hostile network".to_owned();
    vec![Line::Title { title, about }]
}

/// The line before the encore.
pub(super) fn encore_begins() -> Line {
    Line::Title {
        title: TITLE.to_owned(),
        about: ABOUT.to_owned(),
    }
}

/// The lines after it, a line for each connection.
pub(super) fn encore_ends(at: Duration, encore: &Encore) -> [Line; 2] {
    let took = |talk: &Talk| {
        format!(
            "half of the messages took {} at most, 99 % {}; {} bytes on the wire for each",
            span(talk.delay(50)),
            span(talk.delay(99)),
            talk.bytes_per_message()
        )
    };
    let repaired = format!(
        "{} of {} lost packets cost nothing",
        encore.with.tally.repaired, encore.with.tally.lost
    );
    [
        event(
            at,
            "script",
            format!("with repeats, {}; {repaired}", took(&encore.with)),
        ),
        event(at, "script", format!("without, {}", took(&encore.without))),
    ]
}

/// Goes on with a count, if there is anything to count.
fn also(number: u64, one: &str, many: &str) -> String {
    match number {
        0 => String::new(),
        _ => format!(", {}", count(number, one, many)),
    }
}

fn event(at: Duration, actor: &'static str, text: impl Into<String>) -> Line {
    let text = text.into();
    Line::Event { at, actor, text }
}

fn receiver(news: &ReceiveEvent) -> Option<Line> {
    let text = match &news.what {
        Receiving::Offered { length, .. } => {
            format!("a file of {} is offered", bytes(*length))
        }
        Receiving::Started {
            offset, on_disk, ..
        } if offset == on_disk && *on_disk > 0 => {
            format!("{} are on disk from before, and agree", bytes(*on_disk))
        }
        Receiving::Done { hash, .. } => {
            format!(
                "verified, and renamed into place: BLAKE3 {:.16}...",
                hash.to_hex()
            )
        }
        Receiving::Refused(refusal) => format!("refused: {refusal}"),
        _ => return None, // progress and traces are many; a lost connection is the sender's story
    };
    Some(event(news.at, "receiver", text))
}

fn sender(news: &SendEvent, record: &Record) -> Option<Line> {
    let text = match &news.what {
        Sending::Attempt(_) => attempt(record.attempts.last()?, record.acts.last()?),
        Sending::Started {
            offset,
            on_disk,
            length,
        } => match (*offset, *on_disk) {
            (0, 0) => "the data starts".to_owned(),
            (0, _) => "the receiver has something else on disk: from the start".to_owned(),
            (offset, _) => format!(
                "resumes at byte {offset} of {length}, the last one on disk: {} are not sent again",
                bytes(offset)
            ),
        },
        Sending::Lost(reason) => {
            format!("the connection is lost: {reason}")
        }
        Sending::Delivered(_) => "the receiver has the file".to_owned(),
        Sending::Connected { .. } | Sending::Progress { .. } | Sending::Trace { .. } => {
            return None;
        }
    };
    Some(event(news.at, "sender", text))
}

fn attempt(ended: &Ended, act: &Act) -> String {
    let attempt = &ended.attempt;
    let number = attempt.number;
    let spacing = match (attempt.planned, attempt.actual) {
        (Some(planned), Some(actual)) if ended.failed_before > 0 => format!(
            ", {} after #{} (planned {})",
            span(actual),
            number.saturating_sub(1),
            span(planned)
        ),
        _ => String::new(),
    };
    let next = span(attempt.backoff);
    match &attempt.outcome {
        Outcome::Connected if number == 0 => "attempt #0 has succeeded".to_owned(),
        Outcome::Connected => {
            format!("attempt #{number}{spacing} has succeeded; the backoff series is reset")
        }
        outcome => {
            let nth = act.failures;
            format!("attempt #{number}{spacing} {outcome}; refusal {nth}, next in {next}")
        }
    }
}
