//! However a connection goes, it ends: once on each side, with nothing left behind.

use conformance::pair::{
    Host, Pair, SingleStream, client_addr, endpoint, own_end, pattern, server_addr,
};
use conformance::time::{ms, s};
use netsim::{LinkConfig, Probability};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rudp_proto::{Config, Handle};

#[derive(Copy, Clone, Debug)]
enum Act {
    Write(usize),
    Finish,
    Close,
    Abort,
    Restart,
    BlackOut(u64),
    Unreachable,
    PauseReading,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (1..60_000_usize).prop_map(Act::Write),
        1 => Just(Act::Finish),
        2 => Just(Act::Close),
        1 => Just(Act::Abort),
        1 => Just(Act::Restart),
        1 => (0..20_u64).prop_map(Act::BlackOut),
        1 => Just(Act::Unreachable),
        1 => Just(Act::PauseReading),
    ]
}

/// What one side wrote and did.
#[derive(Debug, Default)]
struct Deeds {
    written: usize,
    handle: Option<Handle>,
    restarted: bool,
    /// A hint or an abort: it may be lost on purpose.
    disturbed: bool,
    paused: bool,
}

fn perform(pair: &mut Pair, deeds: &mut [Deeds; 2], client: bool, act: Act) {
    let now = pair.now;
    let host = pair.host_mut(client);
    let mine = &mut deeds[usize::from(client)];
    match act {
        Act::Restart => {
            host.endpoint = endpoint(Config::DEFAULT, 2 - u8::from(client));
            host.endpoint.listen(!client);
            mine.restarted = true;
        }
        Act::BlackOut(seconds) => {
            pair.up.black_out(now, now + s(seconds));
            pair.down.black_out(now, now + s(seconds));
        }
        Act::Unreachable => {
            let peer = [client_addr(), server_addr()][usize::from(client)];
            host.endpoint.handle_unreachable(now, peer);
            mine.disturbed = true;
        }
        Act::PauseReading => {
            host.reads = !host.reads;
            mine.paused = true;
        }
        _ => {
            let Some(handle) = mine.handle.filter(|_| !mine.restarted) else {
                return;
            };
            let Some(connection) = host.endpoint.connection_mut(handle) else {
                return;
            };
            match act {
                Act::Write(len) => {
                    let data = pattern(mine.written + len);
                    mine.written += connection.put(&data[mine.written..]).unwrap_or(0);
                }
                Act::Finish => _ = connection.end(),
                Act::Close => connection.close(0, "done"),
                _ => {
                    connection.abort(1, "stop");
                    mine.disturbed = true;
                }
            }
        }
    }
    pair.settle();
}

fn got(host: &Host, handle: Option<Handle>) -> &[u8] {
    handle.map_or(&[], |handle| host.bytes(handle))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        rng_seed: RngSeed::Fixed(6298),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_connection_ends_once_on_each_side_and_leaves_nothing(
        loss in 0..25_u32,
        delay in 0..200_u64,
        duplicate in 0..5_u32,
        in_order in any::<bool>(),
        acts in prop::collection::vec((any::<bool>(), 0..3_000_u64, act()), 0..12),
    ) {
        let percent = |n| Probability::from_percent(n).expect("a percentage");
        let link = LinkConfig {
            delay: ms(delay),
            jitter: ms(delay / 3),
            keep_order: in_order,
            loss: percent(loss),
            duplicate: percent(duplicate),
            ..LinkConfig::PERFECT
        };
        let mut pair = Pair::new(Config::DEFAULT, link);
        let mut deeds = <[Deeds; 2]>::default();
        deeds[1].handle = Some(pair.connect());
        for (client, after, act) in acts {
            pair.run_for(ms(after));
            deeds[0].handle = pair.server.events.first().map(|(_, handle, _)| *handle);
            perform(&mut pair, &mut deeds, client, act);
        }
        for client in [true, false] {
            pair.run_for(ms(100));
            deeds[0].handle = pair.server.events.first().map(|(_, handle, _)| *handle);
            perform(&mut pair, &mut deeds, client, Act::Close);
        }
        pair.client.reads = true;
        pair.server.reads = true;
        let [server, client] = [deeds[0].handle, deeds[1].handle];
        client.into_iter().for_each(|handle| pair.client.read_all(handle));
        server.into_iter().for_each(|handle| pair.server.read_all(handle));
        pair.run_for(s(400));
        prop_assert_eq!(pair.next(), None, "something is left behind");
        let server = pair.server.events.first().map(|(_, handle, _)| *handle);

        for (reader, reader_handle, writer) in [
            (&pair.server, server, &deeds[1]),
            (&pair.client, client, &deeds[0]),
        ] {
            let bytes = got(reader, reader_handle);
            let all = pattern(writer.written);
            prop_assert!(bytes.len() <= all.len() && all.starts_with(bytes), "intact, in order");
        }
        let calm = !deeds.iter().any(|deeds| deeds.restarted || deeds.disturbed);
        let (client_end, server_end) = (pair.client.closed(), pair.server.closed());
        if calm {
            prop_assert_eq!(client_end.len(), 1);
            prop_assert_eq!(server_end.len(), usize::from(server.is_some()));
            // Who is told that all went well has delivered everything to a peer that reads on.
            let read_on = !deeds.iter().any(|deeds| deeds.paused);
            let own = own_end(0, "done");
            let local = [&own];
            if read_on && client_end == local && server.is_some() {
                prop_assert_eq!(got(&pair.server, server).len(), deeds[1].written);
            }
            if read_on && server_end == local {
                prop_assert_eq!(got(&pair.client, client).len(), deeds[0].written);
            }
        }
    }
}
