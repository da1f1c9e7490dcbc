//! Flow control, F1 to F6.

use std::{cell::Cell, iter, rc::Rc};

use conformance::datagrams::has;
use conformance::pair::{CLIENTS, Pair, SingleStream, clean, pattern};
use conformance::time::{ms, s};
use netsim::LinkConfig;
use rudp_proto::wire::Frame;
use rudp_proto::{Config, Event, Handle, MessageError, StreamId, StreamKind, WriteError};

use super::{established, stream, violation};

/// (F1)
#[test]
fn rule_rudp_f1_data_beyond_the_window_is_a_violation() {
    let config = Config {
        receive_window: 2_000,
        ..Config::DEFAULT
    };
    let (mut pair, _, server) = Pair::connected(config, clean());
    pair.server.reads = false;
    pair.inject(true, 50, vec![stream(1_000, &[7; 1_000], false)]);
    assert!(pair.server.conn(server).is_established());
    pair.inject(true, 51, vec![stream(2_000, b"x", false)]);
    violation(&pair, "F1");
}

/// (F2)
#[test]
fn rule_rudp_f2_a_sender_keeps_to_the_limit_and_a_limit_never_shrinks() {
    let config = Config {
        receive_window: 2_000,
        ..Config::DEFAULT
    };
    let (mut pair, client, _) = Pair::connected(config, clean());
    pair.server.reads = false;
    pair.client.conn(client).put(&pattern(9_000)).unwrap();
    pair.run_for(s(1));
    let end = |pair: &Pair| {
        let ends = pair
            .frames(true)
            .into_iter()
            .filter_map(|(_, _, frame)| match frame {
                Frame::Stream { offset, data, .. } => Some(offset + data.len() as u64),
                _ => None,
            });
        ends.max()
    };
    assert_eq!(end(&pair), Some(2_000));
    for (number, limit) in [(50, 5_000), (51, 3_000)] {
        let frames = vec![
            Frame::MaxData(limit),
            Frame::MaxStreamData { id: CLIENTS, limit },
        ];
        pair.inject(false, number, frames);
        assert_eq!(end(&pair), Some(5_000));
    }
}

/// (F3)
#[test]
fn rule_rudp_f3_a_lost_window_update_is_repeated_with_todays_limit() {
    let config = Config {
        receive_window: 10_000,
        ..Config::DEFAULT
    };
    let (mut pair, client, server) = Pair::connected(config, clean());
    pair.server.reads = false;
    pair.lets_pass = Box::new(|_, from_client, bytes| {
        from_client || !has(bytes, |frame| matches!(frame, Frame::MaxStreamData { .. }))
    });
    pair.client.conn(client).put(&pattern(30_000)).unwrap();
    pair.run_for(ms(500));
    let mut part = [0; 2_499];
    assert_eq!(pair.server.conn(server).take(&mut part), Ok(Some(2_499)));
    pair.settle();
    let limits = |pair: &Pair| {
        let frames = pair.frames(false).into_iter();
        let limit = frames.filter_map(|(_, _, frame)| match frame {
            Frame::MaxStreamData { limit, .. } => Some(limit),
            _ => None,
        });
        limit.collect::<Vec<_>>()
    };
    assert_eq!(limits(&pair), [0; 0], "less than a quarter is read");
    pair.server.conn(server).take(&mut part[..1]).unwrap();
    pair.settle();
    assert_eq!(limits(&pair), [12_500]);
    pair.server.conn(server).take(&mut part[..1_000]).unwrap();
    pair.run_for(s(1));
    let limits = limits(&pair);
    assert_eq!(limits[0], 12_500);
    let today = limits[1..].iter().all(|limit| *limit == 13_500);
    assert!(
        limits.len() > 1 && today,
        "not the limit of then: {limits:?}"
    );
}

