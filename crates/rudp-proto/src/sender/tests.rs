use super::*;
use crate::{Side, StreamKind};
use proptest::prelude::*;

const ID: StreamId = StreamId::new(Side::Client, StreamKind::Bytes, 0);

fn chunk(range: Range<u64>) -> Chunk {
    Chunk {
        id: ID,
        range,
        fin: false,
    }
}

fn written(limit: u64, data: &[u8]) -> SendStream {
    let mut stream = SendStream::new(ID, limit);
    assert_eq!(stream.write(data, usize::MAX), data.len());
    stream
}

#[test]
fn a_late_acknowledgement_cancels_the_repetition() {
    let mut stream = written(100, b"abcdefgh");
    let first = stream.fresh_chunk(4).unwrap();
    assert_eq!(stream.handle_sent(0, &first), 4);
    stream.handle_lost(0, &first);
    assert_eq!(stream.urgent_chunk(4), Some(first.clone()));
    assert_eq!(stream.handle_acked(&first), 4);
    assert_eq!(stream.urgent_chunk(9), None);
    assert_eq!(stream.fresh_chunk(9), Some(chunk(4..8)));
}

#[test]
fn the_window_holds_new_data_back_but_not_lost_data() {
    let mut stream = written(3, b"abcdefgh");
    let first = stream.fresh_chunk(100).unwrap();
    assert_eq!(first, chunk(0..3));
    stream.handle_sent(0, &first);
    assert_eq!(stream.fresh_chunk(100), None);
    stream.handle_lost(0, &first);
    assert_eq!(stream.urgent_chunk(100), Some(first));
    stream.handle_limit(8);
    stream.handle_limit(4);
    assert_eq!(stream.limit, 8);
}

#[test]
fn of_what_is_acknowledged_no_carrier_is_remembered() {
    let mut stream = written(100, &[7; 50]);
    stream.handle_sent(0, &chunk(0..1)); // never acknowledged
    for at in 1..50 {
        stream.handle_sent(2 * at, &chunk(at..at + 1));
        stream.handle_sent(2 * at + 1, &chunk(at..at + 1));
        assert_eq!(stream.handle_acked(&chunk(at..at + 1)), 1);
    }
    assert!(stream.repeated.is_empty());
}

#[test]
fn what_a_later_packet_carries_too_is_lost_only_with_it() {
    let mut stream = written(100, b"abcdefgh");
    stream.handle_sent(0, &chunk(0..4));
    stream.handle_sent(1, &chunk(2..8)); // 2 and 3 once more
    stream.handle_lost(0, &chunk(0..4));
    assert_eq!(stream.urgent_chunk(9), Some(chunk(0..2)));
    stream.handle_sent(2, &chunk(0..2));
    stream.handle_lost(1, &chunk(2..8));
    assert_eq!(stream.urgent_chunk(9), Some(chunk(2..8)));
    assert!(stream.repeated.is_empty());
}

#[test]
fn after_a_reset_nothing_is_sent_and_the_size_is_what_had_left() {
    let mut stream = written(100, b"abcdefgh");
    let first = chunk(0..4);
    stream.handle_sent(0, &first);
    stream.reset(7, false);
    stream.reset(8, false);
    assert_eq!(stream.reset_to_tell(), Some((7, 4)), "the first code");
    stream.handle_lost(0, &first);
    assert_eq!(
        (stream.urgent_chunk(9), stream.fresh_chunk(9)),
        (None, None)
    );
    assert_eq!((stream.buffered(), stream.unacknowledged()), (0, 0));
    stream.handle_reset_acked();
    assert!(stream.is_done());
}

#[test]
fn a_half_that_the_peer_stopped_stays_until_the_application_knows() {
    let mut stream = written(100, b"abcdefgh");
    stream.reset(7, true);
    stream.handle_reset_acked();
    assert_eq!((stream.stopped(), stream.is_done()), (Some(7), false));
    stream.finish();
    assert_eq!((stream.stopped(), stream.is_done()), (None, true));
}

proptest! {
    /// Whatever is lost, late or split, each byte goes out until it is
    /// acknowledged, with the right contents, and then never again.
    #[test]
    fn every_byte_is_sent_until_it_is_acknowledged(
        fates in prop::collection::vec((1_u64..9, 0_u8..4), 1..200),
    ) {
        let data: Vec<u8> = (0..100).collect();
        let mut stream = SendStream::new(ID, 1000);
        let (mut written, mut acked) = (0, RangeSet::default());
        let mut late: Vec<Chunk> = Vec::new();
        let all_arrive = core::iter::repeat_n((7, 0), 200);
        for ((max, fate), number) in fates.into_iter().chain(all_arrive).zip(0..) {
            written += stream.write(&data[written..], 64 - stream.buffered());
            if written == data.len() {
                stream.finish();
            }
            let urgent = stream.urgent_chunk(max);
            let Some(chunk) = urgent.or_else(|| stream.fresh_chunk(max)) else { continue };
            let mut out = Vec::new();
            stream.copy(&chunk.range, &mut out);
            prop_assert_eq!(&out, &data[chunk.range.start as usize..chunk.range.end as usize]);
            prop_assert!(chunk.range.clone().all(|n| !acked.contains(n)));
            stream.handle_sent(number, &chunk);
            match fate {
                0 | 1 => {
                    let fresh = acked.insert(chunk.range.clone());
                    prop_assert_eq!(stream.handle_acked(&chunk), fresh);
                }
                2 => stream.handle_lost(number, &chunk),
                _ => {
                    stream.handle_lost(number, &chunk);
                    late.push(chunk);
                    let chunk = late.swap_remove(late.len() / 2);
                    let fresh = acked.insert(chunk.range.clone());
                    prop_assert_eq!(stream.handle_acked(&chunk), fresh);
                    prop_assert_eq!(stream.distance(&chunk), None);
                }
            }
        }
        prop_assert!(stream.is_done());
        prop_assert_eq!(stream.unacknowledged(), 0);
    }
}
