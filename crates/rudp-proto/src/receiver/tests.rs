use super::*;
use core::time::Duration;
use proptest::prelude::*;

fn stream(window: u64) -> RecvStream {
    RecvStream::new(Window::new(Duration::ZERO, window, window))
}

fn read_all(stream: &mut RecvStream, step: usize) -> Vec<u8> {
    let (mut all, mut out) = (Vec::new(), [0; 64]);
    while let Found::Bytes(n) = stream.read(&mut out[..step]) {
        all.extend_from_slice(&out[..n]);
    }
    all
}

#[test]
fn the_end_is_told_after_the_last_byte() {
    let mut stream = stream(100);
    assert_eq!(stream.handle_data(2, b"c", true, true), Ok(1));
    assert_eq!(stream.read(&mut [0; 9]), Found::Nothing);
    assert_eq!(stream.handle_data(0, b"ab", false, true), Ok(2));
    let mut part = [0; 2];
    assert_eq!(stream.read(&mut part), Found::Bytes(2));
    assert_eq!(read_all(&mut stream, 2), b"c");
    assert_eq!(stream.read(&mut [0; 9]), Found::End);
    assert!(!stream.is_readable() && stream.is_done());
}

#[test]
fn only_what_arrived_takes_memory() {
    let mut stream = stream(1 << 40);
    assert_eq!(stream.handle_data((1 << 40) - 1, b"x", false, true), Ok(1));
    let kept: usize = stream.pieces.values().map(Vec::capacity).sum();
    assert!(stream.ready.capacity() + kept < 1_000);
}

#[test]
fn data_beyond_the_window_and_a_moving_end_are_violations() {
    let window = Unacceptable::Violation("data beyond the window (F1)");
    let length = Unacceptable::Violation("the stream's length changed (F4)");
    let mut it = stream(4);
    assert_eq!(it.handle_data(2, b"cde", false, true), Err(window));
    assert_eq!(it.handle_data(2, b"cd", true, true), Ok(2));
    assert_eq!(it.handle_data(2, b"c", true, true), Err(length));
    assert_eq!(it.handle_reset(1, 3), Err(length));
    let mut it = stream(4);
    assert_eq!(it.handle_reset(1, 5), Err(window));
    assert_eq!(it.handle_data(2, b"cd", false, true), Ok(2));
    assert_eq!(it.handle_data(0, b"ab", true, true), Err(length));
}

#[test]
fn pieces_are_bounded_but_the_missing_one_is_always_taken() {
    let mut stream = stream(10_000);
    for piece in 0..MAX_PIECES as u64 {
        assert_eq!(stream.handle_data(2 + 2 * piece, b"x", false, true), Ok(1));
    }
    let full = Err(Unacceptable::NoRoom);
    assert_eq!(stream.handle_data(9_000, b"x", false, true), full);
    assert_eq!(stream.handle_data(0, b"abc", false, false), Ok(2));
    assert_eq!(read_all(&mut stream, 9), b"abx"); // what came first stays
    assert_eq!(stream.handle_data(9_000, b"x", false, false), full);
}

#[test]
fn a_reset_drops_what_was_not_read_and_comes_too_late_for_a_whole_stream() {
    let mut it = stream(100);
    assert_eq!(it.handle_data(0, b"abc", false, true), Ok(3));
    assert_eq!(it.handle_reset(7, 10), Ok(10));
    assert_eq!(it.handle_data(3, b"defghij", true, true), Ok(0));
    assert_eq!(it.read(&mut [0; 9]), Found::Reset(7));
    assert!(it.is_done());
    let mut it = stream(100);
    assert_eq!(it.handle_data(0, b"abc", true, true), Ok(3));
    assert_eq!(it.handle_reset(7, 3), Ok(0));
    assert_eq!(read_all(&mut it, 9), b"abc");
}

#[test]
fn a_stopped_stream_waits_for_nothing_but_its_length() {
    let mut it = stream(100);
    assert_eq!(it.handle_data(0, b"abc", false, true), Ok(3));
    assert_eq!((it.stop(1), it.is_done()), (3, false));
    assert_eq!(it.handle_data(9, b"x", true, true), Ok(0));
    assert_eq!((it.highest(), it.is_done()), (10, true));
}

proptest! {
    #[test]
    fn bytes_come_out_once_in_order_and_intact(
        pieces in prop::collection::vec((0_usize..60, 1_usize..12, 1_usize..9), 1..120),
    ) {
        let data: Vec<u8> = (0..60).collect();
        let mut stream = stream(60);
        let mut out = Vec::new();
        for (start, len, step) in pieces {
            let end = (start + len).min(60);
            let piece = &data[start..end];
            prop_assert!(stream.handle_data(start as u64, piece, end == 60, true).is_ok());
            let mut buf = [0; 9];
            if let Found::Bytes(n) = stream.read(&mut buf[..step]) {
                out.extend_from_slice(&buf[..n]);
            }
        }
        prop_assert!(stream.handle_data(0, &data, true, true).is_ok());
        out.extend(read_all(&mut stream, 7));
        prop_assert_eq!(out, data);
    }
}
