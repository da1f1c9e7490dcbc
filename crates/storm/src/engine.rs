//! The queue of events that every simulation runs on.

use std::ops::RangeInclusive;

/// Bits of an instant that one level tells apart.
const DIGIT: u32 = 6;
const SLOTS: usize = 1 << DIGIT;
/// How many entries a slot has that is shown: more than the processor gets by itself, fewer than
/// would push each other out of its cache.
const AHEAD: RangeInclusive<usize> = 8..=2_048;
const LEVELS: usize = u64::BITS.div_ceil(DIGIT) as usize;

/// Events in the order of their instants, in ns; those of one instant in the order of the pushes.
///
/// A radix heap of base 64: an entry lies at the level of the highest digit in which its instant
/// differs from the latest one taken, in the slot of that digit, and moves down when the time comes
/// near. So an entry is moved at most once per level, by running through memory, and what one costs
/// does not grow with their number as in a binary heap. Slots keep their memory: none is allocated
/// once they have grown.
///
/// ```
/// # use storm::engine::Queue;
/// let mut queue = Queue::new();
/// queue.push(20, 'b');
/// queue.push(10, 'a');
/// queue.push(20, 'c');
/// assert_eq!(queue.pop(), Some((10, 'a')));
/// queue.push(20, 'd');
/// let rest: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
/// assert_eq!(rest, [(20, 'b'), (20, 'c'), (20, 'd')]);
/// ```
#[derive(Clone, Debug)]
pub struct Queue<E> {
    /// No entry lies before it: the instant of the latest event taken.
    now: u64,
    levels: Vec<Level<E>>,
    /// Which levels have entries, a bit each.
    occupied: u16,
    /// The events of `now`, and how many of them are taken.
    current: Vec<(u64, E)>,
    taken: usize,
}

#[derive(Clone, Debug)]
struct Level<E> {
    slots: Vec<Vec<(u64, E)>>,
    /// Which slots have entries, a bit each.
    occupied: u64,
}

impl<E: Copy> Queue<E> {
    /// Makes an empty queue, at instant 0.
    #[must_use]
    pub fn new() -> Self {
        let level = Level {
            slots: vec![Vec::new(); SLOTS],
            occupied: 0,
        };
        Self {
            now: 0,
            levels: vec![level; LEVELS],
            occupied: 0,
            current: Vec::new(),
            taken: 0,
        }
    }

    /// The instant of the latest event taken.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Puts an event in. One for the past happens now, after what else does.
    #[inline]
    pub fn push(&mut self, at: u64, event: E) {
        let at = at.max(self.now);
        let differing = (at ^ self.now) | 1; // the same instant: level 0
        let level = (differing.ilog2() / DIGIT) as usize;
        let slot = digit(at, level);
        let place = &mut self.levels[level];
        place.slots[slot].push((at, event));
        place.occupied |= 1 << slot;
        self.occupied |= 1 << level;
    }

