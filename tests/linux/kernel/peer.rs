//! A connection of the kernel's, dialled in a namespace of its own to an end that the test
//! plays, and the trace of what happened to it.

use std::{
    io::{self, Write},
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use conformance::linux::Event;
use nix::errno::Errno;
use rto::linux::{Config, Round};
use socket2::{Domain, Socket, Type};

use super::{
    Interruption,
    network::{Network, REMOTE, now},
    segment::{PORT, Segment},
    settings::sysctls,
    tcp_info::TcpInfo,
};

/// Longer than the kernel takes for what is due at once, on the busiest machine.
const SOON: Duration = Duration::from_secs(20);

/// Both ends of the connection.
pub(super) struct Peer {
    network: Network,
    socket: Socket,
    jiffy: Duration,
    born: Instant,
    /// When the last ACK was sent.
    answered: Instant,
    /// The end of what the kernel has sent.
    sent: u32,
    /// The first ACK beyond this ends the round trip under way.
    round_end: Option<u32>,
    /// Retransmissions seen.
    timeouts: u32,
    trace: Vec<Step>,
}

/// A segment that the kernel sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    segment: Segment,
    /// It was sent no earlier than this.
    after: Instant,
    /// It was sent no later than this.
    seen: Instant,
}

/// Something that happened to the kernel's estimator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) event: Event,
    /// What the kernel told right after it.
    pub(super) info: TcpInfo,
    /// How long after the send before it the kernel sent again, by its own timestamps.
    pub(super) waited: Option<Duration>,
}

/// What an ACK lets the kernel measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measured {
    /// A round trip: the segment was sent once, or the ACK echoes its timestamp.
    RoundTrip,
    /// Nothing: the segment was sent more than once, and the ACK has no timestamp.
    Nothing,
}

impl Peer {
    /// Has a kernel with these settings dial; gives its SYN.
    pub(super) fn dial(config: &Config, timestamps: bool) -> Result<(Self, Sent), Interruption> {
        let network = Network::new(&sysctls(config, timestamps)).map_err(Interruption::Unfit)?;
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("there is TCP");
        socket.set_nonblocking(true).expect("a socket can be that");
        socket.set_tcp_nodelay(true).expect("TCP can be that");
        let born = now();
        let dialled = socket.connect(&SocketAddr::from((REMOTE, PORT)).into());
        let under_way = |error: io::Error| error.raw_os_error() == Some(Errno::EINPROGRESS as i32);
        assert!(dialled.is_err_and(under_way), "nobody has answered yet");
        let mut peer = Self {
            network,
            socket,
            jiffy: config.jiffy,
            born,
            answered: born,
            sent: 0,
            round_end: None,
            timeouts: 0,
            trace: Vec::new(),
        };
        let syn = peer.receive(born, SOON);
        assert!(syn.segment.syn && syn.segment.timestamp.is_some() == timestamps);
        peer.sent = syn.segment.end();
        Ok((peer, syn))
    }

    /// Has the kernel send one full segment: of a smaller one it takes the ACK for a delayed
    /// one, and does not show its round trip as the least.
    pub(super) fn write(&mut self) -> Result<Sent, Interruption> {
        let payload = vec![0; usize::try_from(self.info().mss).expect("it is small")];
        let after = now();
        let written = (&self.socket).write(&payload).expect("it has room");
        assert_eq!(written, payload.len());
        let sent = self.receive(after, SOON);
        if sent.segment.seq != self.sent {
            return Err(Interruption::Disturbed("a segment timed out unasked"));
        }
        self.sent = sent.segment.end();
        Ok(sent)
    }

