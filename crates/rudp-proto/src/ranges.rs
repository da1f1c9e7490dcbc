//! Sets of numbers kept as ranges: packet numbers and stream offsets.

use alloc::collections::BTreeMap;
use core::ops::Range;

/// Disjoint, non-touching, half-open ranges in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeSet {
    ends: BTreeMap<u64, u64>, // start -> end
}

impl RangeSet {
    /// Adds `range` and returns how many of its numbers are new.
    pub(crate) fn insert(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        let (mut start, mut end) = (range.start, range.end);
        let mut known = 0_u64;
        // Every range that overlaps or touches becomes part of the new one.
        while let Some((&s, &e)) = self.ends.range(..=end).next_back()
            && e >= start
        {
            self.ends.remove(&s);
            let overlap = e.min(range.end).saturating_sub(s.max(range.start));
            known = known.saturating_add(overlap);
            start = start.min(s);
            end = end.max(e);
        }
        self.ends.insert(start, end);
        length(&range).saturating_sub(known)
    }

    /// Takes every number of `range` out.
    pub(crate) fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        while let Some((&s, &e)) = self.ends.range(..range.end).next_back()
            && e > range.start
        {
            self.ends.remove(&s);
            if s < range.start {
                self.ends.insert(s, range.start);
            }
            if e > range.end {
                self.ends.insert(range.end, e);
            }
        }
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        let below = self.ends.range(..=number).next_back();
        below.is_some_and(|(_, &end)| number < end)
    }

    /// Whether every number of `range` is in the set.
    pub(crate) fn covers(&self, range: &Range<u64>) -> bool {
        let below = self.ends.range(..=range.start).next_back();
        range.is_empty() || below.is_some_and(|(_, &end)| range.end <= end)
    }

    /// The ranges that share a number with `range`, highest first.
    pub(crate) fn overlapping(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let below = self.ends.range(..range.end.max(range.start)).rev();
        below
            .map(|(&start, &end)| start..end)
            .take_while(move |found| found.end > range.start)
    }

    /// The lowest range.
    pub(crate) fn first(&self) -> Option<Range<u64>> {
        self.iter().next()
    }

    pub(crate) fn pop_first(&mut self) -> Option<Range<u64>> {
        self.ends.pop_first().map(|(start, end)| start..end)
    }

    /// How many separate ranges there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + Clone {
        self.ends.iter().map(|(&start, &end)| start..end)
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
            steps in prop::collection::vec((any::<bool>(), 0_u64..60, 0_u64..20), 1..60),
        ) {
            let (mut ranges, mut model) = (RangeSet::default(), BTreeSet::new());
            for (add, start, len) in steps {
                let range = start..start + len;
                if add {
                    let fresh = range.clone().filter(|n| model.insert(*n)).count();
                    prop_assert_eq!(ranges.insert(range), fresh as u64);
                } else {
                    range.clone().for_each(|n| { model.remove(&n); });
                    ranges.remove(range);
                }
                let listed: Vec<u64> = ranges.iter().flatten().collect();
                prop_assert_eq!(&listed, &model.iter().copied().collect::<Vec<_>>());
                let all: Vec<_> = ranges.iter().collect();
                prop_assert!(all.windows(2).all(|w| w[0].end < w[1].start));
                prop_assert!((0..90).all(|n| ranges.contains(n) == model.contains(&n)));
            }
        }
    }
}
