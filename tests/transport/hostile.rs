//! Two honest endpoints on a path that damages, repeats and reflects what it carries.
//!
//! Whatever it does by accident, no connection ends because of a rule that the peer did not break,
//! what arrives is what was sent, and nobody keeps more than its settings allow.

use std::{collections::BTreeMap, time::Duration};

use conformance::{
    pair::{Host, Pair, client_addr, server_addr},
    time::{ms, s},
};
use netsim::{LinkConfig, Probability};
use proptest::{prelude::*, sample::Index, test_runner::RngSeed};
use rudp_proto::{CloseReason, Config, Connection, Event, Handle, Lost, StreamId, VIOLATION_CODE};

const CONFIG: Config = Config {
    send_buffer: 40_000,
    receive_window: 30_000,
    stream_window: 20_000,
    max_streams: 5,
    max_messages: 7,
    idle_timeout: Duration::from_secs(40),
    ..Config::DEFAULT
};

/// What an application does.
#[derive(Clone, Debug)]
enum Act {
    Open,
    Write(Index, usize),
    Finish(Index),
    Reset(Index),
    Stop(Index),
    Message(usize, Option<u64>),
    PauseReading,
}

/// What happens to a datagram that was sent at any time before.
#[derive(Clone, Debug)]
enum Prank {
    Repeat,
    /// Back to its sender.
    Reflect,
    Flip(Index, u8),
    Cut(Index),
    /// Its first half before the second half of another one.
    Splice(Index),
}

#[derive(Clone, Debug)]
enum Step {
    Act(bool, Act),
    Prank(Index, Prank),
    BlackOut(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let index = any::<Index>;
    prop_oneof![
        3 => Just(Act::Open),
        6 => (index(), 1..30_000_usize).prop_map(|(stream, len)| Act::Write(stream, len)),
        2 => index().prop_map(Act::Finish),
        1 => index().prop_map(Act::Reset),
        1 => index().prop_map(Act::Stop),
        4 => (9..9_000_usize, prop::option::of(0..2_000_u64))
            .prop_map(|(len, lifetime)| Act::Message(len, lifetime)),
        1 => Just(Act::PauseReading),
    ]
}

fn prank() -> impl Strategy<Value = Prank> {
    let index = any::<Index>;
    prop_oneof![
        4 => Just(Prank::Repeat),
        1 => Just(Prank::Reflect),
        1 => (index(), 1..=u8::MAX).prop_map(|(at, bits)| Prank::Flip(at, bits)),
        1 => index().prop_map(Prank::Cut),
        1 => index().prop_map(Prank::Splice),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => (any::<bool>(), act()).prop_map(|(client, act)| Step::Act(client, act)),
        10 => (any::<Index>(), prank()).prop_map(|(which, prank)| Step::Prank(which, prank)),
        1 => (0..20_u64).prop_map(Step::BlackOut),
    ]
}

/// The byte at an offset of a stream; both sides use streams in both directions.
fn byte(of_client: bool, id: StreamId, offset: usize) -> u8 {
    let mixed = (offset as u64 ^ id.number().rotate_left(20) ^ u64::from(of_client))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed.to_be_bytes()[0]
}

/// Its number, then bytes that are made of that.
fn message(number: u64, len: usize) -> Vec<u8> {
    let bytes = (8..len).map(|at| (number as usize ^ at).to_le_bytes()[0]);
    number.to_be_bytes().into_iter().chain(bytes).collect()
}

/// An application: what it wrote, and what it read.
#[derive(Debug, Default)]
struct App {
    client: bool,
    handle: Option<Handle>,
    streams: Vec<StreamId>,
    written: BTreeMap<StreamId, usize>,
    read: BTreeMap<StreamId, usize>,
    messages: u64,
    /// The numbers of those that arrived.
    arrived: Vec<u64>,
    paused: bool,
}

impl App {
    fn connection<'a>(&self, host: &'a mut Host) -> Option<&'a mut Connection> {
        host.endpoint.connection_mut(self.handle?)
    }

    fn perform(&mut self, now: Duration, host: &mut Host, act: Act) {
        if let Act::PauseReading = act {
            self.paused = !self.paused;
        }
        let streams = self.streams.clone();
        let pick = |index: Index| (!streams.is_empty()).then(|| *index.get(&streams));
        let Some(connection) = self.connection(host) else {
            return;
        };
        match act {
            Act::Open => {
                let opened = connection.open_stream().ok();
                self.streams.extend(opened);
            }
            Act::Write(index, len) => {
                let Some(id) = pick(index) else { return };
                let begin = self.written.get(&id).copied().unwrap_or_default();
                let data: Vec<u8> = (begin..begin + len)
                    .map(|at| byte(self.client, id, at))
                    .collect();
                let taken = connection.write(id, &data).unwrap_or(0);
                self.written.insert(id, begin + taken);
            }
            Act::Finish(index) => _ = pick(index).map(|id| connection.finish(id)),
            Act::Reset(index) => _ = pick(index).map(|id| connection.reset(id, 1)),
            Act::Stop(index) => _ = pick(index).map(|id| connection.stop(id, 2)),
            Act::Message(len, lifetime) => {
                let data = message(self.messages, len);
                let sent = connection.send_message(now, &data, lifetime.map(ms));
                self.messages += u64::from(sent.is_ok());
            }
            Act::PauseReading => {}
        }
    }

    /// Reads all there is, and looks at it.
    fn read(&mut self, host: &mut Host) {
        let client = self.client;
        let Some(connection) = self.connection(host).filter(|_| !self.paused) else {
            return;
        };
        while let Some(id) = connection.accept_stream() {
            self.streams.push(id);
        }
        for id in &self.streams {
            let mut buffer = [0; 1_000];
            while let Ok(Some(count @ 1..)) = connection.read(*id, &mut buffer) {
                let read = self.read.entry(*id).or_default();
                for (at, got) in (*read..).zip(&buffer[..count]) {
                    assert_eq!(*got, byte(!client, *id, at), "byte {at} of {id:?}");
                }
                *read += count;
            }
        }
        while let Some(got) = connection.read_message() {
            let number = u64::from_be_bytes(*got.first_chunk().expect("it has a number"));
            assert_eq!(got, message(number, got.len()), "message {number}");
            assert!(!self.arrived.contains(&number), "message {number} again");
            self.arrived.push(number);
        }
    }

    /// What its connection keeps is bounded by the settings.
    fn check(&self, host: &mut Host) {
        let Some(connection) = self.connection(host) else {
            return;
        };
        assert!(connection.unacknowledged() <= CONFIG.send_buffer as u64);
        let most = 2 * (CONFIG.max_streams + CONFIG.max_messages) as usize;
        assert!(connection.open_streams() <= most);
        assert!(connection.stats().bytes_in_flight <= 2 * CONFIG.send_buffer as u64);
    }
}