    /// Acknowledges everything up to a segment's end, `delay` after it was seen; a SYN by a SYN-ACK.
    /// Not within a jiffy of the last ACK: until then a larger round trip does not show.
    pub(super) fn ack(
        &mut self,
        sent: &Sent,
        delay: Duration,
        measured: Measured,
    ) -> Result<(), Interruption> {
        let due = (sent.seen + delay).max(self.answered + 2 * self.jiffy);
        thread::sleep(due.saturating_duration_since(now()));
        let Segment { syn, port, .. } = sent.segment;
        let end = sent.segment.end();
        let tsval = u32::try_from(self.born.elapsed().as_millis()).expect("tests are short");
        let echo = (sent.segment.timestamp).filter(|_| measured == Measured::RoundTrip);
        let answered = now();
        self.answered = answered;
        self.network.send(&Segment {
            port,
            syn,
            seq: u32::from(!syn),
            ack: Some(end),
            len: 0,
            timestamp: echo.map(|(echo, _)| (tsval, echo)),
            mss: syn.then_some(536),
        });
        let info =
            self.info_when(|info| info.established && (info.unacked == 0) == (end == self.sent));
        if info.retransmitted != self.timeouts {
            return Err(Interruption::Disturbed("a segment timed out unasked"));
        }
        let event = match measured {
            Measured::RoundTrip => self.sample(sent, answered, info.min_rtt_us)?,
            Measured::Nothing if syn => Event::Established,
            Measured::Nothing => Event::Ack,
        };
        self.note(event, info, None);
        Ok(())
    }

    /// The kernel's own measurement, by its clock: how late this program was does not matter.
    /// That it is the one of this ACK is known by what our clock allows.
    fn sample(
        &mut self,
        sent: &Sent,
        answered: Instant,
        rtt_us: u32,
    ) -> Result<Event, Interruption> {
        // A timestamp counts milliseconds, cut at either end.
        let grain = if sent.segment.timestamp.is_some() {
            1_000
        } else {
            1
        };
        let least = answered.duration_since(sent.seen).as_micros();
        let most = now().duration_since(sent.after).as_micros();
        let allowed = least.saturating_sub(grain)..=most + grain;
        if !allowed.contains(&rtt_us.into()) {
            return Err(Interruption::Disturbed(
                "the kernel does not show the sample",
            ));
        }
        let beyond = |end: u32| sent.segment.end().wrapping_sub(end).cast_signed() > 0;
        let ends = self.round_end.is_none_or(beyond);
        if ends {
            self.round_end = Some(self.sent);
        }
        let round = if ends { Round::Ends } else { Round::Continues };
        Ok(Event::Sample { rtt_us, round })
    }

    /// Waits until the kernel sends a segment again, which it does when its RTO is over.
    pub(super) fn time_out(&mut self, sent: &Sent) -> Result<Sent, Interruption> {
        let within = Duration::from_micros(self.info().rto_us.into()) * 2 + SOON;
        let again = self.receive(sent.after, within);
        assert_eq!(again.segment.seq, sent.segment.seq, "the oldest goes first");
        self.timeouts += 1;
        let info = self.info();
        if info.retransmitted != self.timeouts {
            return Err(Interruption::Disturbed(
                "a timeout was seen only after the next",
            ));
        }
        let event = if sent.segment.syn {
            Event::SynTimeout
        } else {
            Event::Timeout
        };
        let stamps = sent.segment.timestamp.zip(again.segment.timestamp);
        let waited = stamps
            .map(|((before, _), (at, _))| Duration::from_millis(at.wrapping_sub(before).into()));
        self.note(event, info, waited);
        Ok(again)
    }

    /// The next segment of the kernel's that has a payload or is a SYN.
    fn receive(&mut self, after: Instant, within: Duration) -> Sent {
        let until = now() + within;
        loop {
            let (seen, segment) = (self.network.receive(until))
                .unwrap_or_else(|| panic!("the kernel is silent for {within:?}"));
            if segment.syn || segment.len > 0 {
                return Sent {
                    segment,
                    after,
                    seen,
                };
            }
        }
    }

    /// What the kernel tells now.
    pub(super) fn info(&self) -> TcpInfo {
        TcpInfo::of(&self.socket)
    }

    fn info_when(&self, holds: impl Fn(&TcpInfo) -> bool) -> TcpInfo {
        let until = now() + SOON;
        loop {
            let info = self.info();
            if holds(&info) {
                return info;
            }
            assert!(now() < until, "the kernel takes no ACK: {info:?}");
        }
    }

    fn note(&mut self, event: Event, info: TcpInfo, waited: Option<Duration>) {
        self.trace.push(Step {
            event,
            info,
            waited,
        });
    }

    /// What happened, in order.
    pub(super) fn into_trace(self) -> Vec<Step> {
        self.trace
    }
}

impl Sent {
    /// A bound on how long after this segment another one was sent, from above.
    pub(super) fn at_most_until(&self, later: &Self) -> Duration {
        later.seen.duration_since(self.after)
    }
}
