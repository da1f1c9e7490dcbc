//! Streams, S1 to S5 and S8.

use conformance::datagrams::encoded;
use conformance::pair::{Pair, SERVERS, clean, pattern};
use conformance::time::{ms, s};
use rudp_proto::wire::{Frame, Packet, Params};
use rudp_proto::{
    Config, Connection, Event, OpenError, ReadError, Side, StreamId, StreamKind, WriteError,
};

use super::{PARAMS, established, stream_of, violation};

pub(super) fn client_stream(index: u64) -> StreamId {
    StreamId::new(Side::Client, StreamKind::Bytes, index)
}

/// Ends both halves of every stream that the peer opened.
fn end_accepted(connection: &mut Connection) -> u64 {
    let mut ended = 0;
    while let Some(id) = connection.accept_stream() {
        let _ = connection.finish(id); // or the peer stopped it
        connection.stop(id, 0);
        ended += 1;
    }
    ended
}

pub(super) fn told(pair: &Pair, event: &Event) -> usize {
    let events = pair.client.events.iter();
    events.filter(|(_, _, other)| other == event).count()
}

/// (S1)
#[test]
fn rule_rudp_s1_no_name_is_used_twice() {
    let (mut pair, client, server) = established();
    for index in 0..20 {
        let conn = pair.client.conn(client);
        let id = conn.open_stream().unwrap();
        assert_eq!((id, id.number()), (client_stream(index), 4 * index));
        conn.finish(id).unwrap();
        conn.stop(id, 0);
        let message = conn.send_message(ms(0), b"x", None).unwrap();
        assert_eq!(message.number(), 4 * index + 2);
        pair.run_for(ms(100));
        assert_eq!(end_accepted(pair.server.conn(server)), 1);
        pair.run_for(ms(100));
        assert_eq!(pair.client.conn(client).open_streams(), 0);
    }
    assert_eq!(pair.server.conn(server).open_stream(), Ok(SERVERS));
    assert_eq!(SERVERS.number(), 1);
}

/// (S2)
#[test]
fn rule_rudp_s2_a_frame_opens_what_is_new_and_changes_nothing_of_what_is_over() {
    let (mut pair, client, server) = established();
    let conn = pair.client.conn(client);
    for index in 0..4 {
        assert_eq!(conn.open_stream(), Ok(client_stream(index)));
    }
    conn.write(client_stream(3), b"x").unwrap();
    conn.finish(client_stream(3)).unwrap();
    pair.run_for(s(1));
    let conn = pair.server.conn(server);
    let accepted = std::iter::from_fn(|| conn.accept_stream());
    let all: Vec<_> = (0..4).map(client_stream).collect();
    assert_eq!(accepted.collect::<Vec<_>>(), all, "those below it, too");
    assert_eq!(conn.read(all[3], &mut [0; 9]), Ok(Some(1)));
    assert_eq!(conn.read(all[3], &mut [0; 9]), Ok(Some(0)));
    conn.reset(all[3], 1);
    pair.run_for(s(1));
    assert_eq!(pair.server.conn(server).open_streams(), 3);
    let late = [
        stream_of(client_stream(3), 0, b"x", true),
        stream_of(client_stream(3), 90, b"x", true),
        Frame::MaxStreamData {
            id: client_stream(3),
            limit: 9,
        },
        Frame::StopSending {
            id: client_stream(3),
            code: 9,
        },
    ];
    for (frame, number) in late.into_iter().zip(51..) {
        pair.inject(true, number, vec![frame]);
    }
    let conn = pair.server.conn(server);
    assert_eq!((conn.open_streams(), conn.accept_stream()), (3, None));
    assert_eq!(conn.read(SERVERS, &mut [0]), Err(ReadError::NoStream));
    assert_eq!(conn.write(SERVERS, b"x"), Err(WriteError::NoStream));
    pair.inject(true, 60, vec![stream_of(SERVERS, 0, b"x", false)]);
    violation(&pair, "S2");
}

/// (S3)
#[test]
fn rule_rudp_s3_nobody_opens_more_streams_than_the_peer_allows() {
    let few = Config {
        max_streams: 2,
        ..Config::DEFAULT
    };
    let mut pair = Pair::with(Config::DEFAULT, few, clean());
    let client = pair.connect();
    assert!(pair.client.conn(client).open_stream().is_ok(), "one always");
    let more = pair.client.conn(client).open_stream();
    assert_eq!(more, Err(OpenError::TooMany), "before it is known");
    pair.run_for(s(1));
    assert_eq!(told(&pair, &Event::MayOpen), 1);
    assert!(pair.client.conn(client).open_stream().is_ok());
    let more = pair.client.conn(client).open_stream();
    assert_eq!(more, Err(OpenError::TooMany));
    pair.inject(true, 50, vec![stream_of(client_stream(1), 0, b"x", false)]);
    assert!(pair.server.closed().is_empty());
    pair.inject(true, 51, vec![stream_of(client_stream(2), 0, b"x", false)]);
    violation(&pair, "S3");

    for (streams, messages, good) in [(1, 1, true), (0, 1, false), (1, 0, false)] {
        let params = Params {
            streams,
            messages,
            ..PARAMS
        };
        let hello = encoded(&Packet::Hello {
            client_id: 1,
            params,
            cookie: None,
        });
        assert_eq!(Packet::decode(&hello, 0).is_ok(), good);
    }
}

