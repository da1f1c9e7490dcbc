//! The measured operations, once for criterion (time) and once for callgrind (instructions).

mod loops;
mod operations;
pub mod peers;
mod rearm;
mod retry_peers;
mod transfer;

use backoff_policy::Series;
use s2n_quic_core::recovery::RttEstimator;

use loops::{idle_draw, idle_duration, idle_pair, idle_unit};
use operations::{
    grpc_step, policy_decorrelated, policy_full, rto_cycle, rto_sample, wire_decode, wire_encode,
};
use peers::{DurationEstimator, quinn_sample, s2n_sample};
use transfer::rudp_datagram;

/// Runs an operation as often as it is told, to the next multiple of 64.
pub type Run = Box<dyn FnMut(u64)>;

/// Something to measure.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The name in every output.
    pub name: &'static str,
    /// Bytes of state that one of the measured things keeps beside its parameters, if any.
    pub bytes: Option<usize>,
    /// Makes what it works on.
    pub start: fn() -> Run,
    /// The same loop around no operation at all: what is to be subtracted from a count.
    pub start_idle: fn() -> Run,
}

/// State of an `rto::Estimator` without its parameters, and of a `RetransmitTimer` with one: the
/// types are private, and the unit tests of `rto` hold them to this.
const ESTIMATOR: usize = 32;
const TIMER: usize = ESTIMATOR + 24;
/// State of a `grpc_backoff::Connection` without its parameters; its unit tests hold it to this.
const CONNECTION: usize = 88;

/// Every operation whose cost is recorded in `BENCHMARKS.md`.
pub const OPERATIONS: &[Operation] = &[
    stateful("rto.sample", ESTIMATOR, rto_sample, idle_duration),
    stateful(
        "peer.quinn.sample",
        size_of::<DurationEstimator>(),
        quinn_sample,
        idle_duration,
    ),
    stateful(
        "peer.s2n.sample",
        size_of::<RttEstimator>(),
        s2n_sample,
        idle_duration,
    ),
    stateful("rto.cycle", TIMER, rto_cycle, idle_pair),
    rearm::<1_000>("rto.rearm.1e3"),
    rearm::<10_000>("rto.rearm.1e4"),
    rearm::<100_000>("rto.rearm.1e5"),
    rearm::<1_000_000>("rto.rearm.1e6"),
    stateful(
        "policy.delay.full",
        size_of::<Series>(),
        policy_full,
        idle_draw,
    ),
    stateful(
        "policy.delay.decorrelated",
        size_of::<Series>(),
        policy_decorrelated,
        idle_draw,
    ),
    delays::<retry_peers::Ours, retry_peers::State>("policy.delay.drawn"),
    delays::<retry_peers::Backon, retry_peers::Backon>("peer.backon.delay"),
    delays::<retry_peers::TokioRetry, retry_peers::TokioRetry>("peer.tokio-retry.delay"),
    delays::<retry_peers::ExponentialBackoff, retry_peers::ExponentialBackoff>(
        "peer.exponential-backoff.delay",
    ),
    delays::<retry_peers::RetryPolicies, retry_peers::RetryPolicies>("peer.retry-policies.delay"),
    delays::<retry_peers::Backoff, retry_peers::Backoff>("peer.backoff.delay"),
    delays::<retry_peers::Tower, retry_peers::TowerState>("peer.tower.delay"),
    stateful("grpc.step", CONNECTION, grpc_step, idle_draw),
    stateless("wire.encode", wire_encode),
    stateless("wire.decode", wire_decode),
    stateless("rudp.datagram", rudp_datagram),
];

const fn stateful(
    name: &'static str,
    bytes: usize,
    start: fn() -> Run,
    start_idle: fn() -> Run,
) -> Operation {
    Operation {
        name,
        bytes: Some(bytes),
        start,
        start_idle,
    }
}

/// With its own generator, whose bytes belong to its state.
const fn delays<D: retry_peers::Delays, State>(name: &'static str) -> Operation {
    stateful(name, size_of::<State>(), retry_peers::run::<D>, idle_unit)
}

const fn stateless(name: &'static str, start: fn() -> Run) -> Operation {
    Operation {
        name,
        bytes: None,
        start,
        start_idle: idle_unit,
    }
}

const fn rearm<const N: u64>(name: &'static str) -> Operation {
    stateful(name, TIMER, rearm::among::<N>, rearm::idle::<N>)
}
