//! What a side sends beside its streams, at random times: messages, of which some are good only
//! for a while, and short streams, of which either side may give one up.
//!
//! Every byte is looked at where it is read, and what the sender hears of each is held to what the
//! receiver saw.

mod fate;

use std::{collections::BTreeMap, time::Duration};

use rudp_proto::{
    Connection, Event, MessageError, ReadError, Side, StreamId, StreamKind, WriteError,
};

use super::Plan;
use fate::{Act, Fate, acts, fate_of, message, number_of};
pub(super) use fate::{MOST_BYTES, byte};

const RESET_CODE: u64 = 7;
const STOP_CODE: u64 = 9;

/// What a sender was told, or did.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    Acknowledged,
    Expired,
    Reset,
    Stopped,
}

/// What a receiver saw, or did.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Seen {
    Whole,
    Reset,
    Stopped,
}

#[derive(Debug)]
pub(super) struct Extras {
    seed: u64,
    side: Side,
    /// Streams with a lower index are no extras.
    first: u64,
    begin: Option<Duration>,
    /// What is still to begin, the next at the end.
    acts: Vec<Act>,
    messages: u64,
    /// Own streams of which something is still to come.
    sending: BTreeMap<StreamId, Sending>,
    /// Of streams and messages that were sent; `None` until it is known.
    told: BTreeMap<StreamId, Option<Told>>,
    receiving: BTreeMap<StreamId, Receiving>,
    seen: BTreeMap<StreamId, Seen>,
    /// Bytes that were written, that were written and all acknowledged, that were read.
    pub(super) written: usize,
    pub(super) acknowledged: usize,
    pub(super) read: usize,
}

#[derive(Debug)]
struct Sending {
    fate: Fate,
    written: usize,
    reset_at: Option<Duration>,
    /// The peer finished its half, on which it sends nothing.
    reverse_ended: bool,
}

#[derive(Debug)]
struct Receiving {
    read: usize,
    stop_at: Option<Duration>,
}

impl Extras {
    pub(super) fn new(plan: &Plan, side: Side, count: usize) -> Self {
        Self {
            seed: plan.seed,
            side,
            first: plan.streams as u64,
            begin: None,
            acts: acts(plan.seed, side, count),
            messages: 0,
            sending: BTreeMap::new(),
            told: BTreeMap::new(),
            receiving: BTreeMap::new(),
            seen: BTreeMap::new(),
            written: 0,
            acknowledged: 0,
            read: 0,
        }
    }

    /// All that was to be sent has met its fate, and so has all that was seen of the peer's.
    pub(super) fn is_done(&self) -> bool {
        let known = self.told.values().all(Option::is_some);
        self.acts.is_empty() && known && self.sending.is_empty() && self.receiving.is_empty()
    }

    /// The next moment after `now` for which it has a plan.
    pub(super) fn wakes_at(&self, now: Duration) -> Option<Duration> {
        let act = (self.acts.last()).and_then(|act| Some(self.begin? + act.after));
        let resets = self.sending.values().map(|stream| stream.reset_at);
        let stops = self.receiving.values().map(|stream| stream.stop_at);
        let all = resets.chain(stops).chain([act]).flatten();
        all.filter(|at| *at > now).min()
    }

    /// Takes an event that is about messages or streams.
    pub(super) fn hear(&mut self, event: &Event, connection: &mut Connection) {
        match *event {
            Event::Acknowledged(id) => self.conclude(id, Told::Acknowledged),
            Event::MessageExpired(id) => self.conclude(id, Told::Expired),
            Event::Stopped(id) => {
                let stopped = Err(WriteError::Stopped(STOP_CODE));
                assert_eq!(connection.is_acknowledged(id), stopped);
                self.conclude(id, Told::Stopped);
            }
            Event::Opened | Event::MayOpen => {}
            Event::MessageReadable | Event::MessageWritable => {}
            ref other => panic!("{other:?}"),
        }
    }

    fn conclude(&mut self, id: StreamId, told: Told) {
        let before = self.told.insert(id, Some(told));
        assert_eq!(before, Some(None), "{told:?}: {id:?}");
        if told == Told::Acknowledged {
            self.acknowledged += match id.kind() {
                StreamKind::Message => message(self.seed, id.index()).len(),
                StreamKind::Bytes => self.sending[&id].fate.len,
            };
        }
    }

    /// Does what is due, and reads what is there; says whether there was anything.
    pub(super) fn act(&mut self, now: Duration, connection: &mut Connection) -> bool {
        let before = (self.acts.len(), self.written, self.read, self.sending.len());
        let seen = self.seen.len();
        let begin = *self.begin.get_or_insert(now);
        while let Some(act) = self.acts.last().copied()
            && begin + act.after <= now
            && self.begin_act(now, act, connection)
        {
            self.acts.pop();
        }
        self.send(now, connection);
        self.accept(now, connection);
        self.receive(now, connection);
        let after = (self.acts.len(), self.written, self.read, self.sending.len());
        before != after || seen != self.seen.len()
    }

