//! What waits: for something that grows, a time or room, or for its turn. Looking for what is next,
//! and leaving, cost about the same however much waits.

use alloc::collections::{BTreeMap, BTreeSet};

/// Each waits for one `K`; of equal ones, the smallest `V` is first.
#[derive(Debug)]
pub(crate) struct Queue<K, V> {
    order: BTreeSet<(K, V)>,
    of: BTreeMap<V, K>,
}

impl<K, V> Default for Queue<K, V> {
    fn default() -> Self {
        Self {
            order: BTreeSet::new(),
            of: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Copy, V: Ord + Copy> Queue<K, V> {
    /// It waits for this from now on, or for nothing.
    pub(crate) fn set(&mut self, value: V, key: Option<K>) {
        let old = match key {
            Some(key) => self.of.insert(value, key),
            None => self.of.remove(&value),
        };
        if old == key {
            return;
        }
        if let Some(key) = key {
            self.order.insert((key, value)); // first: a set that is never empty keeps its memory
        }
        if let Some(old) = old {
            self.order.remove(&(old, value));
        }
    }

    /// Whether it waits.
    pub(crate) fn contains(&self, value: &V) -> bool {
        self.of.contains_key(value)
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.of.len()
    }

    /// What the first one waits for.
    pub(crate) fn first(&self) -> Option<K> {
        self.order.first().map(|(key, _)| *key)
    }

    /// Takes the first one, if what it waits for `is_there`.
    pub(crate) fn pop_if(&mut self, is_there: impl FnOnce(K) -> bool) -> Option<V> {
        let (key, value) = *self.order.first()?;
        if !is_there(key) {
            return None;
        }
        self.set(value, None);
        Some(value)
    }
}

/// Who waits for a turn, first come, first served; each stands there once, and may leave.
#[derive(Debug)]
pub(crate) struct Line<V> {
    queue: Queue<u64, V>,
    /// The place of the next to come.
    end: u64,
}

impl<V> Default for Line<V> {
    fn default() -> Self {
        Self {
            queue: Queue::default(),
            end: 0,
        }
    }
}

impl<V: Ord + Copy> Line<V> {
    /// It stands in line from now on, where it stood or at the end, or does not.
    pub(crate) fn set(&mut self, value: V, stands: bool) {
        if !stands {
            self.queue.set(value, None);
        } else if !self.queue.contains(&value) {
            self.queue.set(value, Some(self.end));
            self.end = self.end.saturating_add(1);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn first(&self) -> Option<V> {
        self.queue.order.first().map(|(_, value)| *value)
    }

    pub(crate) fn pop(&mut self) -> Option<V> {
        self.queue.pop_if(|_| true)
    }

    /// If it is the first, it had its turn: it stands behind all others.
    pub(crate) fn pass(&mut self, value: V) {
        if self.len() > 1 && self.first() == Some(value) {
            self.set(value, false);
            self.set(value, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_waits_for_least_is_first_wherever_it_waited_before() {
        let mut queue = Queue::default();
        for (value, key) in [('a', 3), ('b', 2), ('c', 2), ('d', 1)] {
            queue.set(value, Some(key));
        }
        queue.set('a', Some(1));
        queue.set('d', Some(4));
        queue.set('b', None);
        assert!(queue.len() == 3 && queue.contains(&'d') && !queue.contains(&'b'));
        assert_eq!(queue.first(), Some(1));
        assert_eq!(queue.pop_if(|key| key < 1), None);
        let order: [Option<char>; 4] = core::array::from_fn(|_| queue.pop_if(|_| true));
        assert_eq!(order, [Some('a'), Some('c'), Some('d'), None]);
        assert!(queue.first().is_none() && queue.of.is_empty());
    }

    #[test]
    fn each_stands_in_line_once_in_the_order_of_coming_and_may_leave() {
        let mut line = Line::default();
        for value in ['b', 'a', 'c', 'b', 'd'] {
            line.set(value, true);
        }
        line.set('a', false);
        line.pass('c'); // not the first
        assert_eq!((line.first(), line.len()), (Some('b'), 3));
        line.pass('b');
        line.set('a', true);
        let order: [Option<char>; 5] = core::array::from_fn(|_| line.pop());
        assert_eq!(order, [Some('c'), Some('d'), Some('b'), Some('a'), None]);
        assert_eq!(line.len(), 0);
    }
}
