//! The wire format, W1 to W11.

use conformance::datagrams::{encoded, has, sealed};
use conformance::pair::{Pair, SingleStream, clean, client_addr, pattern, server_addr};
use conformance::time::s;
use rudp_proto::wire::{
    Ack, BASE_DATAGRAM, DecodeError, Frame, LARGEST_DATAGRAM, MAX_ACK_RANGES, MAX_REASON,
    MAX_VARINT, Packet, RESET_LEN,
};
use rudp_proto::{CloseReason, Config};

use super::{TRACED, data, established, stream};

/// (W1)
#[test]
fn rule_rudp_w1_a_datagram_has_at_most_1200_bytes() {
    let (mut pair, client, _) = established();
    pair.client.send_all(client, &pattern(100_000));
    pair.run_for(s(5));
    let longest = pair.log.iter().map(|(_, _, bytes)| bytes.len()).max();
    assert!(
        (1_190..=BASE_DATAGRAM).contains(&longest.unwrap()),
        "{longest:?}"
    );
    let to = pair.id_of(true);
    for (len, taken) in [(BASE_DATAGRAM, 1), (BASE_DATAGRAM + 1, 0)] {
        let (number, frames) = (5_000, vec![Frame::Ping]);
        let packet = encoded(&Packet::Data { to, number, frames });
        let padded = sealed([&packet[..15], &vec![0; len - 19]].concat());
        let before = pair.server.endpoint.stats().malformed;
        let server = &mut pair.server.endpoint;
        server.handle_datagram(pair.now, client_addr(), None, &padded);
        assert_eq!(server.stats().malformed - before, 1 - taken);
    }
    let longest = vec![0; LARGEST_DATAGRAM + 1];
    let refused = Packet::decode(&longest, 0);
    assert_eq!(refused, Err(DecodeError::TooLong(65_508)));
}

/// (W2)
#[test]
fn rule_rudp_w2_another_version_or_type_is_dropped() {
    let mut version = encoded(&Packet::Refuse { client_id: 1 });
    version.truncate(10);
    version[0] = 3;
    assert_eq!(
        Packet::decode(&sealed(version.clone()), 0),
        Err(DecodeError::Version(3))
    );
    version[..2].copy_from_slice(&[2, 6]);
    assert_eq!(
        Packet::decode(&sealed(version), 0),
        Err(DecodeError::PacketType(6))
    );
}

/// (W3)
#[test]
fn rule_rudp_w3_a_wrong_checksum_is_dropped_and_counted() {
    let (mut pair, _, _) = established();
    let from_server = pair.log.iter().rev().find(|(_, client, _)| !*client);
    let mut datagram = from_server.unwrap().2.clone();
    assert_eq!(sealed(datagram[..datagram.len() - 4].to_vec()), datagram);
    datagram[12] ^= 4;
    let before = pair.client.endpoint.stats().corrupted;
    pair.client
        .endpoint
        .handle_datagram(pair.now, server_addr(), None, &datagram);
    assert_eq!(pair.client.endpoint.stats().corrupted, before + 1);
}

/// (W4)
#[test]
fn rule_rudp_w4_a_datagram_is_taken_whole_or_not_at_all() {
    let (mut pair, _, server) = established();
    let to = pair.id_of(true);
    let good = encoded(&Packet::Data {
        to,
        number: 50,
        frames: vec![stream(0, b"hello", false)],
    });
    let with_tail = [&good[..good.len() - 4], &[16, 0]].concat(); // a STREAM frame that is cut
    let sent = pair.log.len();
    pair.server
        .endpoint
        .handle_datagram(pair.now, client_addr(), None, &sealed(with_tail));
    pair.run_for(s(1));
    assert_eq!(pair.server.endpoint.stats().malformed, 1);
    assert_eq!(
        (pair.server.bytes(server), pair.log.len()),
        (&b""[..], sent)
    );
    pair.server
        .endpoint
        .handle_datagram(pair.now, client_addr(), None, &good);
    pair.settle();
    assert_eq!(pair.server.bytes(server), b"hello");
}

