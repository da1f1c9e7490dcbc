//! The link: what enters, when it arrives.

use crate::{
    ConfigError, Counters, Ecn, LinkConfig, bottleneck::Bottleneck, counters::add, fate,
    fate::Fate, policer::Bucket,
};
use alloc::{collections::BTreeMap, vec::Vec};
use core::{mem, ops::Range, time::Duration};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// One direction of a network path, as the crate's front page draws it.
///
/// A packet first passes the bottleneck, where it may wait or find no room. Losses are decided
/// next, so a lost packet has used its share of the rate. Packets due at the same time arrive in
/// the order in which they entered.
#[derive(Clone, Debug)]
pub struct Link {
    config: LinkConfig,
    rng: ChaCha8Rng,
    channel_is_bad: bool,
    bottleneck: Bottleneck,
    bucket: Bucket,
    /// Packets on their way, by time due and then by order of entry; both lost and delivered
    /// packets are gone from here.
    in_flight: BTreeMap<(Duration, u64), Propagating>,
    in_flight_bytes: usize,
    next_sequence: u64,
    entered_at: Duration,
    /// The latest arrival so far, held-back packets aside: with `keep_order` nothing arrives before.
    arrivals_until: Duration,
    black_out: Range<Duration>,
    counters: Counters,
}

#[derive(Clone, Debug)]
struct Propagating {
    left_bottleneck_at: Duration,
    /// Its length on the link.
    bytes: usize,
    packet: Vec<u8>,
    ecn: Ecn,
}

impl Link {
    /// How many packets a link holds: as many may wait, and as many may be on their way.
    pub const MAX_PACKETS: usize = 65_536;
    /// How many bytes of packets a link holds (64 MiB), waiting or on their way.
    pub const MAX_BYTES: usize = 64 << 20;

