use core::ops::Range;

use alloc::vec;

use rto::Outcome;

use super::sent::MEMORY;
use super::*;
use crate::sender::Chunk;
use crate::wire::{Ack, AckRanges};
use crate::{Side, StreamId, StreamKind};

const ID: StreamId = StreamId::new(Side::Client, StreamKind::Bytes, 0);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn packet(sent_at: Duration, offset: u64) -> SentPacket {
    let chunk = Chunk {
        id: ID,
        range: offset..offset.saturating_add(10),
        fin: false,
    };
    let content = Content {
        chunks: core::iter::once(chunk).collect(),
        ..Content::default()
    };
    SentPacket {
        sent_at,
        bytes: 100,
        content,
        ..SentPacket::default()
    }
}

/// Of the path (L13).
fn probe(sent_at: Duration) -> SentPacket {
    SentPacket {
        bytes: 0,
        content: Content::default(),
        ..packet(sent_at, 0)
    }
}

fn rank(content: &Content) -> u64 {
    let first = content.chunks.first();
    first.map_or(u64::MAX, |chunk| chunk.range.start)
}

/// Packets 0, 1, 2, ... that left at these times, with ascending offsets.
fn flight(sent: &[u64]) -> Flight {
    let estimator = Estimator::new(rto::Config::RFC6298).unwrap();
    let mut flight = Flight::new(estimator, &Config::DEFAULT);
    for (index, at) in sent.iter().enumerate() {
        flight.handle_sent(ms(*at), Some(packet(ms(*at), 10 * index as u64)));
    }
    flight
}

fn ack(flight: &mut Flight, at: u64, range: Range<u64>) -> Acked {
    let ranges = core::iter::once(range).collect();
    flight.handle_ack(ms(at), &ranges, true).unwrap()
}

#[test]
fn three_packets_later_is_lost_and_two_are_not() {
    let mut flight = flight(&[0; 5]);
    assert!(ack(&mut flight, 50, 2..3).lost.is_empty());
    let acked = ack(&mut flight, 50, 4..5);
    assert_eq!((acked.lost.len(), acked.largest_lost), (2, 1));
    assert_eq!(flight.bytes(), 100, "packet 3 is still out");
}

#[test]
fn a_late_ack_is_recognised_once_and_gives_a_sample() {
    let mut flight = flight(&[0; 5]);
    ack(&mut flight, 50, 4..5);
    let late = ack(&mut flight, 70, 0..1);
    assert_eq!(late.late, 1);
    assert_eq!(late.sample, Some(Outcome::Accepted));
    let srtt = flight.timer().estimator().srtt();
    assert_eq!(srtt, Some((ms(50) * 7 + ms(70)) / 8));
    let again = ack(&mut flight, 80, 0..1);
    assert!(again.late == 0 && again.sample.is_none() && again.packets.is_empty());
}

#[test]
fn a_duplicate_moves_no_deadline() {
    let mut flight = flight(&[0; 6]);
    ack(&mut flight, 50, 4..5);
    let armed = flight.timer().poll_timeout();
    ack(&mut flight, 60, 4..5);
    assert_eq!(flight.timer().poll_timeout(), armed);
    ack(&mut flight, 70, 2..3);
    assert_ne!(flight.timer().poll_timeout(), armed);
}

#[test]
fn a_flight_is_idle_an_rto_after_its_last_packet() {
    let mut flight = flight(&[0]);
    ack(&mut flight, 50, 0..1);
    assert!(!flight.is_idle(ms(999)) && flight.is_idle(ms(1_000)));
}

#[test]
fn an_expiry_takes_the_lowest_offset_of_what_left_an_rto_ago() {
    let mut flight = flight(&[0, 0]);
    let stale = packet(ms(1), 5); // a lower offset than packet 1, and sent later
    flight.handle_sent(ms(1), Some(stale));
    ack(&mut flight, 2, 0..1); // arms the timer again
    flight.handle_sent(ms(3), Some(packet(ms(3), 0))); // lower still, but too young
    assert_eq!(flight.timer().poll_timeout(), Some(ms(1_002)));
    let taken = flight.handle_expiry(ms(1_002), ms(1_000), rank).unwrap();
    assert_eq!((taken.sent_at, rank(&taken.content)), (ms(1), 5));
}

