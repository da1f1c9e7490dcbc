//! How large a datagram may be: path MTU discovery by probes of its own (RFC 8899), U1 to U6.
//!
//! No message of the network is needed, nor believed beyond a hint: what is acknowledged got
//! through, and what is lost three times did not fit.

use core::time::Duration;

use crate::wire::BASE_DATAGRAM;

/// What Ethernet carries, and with it most paths: 1,500 bytes less the headers of IPv4 and UDP.
pub(crate) const ETHERNET_DATAGRAM: usize = 1_500 - 20 - 8;

/// Losses that say of a size that it is too large (U2).
const MOST_LOSSES: u8 = 3;
/// A difference that is not worth a probe, in bytes (U2).
const GRAIN: usize = 16;
/// Paths become wider too (U2).
const RAISE_EVERY: Duration = Duration::from_secs(600);
/// After a black hole: the route may settle (U4).
const RAISE_AFTER_HOLE: Duration = Duration::from_secs(60);
/// Losses of large packets, each after the last was noticed, that make a black hole (U4).
const MOST_SUSPICIONS: u8 = 3;

/// What the path carries, as far as is known. All sizes are whole datagrams, in bytes.
#[derive(Debug)]
pub(crate) struct Mtu {
    /// Sizes up to this got through.
    current: usize,
    /// Sizes from this on are too large, or allowed by neither side.
    too_large: usize,
    /// One more than what both sides allow.
    beyond: usize,
    /// The number and size of the probe that is out (U2).
    probe: Option<(u64, usize)>,
    /// Probes of the size at hand that were lost.
    losses: u8,
    /// When to search again, once nothing is left to try.
    raise_at: Option<Duration>,
    hole: Hole,
}

/// The suspicion that large packets are lost because they are (U4).
#[derive(Debug, Default)]
struct Hole {
    suspicions: u8,
    /// When the first packet under suspicion left.
    since: Duration,
    /// What left before the last suspicion adds nothing to it.
    noticed: Duration,
    /// When the newest large packet that got through left.
    proved: Option<Duration>,
}

impl Mtu {
    /// `most` is what this side accepts and sends.
    pub(crate) fn new(most: usize) -> Self {
        let beyond = most.saturating_add(1);
        Self {
            current: BASE_DATAGRAM,
            too_large: beyond,
            beyond,
            probe: None,
            losses: 0,
            raise_at: None,
            hole: Hole::default(),
        }
    }

    /// The peer accepts no more (U3).
    pub(crate) fn handle_peer(&mut self, most: usize) {
        self.beyond = self.beyond.min(most.saturating_add(1));
        self.too_large = self.too_large.min(self.beyond);
    }

    /// The largest datagram to send (U1).
    pub(crate) fn size(&self) -> usize {
        self.current
    }

    /// Whether no larger size is searched for at present (U2).
    pub(crate) fn is_settled(&self) -> bool {
        self.raise_at.is_some()
    }

    /// The size to probe at `now`, if it is time (U2).
    pub(crate) fn poll_probe(&mut self, now: Duration) -> Option<usize> {
        if self.raise_at.is_some_and(|at| at <= now) {
            self.raise_at = None;
            (self.too_large, self.losses) = (self.beyond, 0);
        }
        if self.probe.is_some() || self.raise_at.is_some() {
            return None;
        }
        let room = self.too_large.saturating_sub(self.current);
        let untried = self.too_large == self.beyond;
        if room <= if untried { 1 } else { GRAIN } {
            self.raise_at = Some(now.saturating_add(RAISE_EVERY));
            return None;
        }
        Some(if untried && self.current < ETHERNET_DATAGRAM {
            self.beyond.saturating_sub(1).min(ETHERNET_DATAGRAM)
        } else if untried {
            self.beyond.saturating_sub(1)
        } else {
            self.current.saturating_add(room / 2)
        })
    }

    pub(crate) fn handle_probe_sent(&mut self, number: u64, size: usize) {
        self.probe = Some((number, size));
    }

    /// The packet number of the probe that is out.
    pub(crate) fn probe_number(&self) -> Option<u64> {
        self.probe.map(|(number, _)| number)
    }

    pub(crate) fn handle_probe_acked(&mut self) {
        if let Some((_, size)) = self.probe.take() {
            self.current = self.current.max(size);
            self.losses = 0;
        }
    }

    /// A loss that is no sign of congestion (U2).
    pub(crate) fn handle_probe_lost(&mut self) {
        if let Some((_, size)) = self.probe.take() {
            self.losses = self.losses.saturating_add(1);
            if self.losses >= MOST_LOSSES {
                self.handle_too_large(size);
            }
        }
    }

    /// The system refuses datagrams of this size, or probes of it are lost (U5).
    pub(crate) fn handle_too_large(&mut self, size: usize) {
        let size = size.max(BASE_DATAGRAM.saturating_add(1));
        self.too_large = self.too_large.min(size);
        self.losses = 0;
        if self.probe.is_some_and(|(_, probed)| probed >= size) {
            self.probe = None;
        }
        if self.current >= size {
            self.current = BASE_DATAGRAM;
        }
    }

    /// Large packets may not get through any more (U4).
    pub(crate) fn is_suspicious(&self) -> bool {
        self.hole.suspicions > 0
    }

    /// A packet of `bytes` that left then was acknowledged (U4).
    pub(crate) fn handle_acked(&mut self, sent_at: Duration, bytes: u64) {
        if bytes > BASE_DATAGRAM as u64 {
            self.hole.proved = self.hole.proved.max(Some(sent_at));
            if sent_at >= self.hole.since {
                self.hole.suspicions = 0;
            }
        }
    }

