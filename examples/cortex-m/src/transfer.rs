//! Sends segments in a window until all are acknowledged, repeating what the timer says.

use cortex_m_semihosting::hprintln;
use rto::compact::{Progress, elapsed};

use crate::{
    Seconds, Timer,
    link::{Link, Packet},
};

const SEGMENTS: u32 = 120;
const WINDOW: usize = 4;

/// Where the clock stands at the start: it wraps after 5 s.
const START: u32 = 0_u32.wrapping_sub(5_000_000);

/// The link is dark from 2 s to 6 s.
const DARK: [u32; 2] = [START.wrapping_add(2_000_000), START.wrapping_add(6_000_000)];

struct Transfer<T> {
    timer: T,
    link: Link,
    now: u32,
    /// Segments below this are acknowledged.
    acked: u32,
    /// Segments below this were sent.
    sent: u32,
    /// When each segment of the window was last sent.
    sent_at: [u32; WINDOW],
    /// The timer's deadline, and how far ahead that was when it was set.
    deadline: Option<u32>,
    armed: u32,
    receiver: Receiver,
    counts: Counts,
}

/// What happened, and whether it was right.
#[derive(Default)]
pub(crate) struct Counts {
    packets: u32,
    expiries: u32,
    /// Repeated sooner than an RTO after the last time (5-1).
    early: u32,
    longest_rto: u32,
    /// Segments that the receiver got in order.
    delivered: u32,
}

impl Counts {
    pub(crate) const fn passed(&self) -> bool {
        self.delivered == SEGMENTS && self.early == 0 && self.expiries > 0
    }
}

/// Puts segments in order.
#[derive(Default)]
struct Receiver {
    /// Segments below this have arrived.
    next: u32,
    /// Those after it, a bit each, starting with `next`.
    arrived: u32,
}

impl Receiver {
    /// Gives what to acknowledge.
    fn handle(&mut self, number: u32) -> u32 {
        if let Some(ahead) = number.checked_sub(self.next) {
            self.arrived |= 1 << ahead; // ahead < WINDOW
        }
        let complete = self.arrived.trailing_ones();
        self.arrived >>= complete;
        self.next += complete;
        self.next
    }
}

pub(crate) fn run<T: Timer>(timer: T) -> Counts {
    hprintln!(
        "{}: {} segments, {} at a time; each way 40 to 100 ms, one packet in 16 lost,\n\
         all of them from 2 s to 6 s; the clock wraps after 5 s",
        T::NAME,
        SEGMENTS,
        WINDOW
    );
    let mut transfer = Transfer {
        timer,
        link: Link::new(2, DARK),
        now: START,
        acked: 0,
        sent: 0,
        sent_at: [START; WINDOW],
        deadline: None,
        armed: 0,
        receiver: Receiver::default(),
        counts: Counts::default(),
    };
    while transfer.acked < SEGMENTS {
        transfer.step();
    }
    transfer.finish()
}

impl<T: Timer> Transfer<T> {
    /// Fills the window, then lets the next thing happen: an arrival or an expiry.
    fn step(&mut self) {
        while self.sent < SEGMENTS && self.sent - self.acked < WINDOW as u32 {
            self.send(self.sent);
            self.sent += 1;
        }
        let deadline = self.timer.deadline().expect("something is outstanding");
        if self.deadline.replace(deadline) != Some(deadline) {
            self.armed = deadline.wrapping_sub(self.now);
        }
        if let Some((at, packet)) = self.link.arrival(deadline) {
            self.now = at;
            self.handle_packet(packet);
        } else {
            self.now = deadline;
            self.handle_timeout();
        }
    }

    fn send(&mut self, number: u32) {
        let sent_at = self.now;
        self.sent_at[number as usize % WINDOW] = sent_at;
        self.counts.packets += 1;
        self.link
            .send(self.now, Packet::Segment { number, sent_at });
        self.timer.handle_sent(self.now);
    }

    fn handle_packet(&mut self, packet: Packet) {
        match packet {
            Packet::Segment { number, sent_at } => {
                let upto = self.receiver.handle(number);
                self.counts.packets += 1;
                self.link.send(self.now, Packet::Ack { upto, sent_at });
            }
            Packet::Ack { upto, sent_at } => {
                let progress = if upto <= self.acked {
                    Progress::None
                } else if upto < self.sent {
                    Progress::Some
                } else {
                    Progress::All
                };
                self.acked = self.acked.max(upto);
                self.timer.handle_acked(self.now, progress, sent_at);
            }
        }
    }

    fn handle_timeout(&mut self) {
        assert!(self.timer.handle_timeout(self.now), "its deadline has come");
        let rto = self.timer.rto();
        let earliest = self.acked;
        let since = elapsed(self.sent_at[earliest as usize % WINDOW], self.now);
        self.counts.expiries += 1;
        self.counts.early += u32::from(since < Some(self.armed));
        self.counts.longest_rto = self.counts.longest_rto.max(rto);
        hprintln!(
            "{}  no answer for {}: segment {} again, and then after {}",
            Seconds(self.now.wrapping_sub(START)),
            Seconds(self.armed),
            earliest,
            Seconds(rto)
        );
        self.send(earliest);
    }

    fn finish(mut self) -> Counts {
        self.counts.delivered = self.receiver.next;
        let counts = self.counts;
        hprintln!(
            "{}  {} segments delivered: {} packets, {} lost, {} expiries, longest RTO {}",
            Seconds(self.now.wrapping_sub(START)),
            counts.delivered,
            counts.packets,
            self.link.lost,
            counts.expiries,
            Seconds(counts.longest_rto)
        );
        hprintln!(
            "repeated within an RTO of the last time (5-1): {}",
            counts.early
        );
        counts
    }
}
