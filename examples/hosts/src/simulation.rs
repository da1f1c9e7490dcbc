//! Two hundred timers in virtual time: `cargo run -p hosts --bin simulation`.
//!
//! An hour of a lossy network in moments, and the same hour each time: since the timer takes the
//! time as an argument, a queue of events is all the clock it needs. The numbers in the comments
//! are those of the run loop in the documentation of `rto`.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
    time::Duration,
};

use rto::{Config, Estimator, Progress, RetransmitTimer, Sample, Timeout};

const CONNECTIONS: usize = 200;
const HOUR: Duration = Duration::from_secs(3_600);

/// What comes next, earliest first; the second field keeps equal instants in order.
type Queue = BinaryHeap<Reverse<(Duration, u64, usize, Event)>>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The application has another message.
    Message,
    /// A message reaches the peer, with its timestamp.
    Arrival(u64, Duration),
    /// The peer has all messages below this number, and echoes a timestamp.
    Ack(u64, Duration),
    /// The timer may be due.
    Alarm,
}

struct Connection {
    timer: RetransmitTimer,
    /// The latest alarm in the queue; an earlier one is stale.
    alarm: Option<Duration>,
    next: u64,
    acknowledged: u64,
    retransmissions: u64,
    /// The peer's side: all below, and what arrived beyond it.
    delivered: u64,
    early: BTreeSet<u64>,
}

struct Simulation {
    queue: Queue,
    scheduled: u64,
    random: u64,
    connections: Vec<Connection>,
}

impl Simulation {
    fn at(&mut self, at: Duration, index: usize, event: Event) {
        self.scheduled += 1;
        self.queue.push(Reverse((at, self.scheduled, index, event)));
    }

    /// A number below `bound`; a multiplicative generator is random enough for losses.
    fn draw(&mut self, bound: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.random >> 33) % bound
    }

    /// One transmission, of which one in ten is lost.
    fn transmit(&mut self, now: Duration, index: usize, number: u64) {
        let (lost, delay) = (self.draw(10) == 0, self.half_a_round_trip());
        if !lost {
            self.at(now + delay, index, Event::Arrival(number, now));
        }
    }

    fn half_a_round_trip(&mut self) -> Duration {
        Duration::from_micros(20_000 + self.draw(20_000))
    }

    fn step(&mut self, now: Duration, index: usize, event: Event) {
        let connection = &mut self.connections[index];
        match event {
            Event::Message => {
                let number = connection.next;
                connection.next += 1;
                connection.timer.handle_sent(now); // 1
                self.transmit(now, index, number);
                let pause = Duration::from_millis(500 + self.draw(1_000));
                self.at(now + pause, index, Event::Message);
            }
            Event::Arrival(number, sent_at) => {
                connection.early.insert(number);
                while connection.early.remove(&connection.delivered) {
                    connection.delivered += 1;
                }
                let ack = Event::Ack(connection.delivered, sent_at);
                let delay = self.half_a_round_trip();
                self.at(now + delay, index, ack);
            }
            Event::Ack(upto, sent_at) => {
                let sample = Some(Sample::from_timestamp(sent_at, now)); // Karn has no objection
                let progress = match upto {
                    upto if upto <= connection.acknowledged => Progress::None,
                    upto if upto == connection.next => Progress::All,
                    _ => Progress::Some,
                };
                connection.acknowledged = connection.acknowledged.max(upto);
                connection.timer.handle_acked(now, progress, sample); // 3
            }
            Event::Alarm if connection.alarm == Some(now) => {
                connection.alarm = None;
                if let Some(Timeout::Retransmit(_)) = connection.timer.handle_timeout(now) {
                    connection.retransmissions += 1;
                    let earliest = connection.acknowledged;
                    self.transmit(now, index, earliest); // 4
                }
            }
            Event::Alarm => return, // stale
        }
        let connection = &mut self.connections[index];
        let deadline = connection.timer.poll_timeout();
        if deadline != connection.alarm {
            connection.alarm = deadline;
            deadline.inspect(|&at| self.at(at, index, Event::Alarm)); // 2
        }
    }
}

fn main() {
    let estimator = Estimator::new(Config::RFC6298).expect("the RFC is legal");
    let connection = || Connection {
        timer: RetransmitTimer::new(estimator),
        alarm: None,
        next: 0,
        acknowledged: 0,
        retransmissions: 0,
        delivered: 0,
        early: BTreeSet::new(),
    };
    let mut simulation = Simulation {
        queue: Queue::new(),
        scheduled: 0,
        random: 1,
        connections: std::iter::repeat_with(connection)
            .take(CONNECTIONS)
            .collect(),
    };
    for index in 0..CONNECTIONS {
        simulation.at(Duration::from_millis(index as u64), index, Event::Message);
    }
    while let Some(Reverse((now, _, index, event))) = simulation.queue.pop()
        && now < HOUR
    {
        simulation.step(now, index, event);
    }
    let sum = |count: fn(&Connection) -> u64| simulation.connections.iter().map(count).sum::<u64>();
    let messages = sum(|connection| connection.next);
    let waiting = sum(|connection| connection.next - connection.acknowledged);
    let retransmissions = sum(|connection| connection.retransmissions);
    println!("an hour of {CONNECTIONS} connections: {messages} messages, {waiting} on their way,");
    println!("{retransmissions} retransmissions by the timer");
    println!(
        "the first one: {}",
        simulation.connections[0].timer.explain(HOUR)
    );
}