    /// Takes the next event, and its instant.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, E)> {
        self.pop_ahead(|_| {})
    }

    /// As [`pop`](Self::pop), and shows events that come soon, some hundreds at a time: a host of
    /// a million clients reads their states, side by side, before it needs one after another.
    #[inline]
    pub fn pop_ahead(&mut self, show: impl FnMut(E)) -> Option<(u64, E)> {
        if self.taken == self.current.len() {
            self.advance(show)?;
        }
        let event = self.current[self.taken];
        self.taken += 1;
        Some(event)
    }

    /// Takes all events of the next instant into `events`, which is emptied first.
    pub fn pop_all(&mut self, events: &mut Vec<E>) -> Option<u64> {
        events.clear();
        if self.taken == self.current.len() {
            self.advance(|_| {})?;
        }
        // What shares an instant shares a slot, so all of them are here.
        events.extend(self.current[self.taken..].iter().map(|&(_, event)| event));
        self.taken = self.current.len();
        Some(self.now)
    }

    /// Fills `current` with the events of the next instant.
    fn advance(&mut self, mut show: impl FnMut(E)) -> Option<()> {
        self.current.clear();
        self.taken = 0;
        while self.occupied != 0 {
            // A lower level, and there a lower slot, is nearer.
            let level = self.occupied.trailing_zeros() as usize;
            let place = &mut self.levels[level];
            let slot = place.occupied.trailing_zeros() as usize;
            place.occupied &= place.occupied - 1;
            if place.occupied == 0 {
                self.occupied &= self.occupied - 1;
            }
            let entries = &mut place.slots[slot];
            if level == 0 || entries.len() == 1 {
                self.now = entries[0].0;
                std::mem::swap(entries, &mut self.current);
                return Some(());
            }
            let mut entries = std::mem::take(entries);
            self.now = entries.iter().map(|entry| entry.0).min()?;
            if AHEAD.contains(&entries.len()) {
                entries.iter().for_each(|&(_, event)| show(event));
            }
            for &(at, event) in &entries {
                self.push(at, event);
            }
            entries.clear();
            self.levels[level].slots[slot] = entries; // keeps its memory
        }
        None
    }
}

impl<E: Copy> Default for Queue<E> {
    fn default() -> Self {
        Self::new()
    }
}

#[inline]
fn digit(at: u64, level: usize) -> usize {
    (at >> (level as u32 * DIGIT)) as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};
    use std::{cmp::Reverse, collections::BinaryHeap};

    /// A binary heap of (instant, number of the push).
    #[derive(Default)]
    struct Model {
        heap: BinaryHeap<Reverse<(u64, u32)>>,
        now: u64,
    }

    impl Model {
        fn pop(&mut self) -> Option<(u64, u32)> {
            let Reverse(event) = self.heap.pop()?;
            self.now = event.0;
            Some(event)
        }
    }

    proptest! {
        /// Each step puts in some events, so far ahead, and takes one.
        #[test]
        fn it_is_a_stable_priority_queue(
            steps in vec((vec((0_u32..64, any::<u64>()), 0..6), any::<bool>()), 0..200),
        ) {
            let (mut queue, mut model, mut count) = (Queue::new(), Model::default(), 0);
            for (pushes, pop) in steps {
                for (shift, ahead) in pushes {
                    let at = model.now.saturating_add(ahead >> shift);
                    queue.push(at, count);
                    model.heap.push(Reverse((at, count)));
                    count += 1;
                }
                if pop {
                    prop_assert_eq!(queue.pop(), model.pop());
                }
            }
            while let Some(event) = model.pop() {
                prop_assert_eq!(queue.pop(), Some(event));
            }
            prop_assert_eq!(queue.pop(), None);
        }

        #[test]
        fn all_of_an_instant_come_together(times in vec(0_u64..300, 0..200)) {
            let mut queue = Queue::new();
            for (number, &at) in times.iter().enumerate() {
                queue.push(at, number);
            }
            let mut events = Vec::new();
            let mut last = None;
            let mut seen = 0;
            while let Some(at) = queue.pop_all(&mut events) {
                prop_assert!(last < Some(at));
                last = Some(at);
                let expected = (0..times.len()).filter(|&number| times[number] == at);
                prop_assert!(expected.eq(events.iter().copied()));
                seen += events.len();
            }
            prop_assert_eq!(seen, times.len());
        }
    }

    #[test]
    fn an_event_for_the_past_happens_now_after_what_else_does() {
        let mut queue = Queue::new();
        queue.push(5, 'a');
        queue.push(5, 'b');
        assert_eq!(queue.pop(), Some((5, 'a')));
        queue.push(3, 'c');
        assert_eq!([queue.pop(), queue.pop()], [Some((5, 'b')), Some((5, 'c'))]);
        assert_eq!((queue.now(), queue.pop()), (5, None));
        queue.push(u64::MAX, 'z');
        assert_eq!(queue.pop(), Some((u64::MAX, 'z')));
    }
}