/// (F3)
#[test]
fn rule_rudp_f3_a_transfer_goes_on_whichever_limit_is_lost() {
    let narrow = Config {
        receive_window: 6_000,
        stream_window: 4_000,
        max_streams: 2,
        max_messages: 2,
        ..Config::DEFAULT
    };
    let limits: [fn(&Frame<'_>) -> bool; 4] = [
        |frame| matches!(frame, Frame::MaxData(_)),
        |frame| matches!(frame, Frame::MaxStreamData { .. }),
        |frame| matches!(frame, Frame::MaxStreams { kind, .. } if *kind == StreamKind::Bytes),
        |frame| matches!(frame, Frame::MaxStreams { kind, .. } if *kind == StreamKind::Message),
    ];
    for (which, limit) in limits.into_iter().enumerate() {
        // The first packet with it is lost, or the second, ... and then the first four in a row.
        for lost in (0..5).map(|nth| nth..nth + 1).chain(iter::once(0..4)) {
            let (mut pair, client, server) = Pair::connected(narrow, clean());
            pair.server.reads = false;
            let told = Rc::new(Cell::new(0));
            let (seen, losing) = (Rc::clone(&told), lost.clone());
            pair.lets_pass = Box::new(move |_, from_client, bytes| {
                let tells = !from_client && has(bytes, limit);
                let nth = seen.replace(seen.get() + u32::from(tells));
                !(tells && losing.contains(&nth))
            });
            let mut transfer = Transfer::default();
            let begin = pair.now;
            while !transfer.is_done() {
                transfer.act(&mut pair, client, server);
                pair.run_for(ms(5));
                let goes_on = pair.now < begin + s(60);
                assert!(goes_on, "limit {which}, {lost:?} lost: {transfer:?}");
            }
            assert!(
                told.get() > lost.end,
                "limit {which} was told {told:?} times"
            );
        }
    }
}

/// Fourteen streams and as many messages, more than the peer allows at once, each beyond its window or a
/// good part of it.
#[derive(Debug, Default)]
struct Transfer {
    opened: usize,
    /// What is left to write to each open stream.
    writing: Vec<(StreamId, usize)>,
    reading: Vec<StreamId>,
    messages_sent: usize,
    bytes_read: usize,
    messages_read: usize,
}

impl Transfer {
    const COUNT: usize = 14;
    const STREAM: usize = 9_000;

    fn is_done(&self) -> bool {
        self.bytes_read == Self::COUNT * Self::STREAM && self.messages_read == Self::COUNT
    }

    fn act(&mut self, pair: &mut Pair, client: Handle, server: Handle) {
        let now = pair.now;
        let conn = pair.client.conn(client);
        while self.opened < Self::COUNT
            && let Ok(id) = conn.open_stream()
        {
            self.opened += 1;
            self.writing.push((id, Self::STREAM));
        }
        self.writing.retain_mut(|(id, left)| {
            *left -= conn.write(*id, &vec![7; *left]).unwrap();
            if *left == 0 {
                conn.finish(*id).unwrap();
            }
            *left > 0
        });
        while self.messages_sent < Self::COUNT && conn.send_message(now, &[7; 500], None).is_ok() {
            self.messages_sent += 1;
        }
        let conn = pair.server.conn(server);
        self.reading.extend(iter::from_fn(|| conn.accept_stream()));
        let mut buf = [0; 4_096];
        self.reading.retain(|id| {
            let mut ended = false;
            while let Some(count) = conn.read(*id, &mut buf).unwrap().filter(|_| !ended) {
                self.bytes_read += count;
                ended = count == 0;
            }
            if ended {
                conn.finish(*id).unwrap();
            }
            !ended
        });
        while conn.read_message().is_some() {
            self.messages_read += 1;
        }
    }
}

/// (F7)
#[test]
fn rule_rudp_f7_a_window_grows_on_a_fast_long_path_and_not_on_a_thin_one() {
    let path = |rate, delay, queue| LinkConfig {
        rate: Some(rate),
        queue,
        delay,
        ..LinkConfig::PERFECT
    };
    // The last step from one limit to the next: a quarter of the window.
    for (link, len, step) in [
        (path(100_000_000, ms(100), 2_500_000), 24 << 20, 2 << 20),
        (path(1_000_000, ms(10), 25_000), 3 << 20, 512 << 10),
    ] {
        let (mut pair, client, server) = Pair::connected(Config::DEFAULT, link);
        pair.client.send_all(client, &pattern(len));
        pair.run_for(s(40));
        assert_eq!(pair.server.bytes(server).len(), len);
        let frames = pair.frames(false).into_iter();
        let limits = frames.filter_map(|(_, _, frame)| match frame {
            Frame::MaxStreamData { limit, .. } => Some(limit),
            _ => None,
        });
        let limits: Vec<u64> = limits.collect();
        let last = limits
            .windows(2)
            .map(|two| two[1] - two[0])
            .next_back()
            .unwrap();
        assert!((step..step + step / 8).contains(&last), "{limits:?}");
    }
}

/// (F4)
#[test]
fn rule_rudp_f4_the_end_of_a_stream_does_not_move() {
    for second in [
        stream(0, b"abcdef", false),
        stream(0, b"abc", true),
        stream(0, b"abcdef", true),
    ] {
        let (mut pair, _, _) = established();
        pair.server.reads = false;
        pair.inject(true, 50, vec![stream(0, b"abcde", true)]);
        pair.inject(true, 51, vec![stream(1, b"bcde", true)]);
        assert!(pair.server.closed().is_empty(), "the same end");
        pair.inject(true, 52, vec![second]);
        violation(&pair, "F4");
    }
    let (mut pair, _, _) = established();
    pair.inject(true, 50, vec![stream(10, b"x", false)]);
    pair.inject(true, 51, vec![stream(0, b"abc", true)]);
    violation(&pair, "F4");
}

/// (F5)
#[test]
fn rule_rudp_f5_a_piece_too_many_is_not_acknowledged() {
    let (mut pair, _, server) = established();
    for piece in 0..1_024 {
        pair.inject(true, 100 + piece, vec![stream(2 + 2 * piece, b"x", false)]);
    }
    pair.inject(true, 2_000, vec![stream(5_000, b"x", false)]);
    let acked = |pair: &Pair, number: u64| {
        pair.frames(false).iter().any(|(_, _, frame)| match frame {
            Frame::Ack(ack) => ack.ranges.iter().any(|range| range.contains(&number)),
            _ => false,
        })
    };
    assert!(acked(&pair, 1_122) && !acked(&pair, 2_000));
    pair.inject(true, 2_001, vec![stream(0, b"ab", false)]);
    assert_eq!(
        pair.server.bytes(server),
        b"abx",
        "what fills the first gap is taken"
    );
    pair.inject(true, 2_002, vec![stream(5_000, b"x", false)]);
    pair.run_for(ms(25));
    assert!(acked(&pair, 2_002), "there is room again");
}

/// (F6)
#[test]
fn rule_rudp_f6_a_write_takes_what_fits_and_room_is_told_once() {
    let config = Config {
        send_buffer: 2_000,
        ..Config::DEFAULT
    };
    let (mut pair, client, _) = Pair::connected(config, clean());
    let conn = pair.client.conn(client);
    let half = "a stream leaves as much as it takes";
    assert_eq!(conn.put(&[1; 3_000]), Ok(1_000), "{half}");
    assert_eq!(conn.put(&[1; 3_000]), Ok(0));
    let other = conn.open_stream().unwrap();
    assert_eq!(conn.write(other, &[1; 3_000]), Ok(500), "{half}");
    let refused = Err(MessageError::BufferFull);
    assert_eq!(conn.send_message(ms(0), &[1; 251], None), refused, "{half}");
    assert!(conn.send_message(ms(0), &[1; 250], None).is_ok());
    assert_eq!(conn.unacknowledged(), 1_750);
    pair.run_for(s(1));
    assert_eq!(pair.client.writable, 2);
    let told = |event: &Event| *event == Event::MessageWritable;
    let events = pair.client.events.iter();
    assert_eq!(events.filter(|(_, _, event)| told(event)).count(), 1);
    assert_eq!(pair.client.conn(client).put(&[1; 3_000]), Ok(1_000));
    pair.client.conn(client).end().unwrap();
    assert_eq!(
        pair.client.conn(client).put(b"x"),
        Err(WriteError::Finished)
    );
}

/// (F6)
#[test]
fn rule_rudp_f6_a_writer_is_ahead_by_a_mebibyte_and_called_when_half_of_it_has_left() {
    const AHEAD: u64 = 1 << 20;
    let (mut pair, client, _) = Pair::connected(Config::DEFAULT, clean());
    let data = vec![1; 4 << 20];
    let conn = pair.client.conn(client);
    assert_eq!(conn.put(&data), Ok(1 << 20));
    assert_eq!(conn.put(&data), Ok(0));
    while pair.client.writable == 0 {
        assert!(pair.client.conn(client).has_unsent(CLIENTS));
        pair.run_for(ms(1));
    }
    let conn = pair.client.conn(client);
    let sent = conn.stats().stream_bytes_sent;
    assert!(sent >= AHEAD / 2 && conn.has_unsent(CLIENTS), "{sent}");
    assert_eq!(conn.put(&data), Ok(usize::try_from(sent).unwrap()));

    // A long fat path lets more be in flight, and more wait.
    pair.client.send_all(client, &vec![1; 30 << 20]);
    let mut most = 0;
    while pair.now < s(60) && !pair.client.conn(client).is_acknowledged(CLIENTS).unwrap() {
        let conn = pair.client.conn(client);
        let stats = conn.stats();
        let waits = conn.unacknowledged().saturating_sub(stats.bytes_in_flight);
        most = waits.max(most);
        assert!(waits <= AHEAD.max(stats.congestion_window / 4));
        pair.run_for(ms(10));
    }
    assert!(most > 3 * AHEAD / 2, "{most}");
    assert_eq!(pair.client.conn(client).is_acknowledged(CLIENTS), Ok(true));
}
