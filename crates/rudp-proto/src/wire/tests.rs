use super::*;
use crate::{Side, StreamId, StreamKind};
use alloc::vec;
use core::time::Duration;

fn encoded(packet: &Packet<'_>) -> Vec<u8> {
    let mut datagram = Vec::new();
    packet.encode(&mut datagram);
    datagram
}

#[test]
fn every_answer_to_a_stranger_is_shorter_than_a_hello() {
    let cookie = Cookie {
        issued_ms: u64::MAX,
        mac: [0xff; 16],
    };
    let params = Params {
        receive_window: MAX_VARINT,
        stream_window: MAX_VARINT,
        streams: MAX_VARINT,
        messages: MAX_VARINT,
        idle_timeout: Duration::from_millis(MAX_VARINT),
        reset_token: [0xff; 16],
        max_datagram: MAX_VARINT,
        versions: Versions::new(&[VERSION; 8]).unwrap(),
    };
    let hello = Packet::Hello {
        client_id: u64::MAX,
        params,
        cookie: Some(cookie),
    };
    assert_eq!(encoded(&hello).len(), HELLO_LEN);
    assert_eq!(Packet::decode(&encoded(&hello), 0), Ok(hello));
    assert_eq!(
        encoded(&Packet::Challenge {
            client_id: 1,
            cookie
        })
        .len(),
        38
    );
    assert_eq!(encoded(&Packet::Refuse { client_id: 1 }).len(), 14);
    let (client_id, versions) = (1, params.versions);
    let list = Packet::Versions {
        client_id,
        versions,
    };
    assert_eq!(encoded(&list).len(), 23);
    assert_eq!(Packet::decode(&encoded(&list), 0), Ok(list));
    let reset = Packet::Reset {
        id: 1,
        token: [0; 16],
    };
    assert_eq!(encoded(&reset).len(), RESET_LEN);
}

#[test]
fn a_flipped_bit_anywhere_is_noticed() {
    let frames = vec![Frame::Stream {
        id: StreamId::new(Side::Client, StreamKind::Bytes, 3),
        offset: 7,
        data: b"hello",
        fin: true,
    }];
    let datagram = encoded(&Packet::Data {
        to: 1,
        number: 300,
        frames,
    });
    for bit in 0..datagram.len() * 8 {
        let mut flipped = datagram.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Packet::decode(&flipped, 0), Err(DecodeError::Checksum));
    }
}

#[test]
fn a_notice_repeats_the_id_and_is_never_made_for_a_notice() {
    let data = encoded(&Packet::Data {
        to: 77,
        number: 0,
        frames: vec![Frame::Ping],
    });
    let notice = unreachable_notice(&data).unwrap();
    assert_eq!(
        Packet::decode(&notice, 0),
        Ok(Packet::Unreachable {
            id: 77,
            hello: false
        })
    );
    assert!(notice.len() < data.len());
    assert_eq!(unreachable_notice(&notice), None);
    assert_eq!(unreachable_notice(b"something else"), None);
}
