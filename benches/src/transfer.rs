//! A bulk transfer between two endpoints of `rudp-proto`, without a link between them.

use std::{hint::black_box, net::SocketAddr, time::Duration};

use rudp_proto::{Config, Endpoint, Handle, Secrets, Side, StreamId, StreamKind};

use crate::Run;

const STREAM: StreamId = StreamId::new(Side::Client, StreamKind::Bytes, 0);
/// A turn, and so the round trip; and datagrams that the client sends in one at most, in two calls.
const TURN: Duration = Duration::from_millis(1);
const AT_ONCE: usize = 32;
/// Datagrams before the measured ones: windows and buffers have grown.
const BEFORE: u64 = 20_000;

/// A client that writes, and a server that reads.
struct Transfer {
    now: Duration,
    client: Endpoint,
    server: Endpoint,
    connection: Handle,
    datagrams: Vec<u8>,
    buffer: Vec<u8>,
    sent: u64,
}

impl Transfer {
    fn new() -> Self {
        let (mut client, mut server) = (endpoint(1), endpoint(2));
        server.listen(true);
        let connection = client.connect(Duration::ZERO, address(2));
        let connection = connection.expect("there is room");
        let opened = client.connection_mut(connection).map(|it| it.open_stream());
        assert_eq!(opened, Some(Ok(STREAM)));
        Self {
            now: Duration::ZERO,
            client,
            server,
            connection,
            datagrams: Vec::new(),
            buffer: vec![0x5a; 1 << 16],
            sent: 0,
        }
    }

    /// The client sends so many more datagrams, to the next multiple of what is sent in a turn.
    fn run(&mut self, datagrams: u64) {
        let end = self.sent + datagrams;
        while self.sent < end {
            self.turn();
        }
    }

    /// The server answers what came in the turn before; the client writes and sends; the server
    /// reads.
    fn turn(&mut self) {
        self.now += TURN;
        let now = self.now;
        self.server.handle_timeout(now);
        self.client.handle_timeout(now);
        while let Some(sent) = self.server.poll_transmit(now, AT_ONCE, &mut self.datagrams) {
            for datagram in self.datagrams.chunks(sent.segment_size) {
                let client = &mut self.client;
                client.handle_datagram(now, address(2), sent.ecn, datagram);
            }
        }
        while black_box(self.client.poll_event()).is_some() {}
        let connection = self.client.connection_mut(self.connection);
        let connection = connection.expect("the connection lives");
        while connection.write(STREAM, &self.buffer).expect("it is open") > 0 {}
        for _ in 0..2 {
            let transmit = self.client.poll_transmit(now, AT_ONCE, &mut self.datagrams);
            let Some(sent) = transmit else { break };
            for datagram in self.datagrams.chunks(sent.segment_size) {
                self.sent += 1;
                let server = &mut self.server;
                server.handle_datagram(now, address(1), sent.ecn, datagram);
            }
        }
        while let Some((handle, _)) = self.server.poll_event() {
            let connection = self.server.connection_mut(handle);
            let connection = connection.expect("the connection lives");
            while let Ok(Some(1..)) = connection.read(STREAM, &mut self.buffer) {}
        }
    }
}

fn endpoint(seed: u8) -> Endpoint {
    let secrets = Secrets {
        reset_key: [seed; 32],
        seed: [seed; 32],
    };
    Endpoint::new(Config::DEFAULT, secrets).expect("the defaults are valid")
}

fn address(host: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], 1_000))
}

/// A full datagram in the middle of a transfer, with all that both sides do for it: written, sent,
/// received, read and acknowledged.
pub(crate) fn rudp_datagram() -> Run {
    let mut transfer = Transfer::new();
    transfer.run(BEFORE);
    Box::new(move |times| transfer.run(times))
}