    /// Says whether there was room for it.
    fn begin_act(&mut self, now: Duration, act: Act, connection: &mut Connection) -> bool {
        if act.is_stream {
            let Ok(id) = connection.open_stream() else {
                return false;
            };
            let fate = fate_of(self.seed, id);
            let stream = Sending {
                fate,
                written: 0,
                reset_at: fate.reset_after.map(|after| now + after),
                reverse_ended: false,
            };
            self.sending.insert(id, stream);
            self.told.insert(id, None);
            return true;
        }
        let data = message(self.seed, self.messages);
        match connection.send_message(now, &data, act.lifetime) {
            Ok(id) => {
                let number = self.messages;
                assert_eq!(id, StreamId::new(self.side, StreamKind::Message, number));
                assert_eq!(connection.is_acknowledged(id), Ok(false), "it asks to hear");
                self.told.insert(id, None);
                self.messages += 1;
                self.written += data.len();
                true
            }
            Err(MessageError::BufferFull | MessageError::TooMany) => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Writes what there is room for, and gives up what is to be given up.
    fn send(&mut self, now: Duration, connection: &mut Connection) {
        for (id, stream) in &mut self.sending {
            let told = self.told.get_mut(id).expect("of a stream that was opened");
            if told.is_none() && stream.written < stream.fate.len {
                let rest = stream.written..stream.fate.len;
                let data: Vec<_> = rest.map(|at| byte(self.seed, *id, at)).collect();
                let taken = connection.write(*id, &data).expect("it goes on");
                stream.written += taken;
                self.written += taken;
                if stream.written == stream.fate.len {
                    connection.finish(*id).expect("it goes on");
                    assert_eq!(
                        connection.is_acknowledged(*id),
                        Ok(false),
                        "it asks to hear"
                    );
                }
            }
            if told.is_none() && stream.reset_at.is_some_and(|at| at <= now) {
                connection.reset(*id, RESET_CODE);
                *told = Some(Told::Reset);
            }
            stream.reset_at = stream.reset_at.filter(|_| told.is_none());
            let reverse = connection.read(*id, &mut [0]);
            stream.reverse_ended |= reverse.expect("it goes on") == Some(0);
        }
        let told = &self.told;
        self.sending
            .retain(|id, stream| told[id].is_none() || !stream.reverse_ended);
    }

    fn accept(&mut self, now: Duration, connection: &mut Connection) {
        while let Some(id) = connection.accept_stream() {
            if id.index() < self.first {
                continue;
            }
            connection.finish(id).expect("nothing is sent back");
            let stop_after = fate_of(self.seed, id).stop_after;
            let stream = Receiving {
                read: 0,
                stop_at: stop_after.map(|after| now + after),
            };
            self.receiving.insert(id, stream);
        }
    }

    fn receive(&mut self, now: Duration, connection: &mut Connection) {
        let (seed, seen) = (self.seed, &mut self.seen);
        self.receiving.retain(|id, stream| {
            let saw = loop {
                let mut buffer = [0; 1_000];
                match connection.read(*id, &mut buffer) {
                    Ok(None) => break None,
                    Ok(Some(0)) => break Some(Seen::Whole),
                    Ok(Some(count)) => {
                        for read in &buffer[..count] {
                            assert_eq!(*read, byte(seed, *id, stream.read), "{id:?}");
                            stream.read += 1;
                        }
                        self.read += count;
                    }
                    Err(ReadError::Reset(code)) => {
                        assert_eq!(code, RESET_CODE);
                        break Some(Seen::Reset);
                    }
                    Err(error) => panic!("{id:?}: {error}"),
                }
            };
            let is_over = stream.stop_at.is_some_and(|at| at <= now);
            let saw = saw.or_else(|| {
                is_over.then(|| {
                    connection.stop(*id, STOP_CODE);
                    Seen::Stopped
                })
            });
            if saw == Some(Seen::Whole) {
                assert_eq!(stream.read, fate_of(seed, *id).len, "{id:?}");
            }
            seen.extend(saw.map(|saw| (*id, saw)));
            saw.is_none()
        });
        while let Some(data) = connection.read_message() {
            let number = number_of(&data);
            assert_eq!(data, message(seed, number), "message {number}");
            let id = StreamId::new(self.side.other(), StreamKind::Message, number);
            let earlier = self.seen.insert(id, Seen::Whole);
            assert_eq!(earlier, None, "message {number} again");
            self.read += data.len();
        }
    }

    /// What this side was told agrees with what the other saw.
    pub(super) fn check(&self, other: &Self) {
        for (id, told) in &self.told {
            let seen = other.seen.get(id);
            let agrees = match (told.expect("it is done"), seen) {
                (Told::Acknowledged, Some(Seen::Whole)) => true,
                // All had arrived, and was not read when the reader gave up.
                (Told::Acknowledged, Some(Seen::Stopped)) => true,
                (Told::Expired, None | Some(Seen::Whole)) => id.kind() == StreamKind::Message,
                (Told::Reset, Some(_)) => true,
                (Told::Stopped, Some(Seen::Stopped)) => true,
                _ => false,
            };
            assert!(agrees, "{id:?}: told {told:?}, seen {seen:?}");
        }
        let known = |id: &&StreamId| !self.told.contains_key(id);
        assert_eq!(other.seen.keys().find(known), None, "nobody sent it");
    }

    /// How often each was told.
    pub(super) fn count(&self, what: Told) -> u64 {
        let told = self.told.values().filter(|told| **told == Some(what));
        told.count() as u64
    }
}
