//! Before there is a connection: ids, reset tokens, cookies, and the client's
//! Hellos.

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use rto::Sample;

use crate::Secrets;
use crate::queue::Queue;
use crate::trace::HandshakeStep;
use crate::wire::{Cookie, HELLO_LEN, ResetToken};

/// How long a cookie is good for (H5): twice the usual cap of the RTO, since a Hello that
/// is lost is only repeated after one RTO and must find its cookie still good.
pub const COOKIE_LIFETIME: Duration = Duration::from_secs(120);

/// Silence after which a client sends a PING while nothing of it was acknowledged: early enough
/// for the timer to repeat it before the server forgets (H12).
pub(crate) const FIRST_KEEPALIVE: Duration = Duration::from_secs(10);

/// Hellos leave a second apart, or an RTO without back-offs if that is longer, until so many did
/// beside the timer's: pace and number are those of Linux's `tcp_syn_linear_timeouts` (H13).
pub(crate) const HELLO_PACE: Duration = Duration::from_secs(1);
pub(crate) const MOST_HELLO_PROBES: u64 = 4;

/// A connection that has sent so many packets does not repeat the SETTINGS for a Hello, so that
/// what Hellos can make it send and keep is bounded (H13).
pub(crate) const MOST_FOR_HELLOS: u64 = 16;

/// How many bytes an unproven address may get for each that came from it (H3).
const AMPLIFICATION: usize = 3;

/// Clients with a proof that are remembered, the newest ones (H6).
const MAX_PROVED_CLIENTS: usize = 8192;

/// Everything unpredictable, derived from the host's [`Secrets`] by keyed BLAKE3.
pub(crate) struct Keys {
    reset: [u8; 32],
    cookie: [u8; 32],
    id: [u8; 32],
    ids_made: u64,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("ids_made", &self.ids_made)
            .finish_non_exhaustive()
    }
}

impl Keys {
    pub(crate) fn new(secrets: &Secrets) -> Self {
        let derive =
            |purpose: &str| *blake3::keyed_hash(&secrets.seed, purpose.as_bytes()).as_bytes();
        Self {
            reset: secrets.reset_key,
            cookie: derive("rudp cookies"),
            id: derive("rudp connection ids"),
            ids_made: 0,
        }
    }

    /// A connection id nobody can guess (H2).
    pub(crate) fn next_id(&mut self) -> u64 {
        self.ids_made = self.ids_made.saturating_add(1);
        u64::from_be_bytes(mac(&self.id, &self.ids_made.to_be_bytes()))
    }

    /// The token of a stateless reset: the same after a restart (K5).
    pub(crate) fn reset_token(&self, id: u64) -> ResetToken {
        mac(&self.reset, &id.to_be_bytes())
    }

    pub(crate) fn mint_cookie(&self, now: Duration, from: SocketAddr, client_id: u64) -> Cookie {
        self.cookie_of(milliseconds(now), from, client_id)
    }

    /// Whether this endpoint made `cookie` for this address and id, at most
    /// [`COOKIE_LIFETIME`] ago (H5).
    pub(crate) fn accepts(
        &self,
        now: Duration,
        from: SocketAddr,
        client_id: u64,
        cookie: &Cookie,
    ) -> bool {
        let age = milliseconds(now).checked_sub(cookie.issued_ms);
        let own = self.cookie_of(cookie.issued_ms, from, client_id);
        age.is_some_and(|age| age <= milliseconds(COOKIE_LIFETIME)) && same(&own.mac, &cookie.mac)
    }

    fn cookie_of(&self, issued_ms: u64, from: SocketAddr, client_id: u64) -> Cookie {
        let ip = match from.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let mut input = [0; 34];
        let fields = ip.octets().into_iter();
        let fields = fields.chain(from.port().to_be_bytes());
        let fields = fields.chain(client_id.to_be_bytes());
        let fields = fields.chain(issued_ms.to_be_bytes());
        input
            .iter_mut()
            .zip(fields)
            .for_each(|(byte, field)| *byte = field);
        Cookie {
            issued_ms,
            mac: mac(&self.cookie, &input),
        }
    }
}

/// Clients that have proved their address, by when they did: what comes late of one makes no second
/// connection (H6).
#[derive(Debug, Default)]
pub(crate) struct ProvedClients {
    /// By address and client id, as long as cookies are good that were issued before.
    newest: Queue<Duration, (SocketAddr, u64)>,
    /// Cookies that were issued until then are refused: their clients may be forgotten.
    forgotten: Option<Duration>,
}

impl ProvedClients {
    /// Whether this cookie of the client would be the first to make a connection.
    pub(crate) fn allow(&self, from: SocketAddr, client_id: u64, cookie: &Cookie) -> bool {
        let is_younger = |at| cookie.issued_ms > milliseconds(at);
        self.forgotten.is_none_or(is_younger) && !self.newest.contains(&(from, client_id))
    }