    /// A packet of `bytes` that left then was lost (U4).
    pub(crate) fn handle_lost(&mut self, now: Duration, sent_at: Duration, bytes: u64) {
        let hole = &mut self.hole;
        let overtaken = hole.proved.is_some_and(|proved| sent_at <= proved);
        let known = hole.suspicions > 0 && sent_at <= hole.noticed;
        if bytes <= BASE_DATAGRAM as u64 || overtaken || known {
            return;
        }
        if hole.suspicions == 0 {
            hole.since = sent_at;
        }
        hole.noticed = now;
        hole.suspicions = hole.suspicions.saturating_add(1);
        if hole.suspicions >= MOST_SUSPICIONS {
            self.current = BASE_DATAGRAM;
            self.probe = None;
            self.raise_at = Some(now.saturating_add(RAISE_AFTER_HOLE));
            self.hole = Hole::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    /// Probes a path that carries so much until there is nothing left to try; how many it took.
    fn search(mtu: &mut Mtu, now: Duration, carries: usize) -> u64 {
        let mut probes = 0;
        while let Some(size) = mtu.poll_probe(now) {
            assert_eq!(mtu.probe_number(), None);
            mtu.handle_probe_sent(probes, size);
            assert_eq!(mtu.poll_probe(now), None, "one at a time");
            if size <= carries {
                mtu.handle_probe_acked();
            } else {
                mtu.handle_probe_lost();
            }
            assert!(mtu.size() <= carries.max(BASE_DATAGRAM));
            probes += 1;
        }
        probes
    }

    #[test]
    fn the_search_ends_near_what_the_path_carries() {
        for (most, carries, probes) in [
            (1_200, 1_200, 0),
            (1_201, 9_000, 1),
            (1_472, 1_472, 1),
            (1_472, 1_200, 18),
            (1_472, 1_452, 12),
            (65_507, 65_507, 2),
            (65_507, 1_500, 46),
            (65_507, 9_000, 46),
        ] {
            let mut mtu = Mtu::new(most);
            let took = search(&mut mtu, s(0), carries);
            let best = carries.min(most);
            assert!(
                mtu.size() + GRAIN > best,
                "{most}, {carries}: {}",
                mtu.size()
            );
            assert!(took <= probes, "{most}, {carries}: {took} probes");
            assert_eq!(search(&mut mtu, s(599), most), 0);
            search(&mut mtu, s(600), most);
            assert_eq!(mtu.size(), most, "ten minutes later it has become wider");
        }
    }

    #[test]
    fn what_most_paths_carry_is_tried_before_the_longest() {
        let mut mtu = Mtu::new(16_000);
        for (number, size) in [(0, ETHERNET_DATAGRAM), (1, 16_000)] {
            assert_eq!(mtu.poll_probe(s(0)), Some(size));
            mtu.handle_probe_sent(number, size);
            mtu.handle_probe_acked();
            assert_eq!(mtu.size(), size);
        }
        assert_eq!(mtu.poll_probe(s(0)), None);
    }

    #[test]
    fn two_losses_of_a_size_prove_nothing() {
        let mut mtu = Mtu::new(1_472);
        for number in 0..2 {
            assert_eq!(mtu.poll_probe(s(0)), Some(1_472));
            mtu.handle_probe_sent(number, 1_472);
            mtu.handle_probe_lost();
        }
        mtu.handle_probe_sent(2, 1_472);
        mtu.handle_probe_acked();
        assert_eq!(mtu.size(), 1_472);
    }

    #[test]
    fn the_peer_and_the_system_are_heeded() {
        let mut mtu = Mtu::new(9_000);
        mtu.handle_peer(1_400);
        assert_eq!(mtu.poll_probe(s(0)), Some(1_400));
        mtu.handle_probe_sent(0, 1_400);
        mtu.handle_too_large(1_400);
        assert_eq!(mtu.poll_probe(s(0)), Some(1_300), "at once");
        mtu.handle_probe_sent(1, 1_300);
        mtu.handle_probe_acked();
        mtu.handle_too_large(1_300);
        assert_eq!(mtu.size(), BASE_DATAGRAM);
        mtu.handle_too_large(0);
        assert_eq!((mtu.size(), mtu.poll_probe(s(0))), (BASE_DATAGRAM, None));
    }

    #[test]
    fn large_packets_lost_time_and_again_are_a_black_hole() {
        let wide = || {
            let mut mtu = Mtu::new(1_472);
            search(&mut mtu, s(0), 1_472);
            mtu.handle_acked(s(1), 1_472);
            mtu
        };
        let mut mtu = wide();
        for second in [2, 4, 6] {
            assert_eq!(mtu.size(), 1_472);
            for _ in 0..100 {
                mtu.handle_lost(s(second + 1), s(second), 1_472); // one event
            }
            mtu.handle_acked(s(second), 1_200);
        }
        assert_eq!(mtu.size(), BASE_DATAGRAM);
        assert_eq!(mtu.poll_probe(s(60)), None);
        assert_eq!(mtu.poll_probe(s(67)), Some(1_472), "a minute later");

        let mut mtu = wide();
        for second in 2..100 {
            mtu.handle_lost(s(second + 1), s(second), 1_472);
            mtu.handle_lost(s(second + 1), s(second), 1_200);
            if second % 2 == 0 {
                mtu.handle_acked(s(second), 1_472);
            }
        }
        assert_eq!(mtu.size(), 1_472, "others got through between");
        for _ in 0..100 {
            mtu.handle_lost(s(200), s(2), 1_472);
        }
        assert_eq!(mtu.size(), 1_472, "what was overtaken is a plain loss");
    }
}