#[test]
fn what_was_overtaken_is_lost_a_quarter_of_the_round_trip_later() {
    let mut flight = flight(&[0, 5]);
    let acked = ack(&mut flight, 45, 1..2);
    assert!(acked.lost.is_empty(), "packet 0 has a round trip and 5 ms");
    assert_eq!(flight.loss_deadline(), Some(ms(50)));
    assert!(flight.handle_loss_deadline(ms(49)).is_none());
    let acked = flight.handle_loss_deadline(ms(50)).unwrap();
    assert_eq!((acked.lost.len(), acked.largest_lost), (1, 0));
    assert_eq!((flight.loss_deadline(), flight.bytes()), (None, 0));
    assert_eq!(
        flight.timer().poll_timeout(),
        None,
        "nothing is in flight (5.2-1)"
    );
}

#[test]
fn patience_that_a_loss_shortens_is_over_at_once() {
    let mut sent = [0; 34];
    (sent[32], sent[33]) = (3, 4);
    let mut flight = flight(&sent);
    flight.reordering.handle_reordered(1, ms(20));
    for number in 0..31 {
        flight.reordering.handle_loss(number, number + 1); // the next recovery forgets
    }
    ack(&mut flight, 40, 0..31);
    ack(&mut flight, 44, 33..34);
    assert_eq!(flight.loss_deadline(), Some(ms(65)));
    let acked = flight.handle_loss_deadline(ms(65)).unwrap();
    assert_eq!((acked.lost.len(), flight.loss_deadline()), (2, None));
}

#[test]
fn what_arrived_late_is_awaited_from_then_on() {
    let mut flight = flight(&[0; 300]);
    assert_eq!(ack(&mut flight, 40, 100..101).lost.len(), 98);
    assert_eq!(ack(&mut flight, 42, 0..100).late, 98);
    assert!(ack(&mut flight, 42, 200..201).lost.is_empty());
    let acked = ack(&mut flight, 42, 250..251);
    assert_eq!(acked.lost.len(), 24, "more than 125 behind packet 250");
    assert_eq!(flight.loss_deadline(), Some(ms(52)));
}

#[test]
fn an_ack_of_what_followed_an_expiry_proves_what_came_before_it_lost() {
    let mut flight = flight(&[0, 0, 900]);
    flight.handle_expiry(ms(1_000), ms(1_000), rank).unwrap();
    flight.handle_sent(ms(1_000), Some(packet(ms(1_000), 0)));
    let acked = ack(&mut flight, 1_050, 3..4);
    assert_eq!(acked.lost.len(), 2, "packets 1 and 2");
    assert_eq!(flight.bytes(), 0);
}

#[test]
fn the_rto_after_an_expiry_counts_from_the_repetition() {
    let mut flight = flight(&[0]);
    assert!(flight.timer_mut().handle_timeout(ms(1_000)).is_some());
    flight.handle_expiry(ms(1_000), ms(1_000), rank).unwrap();
    let repetition = SentPacket {
        by_timer: true,
        marked: false,
        ..packet(ms(1_007), 0)
    };
    flight.handle_sent(ms(1_007), Some(repetition));
    assert_eq!(flight.timer().poll_timeout(), Some(ms(3_007)));
}

#[test]
fn what_is_lost_is_remembered_as_far_as_a_receiver_tells() {
    let count = 5_000_u64;
    let mut flight = flight(&[0; 5_000]);
    let acked = ack(&mut flight, 50, count - 1..count);
    assert_eq!(acked.lost.len(), 4_997);
    let oldest = count - 1 - MEMORY;
    assert_eq!(ack(&mut flight, 51, 0..oldest).late, 0);
    assert_eq!(ack(&mut flight, 51, oldest..oldest + 1).late, 1);
}

