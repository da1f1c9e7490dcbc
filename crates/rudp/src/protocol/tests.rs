use proptest::prelude::*;

use super::*;

fn hash() -> impl Strategy<Value = Hash> {
    any::<[u8; 32]>().prop_map(Hash::from_bytes)
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        (any::<u64>(), any::<bool>(), ".{0,300}").prop_map(|(length, force, name)| {
            Message::Offer {
                length,
                force,
                name,
            }
        }),
        hash().prop_map(|hash| Message::Exists { hash }),
        any::<bool>().prop_map(|same| Message::Compared { same }),
        (any::<u64>(), hash()).prop_map(|(offset, prefix)| Message::Resume { offset, prefix }),
        any::<u64>().prop_map(|offset| Message::Begin { offset }),
        hash().prop_map(|hash| Message::End { hash }),
        Just(Message::Done),
        Just(Message::Ping),
    ]
}

fn decode(bytes: &[u8]) -> io::Result<Message> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(read_message(&mut &*bytes))
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(message in message()) {
        let bytes = message.encode().expect("short enough");
        prop_assert_eq!(decode(&bytes).expect("valid"), message);
    }

    #[test]
    fn arbitrary_bytes_are_an_error_or_a_message_that_encodes_to_them(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        if let Ok(message) = decode(&bytes) {
            let again = message.encode().expect("it was short enough");
            prop_assert_eq!(&bytes[..again.len()], &again[..]);
        }
    }

    #[test]
    fn an_arbitrary_body_is_an_error_or_a_message_that_encodes_to_it(
        kind in 0_u8..10,
        body in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        if let Ok(message) = Message::decode(kind, &body) {
            let again = message.encode().expect("it was short enough");
            prop_assert_eq!((again[0], &again[HEADER..]), (kind, &body[..]));
        }
    }

    #[test]
    fn a_body_cut_or_lengthened_is_an_error(message in message(), cut in 1_usize..8, extra: u8) {
        let bytes = message.encode().expect("short enough");
        let (kind, body) = (bytes[0], &bytes[HEADER..]);
        if kind != Message::OFFER {
            let longer = [body, &[extra]].concat();
            prop_assert_eq!(Message::decode(kind, &longer), Err(ProtocolError::Body(kind)));
            if let Some(end) = body.len().checked_sub(cut) {
                prop_assert_eq!(Message::decode(kind, &body[..end]), Err(ProtocolError::Body(kind)));
            }
        }
    }
}

#[test]
fn the_longest_name_fits_and_one_byte_more_does_not() {
    let offer = |length| Message::Offer {
        length: 1,
        force: false,
        name: "x".repeat(length),
    };
    let fixed = MAGIC.len() + 1 + 1 + 8;
    assert!(offer(MAX_BODY - fixed).encode().is_ok());
    assert_eq!(
        offer(MAX_BODY - fixed + 1).encode(),
        Err(ProtocolError::TooLong(MAX_BODY + 1))
    );
}

#[test]
fn a_long_body_is_refused_before_it_is_read() {
    let error = decode(&[Message::OFFER, 0xff, 0xff]).expect_err("64 KiB announced");
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}

#[test]
fn another_version_and_another_protocol_are_named() {
    let mut offer = Message::Offer {
        length: 1,
        force: true,
        name: "a".into(),
    }
    .encode()
    .expect("short");
    offer[HEADER + 4] = 9;
    assert_eq!(
        Message::decode(Message::OFFER, &offer[HEADER..]),
        Err(ProtocolError::Version(9))
    );
    assert_eq!(
        Message::decode(Message::OFFER, b"GET / HTTP/1.1"),
        Err(ProtocolError::Magic)
    );
}
