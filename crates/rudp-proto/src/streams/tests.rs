//! What streams share stays in step with each of them, and costs the same among many.

mod pair;

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::stream_id::looks::looks;
use crate::{ReadError, WriteError};
use pair::{CLIENT, Pair, SERVER};

/// Little of everything, so that all of it runs short.
const TIGHT: Config = Config {
    send_buffer: 5_000,
    receive_window: 3_000,
    stream_window: 2_000,
    max_streams: 4,
    max_messages: 3,
    ..Config::DEFAULT
};

/// Looks at every stream, and compares with what is known without that.
fn check(streams: &Streams) -> Result<(), TestCaseError> {
    let (sends, recvs) = (&streams.sends, &streams.recvs);
    let all: BTreeSet<_> = sends.keys().chain(recvs.keys()).collect();
    prop_assert_eq!(streams.len(), all.len());

    let unread = |(id, stream): (&StreamId, &RecvStream)| !id.is_message() && stream.is_readable();
    let drained = streams.inbox.is_empty() && !recvs.iter().any(unread);
    prop_assert_eq!(streams.is_drained(), drained);
    let pieces: usize = recvs.values().map(RecvStream::pieces).sum();
    prop_assert_eq!(streams.unread.pieces, pieces);

    let kept = |message: bool| {
        let sends = sends
            .iter()
            .filter(move |(id, _)| !message || id.is_message());
        sends.map(|(_, stream)| stream.buffered()).sum::<usize>()
    };
    let free = streams.sending.free();
    prop_assert_eq!(free, TIGHT.send_buffer - kept(false));
    let free_for_messages = free.saturating_sub(kept(true)) / 2;
    prop_assert_eq!(streams.sending.free_for_messages(), free_for_messages);
    for (id, stream) in sends {
        let waits = stream.starved && stream.unsent() <= streams.sending.most_unsent / 2;
        prop_assert_eq!(streams.sending.starved.contains(id), waits);
    }
    let unacknowledged: u64 = sends.values().map(SendStream::unacknowledged).sum();
    prop_assert_eq!(streams.unacknowledged(), unacknowledged);

    let urgent = sends.values().filter(|it| it.urgent_chunk(1).is_some());
    let has_fresh = |(_, stream): &(&StreamId, &SendStream)| stream.fresh_chunk(1).is_some();
    let fresh = sends.iter().filter(has_fresh).map(|(id, _)| *id);
    let (messages, others): (Vec<_>, Vec<_>) = fresh.partition(|id| id.is_message());
    let turns = others.len() + usize::from(!messages.is_empty());
    let urgent = urgent.count();
    prop_assert_eq!(streams.has_several(), urgent + turns > 1);
    let has_next = urgent > 0 || (turns > 0 && streams.credit() > 0);
    prop_assert_eq!(streams.next_chunk(1_000).is_some(), has_next);
    Ok(())
}

proptest! {
    /// Whatever both applications do, and whichever packets are lost or late.
    #[test]
    fn what_streams_share_agrees_with_each_of_them(
        steps in prop::collection::vec((0..22_u8, 0..2_usize, any::<u16>()), 1..300),
        closer in 0..2_usize,
        closes: bool,
    ) {
        let mut pair = Pair::new(TIGHT);
        for streams in &mut pair.ends {
            streams.sending.most_unsent = 1_000;
        }
        for (step, at, pick) in steps {
            pair.step(step, at, usize::from(pick));
            check(&pair.ends[CLIENT])?;
            check(&pair.ends[SERVER])?;
        }
        if closes {
            let [client, server] = &mut pair.ends;
            let (this, other) = if closer == CLIENT { (client, server) } else { (server, client) };
            this.finish_all();
            check(this)?;
            other.handle_peer_closed();
            check(other)?;
            this.give_up();
            check(this)?;
            prop_assert!(this.len() == 0 && this.is_drained());
        } else {
            pair.finish();
            for streams in &pair.ends {
                check(streams)?;
                prop_assert_eq!((streams.len(), streams.unacknowledged()), (0, 0));
                prop_assert_eq!(streams.sending.free(), TIGHT.send_buffer);
            }
        }
    }
}

