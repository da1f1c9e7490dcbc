//! Operations shared by the benchmarks and the instruction counts.
