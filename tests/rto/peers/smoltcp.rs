//! A whole TCP stack in simulated time: the RTO in force is how long after a send the stack
//! wants to be polled again.

use std::{collections::VecDeque, num::NonZeroU32, time::Duration};

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use rto::{Config, Estimator, Progress, RetransmitTimer, Sample};
use smoltcp::{
    iface::{self, Interface, SocketHandle, SocketSet},
    phy::{self, Device, DeviceCapabilities, Medium},
    socket::tcp::{Socket, SocketBuffer},
    time::Instant,
    wire::{HardwareAddress, IpAddress, IpCidr},
};

/// One end of the wire: packets that came, packets to carry.
#[derive(Default)]
struct Port {
    received: VecDeque<Vec<u8>>,
    sent: Vec<Vec<u8>>,
}

struct Received(Vec<u8>);
struct ToSend<'a>(&'a mut Vec<Vec<u8>>);

impl phy::RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl phy::TxToken for ToSend<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let mut packet = vec![0; len];
        let result = write(&mut packet);
        self.0.push(packet);
        result
    }
}

impl Device for Port {
    type RxToken<'a> = Received;
    type TxToken<'a> = ToSend<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, ToSend<'_>)> {
        let packet = self.received.pop_front()?;
        Some((Received(packet), ToSend(&mut self.sent)))
    }

    fn transmit(&mut self, _: Instant) -> Option<ToSend<'_>> {
        Some(ToSend(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        (capabilities.medium, capabilities.max_transmission_unit) = (Medium::Ip, 1_500);
        capabilities
    }
}

/// A host with one TCP socket.
struct Host {
    port: Port,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
}