/// (S4)
#[test]
fn rule_rudp_s4_what_is_over_is_forgotten_and_makes_room() {
    let few = Config {
        max_streams: 16,
        ..Config::DEFAULT
    };
    let (mut pair, client, server) = Pair::connected(few, clean());
    for _ in 0..16 {
        let conn = pair.client.conn(client);
        let id = conn.open_stream().unwrap();
        conn.write(id, b"hello").unwrap();
        conn.finish(id).unwrap();
        conn.stop(id, 0);
    }
    let more = pair.client.conn(client).open_stream();
    assert_eq!(more, Err(OpenError::TooMany));
    pair.run_for(s(1));
    let conn = pair.server.conn(server);
    let first = conn.accept_stream().unwrap();
    conn.stop(first, 0);
    assert_eq!(conn.open_streams(), 16, "the other half is open");
    assert_eq!(conn.finish(first), Err(WriteError::Stopped(0)));
    pair.run_for(s(1));
    assert_eq!(told(&pair, &Event::MayOpen), 0, "not for a single one");
    let second = pair.server.conn(server).accept_stream().unwrap();
    pair.server.conn(server).stop(second, 0);
    pair.server.conn(server).reset(second, 0);
    pair.run_for(s(1));
    assert_eq!(told(&pair, &Event::MayOpen), 1, "an eighth");
    let conn = pair.client.conn(client);
    assert!(conn.open_stream().is_ok() && conn.open_stream().is_ok());
    assert_eq!(conn.open_stream(), Err(OpenError::TooMany));
    assert_eq!(end_accepted(pair.server.conn(server)), 14);
    pair.run_for(s(1));
    assert_eq!(pair.server.conn(server).open_streams(), 0);
    assert_eq!(pair.client.conn(client).open_streams(), 2);
}

/// (S5)
#[test]
fn rule_rudp_s5_streams_take_turns_and_small_pieces_share_a_packet() {
    let (mut pair, client, _) = established();
    let ids = [0, 1, 2].map(client_stream);
    let sent = pair.frames(true).len();
    for (id, len) in ids.into_iter().zip([3_000, 10, 2_000]) {
        let conn = pair.client.conn(client);
        assert_eq!(conn.open_stream(), Ok(id));
        conn.write(id, &pattern(len)).unwrap();
    }
    pair.settle();
    let frames = pair.frames(true).split_off(sent);
    let pieces = frames.iter().filter_map(|(_, number, frame)| match frame {
        Frame::Stream { id, .. } => Some((number - frames[0].1, id.index())),
        _ => None,
    });
    assert_eq!(
        pieces.collect::<Vec<_>>(),
        [(0, 0), (1, 1), (1, 2), (2, 0), (3, 2), (3, 0), (4, 0)],
    );
    let first = frames[0].1;
    // The first of them is lost, and goes before what is new.
    pair.client
        .conn(client)
        .write(ids[1], &pattern(9_000))
        .unwrap();
    pair.lets_pass = Box::new(|_, _, _| false);
    let sent = pair.frames(true).len();
    pair.inject(false, 50, vec![super::ack(first + 3..first + 4)]);
    let frames = pair.frames(true).split_off(sent);
    let next = frames.iter().find_map(|(_, _, frame)| match frame {
        Frame::Stream { id, offset, .. } => Some((id.index(), *offset)),
        _ => None,
    });
    assert_eq!(next, Some((0, 0)));
}

/// (S8)
#[test]
fn rule_rudp_s8_who_asks_hears_once_that_all_is_acknowledged() {
    let (mut pair, client, server) = established();
    let conn = pair.client.conn(client);
    let id = conn.open_stream().unwrap();
    assert_eq!(conn.is_acknowledged(id), Ok(true), "nothing was written");
    conn.write(id, b"x").unwrap();
    let message = conn.send_message(ms(0), b"x", None).unwrap();
    assert_eq!(conn.is_acknowledged(id), Ok(false));
    assert_eq!(conn.is_acknowledged(message), Ok(false));
    pair.run_for(s(1));
    assert_eq!(told(&pair, &Event::Acknowledged(id)), 1);
    assert_eq!(told(&pair, &Event::Acknowledged(message)), 1);
    let conn = pair.client.conn(client);
    assert_eq!(conn.is_acknowledged(message), Ok(true));
    conn.write(id, b"y").unwrap(); // nobody asks
    pair.run_for(s(1));
    let conn = pair.client.conn(client);
    conn.finish(id).unwrap();
    assert_eq!(conn.is_acknowledged(id), Ok(false), "the end counts");
    pair.run_for(s(1));
    assert_eq!(told(&pair, &Event::Acknowledged(id)), 2);

    let conn = pair.client.conn(client);
    let [reset, stopped] = [(); 2].map(|()| conn.open_stream().unwrap());
    for id in [reset, stopped] {
        conn.write(id, b"x").unwrap();
    }
    conn.reset(reset, 1);
    assert_eq!(conn.is_acknowledged(reset), Err(WriteError::Finished));
    conn.finish(stopped).unwrap();
    assert_eq!(conn.is_acknowledged(stopped), Ok(false));
    let stop = Frame::StopSending {
        id: stopped,
        code: 7,
    };
    pair.inject(false, 51, vec![stop]);
    pair.run_for(ms(0));
    let conn = pair.client.conn(client);
    let by_peer = Err(WriteError::Stopped(7));
    assert_eq!(
        conn.is_acknowledged(stopped),
        by_peer,
        "though it was finished"
    );
    let never = client_stream(99);
    assert_eq!(conn.is_acknowledged(never), Err(WriteError::NoStream));
    assert!(pair.server.conn(server).is_established());
}
