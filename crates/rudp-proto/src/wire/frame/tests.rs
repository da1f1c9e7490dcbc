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