/// (W5)
#[test]
fn rule_rudp_w5_a_varint_holds_62_bits() {
    for value in [
        0,
        63,
        64,
        16_383,
        16_384,
        (1 << 30) - 1,
        1 << 30,
        MAX_VARINT,
    ] {
        let datagram = data(vec![Frame::MaxData(value)]);
        let Ok(Packet::Data { frames, .. }) = Packet::decode(&datagram, 0) else {
            panic!("{value}");
        };
        assert_eq!(frames, [Frame::MaxData(value)]);
    }
    assert_eq!(
        data(vec![Frame::MaxData(u64::MAX)]),
        data(vec![Frame::MaxData(MAX_VARINT)])
    );
}

/// (W6)
#[test]
fn rule_rudp_w6_a_data_packet_has_a_known_frame_and_31_bytes_if_it_asks() {
    let head = &data(vec![Frame::Ping])[..14];
    assert!(
        Packet::decode(&sealed(head.to_vec()), 0).is_err(),
        "no frame"
    );
    assert!(
        Packet::decode(&sealed([head, &[0, 0]].concat()), 0).is_err(),
        "padding only"
    );
    let unknown = sealed([head, &[63]].concat());
    assert_eq!(Packet::decode(&unknown, 0), Err(DecodeError::FrameType(63)));
    let (mut pair, _, _) = established();
    pair.run_for(s(25)); // keepalives
    let asks = |bytes: &[u8]| has(bytes, |frame| frame.is_ack_eliciting());
    let asking = pair.log.iter().filter(|(_, _, bytes)| asks(bytes));
    let shortest = asking.map(|(_, _, bytes)| bytes.len()).min();
    assert_eq!(shortest, Some(RESET_LEN + 1));
}

/// (W6)
#[test]
fn rule_rudp_w6_data_with_which_a_packet_ends_has_no_length_unless_padding_follows() {
    for len in 1..=40_u8 {
        let (mut pair, client, server) = established();
        let data = pattern(len.into());
        pair.client.send_all(client, &data);
        pair.settle();
        let (_, _, sent) = pair
            .log
            .iter()
            .rev()
            .find(|(_, client, _)| *client)
            .unwrap();
        let header = if len < 30 {
            &[18, 0, len][..]
        } else {
            &[22, 0]
        };
        let mut frame = [header, &data].concat();
        frame.resize(frame.len().max(RESET_LEN + 1 - 11 - 4), 0); // 11 bytes before it, the tag after
        assert_eq!(sent[11..sent.len() - 4], frame, "{len}");
        pair.run_for(s(1));
        assert_eq!(pair.server.bytes(server), data, "{len}");
    }
}

/// (W7)
#[test]
fn rule_rudp_w7_an_ack_repeats_the_32_newest_ranges() {
    let (mut pair, _, _) = established();
    for number in 0..50 {
        pair.inject(true, 100 + 2 * number, vec![Frame::Ping]);
    }
    let frames = pair.frames(false);
    let Some((_, _, Frame::Ack(Ack { ranges, .. }))) = frames.last() else {
        panic!("{:?}", frames.last());
    };
    let ranges: Vec<_> = ranges.iter().collect();
    assert_eq!(ranges.len(), 32);
    assert_eq!(
        (ranges[0].clone(), ranges[31].clone()),
        (198..199, 136..137)
    );
    // Of so many, the number has two bytes.
    let further = 0x4000 | u16::try_from(MAX_ACK_RANGES).unwrap();
    let [high, low] = further.to_be_bytes();
    let many = [2, 0x44, 0, 0, high, low]
        .into_iter()
        .chain([1; 2 * MAX_ACK_RANGES + 1])
        .collect::<Vec<u8>>();
    for (case, body) in [
        ("257 ranges", &many[..]),
        ("an empty range", &[2, 9, 0, 0, 0]),
        ("two ranges that touch", &[2, 9, 0, 1, 1, 0, 1]),
        ("below zero", &[2, 9, 0, 0, 11]),
        ("two ACKs", &[2, 9, 0, 0, 1, 2, 9, 0, 0, 1]),
    ] {
        let datagram = sealed([&data(vec![Frame::Ping])[..14], body].concat());
        assert!(Packet::decode(&datagram, 0).is_err(), "{case}");
    }
}

