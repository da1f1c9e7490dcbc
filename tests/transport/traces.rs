//! What a connection traces of lost packets, of repeats, and of the path.

use std::{collections::BTreeMap, time::Duration};

use conformance::pair::{Pair, SingleStream, clean, pattern};
use conformance::time::{ms, s};
use netsim::LinkConfig;
use rudp_proto::wire::BASE_DATAGRAM;
use rudp_proto::{Config, EcnState, Handle, LossTrigger, Stats, Step, Trace, TracedPacket};

const TRACED: Config = Config {
    trace: true,
    ..Config::DEFAULT
};

/// Sends so much from the client, and checks that it arrives.
fn transfer(pair: &mut Pair, client: Handle, server: Handle, bytes: usize) {
    pair.client.send_all(client, &pattern(bytes));
    pair.run_for(s(60));
    assert!(pair.server.bytes(server) == pattern(bytes));
}

/// What a client told of packets that were lost: the packet, by which rule, whether it was repaired.
fn losses(traces: &[Trace]) -> Vec<(TracedPacket, LossTrigger, bool)> {
    let steps = traces.iter().map(|trace| trace.step);
    let lost = |step| match step {
        Step::Lost {
            packet,
            by,
            repaired,
        } => Some((packet, by, repaired)),
        _ => None,
    };
    steps.filter_map(lost).collect()
}

/// Each packet that was sent, by its number.
fn sent(traces: &[Trace]) -> BTreeMap<u64, TracedPacket> {
    let steps = traces.iter().map(|trace| trace.step);
    let sent = |step| match step {
        Step::Sent(packet) => Some((packet.number, packet)),
        _ => None,
    };
    steps.filter_map(sent).collect()
}

