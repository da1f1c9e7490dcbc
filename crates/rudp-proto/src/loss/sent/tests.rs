use super::*;
use crate::loss::Content;
use alloc::collections::BTreeMap;
use core::time::Duration;
use proptest::prelude::*;

fn packet(number: u64, bytes: u64) -> SentPacket {
    let content = Content {
        settings: bytes > 0,
        ..Content::default()
    };
    SentPacket {
        number,
        sent_at: Duration::from_millis(number),
        bytes,
        content,
        ..SentPacket::default()
    }
}

/// Packets of these numbers, 100 bytes each.
fn sent(numbers: Range<u64>) -> Sent {
    let mut sent = Sent::default();
    numbers.for_each(|number| sent.push(packet(number, 100)));
    sent
}

fn take(sent: &mut Sent, numbers: Range<u64>) -> Vec<u64> {
    let mut taken = Vec::new();
    sent.take(&numbers, &mut taken);
    taken.iter().map(|packet| packet.number).collect()
}

#[test]
fn an_acknowledgement_that_is_repeated_takes_nothing_and_passes_all_at_once() {
    let mut sent = sent(0..1_000);
    assert_eq!(take(&mut sent, 1..900).len(), 899);
    assert_eq!(take(&mut sent, 1..901), [900]);
    assert_eq!(take(&mut sent, 1..901), []);
    let run = |at: usize| match sent.slots.get(at) {
        Some(Slot::Empty { run, .. }) => *run,
        _ => 0,
    };
    assert_eq!((run(900), run(899)), (900, 899));
}

#[test]
fn numbers_without_a_packet_take_no_place() {
    let mut sent = Sent::default();
    for number in (0..10).map(|index| index << 40) {
        sent.push(packet(number, 100));
    }
    assert_eq!(sent.slots(), 10);
    assert!(sent.has(3 << 40) && !sent.has((3 << 40) + 1));
    assert_eq!(take(&mut sent, 1..(2 << 40) + 1), [1 << 40, 2 << 40]);
}

#[test]
fn what_is_empty_at_the_front_goes_and_its_memory_when_it_is_time() {
    let mut sent = sent(0..5_000);
    take(&mut sent, 1..5_000);
    sent.forget_below(4_999);
    assert_eq!(sent.slots(), 5_000, "packet 0 is in flight");
    take(&mut sent, 0..1);
    sent.forget_below(4_999);
    assert_eq!(sent.slots(), 0);
    sent.shrink();
    assert!(sent.slots.capacity() < 100);
}

/// What [`Sent`] is to hold: packets by number.
#[derive(Default)]
struct Model(BTreeMap<u64, SentPacket>);

impl Model {
    fn in_flight(&self) -> impl Iterator<Item = &SentPacket> {
        self.0.values().filter(|packet| !packet.declared_lost)
    }

    fn agrees(&self, sent: &Sent) -> bool {
        let numbers = |packet: &SentPacket| packet.number;
        let waiting = self.in_flight().find(|packet| packet.waits());
        let bytes: u64 = self.in_flight().map(|packet| packet.bytes).sum();
        self.in_flight()
            .map(numbers)
            .eq(sent.in_flight().map(numbers))
            && self.in_flight().next().map(numbers) == sent.oldest().map(numbers)
            && waiting.map(numbers) == sent.oldest_waiting().map(numbers)
            && bytes == sent.bytes()
            && sent.slots() < 600
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// After so many numbers without a packet; without bytes it is a probe of the path.
    Push {
        skip: u64,
        bytes: u64,
    },
    Take {
        below_next: u64,
        len: u64,
    },
    Lose {
        below_next: u64,
    },
    Repeat {
        below_next: u64,
    },
    Forget {
        below_next: u64,
    },
    Sweep {
        most_probes: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let push = |skip| {
        (skip, prop_oneof![4 => 1..9_u64, 1 => Just(0)])
            .prop_map(|(skip, bytes)| Step::Push { skip, bytes })
    };
    prop_oneof![
        6 => push(Just(0).boxed()),
        1 => push((0..5_000_u64).boxed()),
        3 => (0..60_u64, 1..40_u64).prop_map(|(below_next, len)| Step::Take { below_next, len }),
        2 => (0..60_u64).prop_map(|below_next| Step::Lose { below_next }),
        1 => (0..60_u64).prop_map(|below_next| Step::Repeat { below_next }),
        1 => (0..60_u64).prop_map(|below_next| Step::Forget { below_next }),
        1 => (0..4_usize).prop_map(|most_probes| Step::Sweep { most_probes }),
    ]
}

proptest! {
    #[test]
    fn it_agrees_with_a_map(steps in prop::collection::vec(step(), 1..400)) {
        let (mut sent, mut model, mut next) = (Sent::default(), Model::default(), 0_u64);
        for step in steps {
            match step {
                Step::Push { skip, bytes } => {
                    next += skip;
                    sent.push(packet(next, bytes));
                    model.0.insert(next, packet(next, bytes));
                    next += 1;
                }
                Step::Take { below_next, len } => {
                    let start = next.saturating_sub(below_next);
                    let range = start..start + len;
                    let taken = model.0.extract_if(range.clone(), |_, _| true);
                    let taken: Vec<u64> = taken.map(|(number, _)| number).collect();
                    prop_assert_eq!(take(&mut sent, range), taken);
                }
                Step::Lose { below_next } => {
                    let number = next.saturating_sub(below_next);
                    let packet = model.0.get_mut(&number).filter(|it| !it.declared_lost);
                    let lost = packet.is_some();
                    if let Some(packet) = packet {
                        packet.declared_lost = true;
                        if packet.is_path_probe() {
                            model.0.remove(&number);
                        }
                    }
                    prop_assert_eq!(sent.lose(number).is_some(), lost);
                }
                Step::Repeat { below_next } => {
                    let number = next.saturating_sub(below_next);
                    let packet = model.0.get_mut(&number).filter(|it| !it.declared_lost);
                    let known = packet.map(|packet| packet.repeated = true);
                    prop_assert_eq!(sent.update(number, |it| it.repeated = true), known);
                }
                Step::Forget { below_next } => {
                    let newest = next.saturating_sub(below_next);
                    let oldest = model.in_flight().next().map_or(next, |packet| packet.number);
                    let lowest = newest.saturating_sub(MEMORY).min(oldest);
                    model.0.retain(|number, _| *number >= lowest);
                    sent.forget_below(newest);
                }
                Step::Sweep { most_probes } => {
                    let probes = model.0.values().filter(|it| it.is_path_probe());
                    let newest: Vec<u64> = probes.rev().take(most_probes).map(|it| it.number).collect();
                    model.0.retain(|number, it| !it.is_path_probe() || newest.contains(number));
                    sent.sweep(most_probes);
                }
            }
            prop_assert!(model.agrees(&sent), "{sent:?}");
        }
    }
}