/// (W7)
#[test]
fn rule_rudp_w7_an_ack_tells_all_that_none_has_told() {
    let config = Config {
        bundles: false,
        ..TRACED
    };
    let (mut pair, client, server) = Pair::connected(config, clean());
    let (now, mut count) = (pair.now, 0);
    pair.lets_pass = Box::new(move |at, from_client, _| {
        count += u32::from(from_client);
        !from_client || at > now || count % 2 == 0
    });
    for sent in 1..=80 {
        pair.client.conn(client).put(&[1; 50]).unwrap();
        pair.settle();
        let before = pair
            .log
            .iter()
            .filter(|(at, client, _)| *at == now && *client);
        assert_eq!(before.count(), sent, "within the first window");
    }
    pair.run_for(s(1));
    assert_eq!(pair.server.bytes(server).len(), 80 * 50);
    let stats = pair.client.conn(client).stats();
    assert_eq!((stats.packets_lost, stats.spurious_losses), (40, 0));
    assert_eq!(stats.stream_bytes_sent, (80 + 40) * 50);
}

/// (W8)
#[test]
fn rule_rudp_w8_stream_data_ends_at_the_last_offset_or_before() {
    assert!(Packet::decode(&data(vec![stream(MAX_VARINT - 1, b"x", true)]), 0).is_ok());
    assert!(Packet::decode(&data(vec![stream(MAX_VARINT, b"x", true)]), 0).is_err());
}

/// (W9)
#[test]
fn rule_rudp_w9_a_reason_is_utf8_of_at_most_256_bytes() {
    let (mut pair, client, _) = established();
    pair.client.conn(client).abort(1, &"\u{20ac}".repeat(100)); // three bytes each
    pair.run_for(s(1));
    let said = CloseReason::Peer {
        code: 1,
        reason: "\u{20ac}".repeat(85),
    };
    assert_eq!(pair.server.closed(), [&said]);
    let head = [
        &data(vec![Frame::Ping])[..14],
        &[10, 0, 0, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    let long = [&[0x41, 1][..], &[b'x'; MAX_REASON + 1]].concat();
    for reason in [&[1, 0xff][..], &long] {
        assert!(Packet::decode(&sealed([&head, reason].concat()), 0).is_err());
    }
}

/// (W10)
#[test]
fn rule_rudp_w10_a_packet_number_travels_short_and_is_checked_whole() {
    let (mut pair, client, _) = established();
    let lengths = |pair: &Pair| -> Vec<u8> {
        let sent = pair.log.iter().filter(|(_, client, _)| *client);
        let kinds = sent.map(|(_, _, bytes)| bytes[1]);
        kinds
            .filter(|kind| kind & 15 == 2)
            .map(|kind| kind >> 4)
            .collect()
    };
    pair.client.send_all(client, &pattern(400_000));
    pair.run_for(s(5));
    let numbers = pair.frames(true).into_iter().map(|(_, number, _)| number);
    assert!(numbers.max() > Some(300), "the lowest byte has wrapped");
    assert!(lengths(&pair).iter().all(|bits| *bits <= 1));

    // The first one once more, and its number is read as a later one.
    let first = pair
        .log
        .iter()
        .find(|(_, client, bytes)| *client && bytes[1] == 2);
    let replay = first.unwrap().2.clone();
    let received = pair.server.endpoint.stats();
    let server = &mut pair.server.endpoint;
    server.handle_datagram(pair.now, client_addr(), None, &replay);
    assert_eq!(server.stats().corrupted, received.corrupted + 1);

    // Without acknowledgements, it takes more bytes.
    pair.lets_pass = Box::new(|_, client, _| client);
    for _ in 0..300 {
        pair.inject(false, 0, vec![Frame::Ping]); // each is answered
    }
    assert_eq!(lengths(&pair).last(), Some(&1));
}

/// (W11)
#[test]
fn rule_rudp_w11_an_ack_asks_for_one_after_16384_unanswered_packets() {
    let (mut pair, client, server) = established();
    let pings = |pair: &Pair| {
        let frames = pair.frames(false).into_iter();
        frames.filter(|(_, _, frame)| *frame == Frame::Ping).count()
    };
    pair.lets_pass = Box::new(|_, client, _| !client);
    let before = pair.log.len();
    for _ in 0..16_400 {
        pair.inject(true, 0, vec![Frame::Ping]);
    }
    let answers = pair.log[before..].iter().filter(|(_, client, _)| !*client);
    assert!(answers.count() >= 16_400, "one each");
    assert_eq!(pings(&pair), 1, "one, until it is answered");
    pair.lets_pass = Box::new(|_, _, _| true);
    pair.run_for(s(5));
    assert!(pair.client.conn(client).is_established());
    assert!(pair.server.conn(server).is_established());
}
