use std::ops::Range;

use rayon::prelude::*;

/// Runs a simulation once for each seed, on all cores, and gives the outcomes in the order of the
/// seeds: the same whatever the number of threads.
pub fn over_seeds<T: Send>(seeds: Range<u64>, run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    seeds.into_par_iter().map(&run).collect()
}
