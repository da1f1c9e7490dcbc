//! What all tests of links share.

use netsim::{Link, LinkConfig, Probability};
use std::time::Duration;

pub(crate) const PACKETS: u32 = 100_000;

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn percent(percent: u32) -> Probability {
    Probability::from_percent(percent).expect("at most 100")
}

pub(crate) fn link(config: LinkConfig, seed: u64) -> Link {
    Link::new(config, seed).expect("the settings make sense")
}

/// A packet that carries its index.
pub(crate) fn packet(index: u32) -> Vec<u8> {
    index.to_be_bytes().to_vec()
}

pub(crate) fn index(packet: &[u8]) -> u32 {
    u32::from_be_bytes(packet.try_into().expect("made by `packet`"))
}

/// Takes out everything with its time of arrival, as a host does that sleeps until each deadline.
pub(crate) fn drain(link: &mut Link) -> Vec<(Duration, Vec<u8>)> {
    let mut arrivals = Vec::new();
    while let Some(due) = link.poll_timeout() {
        while let Some(packet) = link.poll_packet(due) {
            arrivals.push((due, packet));
        }
    }
    arrivals
}

/// Sends `packets` numbered packets, `gap` apart, and returns the time and index of each arrival.
/// Takes packets out on the way, so that the link never fills.
pub(crate) fn run(link: &mut Link, packets: u32, gap: Duration) -> Vec<(Duration, u32)> {
    let mut arrivals = Vec::new();
    for sent in 0..packets {
        let now = gap * sent;
        while let Some(due) = link.poll_timeout().filter(|due| *due < now) {
            let packet = link.poll_packet(due).expect("due");
            arrivals.push((due, index(&packet)));
        }
        link.handle_packet(now, packet(sent));
    }
    let rest = drain(link).into_iter();
    arrivals.extend(rest.map(|(due, packet)| (due, index(&packet))));
    arrivals
}