/// Hands the datagram on, changed.
fn play(pair: &mut Pair, which: &Index, prank: &Prank) {
    if pair.log.is_empty() {
        return;
    }
    let (_, from_client, mut datagram) = which.get(&pair.log).clone();
    match prank {
        Prank::Repeat | Prank::Reflect => {}
        Prank::Flip(at, bits) => *at.get_mut(&mut datagram) ^= bits,
        Prank::Cut(at) => datagram.truncate(at.index(datagram.len())),
        Prank::Splice(other) => {
            let (_, _, other) = other.get(&pair.log);
            datagram.truncate(datagram.len() / 2);
            datagram.extend(&other[other.len() / 2..]);
        }
    }
    let to_server = from_client != matches!(prank, Prank::Reflect);
    let from = if to_server {
        client_addr()
    } else {
        server_addr()
    };
    let now = pair.now;
    let endpoint = &mut pair.host_mut(!to_server).endpoint;
    endpoint.handle_datagram(now, from, None, &datagram);
    pair.settle();
}

/// Lets time pass in small steps, so that applications read as it goes.
fn run(pair: &mut Pair, apps: &mut [App; 2], time: Duration) {
    let until = pair.now + time;
    while pair.now < until {
        pair.run_until(until.min(pair.now + ms(50)));
        for app in &mut *apps {
            let host = pair.host_mut(app.client);
            if !app.client && app.handle.is_none() {
                app.handle = host.events.first().map(|(_, handle, _)| *handle);
            }
            app.read(host);
            app.check(host);
        }
        pair.settle();
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1_000,
        rng_seed: RngSeed::Fixed(6298),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_accident_on_the_path_breaks_a_rule_between_honest_peers(
        crowded in any::<bool>(),
        loss in 0..25_u32,
        damage in 0..10_u32,
        delay in 0..100_u64,
        first_pranks in prop::collection::vec((any::<Index>(), prank()), 0..6),
        steps in prop::collection::vec((0..400_u64, step()), 0..60),
    ) {
        let percent = |n| Probability::from_percent(n).expect("a percentage");
        let link = LinkConfig {
            delay: ms(delay),
            jitter: ms(delay),
            keep_order: false,
            loss: percent(loss),
            duplicate: percent(damage),
            corrupt: percent(damage),
            ..LinkConfig::PERFECT
        };
        // Crowded, the server asks for a cookie first, and any of them may come again (H6).
        let max_half_open = if crowded { 0 } else { CONFIG.max_half_open };
        let mut pair = Pair::new(Config { max_half_open, ..CONFIG }, link);
        (pair.client.reads, pair.server.reads) = (false, false);
        let mut apps = [true, false].map(|client| App { client, ..App::default() });
        apps[0].handle = Some(pair.connect());
        pair.settle();
        for (which, prank) in &first_pranks {
            play(&mut pair, which, prank); // in the midst of the handshake
            run(&mut pair, &mut apps, ms(delay));
        }
        for (after, step) in steps {
            run(&mut pair, &mut apps, ms(after));
            match step {
                Step::Act(client, act) => {
                    let now = pair.now;
                    apps[usize::from(!client)].perform(now, pair.host_mut(client), act);
                    pair.settle();
                }
                Step::Prank(which, prank) => play(&mut pair, &which, &prank),
                Step::BlackOut(seconds) => {
                    let now = pair.now;
                    pair.up.black_out(now, now + s(seconds));
                    pair.down.black_out(now, now + s(seconds));
                }
            }
        }
        for app in &mut apps {
            app.paused = false;
            if let Some(connection) = app.connection(pair.host_mut(app.client)) {
                connection.close(0, "");
            }
        }
        run(&mut pair, &mut apps, s(300));
        prop_assert_eq!(pair.next(), None, "something is left behind");
        for host in [&pair.client, &pair.server] {
            for reason in host.closed() {
                let broken = matches!(
                    reason,
                    CloseReason::Lost(Lost::Violation(_))
                        | CloseReason::Peer { code: VIOLATION_CODE, .. }
                );
                prop_assert!(!broken, "{}", reason);
            }
            let connected = host.events.iter().filter(|(_, _, event)| *event == Event::Connected);
            prop_assert!(connected.count() <= 1, "a repeated Hello made a connection");
        }
        let [client, server] = &apps;
        for (reader, writer) in [(client, server), (server, client)] {
            for (id, read) in &reader.read {
                prop_assert!(writer.written.get(id).is_some_and(|written| read <= written));
            }
            prop_assert!(reader.arrived.iter().all(|number| *number < writer.messages));
        }
    }
}