#[test]
fn each_lost_packet_is_told_with_the_rule_that_found_it() {
    // How many of the client's next packets are lost, how much it writes, the first packet that is
    // told of, and the rule.
    for (lost, bytes, nth, by) in [
        (1, 9_000, 0, LossTrigger::Reordering),
        (1, 2_000, 0, LossTrigger::Time), // one more packet is no threshold of three
        (20, 9_000, 2, LossTrigger::Expiry), // probes have repeated the two before it
    ] {
        let config = Config {
            max_datagram: Some(BASE_DATAGRAM), // no probe among them
            ..TRACED
        };
        let (mut pair, client, _) = Pair::connected(config, clean());
        let (from, mut count) = (pair.client.traces.len(), 0);
        let last = sent(&pair.client.traces).pop_last();
        let first = last.map_or(0, |(number, _)| number + 1);
        pair.lets_pass = Box::new(move |_, from_client, _| {
            count += u32::from(from_client);
            !from_client || count > lost
        });
        pair.client.conn(client).put(&pattern(bytes)).unwrap();
        pair.run_for(s(10));
        let traces = &pair.client.traces[from..];
        let (packet, rule, repaired) = losses(traces)[0];
        assert_eq!((rule, repaired), (by, false));
        assert_eq!(packet, sent(traces)[&(first + nth)], "{by}");
        // It is told before what is done about it, at the same moment.
        let told = |step: &Step| matches!(step, Step::Lost { .. });
        let at = traces.iter().position(|trace| told(&trace.step)).unwrap();
        let next = traces[at + 1..].iter().find(|trace| !told(&trace.step));
        let next = next.unwrap();
        assert_eq!(next.at, traces[at].at);
        match next.step {
            Step::FastRetransmit { packets: 1 } => assert_ne!(by, LossTrigger::Expiry),
            Step::Retransmit { .. } => assert_eq!(by, LossTrigger::Expiry),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_is_told_of_losses_adds_up_to_what_is_counted() {
    let link = LinkConfig {
        jitter: ms(15),
        keep_order: false,
        loss: "3%".parse().unwrap(),
        rate: Some(20_000_000),
        queue: 50_000,
        ..clean()
    };
    let (mut pair, client, server) = Pair::connected(TRACED, link);
    transfer(&mut pair, client, server, 2_000_000);
    let traces = &pair.client.traces;
    let (sent, mut lost) = (sent(traces), BTreeMap::new());
    let (mut late, mut told_late) = (0, 0);
    for trace in traces {
        match trace.step {
            Step::Lost { packet, .. } => {
                assert_eq!(sent[&packet.number], packet);
                assert_eq!(
                    lost.insert(packet.number, ()),
                    None,
                    "lost once: {packet:?}"
                );
            }
            Step::Late(packet) => {
                assert!(lost.contains_key(&packet.number), "lost before: {packet:?}");
                late += 1;
            }
            Step::SpuriousLoss { packets, .. } => told_late += packets,
            Step::Missed { .. } => panic!("{trace:?}"),
            _ => {}
        }
    }
    let Stats {
        packets_lost,
        spurious_losses,
        ..
    } = pair.client.conn(client).stats();
    assert!(packets_lost > 50 && spurious_losses > 0);
    assert_eq!(lost.len() as u64, packets_lost);
    assert_eq!((late, told_late), (spurious_losses, spurious_losses));
}

#[test]
fn repeats_are_told_and_so_is_what_they_repaired() {
    for bundles in [true, false] {
        let config = Config { bundles, ..TRACED };
        let link = LinkConfig {
            loss: "10%".parse().unwrap(),
            ..clean()
        };
        let (mut pair, client, server) = Pair::connected(config, link);
        for number in 0..500_u32 {
            let message = [number.to_be_bytes(); 25].concat();
            pair.client.conn(client).put(&message).unwrap();
            pair.run_for(ms(20));
        }
        pair.run_for(s(5));
        assert_eq!(pair.server.bytes(server).len(), 50_000);
        let traces = &pair.client.traces;
        let (mut packets, mut repeated, mut last) = (0_u64, 0, 0);
        for trace in traces {
            match trace.step {
                Step::Sent(packet) => last = packet.number,
                Step::Bundled {
                    packet,
                    pieces,
                    bytes,
                } => {
                    assert_eq!(packet, last, "told just after the packet");
                    assert_eq!(bytes, 100 * pieces as u64);
                    packets += 1;
                    repeated += bytes;
                }
                _ => {}
            }
        }
        let losses = losses(traces);
        let repaired = losses.iter().filter(|(_, _, repaired)| *repaired).count();
        let stats = pair.client.conn(client).stats();
        if !bundles {
            assert_eq!((packets, repaired), (0, 0));
            continue;
        }
        assert!(packets > 450, "{packets} packets with repeats");
        // Of some 50 losses few hit three packets in a row, all that carried a message.
        assert!(repaired > 30, "{repaired} of {}", losses.len());
        let once = 50_000;
        assert!(stats.stream_bytes_sent >= once + repeated);
        assert!(repeated > once && repeated < 3 * once, "{repeated} bytes");
    }
}

/// All that was told of the size of datagrams.
fn sizes(traces: &[Trace]) -> Vec<(Option<usize>, usize, bool)> {
    let steps = traces.iter().map(|trace| trace.step);
    let size = |step| match step {
        Step::Mtu { old, new, done } => Some((old, new, done)),
        _ => None,
    };
    steps.filter_map(size).collect()
}

#[test]
fn the_search_for_larger_datagrams_is_told_step_by_step() {
    let link = LinkConfig {
        rate: Some(50_000_000),
        queue: 250_000,
        mtu: Some(1_400),
        ..clean()
    };
    let (mut pair, client, server) = Pair::connected(TRACED, link);
    transfer(&mut pair, client, server, 8_000_000);
    let told = sizes(&pair.client.traces);
    assert_eq!(told[0], (None, 1_200, false));
    for pair in told.windows(2) {
        let ((_, before, _), (old, new, done)) = (pair[0], pair[1]);
        assert_eq!(old, Some(before));
        assert!(new > before || (new == before && done), "{told:?}");
    }
    let found = pair.client.conn(client).stats().datagram_size;
    let (_, last, done) = told[told.len() - 1];
    assert_eq!((last as u64, done), (found, true), "{told:?}");
    assert!(told.len() > 3 && found > 1_380);
}

#[test]
fn what_is_known_of_ecn_is_told_when_it_changes() {
    use EcnState::{Capable, Failed, Testing, Unknown};
    let carried = clean();
    let bleached = LinkConfig {
        bleach_ecn: true,
        ..clean()
    };
    for (link, passes, expected) in [
        (carried, true, vec![Testing, Capable]),
        (bleached, true, vec![Testing, Failed]),
        (clean(), false, vec![Testing, Unknown, Failed]),
    ] {
        let mut pair = Pair::new(TRACED, link);
        pair.lets_pass_ecn = passes;
        let client = pair.connect();
        pair.run_for(s(10));
        pair.client.send_all(client, &pattern(300_000));
        pair.run_for(s(60));
        let (mut before, mut all) = (None, Vec::new());
        for trace in &pair.client.traces {
            if let Step::Ecn { old, new } = trace.step {
                assert_eq!(old, before, "{all:?}");
                before = Some(new);
                all.push(new);
            }
        }
        assert!(all.starts_with(&expected), "{all:?}");
        let used = pair.client.conn(client).stats().ecn;
        let end = if used { Capable } else { Failed };
        assert_eq!(all.last(), Some(&end));
    }
}

#[test]
fn nothing_is_told_where_nobody_asks() {
    let (mut pair, client, server) = Pair::connected(Config::DEFAULT, clean());
    transfer(&mut pair, client, server, 100_000);
    assert_eq!(pair.client.traces.len(), 0);
    assert!(pair.now > Duration::ZERO);
}
