//! Two endpoints without a link between them, that take turns: as many datagrams at a time as a
//! system call takes, and no memory of its own.

use std::time::Duration;

use rudp_proto::{Config, Endpoint, Handle, Transmit};

use crate::{
    pair::{SingleStream, client_addr, endpoint, server_addr},
    time::ms,
};

/// A turn, and so the round trip.
const TURN: Duration = ms(1);

/// A client that sends, and a server that reads.
#[derive(Debug)]
pub struct Turns {
    /// The clock of both.
    pub now: Duration,
    /// Who connects.
    pub client: Endpoint,
    /// Who listens.
    pub server: Endpoint,
    /// The bytes that the server read, of all connections.
    pub received: u64,
    most: usize,
    datagrams: Vec<u8>,
    buffer: Vec<u8>,
}

impl Turns {
    /// Endpoints that send at most so many datagrams at once.
    #[must_use]
    pub fn new(config: Config, most: usize) -> Self {
        let mut server = endpoint(config, 2);
        server.listen(true);
        Self {
            now: Duration::ZERO,
            client: endpoint(config, 1),
            server,
            received: 0,
            most,
            datagrams: Vec::new(),
            buffer: vec![0; 1 << 16],
        }
    }

    /// Begins a connection.
    ///
    /// # Panics
    ///
    /// If the client has too many of them.
    pub fn connect(&mut self) -> Handle {
        let connected = self.client.connect(self.now, server_addr());
        connected.expect("there is room")
    }

    /// A turn: the server answers what came in the turn before; the client writes as much as there
    /// is room for, and sends what it may, which is shown; the server reads it.
    ///
    /// # Panics
    ///
    /// If a connection is over.
    pub fn turn(&mut self, handles: &[Handle], look: impl FnMut(Transmit, &[u8])) {
        self.turn_and_hear(handles, look, |_| {});
    }

    /// The same; each datagram of the server's is shown, too.
    ///
    /// # Panics
    ///
    /// If a connection is over.
    pub fn turn_and_hear(
        &mut self,
        handles: &[Handle],
        mut look: impl FnMut(Transmit, &[u8]),
        mut hear: impl FnMut(&[u8]),
    ) {
        self.now += TURN;
        let (now, most) = (self.now, self.most);
        let (client, server) = (&mut self.client, &mut self.server);
        server.handle_timeout(now);
        client.handle_timeout(now);
        while let Some(sent) = server.poll_transmit(now, most, &mut self.datagrams) {
            for datagram in self.datagrams.chunks(sent.segment_size) {
                hear(datagram);
                client.handle_datagram(now, server_addr(), sent.ecn, datagram);
            }
        }
        while client.poll_event().is_some() {}
        for handle in handles {
            let connection = client.connection_mut(*handle);
            let connection = connection.expect("the connection lives");
            while connection.put(&self.buffer).expect("it is open") > 0 {}
        }
        while let Some(sent) = client.poll_transmit(now, most, &mut self.datagrams) {
            look(sent, &self.datagrams);
            for datagram in self.datagrams.chunks(sent.segment_size) {
                server.handle_datagram(now, client_addr(), sent.ecn, datagram);
            }
        }
        while let Some((handle, _)) = server.poll_event() {
            while let Some(connection) = server.connection_mut(handle)
                && let Ok(Some(read @ 1..)) = connection.take(&mut self.buffer)
            {
                self.received += read as u64;
            }
        }
    }
}
