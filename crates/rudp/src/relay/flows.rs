//! All clients of the relay.

use std::{
    collections::{HashMap, hash_map::Entry},
    io,
    net::SocketAddr,
    task::{Context, Poll},
    time::Duration,
};

use super::{BATCH, RelayConfig, RelayCounters, flow::Flow};
use crate::socket::{BatchSocket, Inbox, is_unreachable};

#[derive(Debug)]
pub(super) struct Flows {
    pub(super) to: SocketAddr,
    pub(super) config: RelayConfig,
    pub(super) dark_until: Duration,
    pub(super) by_client: HashMap<SocketAddr, Flow>,
    /// The counts of flows that have expired, and of what belongs to none.
    pub(super) ended: RelayCounters,
}

impl Flows {
    /// Puts what has arrived into the links.
    pub(super) fn receive(
        &mut self,
        now: Duration,
        listening: &BatchSocket,
        inbox: &mut Inbox,
    ) -> io::Result<()> {
        for _ in 0..BATCH {
            match listening.try_recv(inbox) {
                Ok(()) => {
                    for (client, ecn, datagram) in inbox.datagrams() {
                        match self.flow(now, client) {
                            Some(flow) => flow.handle_client(now, ecn, datagram),
                            None => self.ended.no_flow += 1,
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // An earlier answer found its client gone: that is the client's affair.
                Err(error) if is_unreachable(&error) => {}
                Err(error) => return Err(error),
            }
        }
        for flow in self.by_client.values_mut() {
            flow.receive(now, inbox);
        }
        Ok(())
    }

    /// Sends what is due.
    pub(super) fn deliver(&mut self, now: Duration, listening: &BatchSocket) {
        for (client, flow) in &mut self.by_client {
            flow.deliver_there(now);
            flow.deliver_back(now, listening, *client);
        }
    }

    /// The flow of a client, a new one if there is none and there is room.
    fn flow(&mut self, now: Duration, client: SocketAddr) -> Option<&mut Flow> {
        let room = self.by_client.len() < self.config.max_flows;
        match self.by_client.entry(client) {
            Entry::Occupied(flow) => Some(flow.into_mut()),
            Entry::Vacant(_) if !room => None,
            Entry::Vacant(place) => {
                let seed = self.config.seed.wrapping_add(2 * self.ended.flows);
                let mut flow = Flow::connect(self.to, &self.config, seed, now).ok()?;
                flow.black_out(now, self.dark_until);
                self.ended.flows += 1;
                Some(place.insert(flow))
            }
        }
    }

    pub(super) fn expire(&mut self, now: Duration) {
        let (idle_timeout, ended) = (self.config.idle_timeout, &mut self.ended);
        self.by_client.retain(|_, flow| {
            let keep = flow.idle_at(idle_timeout) > now;
            if !keep {
                flow.add_to(ended);
            }
            keep
        });
    }

    pub(super) fn poll_timeout(&self) -> Option<Duration> {
        let flows = self.by_client.values();
        flows
            .map(|flow| flow.deadline(self.config.idle_timeout))
            .min()
    }

    /// Ready when any socket has something; until then all of them wake the task.
    pub(super) fn poll_readable(
        &mut self,
        cx: &mut Context<'_>,
        listening: &BatchSocket,
    ) -> Poll<()> {
        let mut ready = listening.poll_readable(cx).is_ready();
        for flow in self.by_client.values_mut() {
            ready |= flow.poll_readable(cx).is_ready();
        }
        if ready {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}