/// Opens as many streams as that, and writes on each.
fn open_all(pair: &mut Pair, count: u32) -> Vec<StreamId> {
    let client = &mut pair.ends[CLIENT];
    let open = |_| {
        let id = client.open(Duration::ZERO).expect("allowed");
        assert_eq!(client.write(id, b"bytes"), Ok(5));
        id
    };
    (0..count).map(open).collect()
}

/// How often a stream of `count` is looked at, on average, from its beginning to its end: each is
/// open as long as all others are, and in every line that there is.
fn looks_at_each(count: u32) -> u64 {
    let mut pair = Pair::new(Config {
        max_streams: count,
        max_messages: count,
        ..Config::DEFAULT
    });
    let before = looks();

    // Delivered, though it seemed lost, and answered; nobody fetches the news.
    let ids = open_all(&mut pair, count);
    for id in &ids {
        let client = &mut pair.ends[CLIENT];
        assert_eq!(client.finish(*id), Ok(()));
        assert!(client.is_drained(), "there is nothing to read on any");
    }
    pair.settle_late();
    let mut buf = [0; 9];
    for id in &ids {
        let server = &mut pair.ends[SERVER];
        assert!(!server.is_drained());
        assert_eq!(server.read(*id, &mut buf), Ok(Some(5)));
        assert_eq!(server.read(*id, &mut buf), Ok(Some(0)));
        assert_eq!(server.write(*id, b"answer"), Ok(6));
        assert_eq!(server.finish(*id), Ok(()));
        assert_eq!(server.len(), count as usize);
    }
    pair.settle_late();
    for (id, rest) in ids.iter().zip((0..count as usize).rev()) {
        let client = &mut pair.ends[CLIENT];
        assert_eq!(client.read(*id, &mut buf), Ok(Some(6)));
        assert_eq!(client.read(*id, &mut buf), Ok(Some(0)));
        assert_eq!((client.len(), client.is_drained()), (rest, rest == 0));
    }

    // Given up by both while it waits for its turn.
    let ids = open_all(&mut pair, count);
    for id in &ids {
        pair.ends[CLIENT].reset(*id, 1, false);
        pair.ends[CLIENT].stop(*id, 2);
    }
    pair.settle_late();
    for id in &ids {
        let server = &mut pair.ends[SERVER];
        assert_eq!(server.read(*id, &mut buf), Err(ReadError::Reset(1)));
        assert_eq!(server.finish(*id), Err(WriteError::Stopped(2)));
    }
    pair.settle();

    // Messages that wait for their turn, and for too long.
    let second = Duration::from_secs(1);
    for _ in 0..count {
        let client = &mut pair.ends[CLIENT];
        let sent = client.send_message(Duration::ZERO, b"bytes", Some(second));
        assert!(sent.is_ok(), "{sent:?}");
    }
    pair.ends[CLIENT].handle_timeout(second);
    pair.settle();

    assert_eq!(pair.ends.each_ref().map(Streams::len), [0; 2]);
    (looks() - before) / u64::from(count)
}

#[test]
fn a_stream_costs_about_the_same_among_ten_thousand_as_among_a_thousand() {
    let (few, many) = (looks_at_each(1_000), looks_at_each(10_000));
    // What is sorted by name takes a third more: log 10,000 / log 1,000.
    assert!(few < many && many < 2 * few, "{few}, {many}");
}

/// (F6)
#[test]
fn one_stream_keeps_its_memory_for_what_is_written_next() {
    let mut pair = Pair::new(Config::DEFAULT);
    let write = |pair: &mut Pair, id: StreamId| {
        assert_eq!(pair.ends[CLIENT].write(id, &[7; 100_000]), Ok(100_000));
        pair.settle();
    };
    let ids = open_all(&mut pair, 3);
    for id in [ids[0], ids[2], ids[1], ids[1]] {
        write(&mut pair, id);
        let client = &pair.ends[CLIENT];
        assert_eq!(client.unacknowledged(), 0);
        let roomy = client.sends.values().filter(|it| it.is_roomy());
        assert_eq!(roomy.count(), 1);
        assert!(
            client.sends.get(&id).is_some_and(SendStream::is_roomy),
            "{id}"
        );
    }
    let client = &mut pair.ends[CLIENT];
    client.handle_idle();
    assert!(!client.sends.values().any(SendStream::is_roomy));
}