    /// Makes an empty link; `seed` decides the fate of every packet.
    ///
    /// # Errors
    /// [`ConfigError`] names the setting that makes no sense.
    pub fn new(config: LinkConfig, seed: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            config,
            rng: ChaCha8Rng::seed_from_u64(seed),
            channel_is_bad: false,
            bottleneck: Bottleneck::default(),
            bucket: Bucket::default(),
            in_flight: BTreeMap::new(),
            in_flight_bytes: 0,
            next_sequence: 0,
            entered_at: Duration::ZERO,
            arrivals_until: Duration::ZERO,
            black_out: Duration::ZERO..Duration::ZERO,
            counters: Counters::default(),
        })
    }

    /// A packet enters the link.
    ///
    /// If `now` is before the last entry, the clock went back: the link takes it that no time has
    /// passed since that entry, and moves all its deadlines back by as much. Blackouts stay where
    /// they are on your clock.
    pub fn handle_packet(&mut self, now: Duration, packet: Vec<u8>) {
        self.handle_ecn_packet(now, packet, Ecn::NotCapable);
    }

    /// The same with an ECN field.
    pub fn handle_ecn_packet(&mut self, now: Duration, packet: Vec<u8>, ecn: Ecn) {
        self.step_back_to(now);
        self.entered_at = now;
        let bytes = packet.len().saturating_add(self.config.overhead);
        add(&mut self.counters.entered, 1);
        add(&mut self.counters.entered_bytes, bytes);

        // Fate and channel move with every packet, whatever becomes of it.
        let fate = Fate::draw(&mut self.rng);
        let burst = self.config.burst.as_ref();
        let in_burst = burst.is_some_and(|burst| burst.loses(&mut self.channel_is_bad, &fate));

        if self.config.mtu.is_some_and(|mtu| bytes > mtu) {
            return add(&mut self.counters.lost_mtu, 1);
        }
        let left_at = self.bottleneck.enter(
            now,
            bytes,
            self.config.rate,
            self.config.queue,
            Self::MAX_PACKETS,
        );
        let ecn = self.after_queue(left_at.is_some(), ecn);
        let lost = match left_at {
            None => &mut self.counters.lost_queue,
            Some(left_at) if self.is_dark(left_at) => &mut self.counters.lost_blackout,
            Some(left_at) if !self.admits(left_at, bytes) => &mut self.counters.lost_policer,
            Some(_) if self.config.loss.happens(fate.loss) => &mut self.counters.lost_random,
            Some(_) if in_burst => &mut self.counters.lost_burst,
            Some(left_at) => return self.propagate(left_at, packet, ecn, &fate),
        };
        add(lost, 1);
    }

    /// When to call [`poll_packet`](Self::poll_packet): the next packet is due at the far end.
    /// `None` if the link is empty. Every call that takes `&mut self` may change it.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        let (&(due, _), _) = self.in_flight.first_key_value()?;
        Some(due)
    }

    /// The next packet due at the far end at or before `now`, in order of arrival. Call it until it
    /// returns `None`; calling early is harmless.
    #[must_use]
    pub fn poll_packet(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.poll_ecn_packet(now).map(|(packet, _)| packet)
    }

    /// The same with its ECN field.
    #[must_use]
    pub fn poll_ecn_packet(&mut self, now: Duration) -> Option<(Vec<u8>, Ecn)> {
        let next = self.in_flight.first_entry()?;
        let (due, _) = *next.key();
        if due > now {
            return None;
        }
        let Propagating {
            bytes, packet, ecn, ..
        } = next.remove();
        self.in_flight_bytes = self.in_flight_bytes.saturating_sub(packet.len());
        add(&mut self.counters.delivered, 1);
        add(&mut self.counters.delivered_bytes, bytes);
        Some((packet, ecn))
    }

    /// Changes the settings for the packets that enter from now on; those in the link keep what
    /// they have, and a [`black_out`](Self::black_out) goes on.
    ///
    /// # Errors
    /// [`ConfigError`] names the setting that makes no sense; then the old ones stay.
    pub fn set_config(&mut self, config: LinkConfig) -> Result<(), ConfigError> {
        config.validate()?;
        if config.burst.is_none() {
            self.channel_is_bad = false; // a burst model starts good whenever it starts
        }
        if config.rate != self.config.rate {
            self.bottleneck.rate_changed();
        }
        self.config = config;
        Ok(())
    }

    /// The settings for packets that enter now.
    #[must_use]
    pub const fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Makes the link dark from `now` until just before `until`, besides the scheduled blackouts.
    ///
    /// Packets that would leave the bottleneck in that time are lost, also those that wait already.
    /// A later call replaces this one: `black_out(now, now)` ends it.
    pub fn black_out(&mut self, now: Duration, until: Duration) {
        let dark = now..until;
        let (lost, bytes) = (&mut self.counters.lost_blackout, &mut self.in_flight_bytes);
        self.in_flight.retain(|_, propagating| {
            let keep = !dark.contains(&propagating.left_bottleneck_at);
            if !keep {
                *bytes = bytes.saturating_sub(propagating.packet.len());
                add(lost, 1);
            }
            keep
        });
        self.black_out = dark;
    }

    /// Whether a packet that leaves the bottleneck at `now` is lost in a blackout.
    #[must_use]
    pub fn is_dark(&self, now: Duration) -> bool {
        let scheduled = self.config.blackouts.iter();
        scheduled
            .chain([&self.black_out])
            .any(|dark| dark.contains(&now))
    }

    /// What happened to packets so far.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// How many packets will arrive as things stand: waiting or on their way, and not lost.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// How many bytes wait for the bottleneck at `now`, without the packet that it is sending.
    /// Packets that will be lost after it are included.
    #[must_use]
    pub fn queued_bytes(&self, now: Duration) -> usize {
        self.bottleneck.waiting_bytes(now)
    }

    /// The ECN field of a packet that went into the queue, or found no room there.
    fn after_queue(&mut self, entered: bool, ecn: Ecn) -> Ecn {
        let waiting = self.bottleneck.waiting_at_entry();
        let above = self.config.mark_above.is_some_and(|most| waiting > most);
        let marks = entered && above && ecn.takes_mark();
        add(&mut self.counters.marked, marks.into());
        match ecn {
            _ if self.config.bleach_ecn => Ecn::NotCapable,
            _ if marks => Ecn::Marked,
            kept => kept,
        }
    }

    /// Whether the policer lets a packet pass that leaves the bottleneck at `now`.
    fn admits(&mut self, now: Duration, bytes: usize) -> bool {
        let policer = self.config.policer;
        policer.is_none_or(|policer| self.bucket.admits(now, bytes, policer))
    }

    /// Sends a packet that survived on its way, and its copy if there is to be one.
    fn propagate(&mut self, left_at: Duration, mut packet: Vec<u8>, ecn: Ecn, fate: &Fate) {
        if self.config.corrupt.happens(fate.corrupt) && !packet.is_empty() {
            flip_bit(&mut packet, fate.corrupt_bit);
            add(&mut self.counters.corrupted, 1);
        }
        let twice = self.config.duplicate.happens(fate.duplicate);
        let copy = twice.then(|| packet.clone());

        let arrival = self.arrival(left_at, fate.jitter);
        let held_back = if self.config.reorder.happens(fate.reorder) {
            add(&mut self.counters.reordered, 1);
            self.config.reorder_delay
        } else {
            Duration::ZERO
        };
        self.store(arrival.saturating_add(held_back), left_at, packet, ecn);

        if let Some(copy) = copy {
            add(&mut self.counters.duplicated, 1);
            let arrival = self.arrival(left_at, fate.copy_jitter);
            self.store(arrival, left_at, copy, ecn);
        }
    }

    /// When a packet arrives that is not held back.
    fn arrival(&mut self, left_at: Duration, jitter: u64) -> Duration {
        let delay = fate::vary(self.config.delay, self.config.jitter, jitter);
        let arrival = left_at.saturating_add(delay);
        let latest = self.arrivals_until.max(arrival);
        self.arrivals_until = latest;
        if self.config.keep_order {
            latest
        } else {
            arrival
        }
    }

    /// Keeps a packet until it is due, if there is room.
    fn store(&mut self, due: Duration, left_bottleneck_at: Duration, packet: Vec<u8>, ecn: Ecn) {
        let bytes = self.in_flight_bytes.saturating_add(packet.len());
        if bytes > Self::MAX_BYTES || self.in_flight.len() >= Self::MAX_PACKETS {
            add(&mut self.counters.lost_queue, 1);
            return;
        }
        self.in_flight_bytes = bytes;
        let key = (due, self.next_sequence);
        self.next_sequence = self.next_sequence.saturating_add(1);
        let propagating = Propagating {
            left_bottleneck_at,
            bytes: packet.len().saturating_add(self.config.overhead),
            packet,
            ecn,
        };
        self.in_flight.insert(key, propagating);
    }

    /// Moves all deadlines back with a clock that went back. Without this, one reading far in the
    /// future would hold up every later packet until that time.
    fn step_back_to(&mut self, now: Duration) {
        let by = self.entered_at.saturating_sub(now);
        if by.is_zero() {
            return;
        }
        self.bottleneck.step_back(by);
        self.bucket.step_back(by);
        self.arrivals_until = self.arrivals_until.saturating_sub(by);
        let in_flight = mem::take(&mut self.in_flight).into_iter();
        self.in_flight = in_flight
            .map(|((due, sequence), mut propagating)| {
                let left_at = &mut propagating.left_bottleneck_at;
                *left_at = left_at.saturating_sub(by);
                ((due.saturating_sub(by), sequence), propagating)
            })
            .collect();
    }
}

/// Flips the bit of a packet that is not empty which a uniform draw picks.
fn flip_bit(packet: &mut [u8], draw: u64) {
    let last_bit = packet.len().saturating_mul(8).saturating_sub(1);
    let bit = fate::scale(draw, u64::try_from(last_bit).unwrap_or(u64::MAX));
    let byte = usize::try_from(bit / 8)
        .ok()
        .and_then(|index| packet.get_mut(index));
    if let Some(byte) = byte {
        *byte ^= 1 << (bit % 8);
    }
}