    /// A connection gets no further cookies, so all that its client has were issued before.
    pub(crate) fn insert(&mut self, now: Duration, from: SocketAddr, client_id: u64) {
        let is_over = |at: Duration| at.saturating_add(COOKIE_LIFETIME) < now;
        while self.newest.pop_if(is_over).is_some() {}
        self.newest.set((from, client_id), Some(now));
        if self.newest.len() > MAX_PROVED_CLIENTS {
            self.forgotten = self.newest.first().max(self.forgotten);
            self.newest.pop_if(|_| true);
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The first `N` bytes of keyed BLAKE3.
fn mac<const N: usize>(key: &[u8; 32], input: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    blake3::Hasher::new_keyed(key)
        .update(input)
        .finalize_xof()
        .fill(&mut out);
    out
}

/// Compares in a time that does not depend on where the first difference is.
pub(crate) fn same(a: &ResetToken, b: &ResetToken) -> bool {
    a.iter()
        .zip(b)
        .fold(0, |difference, (a, b)| difference | (a ^ b))
        == 0
}

/// A client that waits to be accepted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handshake {
    pub(crate) cookie: Option<Cookie>,
    sent_at: Option<Duration>,
    /// The current Hello, with or without a cookie, was sent before.
    repeats: bool,
    /// A Hello was repeated: nobody can tell which one an answer is to (H1).
    ambiguous: bool,
}

impl Handshake {
    /// The current Hello is being sent.
    pub(crate) fn handle_sent(&mut self, now: Duration) -> HandshakeStep {
        self.sent_at = Some(now);
        self.ambiguous |= self.repeats;
        match (core::mem::replace(&mut self.repeats, true), self.cookie) {
            (true, _) => HandshakeStep::HelloAgain,
            (false, None) => HandshakeStep::Hello,
            (false, Some(_)) => HandshakeStep::Cookie,
        }
    }

    /// A Challenge arrived. Answers whether it is the first: a later one only
    /// brings a newer cookie for the next retransmission (H4).
    pub(crate) fn handle_challenge(&mut self, cookie: Cookie) -> bool {
        let first = self.cookie.replace(cookie).is_none();
        self.repeats &= !first;
        first
    }

    /// What was waited for arrived: the Challenge, or the SETTINGS.
    pub(crate) fn sample(&self, now: Duration) -> Option<Sample> {
        let sent_at = self.sent_at.filter(|_| !self.ambiguous)?;
        Some(Sample::of_transmission(sent_at, now))
    }

    /// When the last Hello was sent.
    pub(crate) fn sent_at(&self) -> Option<Duration> {
        self.sent_at
    }
}

/// A server's side whose client has not proved its address: it only sends SETTINGS.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct HalfOpen {
    /// How many bytes may still be sent there (H3).
    allowance: usize,
    /// The length of the packet with the SETTINGS, once it was sent; less than a Hello's.
    needed: usize,
}

impl HalfOpen {
    /// A Hello came from the address.
    pub(crate) fn handle_hello(&mut self) {
        let more = HELLO_LEN.saturating_mul(AMPLIFICATION);
        self.allowance = self.allowance.saturating_add(more);
    }

    pub(crate) fn may_send(&self) -> bool {
        self.allowance >= self.needed
    }

    pub(crate) fn handle_sent(&mut self, bytes: usize) {
        self.needed = bytes;
        self.allowance = self.allowance.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(seed: u8) -> Keys {
        Keys::new(&Secrets {
            reset_key: [7; 32],
            seed: [seed; 32],
        })
    }

    #[test]
    fn a_cookie_is_good_for_its_address_its_id_and_two_minutes() {
        let (home, away) = (
            "127.0.0.1:1".parse().unwrap(),
            "127.0.0.1:2".parse().unwrap(),
        );
        let at = Duration::from_millis;
        let keys = keys(1);
        let cookie = keys.mint_cookie(at(1_000), home, 5);
        assert!(keys.accepts(at(1_000), home, 5, &cookie));
        assert!(keys.accepts(at(121_000), home, 5, &cookie));
        assert!(!keys.accepts(at(121_001), home, 5, &cookie), "too old");
        assert!(!keys.accepts(at(999), home, 5, &cookie), "from the future");
        assert!(
            !keys.accepts(at(1_000), away, 5, &cookie),
            "another address"
        );
        assert!(!keys.accepts(at(1_000), home, 6, &cookie), "another id");
        let newer = Cookie {
            issued_ms: 1_001,
            ..cookie
        };
        assert!(!keys.accepts(at(1_001), home, 5, &newer), "a forged time");
    }

    #[test]
    fn a_restart_forgets_cookies_and_ids_but_not_reset_tokens() {
        let (mut before, mut after) = (keys(1), keys(2));
        let home = "[::1]:1".parse().unwrap();
        let cookie = before.mint_cookie(Duration::ZERO, home, 5);
        assert!(!after.accepts(Duration::ZERO, home, 5, &cookie));
        assert_ne!(before.next_id(), after.next_id());
        assert_eq!(before.reset_token(9), after.reset_token(9));
        assert_ne!(before.reset_token(9), before.reset_token(8));
    }
}