/// A peer that is there and acknowledges nothing, for three days: numbers run away with our own ACKs, the
/// path is probed, and each expiry repeats something.
#[test]
fn a_peer_that_never_acknowledges_costs_bounded_memory() {
    let mut flight = flight(&[0; 2]);
    ack(&mut flight, 50, 0..1);
    let probes_between_expiries = 2 * 60;
    let bound = 2_048 + 128 + probes_between_expiries + 9;
    let mut most = 0;
    for second in 1..3 * 86_400 {
        let now = ms(1_000 * second);
        for _ in 0..100 {
            flight.handle_sent(now, None);
        }
        if let Some(rto::Timeout::Retransmit(expiry)) = flight.timer_mut().handle_timeout(now) {
            let repeated = flight.handle_expiry(now, expiry.rto, rank).unwrap();
            let by_timer = true;
            flight.handle_sent(
                now,
                Some(SentPacket {
                    by_timer,
                    sent_at: now,
                    ..repeated
                }),
            );
        }
        if flight.handle_path_probe_deadline(now) | flight.handle_heard(now) {
            flight.handle_sent(now, Some(probe(now)));
        }
        most = most.max(flight.sent.slots());
        assert!(most < bound, "{most} after {second} s");
    }
    assert!(flight.next_number() > 25_000_000 && most > 2_048);
}

/// The peer says again what it has, of which the newest came so long ago.
fn tell_again(flight: &mut Flight, at: Duration, range: Range<u64>, delay: Duration) {
    let ranges = core::iter::once(range).collect();
    let acked = flight.handle_ack(at, &ranges, true).unwrap();
    assert!(acked.packets.is_empty());
    flight.handle_ack_delay(at, &Ack { delay, ranges });
}

#[test]
fn what_left_too_early_for_the_delay_of_an_ack_is_overdue_at_once() {
    let after = |at: Duration, delay: Duration| {
        let mut flight = flight(&[0, 20, 60]);
        ack(&mut flight, 40, 0..1);
        tell_again(&mut flight, at, 0..1, delay);
        flight
    };
    let is_overdue = |at: u64, delay: Duration| {
        let deadline = after(ms(at), delay).tail_deadline();
        deadline.unwrap() <= ms(at)
    };
    // A packet may be 1.67 ms late, the brief window less half a twelfth.
    assert!(!is_overdue(70, ms(21)) && is_overdue(70, ms(22)));
    let longest = Duration::MAX;
    assert!(
        !is_overdue(61, longest) && is_overdue(62, longest),
        "whatever the peer says"
    );
    let mut flight = after(ms(70), ms(25));
    let repeated = flight.handle_tail_deadline(ms(70));
    assert_eq!(repeated.map(|(number, _)| number), Some(1));
    tell_again(&mut flight, ms(110), 0..1, ms(70));
    assert!(flight.tail_deadline() > Some(ms(110)), "once");
}

#[test]
fn what_an_older_ack_says_of_a_delay_takes_nothing_back() {
    let mut flight = flight(&[0, 20, 60]);
    ack(&mut flight, 40, 0..1);
    for delay in [25, 10] {
        tell_again(&mut flight, ms(70), 0..1, ms(delay));
    }
    assert!(flight.tail_deadline() <= Some(ms(70)));
}

#[test]
fn the_delay_of_an_ack_counts_if_it_is_of_the_newest_packet() {
    // The third asks for no answer; of it the peer tells nevertheless.
    for (range, is_overdue) in [(0..2, true), (0..3, true), (0..1, false)] {
        let mut flight = flight(&[0, 20]);
        flight.handle_sent(ms(30), None);
        flight.handle_sent(ms(40), Some(packet(ms(40), 30)));
        ack(&mut flight, 60, 0..2);
        tell_again(&mut flight, ms(100), range, ms(40));
        let deadline = flight.tail_deadline().unwrap();
        assert_eq!(deadline <= ms(100), is_overdue);
    }
}

/// (L14)
#[test]
fn it_counts_from_the_packet_that_the_peer_names_if_that_is_one_of_the_last_four_without_an_answer()
{
    for later in 0..5 {
        let mut flight = flight(&[0, 20]);
        flight.handle_sent(ms(30), None);
        flight.handle_sent(ms(40), Some(packet(ms(40), 30)));
        (0..later).for_each(|_| flight.handle_sent(ms(50), None));
        ack(&mut flight, 60, 0..2);
        tell_again(&mut flight, ms(100), 0..3, ms(12));
        let deadline = flight.tail_deadline().unwrap();
        assert_eq!(deadline <= ms(100), later < 4, "{later}");
    }
}

