use core::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// A sum over the last `N` slices of time, shared by threads without a lock (B27).
///
/// A slice is one word: its sum, and which turn of the ring it belongs to. Whoever comes to a slice
/// of an earlier turn replaces it and takes its sum out of the total, so nothing is taken out
/// twice, and a thread that comes late changes the slice that is there. The total is therefore
/// always the sum of the slices, but for changes under way.
#[derive(Debug)]
pub(super) struct Window<const N: usize> {
    /// Of a slice, in ns.
    width: u64,
    /// The latest slice, counted from the host's epoch.
    latest: AtomicU64,
    slices: [AtomicU64; N],
    total: AtomicI64,
}

/// The low bits of a word, a signed number: 5 x 10^11.
const SUM_BITS: u32 = 40;
const MOST: i64 = (1 << (SUM_BITS - 1)) - 1;
/// The others. Turns are compared around the circle: of two, the later is less than half ahead.
const TURNS: u64 = 1 << (u64::BITS - SUM_BITS);

#[derive(Clone, Copy)]
struct Slice {
    turn: u64,
    sum: i64,
}

impl Slice {
    const fn unpack(word: u64) -> Self {
        let sum = word.wrapping_shl(u64::BITS - SUM_BITS).cast_signed() >> (u64::BITS - SUM_BITS);
        let turn = word >> SUM_BITS;
        Self { turn, sum }
    }

    const fn pack(self) -> u64 {
        self.turn << SUM_BITS | self.sum.cast_unsigned() & ((1 << SUM_BITS) - 1)
    }

    const fn is_before(self, turn: u64) -> bool {
        let ahead = turn.wrapping_sub(self.turn) % TURNS;
        ahead != 0 && ahead < TURNS / 2
    }

    /// Adds, unless it would leave the range.
    fn plus(self, amount: i64) -> Option<Self> {
        let sum = self.sum.saturating_add(amount);
        (-MOST..=MOST)
            .contains(&sum)
            .then_some(Self { sum, ..self })
    }
}

/// Which slice an amount was added to: its place in the ring and its turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp(u64);

impl Stamp {
    pub(super) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(super) const fn bits(self) -> u64 {
        self.0
    }
}

impl<const N: usize> Window<N> {
    const LENGTH: u64 = N as u64;
    /// So many slices later turns can no longer be compared: as at the first call, where the host's
    /// epoch is long ago.
    const FAR: u64 = Self::LENGTH.saturating_mul(TURNS / 2 - 1);

    /// An empty window that goes back `span` ns, in `N` steps.
    pub(super) const fn new(span: u64) -> Self {
        Self {
            width: match span.checked_div(Self::LENGTH) {
                Some(width) => width,
                None => 0,
            },
            latest: AtomicU64::new(0),
            slices: [const { AtomicU64::new(0) }; N],
            total: AtomicI64::new(0),
        }
    }

    /// The sum of what was added within the window.
    pub(super) fn total(&self, now: u64) -> i64 {
        self.advance(now);
        self.total.load(Relaxed)
    }

    /// Adds to the present slice. What does not fit there is left out.
    pub(super) fn add(&self, now: u64, amount: i64) {
        let tick = self.advance(now);
        if self.change(tick, amount).is_some() {
            self.total.fetch_add(amount, Relaxed);
        }
    }

    /// Takes from the present slice if the total stays at `least` or above.
    pub(super) fn take(&self, now: u64, amount: i64, least: i64) -> Option<Stamp> {
        let tick = self.advance(now);
        // The total first: two threads never take the same.
        let rest = |total: i64| Some(total.saturating_sub(amount)).filter(|&rest| rest >= least);
        self.total.try_update(Relaxed, Relaxed, rest).ok()?;
        let stamp = self.change(tick, amount.saturating_neg());
        if stamp.is_none() {
            self.total.fetch_add(amount, Relaxed);
        }
        stamp
    }

    /// Gives back to the slice that it was taken from; nothing if that has left the window, and
    /// what was taken with it.
    pub(super) fn give_back(&self, stamp: Stamp, amount: i64) {
        let Some(slice) = self.slices.get(Self::place(stamp.0 / TURNS)) else {
            return;
        };
        let more = |word| {
            let slice = Slice::unpack(word);
            let same = slice.turn == stamp.0 % TURNS;
            Some(slice).filter(|_| same)?.plus(amount).map(Slice::pack)
        };
        if slice.try_update(Relaxed, Relaxed, more).is_ok() {
            self.total.fetch_add(amount, Relaxed);
        }
    }

    /// Takes out what has left the window, and gives the present slice. A clock that goes back
    /// stays where it was.
    fn advance(&self, now: u64) -> u64 {
        let tick = now.checked_div(self.width).unwrap_or(0);
        let before = self.latest.load(Relaxed);
        if tick <= before {
            return before;
        }
        let before = self.latest.fetch_max(tick, Relaxed);
        if tick <= before {
            return before;
        }
        let is_far = tick.saturating_sub(before) >= Self::FAR;
        for tick in (0..Self::LENGTH).filter_map(|back| tick.checked_sub(back)) {
            if is_far {
                self.clear(tick);
            }
            self.change(tick, 0);
        }
        tick
    }

