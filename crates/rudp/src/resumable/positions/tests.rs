use proptest::prelude::*;

use super::*;

/// What happens next to a direction of a session.
#[derive(Clone, Debug)]
enum Act {
    Write(usize),
    Carry(usize),
    Read(usize),
    Tell,
    Cut,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        (0_usize..40).prop_map(Act::Write),
        (1_usize..40).prop_map(Act::Carry),
        (1_usize..40).prop_map(Act::Read),
        Just(Act::Tell),
        Just(Act::Cut),
    ]
}

proptest! {
    /// Bytes in flight are lost at each cut; every byte is read once, in order.
    #[test]
    fn a_direction_is_byte_exact_through_any_cuts(acts in prop::collection::vec(act(), 1..200)) {
        let (mut outgoing, mut incoming) = (Outgoing::new(64), Incoming::new(32));
        let (mut flight, mut chunk) = (Vec::new(), Vec::new());
        let (mut written, mut read, mut ended) = (Vec::new(), Vec::new(), false);
        let mut end_sent = false;
        let finish = [Act::Cut, Act::Carry(64), Act::Read(64), Act::Tell].into_iter().cycle().take(80);
        let count = acts.len();
        for (step, act) in acts.into_iter().chain(finish).enumerate() {
            if step == count {
                outgoing.finish();
            }
            match act {
                Act::Write(length) => {
                    let data: Vec<u8> = (written.len()..).take(length).map(|n| n.to_le_bytes()[0]).collect();
                    let taken = outgoing.write(&data);
                    written.extend_from_slice(&data[..taken]);
                }
                Act::Carry(most) => {
                    match outgoing.next(&mut chunk, most) {
                        Next::Bytes => flight.extend_from_slice(&chunk),
                        Next::End => end_sent = true,
                        Next::Nothing => {}
                    }
                    let arrives = flight.len().min(incoming.room());
                    if arrives > 0 {
                        prop_assert_eq!(incoming.handle_data(&flight[..arrives]), Ok(()));
                        flight.drain(..arrives);
                    }
                    if end_sent && flight.is_empty() {
                        incoming.handle_end();
                    }
                }
                Act::Read(most) => {
                    let mut buffer = vec![0; most];
                    match incoming.read(&mut buffer) {
                        Some(0) => ended = true,
                        Some(got) => read.extend_from_slice(&buffer[..got]),
                        None => {}
                    }
                }
                Act::Tell => {
                    if let Some(position) = incoming.to_tell() {
                        incoming.handle_told(position);
                        prop_assert_eq!(outgoing.handle_read(position), Ok(()));
                    }
                }
                Act::Cut => {
                    end_sent = false;
                    prop_assert_eq!(outgoing.resume(incoming.received()), Ok(flight.len() as u64));
                    flight.clear();
                    incoming.resume();
                }
            }
            prop_assert!(outgoing.kept.len() <= 64 && incoming.ready.len() <= 32);
        }
        prop_assert!(ended && incoming.is_read() && outgoing.is_read(), "{:?}", outgoing);
        prop_assert_eq!(read, written);
    }
}

#[test]
fn positions_that_cannot_be_are_refused() {
    let mut outgoing = Outgoing::new(10);
    assert_eq!(outgoing.write(b"abcdefghijkl"), 10);
    let mut chunk = Vec::new();
    assert_eq!(outgoing.next(&mut chunk, 4), Next::Bytes);
    assert_eq!(outgoing.handle_read(5), Err(Impossible), "not sent yet");
    assert_eq!(outgoing.handle_read(3), Ok(()));
    assert_eq!(outgoing.handle_read(2), Ok(()), "late, and known");
    assert_eq!(outgoing.resume(2), Err(Impossible), "no longer kept");
    assert_eq!(outgoing.resume(5), Err(Impossible), "never sent");
    assert_eq!(outgoing.resume(3), Ok(1), "\"d\" is sent again");
    assert_eq!(
        (outgoing.next(&mut chunk, 9), &chunk[..]),
        (Next::Bytes, &b"defghij"[..])
    );
    assert_eq!(outgoing.unread(), 7);
}

#[test]
fn nothing_comes_after_the_end() {
    let mut incoming = Incoming::new(10);
    assert_eq!(incoming.handle_data(b"ab"), Ok(()));
    incoming.handle_end();
    incoming.handle_end(); // again, on another connection
    assert_eq!(incoming.received(), 3);
    assert_eq!(incoming.handle_data(b"c"), Err(Impossible));
    assert_eq!(incoming.read(&mut [0; 9]), Some(2));
    assert!(!incoming.is_read());
    assert_eq!(incoming.read(&mut [0; 9]), Some(0));
    assert!(incoming.is_read());
    assert_eq!(incoming.to_tell(), Some(3));
}
