//! The streams of both ends, and what is under way between them.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::super::*;
use crate::sender::Chunk;
use crate::wire::{self, Frame, MIN_IDLE_TIMEOUT, Packet, ShortNumber, VERSION, Versions};

pub(super) const CLIENT: usize = 0;
pub(super) const SERVER: usize = 1;

enum Content {
    Chunk(Chunk),
    Told(Told),
}

struct Sent {
    from: usize,
    number: u64,
    content: Content,
    bytes: Vec<u8>,
    is_lost: bool,
}

pub(super) struct Pair {
    pub(super) ends: [Streams; 2],
    /// Sent, and not acknowledged.
    sent: Vec<Sent>,
    next_number: u64,
    now: Duration,
}

impl Pair {
    pub(super) fn new(config: Config) -> Self {
        let now = Duration::ZERO;
        let mut ends = [Side::Client, Side::Server].map(|side| Streams::new(now, side, &config));
        let (receive_window, stream_window, streams, messages) = ends[CLIENT].first_limits();
        let params = Params {
            receive_window,
            stream_window,
            streams,
            messages,
            idle_timeout: MIN_IDLE_TIMEOUT,
            reset_token: [0; 16],
            max_datagram: wire::BASE_DATAGRAM as u64,
            versions: Versions::DEFAULT,
        };
        ends.iter_mut().for_each(|it| it.handle_params(&params));
        Self {
            ends,
            sent: Vec::new(),
            next_number: 0,
            now,
        }
    }

    /// Sends one piece, or tells one thing, if there is any.
    pub(super) fn send(&mut self, from: usize) -> bool {
        let (number, streams) = (self.next_number, &mut self.ends[from]);
        let mut bytes = Vec::new();
        wire::start_data(&mut bytes, VERSION, 0, ShortNumber::longest(number));
        let content = if let Some(told) = streams.poll_control(self.now, None, &mut bytes) {
            Content::Told(told)
        } else if let Some(chunk) = streams.next_chunk(wire::BASE_DATAGRAM) {
            let (id, Range { start, end }) = (chunk.id, chunk.range.clone());
            wire::put_stream_header(&mut bytes, id, start, Some(end - start), chunk.fin);
            streams.copy(&chunk, &mut bytes);
            streams.handle_sent(number, &chunk);
            Content::Chunk(chunk)
        } else {
            return false;
        };
        wire::finish(&mut bytes, 0, 0, Some(number));
        self.next_number += 1;
        self.sent.push(Sent {
            from,
            number,
            content,
            bytes,
            is_lost: false,
        });
        true
    }

    pub(super) fn send_all(&mut self) {
        while self.send(CLIENT) || self.send(SERVER) {}
    }

    fn arrive(&mut self, index: usize) {
        let sent = &self.sent[index];
        let to = &mut self.ends[1 - sent.from];
        let Ok(Packet::Data { frames, .. }) = Packet::decode(&sent.bytes, sent.number) else {
            panic!("{:?}", sent.bytes);
        };
        for frame in frames {
            let handled = match frame {
                Frame::Stream {
                    id,
                    offset,
                    data,
                    fin,
                } => to.handle_data(self.now, id, (offset, data, fin)).map(drop),
                Frame::ResetStream { id, code, size } => {
                    to.handle_reset(self.now, id, code, size).map(drop)
                }
                Frame::StopSending { id, code } => to.handle_stop(self.now, id, code),
                Frame::MaxStreamData { id, limit } => {
                    to.handle_max_stream_data(self.now, id, limit)
                }
                Frame::MaxData(limit) => {
                    to.handle_max_data(limit);
                    Ok(())
                }
                Frame::MaxStreams { kind, count } => {
                    to.handle_max_streams(kind, count);
                    Ok(())
                }
                frame => panic!("{frame:?}"),
            };
            assert_eq!(handled, Ok(()));
        }
    }

    fn acknowledge(&mut self, index: usize) {
        let sent = self.sent.swap_remove(index);
        let streams = &mut self.ends[sent.from];
        match sent.content {
            Content::Chunk(chunk) => drop(streams.handle_acked(&chunk)),
            Content::Told(told) => streams.handle_told(told),
        }
    }

    fn lose(&mut self, index: usize) {
        let sent = &mut self.sent[index];
        let streams = &mut self.ends[sent.from];
        if !core::mem::replace(&mut sent.is_lost, true) {
            match &sent.content {
                Content::Chunk(chunk) => streams.handle_lost(sent.number, chunk),
                Content::Told(told) => streams.handle_told_lost(*told),
            }
        }
    }

    /// Everything that is under way arrives, in order, and is acknowledged.
    pub(super) fn settle(&mut self) {
        self.send_all();
        while !self.sent.is_empty() {
            (0..self.sent.len()).for_each(|index| self.arrive(index));
            while !self.sent.is_empty() {
                self.acknowledge(0);
            }
            self.send_all();
        }
    }

    /// The same, but the acknowledgements come after all counted as lost.
    pub(super) fn settle_late(&mut self) {
        self.send_all();
        (0..self.sent.len()).for_each(|index| self.arrive(index));
        (0..self.sent.len()).for_each(|index| self.lose(index));
        while !self.sent.is_empty() {
            self.acknowledge(0);
        }
        self.settle();
    }

    /// One of the things that an application or the network may do.
    pub(super) fn step(&mut self, step: u8, at: usize, pick: usize) {
        let opener = [Side::Client, Side::Server][pick % 2];
        let id = StreamId::new(opener, StreamKind::Bytes, (pick / 2 % 8) as u64);
        let sent = pick.checked_rem(self.sent.len());
        let (now, streams) = (self.now, &mut self.ends[at]);
        match step {
            0 => drop(streams.open(now)),
            1..=3 => drop(streams.write(id, &vec![7; pick % 3_000])),
            4 => drop(streams.finish(id)),
            5 => streams.reset(id, 1, false),
            6 => streams.stop(id, 2),
            7 | 8 => drop(streams.read(id, &mut vec![0; pick % 2_000])),
            9 => {
                let lifetime = (!pick.is_multiple_of(3)).then_some(Duration::from_millis(3));
                let _ = streams.send_message(now, &vec![7; pick % 600], lifetime);
            }
            10 => drop(streams.read_message()),
            11 => drop(streams.is_acknowledged(id)),
            12 => {
                self.now += Duration::from_millis(1);
                streams.handle_timeout(self.now);
                streams.announce_room();
                while pick.is_multiple_of(2) && streams.poll_event().is_some() {}
            }
            13..=16 => drop(self.send(at)),
            17 => sent.into_iter().for_each(|index| self.lose(index)),
            18 => sent.into_iter().for_each(|index| self.arrive(index)),
            _ => sent.into_iter().for_each(|index| {
                self.arrive(index);
                self.acknowledge(index);
            }),
        }
    }

    /// Both applications write no more, and read on to the end of every stream.
    pub(super) fn finish(&mut self) {
        for _ in 0..100 {
            self.settle();
            for streams in &mut self.ends {
                let sends: Vec<StreamId> = streams.sends.keys().copied().collect();
                for id in sends {
                    let _ = streams.finish(id);
                }
                let recvs: Vec<StreamId> = streams.recvs.keys().copied().collect();
                for id in recvs {
                    while let Ok(Some(1..)) = streams.read(id, &mut [0; 1_000]) {}
                }
                while streams.read_message().is_some() {}
            }
        }
    }
}