    /// Makes its slice one of the turn before, with nothing in it, whatever turn it had. What another
    /// thread adds at the same moment may expire with it.
    fn clear(&self, tick: u64) {
        let place = Self::place(tick.checked_rem(Self::LENGTH).unwrap_or(0));
        let turn = tick.checked_div(Self::LENGTH).unwrap_or(0);
        if let Some(slice) = self.slices.get(place) {
            let turn = turn.wrapping_sub(1) % TURNS;
            let old = slice.swap(Slice { turn, sum: 0 }.pack(), Relaxed);
            self.total.fetch_sub(Slice::unpack(old).sum, Relaxed);
        }
    }

    /// Adds to the slice of this tick, or to the one of a later turn that has replaced it. The
    /// total is the caller's.
    fn change(&self, tick: u64, amount: i64) -> Option<Stamp> {
        let place = tick.checked_rem(Self::LENGTH)?;
        let turn = tick.checked_div(Self::LENGTH)? % TURNS;
        let slice = self.slices.get(Self::place(place))?;
        let fresh = |found: Slice| {
            if found.is_before(turn) {
                Slice { turn, sum: 0 }
            } else {
                found
            }
        };
        let change = |word| fresh(Slice::unpack(word)).plus(amount).map(Slice::pack);
        let replaced = Slice::unpack(slice.try_update(Relaxed, Relaxed, change).ok()?);
        let there = fresh(replaced);
        if there.turn != replaced.turn {
            self.total.fetch_sub(replaced.sum, Relaxed);
        }
        Some(Stamp(place.saturating_mul(TURNS) | there.turn))
    }

    fn place(index: u64) -> usize {
        usize::try_from(index).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// Ten slices of 100 ns.
    fn window() -> Window<10> {
        Window::new(1_000)
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Add(i64),
        Take(i64),
        GiveBack(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
        let gap = prop_oneof![
            0..50u64,
            0..300u64,
            0..100_000u64,
            any::<u64>().prop_map(|gap| gap >> 6)
        ];
        let step = prop_oneof![
            (0..9i64).prop_map(Step::Add),
            (0..9i64).prop_map(Step::Take),
            (0..9usize).prop_map(Step::GiveBack),
        ];
        prop::collection::vec((gap, step), 0..100)
    }

    proptest! {
        /// The same as a list of all amounts, of which those of the last ten slices count.
        #[test]
        fn it_is_the_sum_of_the_last_slices(steps in steps()) {
            const LEAST: i64 = -20;
            let (window, mut now) = (window(), 0);
            let mut list: Vec<(u64, i64)> = Vec::new();
            let mut taken = Vec::new();
            for (gap, step) in steps {
                now += gap;
                let tick = now / 100;
                let live = |then: u64| then + 10 > tick;
                let sum: i64 = list.iter().filter(|(then, _)| live(*then)).map(|(_, amount)| amount).sum();
                prop_assert_eq!(window.total(now), sum);
                match step {
                    Step::Add(amount) => {
                        window.add(now, amount);
                        list.push((tick, amount));
                    }
                    Step::Take(amount) => {
                        let stamp = window.take(now, amount, LEAST);
                        prop_assert_eq!(stamp.is_some(), sum - amount >= LEAST);
                        if let Some(stamp) = stamp {
                            list.push((tick, -amount));
                            taken.push((stamp, tick, amount));
                        }
                    }
                    Step::GiveBack(index) if index < taken.len() => {
                        let (stamp, then, amount) = taken.remove(index);
                        window.give_back(stamp, amount);
                        list.push((then, amount));
                    }
                    Step::GiveBack(_) => {}
                }
            }
        }

        /// Whatever time and amount it is given, it keeps the range, and the total that of the slices.
        #[test]
        fn no_input_breaks_it(steps: Vec<(u64, i64)>) {
            let window = window();
            for (now, amount) in steps {
                if amount < 0 {
                    _ = window.take(now, amount.saturating_neg(), i64::MIN);
                } else {
                    window.add(now, amount);
                }
                let slices = window.slices.iter().map(|slice| Slice::unpack(slice.load(Relaxed)).sum);
                prop_assert_eq!(window.total.load(Relaxed), slices.sum::<i64>());
            }
        }

        #[test]
        fn a_slice_is_one_word(turn in 0..TURNS, sum in -MOST..=MOST) {
            let slice = Slice::unpack(Slice { turn, sum }.pack());
            prop_assert_eq!((slice.turn, slice.sum), (turn, sum));
        }
    }

    #[test]
    fn a_thread_that_comes_late_changes_what_is_there() {
        let window = window();
        window.add(5_000, 3);
        window.change(0, 4); // it read the clock ten turns ago, and its slice is that of 5,000 ns
        let slice = Slice::unpack(window.slices[0].load(Relaxed));
        assert_eq!((slice.turn, slice.sum), (5, 7));
    }
}
