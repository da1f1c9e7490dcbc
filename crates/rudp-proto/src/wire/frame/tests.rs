use super::*;
use alloc::vec;

fn decode_all(body: &[u8]) -> Result<Vec<Frame<'_>>, DecodeError> {
    Ok(Frames::check(body)?.iter().collect())
}

#[test]
fn ack_ranges_come_back_as_they_went() {
    let frame = Frame::Ack(Ack {
        delay: Duration::from_micros(1232),
        ranges: [90..100, 50..60, 0..1].into_iter().collect(),
    });
    let mut out = Vec::new();
    frame.encode(&mut out);
    assert_eq!(decode_all(&out), Ok(vec![frame]));
}

#[test]
fn data_without_a_length_ends_with_the_packet() {
    let id = StreamId::from_wire(6);
    let frame = |offset, data, fin| Frame::Stream {
        id,
        offset,
        data,
        fin,
    };
    for (offset, fin) in [(0, false), (9, false), (0, true), (9, true)] {
        let mut out = Vec::new();
        let first = frame(70, b"first", false);
        first.encode(&mut out);
        put_stream_header(&mut out, id, offset, None, fin);
        assert_eq!(out.len() - 10, stream_header_len(id, offset, None));
        for data in [&b""[..], &[0; 300]] {
            let whole = [&out, data].concat();
            let frames = vec![first.clone(), frame(offset, data, fin)];
            assert_eq!(decode_all(&whole), Ok(frames));
        }
    }
}

#[test]
fn a_reason_is_cut_between_characters() {
    let long = "\u{fc}".repeat(200); // 400 bytes
    let mut out = Vec::new();
    Frame::Close {
        code: 7,
        reason: &long,
        abort: true,
    }
    .encode(&mut out);
    let cut = "\u{fc}".repeat(128);
    let expected = Frame::Close {
        code: 7,
        reason: &cut,
        abort: true,
    };
    assert_eq!(decode_all(&out), Ok(vec![expected]));
}

#[test]
fn ranges_below_zero_and_endless_ones_are_refused() {
    for body in [
        &[ACK, 5, 0, 0, 7][..],   // seven numbers below and including 5
        &[ACK, 5, 0, 1, 1, 9, 1], // a gap of nine below 5
        &[ACK, 5, 0, 0, 0],       // an empty range
        &[ACK, 50, 0, 32, 1],     // 33 ranges
        &[STREAM, 0, 5, b'x'],    // shorter than it says
        &[CLOSE, 0, 0],           // cut
    ] {
        assert!(decode_all(body).is_err(), "{body:?}");
    }
}
