//! What is done to a kernel's connection. Each returns its trace.

use std::time::Duration;

use conformance::time::ms;
use rto::linux::Config;

use super::{
    Interruption, Trace,
    peer::{Measured, Peer},
};

/// Round trips of these delays in ms, one segment in flight; the first is the handshake's.
pub(super) fn one_by_one(config: &Config, timestamps: bool, delays_ms: &[u64]) -> Trace {
    let (mut peer, syn) = Peer::dial(config, timestamps)?;
    peer.ack(&syn, ms(delays_ms[0]), Measured::RoundTrip)?;
    for &delay in &delays_ms[1..] {
        round_trip(&mut peer, delay)?;
    }
    Ok(peer.into_trace())
}

/// The same with three segments in flight: two of three samples do not end a round trip.
pub(super) fn three_in_flight(config: &Config, delays_ms: &[u64]) -> Trace {
    let (mut peer, syn) = Peer::dial(config, false)?;
    peer.ack(&syn, ms(delays_ms[0]), Measured::RoundTrip)?;
    let mut flight = [peer.write()?, peer.write()?, peer.write()?];
    for &delay in &delays_ms[1..] {
        peer.ack(&flight[0], ms(delay), Measured::RoundTrip)?;
        flight = [flight[1], flight[2], peer.write()?];
    }
    Ok(peer.into_trace())
}

/// So many timeouts of one segment, an ACK that measures nothing, one more timeout, of fresh
/// data, by an RTO still backed off; then round trips.
pub(super) fn ambiguous_recovery(config: &Config, timeouts: u32) -> Trace {
    let mut peer = warmed_up(config, false)?;
    withhold(&mut peer, timeouts, Measured::Nothing)?;
    let kept = Duration::from_micros(peer.info().rto_us.into());
    let fresh = peer.write()?;
    let again = peer.time_out(&fresh)?;
    assert!(
        fresh.at_most_until(&again) >= kept,
        "an early retransmission"
    );
    peer.ack(&again, ms(30), Measured::Nothing)?;
    round_trip(&mut peer, 30)?;
    round_trip(&mut peer, 20)?;
    Ok(peer.into_trace())
}

/// So many timeouts of one segment, and an ACK that echoes the timestamp of the last.
pub(super) fn timestamped_recovery(config: &Config, timeouts: u32) -> Trace {
    let mut peer = warmed_up(config, true)?;
    withhold(&mut peer, timeouts, Measured::RoundTrip)?;
    withhold(&mut peer, 1, Measured::RoundTrip)?;
    round_trip(&mut peer, 20)?;
    Ok(peer.into_trace())
}

/// So many timeouts of the SYN, and its answer.
pub(super) fn lost_syns(config: &Config, timeouts: u32, answer: Measured) -> Trace {
    let (mut peer, mut syn) = Peer::dial(config, true)?;
    for _ in 0..timeouts {
        syn = peer.time_out(&syn)?;
    }
    peer.ack(&syn, ms(30), answer)?;
    Ok(peer.into_trace())
}

/// A timeout of the SYN, an answer that measures nothing, and a timeout of the first data.
pub(super) fn lost_syn_and_data(config: &Config) -> Trace {
    let (mut peer, syn) = Peer::dial(config, true)?;
    let syn = peer.time_out(&syn)?;
    peer.ack(&syn, ms(30), Measured::Nothing)?;
    withhold(&mut peer, 1, Measured::Nothing)?;
    round_trip(&mut peer, 20)?;
    round_trip(&mut peer, 40)?;
    Ok(peer.into_trace())
}

fn warmed_up(config: &Config, timestamps: bool) -> Result<Peer, Interruption> {
    let (mut peer, syn) = Peer::dial(config, timestamps)?;
    peer.ack(&syn, ms(30), Measured::RoundTrip)?;
    round_trip(&mut peer, 20)?;
    round_trip(&mut peer, 40)?;
    Ok(peer)
}

fn round_trip(peer: &mut Peer, delay_ms: u64) -> Result<(), Interruption> {
    let sent = peer.write()?;
    peer.ack(&sent, ms(delay_ms), Measured::RoundTrip)
}

/// One segment, answered only after so many timeouts.
fn withhold(peer: &mut Peer, timeouts: u32, answer: Measured) -> Result<(), Interruption> {
    let mut sent = peer.write()?;
    for _ in 0..timeouts {
        sent = peer.time_out(&sent)?;
    }
    peer.ack(&sent, ms(30), answer)
}