impl Host {
    fn new(address: [u8; 4]) -> Self {
        let mut port = Port::default();
        let config = iface::Config::new(HardwareAddress::Ip);
        let mut interface = Interface::new(config, &mut port, Instant::ZERO);
        let [a, b, c, d] = address;
        interface.update_ip_addrs(|addresses| {
            let address = IpCidr::new(IpAddress::v4(a, b, c, d), 24);
            addresses.push(address).expect("there is room for one");
        });
        let buffer = || SocketBuffer::new(vec![0; 65_535]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_ack_delay(None);
        let mut sockets = SocketSet::new(vec![]);
        let handle = sockets.add(socket);
        Self {
            port,
            interface,
            sockets,
            handle,
        }
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    /// Takes these packets in and gives what the stack then sends.
    fn poll(&mut self, now: u64, packets: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        self.port.received.extend(packets);
        let now = instant(now);
        self.interface.poll(now, &mut self.port, &mut self.sockets);
        std::mem::take(&mut self.port.sent)
    }

    /// When the stack wants to be polled, in ms.
    fn due(&mut self, now: u64) -> u64 {
        let due = self.interface.poll_at(instant(now), &self.sockets);
        u64::try_from(due.expect("its timer runs").total_millis()).expect("not negative")
    }
}

fn instant(now_ms: u64) -> Instant {
    Instant::from_millis(i64::try_from(now_ms).expect("small"))
}

/// The integer arithmetic of that stack, in ms: averages round up.
#[derive(Default)]
struct CeilingModel {
    estimate: Option<(u64, u64)>,
    rto: u64,
    backoffs: u32,
}

impl CeilingModel {
    fn sample(&mut self, rtt: u64) {
        let (srtt, rttvar) = match self.estimate {
            Some((srtt, rttvar)) => (
                (7 * srtt + rtt).div_ceil(8),
                (3 * rttvar + srtt.abs_diff(rtt)).div_ceil(4),
            ),
            None => (rtt, rtt / 2),
        };
        self.estimate = Some((srtt, rttvar));
        self.rto = (srtt + (4 * rttvar).max(5)).clamp(1_000, 60_000);
        self.backoffs = 0;
    }

    fn back_off(&mut self) {
        self.rto = (2 * self.rto).min(60_000);
        self.backoffs += 1;
        if self.backoffs.is_multiple_of(3) {
            self.estimate = None;
        }
    }
}

/// How far rounding up to ms can carry that stack's RTO from exact: SRTT by up to 7 ms; RTTVAR
/// by up to 3 ms of its own and 7 ms of SRTT's, or down by those 7 ms and half a first sample's
/// odd ms.
const LATE_MS: u64 = 7 + 4 * (3 + 7);
const EARLY_MS: u64 = 4 * 7 + 2;

/// Our timer beside the stack, which clears its estimate after three expiries and has a
/// granularity of 5 ms.
fn our_timer() -> RetransmitTimer {
    let estimator = Estimator::new(Config {
        granularity: Duration::from_millis(5),
        clear_after: NonZeroU32::new(3),
        ..Config::RFC6298
    });
    RetransmitTimer::new(estimator.expect("legal"))
}

/// A connection whose round trips we choose, with the model and our timer beside it.
struct Connection {
    now: u64,
    client: Host,
    server: Host,
    model: CeilingModel,
    ours: RetransmitTimer,
}

impl Connection {
    fn connect(rtt: u64) -> Self {
        let (mut client, mut server) = (Host::new([10, 0, 0, 1]), Host::new([10, 0, 0, 2]));
        server.socket().listen(80).expect("the port is free");
        let Host {
            interface,
            sockets,
            handle,
            ..
        } = &mut client;
        let remote = (IpAddress::v4(10, 0, 0, 2), 80);
        (sockets.get_mut::<Socket>(*handle))
            .connect(interface.context(), remote, 50_000)
            .expect("the socket is closed");
        let mut connection = Self {
            now: 0,
            client,
            server,
            model: CeilingModel {
                rto: 1_000,
                ..CeilingModel::default()
            },
            ours: our_timer(),
        };
        connection.round_trip(rtt, 0); // the SYN is the first sample
        connection
    }

    fn at(&self) -> Duration {
        Duration::from_millis(self.now)
    }

    /// The RTO in force, right after a send: the stack's, the model's, ours.
    fn check_rto(&mut self) {
        let theirs = self.client.due(self.now) - self.now;
        assert_eq!(theirs, self.model.rto, "at {} ms", self.now);
        let ours = self.ours.estimator().rto();
        assert_eq!(self.ours.poll_timeout(), Some(self.at() + ours));
        let doubled = 1 << self.model.backoffs.min(6);
        let [early, late] = [EARLY_MS, LATE_MS].map(|ms| Duration::from_millis(ms * doubled));
        let theirs = Duration::from_millis(theirs);
        assert!(theirs + early >= ours, "{theirs:?} is before {ours:?}");
        assert!(theirs <= ours + late, "{theirs:?} is after {ours:?}");
    }

    /// What the client has to say is sent, lost `losses` times, and then answered after `rtt`.
    fn round_trip(&mut self, rtt: u64, losses: u32) {
        let mut packets = self.client.poll(self.now, vec![]);
        assert_eq!(packets.len(), 1);
        self.ours.handle_sent(self.at());
        self.check_rto();
        let sent_at = self.at();
        for _ in 0..losses {
            let due = self.client.due(self.now);
            assert!(
                self.client.poll(due - 1, vec![]).is_empty(),
                "it is not due yet"
            );
            // Each of the two may be a little ahead: both expire before the next send.
            let our_due = self.ours.poll_timeout().expect("it runs");
            assert!(self.ours.handle_timeout(our_due).is_some());
            self.now = due;
            packets = self.client.poll(due, vec![]);
            assert_eq!(packets.len(), 1, "one retransmission");
            self.model.back_off();
            self.ours.stop(self.at());
            self.ours.handle_sent(self.at());
            self.check_rto();
        }
        self.now += rtt;
        let answer = self.server.poll(self.now, packets);
        let reply = self.client.poll(self.now, answer);
        self.server.poll(self.now, reply);
        let sample = (losses == 0).then(|| Sample::of_transmission(sent_at, self.at()));
        if losses == 0 {
            self.model.sample(rtt);
        }
        self.ours.handle_acked(self.at(), Progress::All, sample);
    }

    fn send(&mut self, rtt: u64, losses: u32) {
        assert_eq!(self.client.socket().send_slice(b"x"), Ok(1));
        self.round_trip(rtt, losses);
    }
}

/// Random round trips of 650 to 1500 ms, one in four lost up to five times.
#[test]
fn smoltcp_keeps_the_same_rto_within_its_milliseconds() {
    let mut differ = 0;
    for seed in 0..20 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut draw = |below: u64| rng.next_u64() % below;
        let mut connection = Connection::connect(650 + draw(300)); // below the initial 1 s
        for _ in 0..200 {
            // An answer later than the RTO would be a timeout that was not meant.
            let rtt = (650 + draw(851)).min(connection.model.rto - 1);
            let losses = if draw(4) == 0 { 1 + draw(5) } else { 0 };
            connection.send(rtt, u32::try_from(losses).expect("small"));
            differ += u32::from(connection.ours.estimator().rto() > Duration::from_secs(1));
        }
    }
    assert!(
        differ > 1_000,
        "the floor hid all but {differ} of 4,000 RTOs"
    );
}

/// A steady round trip: exact arithmetic comes to rest on it; an RTTVAR that is rounded up at each
/// step stays at 3 ms, and so the RTO 12 ms above. The stack's own RTO equals the model's.
#[test]
fn a_steady_round_trip_leaves_smoltcp_twelve_ms_above_it() {
    let mut connection = Connection::connect(900);
    for _ in 0..100 {
        connection.send(1_400, 0);
    }
    assert_eq!(
        (connection.model.rto, connection.model.estimate),
        (1_400 + 12, Some((1_400, 3)))
    );
    let ours = connection.ours.estimator().rto();
    let exact = Duration::from_millis(1_400 + 5); // SRTT + G, but for what is left of 900 ms
    assert!(ours.abs_diff(exact) < Duration::from_micros(1), "{ours:?}");
}
