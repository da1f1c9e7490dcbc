//! Sets of numbers kept as ranges: packet numbers and stream offsets.

use alloc::collections::VecDeque;
use core::ops::Range;

/// Disjoint, non-touching, half-open ranges in ascending order.
///
/// They grow at the end and go at the front, in place; a new one in the middle moves those between it
/// and the nearer end.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeSet {
    ranges: VecDeque<Range<u64>>,
}

impl RangeSet {
    /// Adds `range` and returns how many of its numbers are new.
    pub(crate) fn insert(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        if let Some(last) = self.ranges.back_mut()
            && (last.start..=last.end).contains(&range.start)
        {
            let known = last.end.min(range.end).saturating_sub(range.start);
            last.end = last.end.max(range.end); // the usual case
            return length(&range).saturating_sub(known);
        }
        // Every range that overlaps or touches becomes part of the new one.
        let first = self.ranges.partition_point(|known| known.end < range.start);
        let end = self
            .ranges
            .partition_point(|known| known.start <= range.end);
        let (mut whole, mut known) = (range.clone(), 0_u64);
        for part in self.between(first, end) {
            let overlap = part.end.min(range.end);
            let overlap = overlap.saturating_sub(part.start.max(range.start));
            known = known.saturating_add(overlap);
            whole = whole.start.min(part.start)..whole.end.max(part.end);
        }
        self.replace(first, end, [whole]);
        length(&range).saturating_sub(known)
    }

    /// Takes every number of `range` out.
    pub(crate) fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() || self.ranges.is_empty() {
            return;
        }
        let first = self
            .ranges
            .partition_point(|known| known.end <= range.start);
        let end = self.ranges.partition_point(|known| known.start < range.end);
        let lowest = self.between(first, end).next();
        let highest = self.between(first, end).next_back();
        if let (Some(lowest), Some(highest)) = (lowest, highest) {
            let rest = [lowest.start..range.start, range.end..highest.end];
            self.replace(first, end, rest);
        }
    }

    /// Takes every number below `limit` out.
    pub(crate) fn remove_below(&mut self, limit: u64) {
        while let Some(first) = self.ranges.front_mut().filter(|first| first.start < limit) {
            if first.end > limit {
                first.start = limit;
                return;
            }
            self.ranges.pop_front();
        }
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        let first = self.ranges.partition_point(|known| known.end <= number);
        let known = self.ranges.get(first);
        known.is_some_and(|known| known.start <= number)
    }

    /// Whether every number of `range` is in the set.
    pub(crate) fn covers(&self, range: &Range<u64>) -> bool {
        let first = self.ranges.partition_point(|known| known.end < range.end);
        let known = self.ranges.get(first);
        range.is_empty() || known.is_some_and(|known| known.start <= range.start)
    }

    /// The ranges that share a number with `range`, highest first.
    pub(crate) fn overlapping(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let first = self
            .ranges
            .partition_point(|known| known.end <= range.start);
        let end = self.ranges.partition_point(|known| known.start < range.end);
        self.between(first, end).rev()
    }

    /// The lowest range.
    pub(crate) fn first(&self) -> Option<Range<u64>> {
        self.ranges.front().cloned()
    }

    pub(crate) fn pop_first(&mut self) -> Option<Range<u64>> {
        self.ranges.pop_front()
    }

    /// How many separate ranges there are.
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + Clone {
        self.ranges.iter().cloned()
    }

    /// The ranges of these places.
    fn between(&self, first: usize, end: usize) -> impl DoubleEndedIterator<Item = Range<u64>> {
        let count = end.saturating_sub(first);
        self.ranges.iter().skip(first).take(count).cloned()
    }

    /// Puts those of `parts` that are not empty in the place of these ranges.
    fn replace<const N: usize>(&mut self, first: usize, end: usize, parts: [Range<u64>; N]) {
        let mut place = first;
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            match self.ranges.get_mut(place).filter(|_| place < end) {
                Some(known) => *known = part,
                None => self.ranges.insert(place, part),
            }
            place = place.saturating_add(1);
        }
        if place < end {
            self.ranges.drain(place..end);
        }
    }
}

/// How many numbers a range holds.
pub(crate) fn length(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[test]
    fn touching_ranges_become_one() {
        let mut set = RangeSet::default();
        assert_eq!(set.insert(0..2), 2);
        assert_eq!(set.insert(4..6), 2);
        assert_eq!(set.insert(1..4), 2);
        assert_eq!((set.first(), set.len()), (Some(0..6), 1));
        assert!(set.covers(&(0..6)) && !set.covers(&(0..7)));
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_set_of_numbers(
            steps in prop::collection::vec((0..5_u8, 0_u64..60, 0_u64..20), 1..60),
        ) {
            let (mut ranges, mut model) = (RangeSet::default(), BTreeSet::new());
            for (step, start, len) in steps {
                let range = start..start + len;
                match step {
                    0 | 1 => {
                        let fresh = range.clone().filter(|n| model.insert(*n)).count();
                        prop_assert_eq!(ranges.insert(range), fresh as u64);
                    }
                    2 | 3 => {
                        model.retain(|n| !range.contains(n));
                        ranges.remove(range);
                    }
                    _ => {
                        model.retain(|n| *n >= len);
                        ranges.remove_below(len);
                    }
                }
                let listed: Vec<u64> = ranges.iter().flatten().collect();
                prop_assert_eq!(&listed, &model.iter().copied().collect::<Vec<_>>());
                let all: Vec<_> = ranges.iter().collect();
                prop_assert!(all.windows(2).all(|w| w[0].end < w[1].start));
                prop_assert!((0..90).all(|n| ranges.contains(n) == model.contains(&n)));
                for probe in [3..4, 10..30, 5..5, 0..90] {
                    let inside = probe.clone().filter(|n| model.contains(n)).count();
                    prop_assert_eq!(ranges.covers(&probe), inside == probe.clone().count());
                    let shared = ranges.overlapping(probe.clone()).map(|it| {
                        it.filter(|n| probe.contains(n)).count()
                    });
                    prop_assert_eq!(shared.sum::<usize>(), inside);
                }
            }
        }
    }
}
