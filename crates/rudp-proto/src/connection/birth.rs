//! How a connection begins, on either side.

use core::net::SocketAddr;
use core::time::Duration;

use rto::Estimator;

use super::closing::Closing;
use super::events::Events;
use super::tracing::Told;
use super::{Connection, Delivery, Phase, Remote};
use crate::ack::Acks;
use crate::congestion::Controller;
use crate::ecn::EcnPath;
use crate::handshake::{HalfOpen, Handshake};
use crate::loss::Flight;
use crate::mtu::Mtu;
use crate::streams::Streams;
use crate::wire::{Params, ResetToken};
use crate::{Config, Side, Stats};

/// What both sides' constructors need.
pub(crate) struct Birth<'a> {
    pub(crate) now: Duration,
    pub(crate) config: &'a Config,
    pub(crate) estimator: Estimator,
    pub(crate) peer: SocketAddr,
    pub(crate) local_id: u64,
    pub(crate) reset_token: ResetToken,
}

impl Connection {
    /// A client that begins its handshake (H1).
    pub(crate) fn connect(birth: &Birth<'_>) -> Self {
        let preferred = birth.config.versions.preferred();
        let mut connection = Self::new(birth, Side::Client, preferred);
        connection.hello_due = true;
        connection
    }

    /// A server's side, for the first Hello of a client (H6). It is half open until the client has
    /// `proved` its address (H11).
    pub(crate) fn accept(
        birth: &Birth<'_>,
        version: u8,
        client_id: u64,
        params: Params,
        proved: bool,
    ) -> Self {
        let mut connection = Self::new(birth, Side::Server, version);
        connection.settings = Delivery::Due;
        connection.half_open = Some(HalfOpen::default());
        connection.handle_established(client_id, params);
        connection.handle_hello(birth.now, proved);
        connection
    }

    fn new(birth: &Birth<'_>, side: Side, version: u8) -> Self {
        let Birth { now, config, .. } = *birth;
        let rto = birth.estimator.rto();
        let streams = Streams::new(now, side, config);
        let (receive_window, stream_window, first_streams, messages) = streams.first_limits();
        let max_datagram = config.max_datagram_with(birth.peer);
        Self {
            peer: birth.peer,
            side,
            version,
            negotiated: false,
            local_id: birth.local_id,
            remote: None,
            params: Params {
                receive_window,
                stream_window,
                streams: first_streams,
                messages,
                idle_timeout: config.idle_timeout,
                reset_token: birth.reset_token,
                max_datagram: max_datagram as u64,
                versions: config.versions,
            },
            phase: Phase::Connecting,
            handshake: Handshake::default(),
            hello_due: false,
            half_open: None,
            flight: Flight::new(birth.estimator, config),
            congestion: Controller::new(config.congestion, birth.local_id),
            bundles: config.bundles,
            paced_until: None,
            streams,
            acks: Acks::new(config.max_ack_delay),
            mtu: Mtu::new(max_datagram),
            ecn_path: EcnPath::default(),
            peer_marks: None,
            peer_gap: false,
            left_marked: false,
            settings: Delivery::Unneeded,
            ping_due: false,
            probe_due: false,
            path_probe_due: false,
            retransmission_due: false,
            closing: Closing::default(),
            keepalive: config.keepalive,
            idle_timeout: config.idle_timeout,
            now,
            last_received: now,
            last_sent: now,
            unreachable_at: None,
            events: Events::new(config.trace),
            told: Told::default(),
            stats: Stats {
                rto_min: rto,
                rto_max: rto,
                ..Stats::default()
            },
        }
    }

    /// Both sides know each other.
    pub(super) fn handle_established(&mut self, id: u64, params: Params) {
        self.remote = Some(Remote { id, params });
        self.phase = Phase::Open;
        self.streams.handle_params(&params);
        let most = usize::try_from(params.max_datagram).unwrap_or(usize::MAX);
        self.mtu.handle_peer(most); // (U3)
        self.idle_timeout = self.idle_timeout.min(params.idle_timeout); // (K2)
        let half = self.idle_timeout.checked_div(2).unwrap_or_default();
        self.keepalive = self.keepalive.map(|every| every.min(half)); // (K1)
        self.events.connected = self.half_open.is_none();
    }
}