/// (L14)
#[test]
fn an_ack_of_something_new_shows_what_is_missing_too() {
    for (delay, is_overdue) in [(10, false), (22, true)] {
        let mut flight = flight(&[0, 40, 60, 120]);
        ack(&mut flight, 40, 0..1);
        let ranges: AckRanges<'_> = core::iter::once(0..2).collect();
        let delay = ms(delay);
        flight.handle_ack(ms(105), &ranges, true).unwrap();
        flight.handle_ack_delay(ms(105), &Ack { delay, ranges });
        let deadline = flight.tail_deadline().unwrap();
        assert_eq!(deadline <= ms(105), is_overdue, "{delay:?}");
    }
}

/// (L7), (L14)
#[test]
fn what_fills_a_gap_waits_for_no_delayed_ack() {
    let wait = |fills: bool| {
        let mut flight = flight(&[0]);
        ack(&mut flight, 40, 0..1);
        let mut packet = packet(ms(40), 0);
        packet.content.fills = fills;
        flight.handle_sent(ms(40), Some(packet));
        flight.tail_deadline().unwrap().saturating_sub(ms(40))
    };
    assert!(wait(false) > ms(60), "{:?}", wait(false));
    assert_eq!(wait(true), ms(40) + ms(40) / 12);
}

/// After packets that were each acknowledged with a newer one, which left so much later and came back
/// in 40 ms, in the packet after the peer's last one or not: how long the next one waits for its ACK.
fn usual_wait(acks: &[(u64, bool)]) -> Duration {
    let mut flight = flight(&[]);
    let mut now = 0;
    for (apart, in_order) in acks {
        let number = flight.next_number();
        for at in [now, now + apart] {
            flight.handle_sent(ms(at), Some(packet(ms(at), 0)));
        }
        now += apart + 40;
        let ranges = core::iter::once(number..number + 2).collect();
        flight.handle_ack(ms(now), &ranges, *in_order).unwrap();
    }
    flight.handle_sent(ms(now), Some(packet(ms(now), 0)));
    flight.tail_deadline().unwrap().saturating_sub(ms(now))
}

/// (L14)
#[test]
fn what_may_have_waited_for_something_lost_is_not_usual_unless_everything_does() {
    let at_once = ms(40) + ms(40) / 12;
    assert_eq!(usual_wait(&[(0, true); 40]), at_once);
    let some = |every: u64, other| -> Vec<_> {
        let acks = (0..80).map(|n| if n % every == 0 { other } else { (0, true) });
        acks.collect()
    };
    assert_eq!(
        usual_wait(&some(3, (50, false))),
        at_once,
        "an ACK was lost"
    );
    let wait = usual_wait(&some(3, (25, true)));
    assert!((ms(65)..ms(75)).contains(&wait), "it is delayed: {wait:?}");
    let wait = usual_wait(&[(200, false); 80]);
    assert!((ms(240)..ms(280)).contains(&wait), "{wait:?}");
}

/// (L14)
#[test]
fn a_wait_while_something_older_is_out_is_not_usual() {
    let wait_beside = |lost: u64| {
        let mut flight = flight(&[]);
        let mut exchange = |at: u64, beside: Option<u64>, took: u64| {
            for at in beside.into_iter().chain([at]) {
                flight.handle_sent(ms(at), Some(packet(ms(at), 0)));
            }
            let next = flight.next_number();
            let several = beside.is_some_and(|beside| beside == at);
            ack(&mut flight, at + took, next - 1 - u64::from(several)..next);
        };
        (0..80).for_each(|n| exchange(100 * n, None, 40));
        (80..90).for_each(|n| exchange(100 * n, Some(100 * n - lost), 65));
        (90..92).for_each(|n| exchange(100 * n, None, 40));
        flight.handle_sent(ms(9_200), Some(packet(ms(9_200), 0)));
        flight.tail_deadline().unwrap().saturating_sub(ms(9_200))
    };
    let [none, one] = [0, 1].map(wait_beside);
    assert!(none > one + ms(10), "{none:?}, {one:?}");
}

/// (L14)
#[test]
fn the_first_ack_may_be_delayed() {
    for sent in 1..10 {
        let wait = usual_wait(&vec![(0, true); sent]);
        assert!((ms(65)..ms(120)).contains(&wait), "{wait:?} after {sent}");
    }
}
