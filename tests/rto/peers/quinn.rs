//! The QUIC client of quinn, in simulated time: nobody answers, and each Initial packet leaves
//! when our probe timer says so. What is in its packets does not matter, so its cryptography is a
//! stub.

use std::{any::Any, net::SocketAddr, sync::Arc, time::Instant};

use bytes::BytesMut;
use conformance::time::ms;
use quinn_proto::{
    ClientConfig, ConnectError, ConnectionId, Endpoint, EndpointConfig, Side, TransportConfig,
    TransportError,
    crypto::{self, CryptoError, ExportKeyingMaterialError, KeyPair, Keys},
    transport_parameters::TransportParameters,
};
use rto::{
    Config, Estimator,
    quic::{ProbeTimer, Space},
};

/// Keys and a configuration that protect nothing.
struct Stub;

/// A session that says hello and no more.
struct Session {
    hello: &'static [u8],
}

impl crypto::HeaderKey for Stub {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}
    fn encrypt(&self, _: usize, _: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        16
    }
}

impl crypto::PacketKey for Stub {
    fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}
    fn decrypt(&self, _: u64, _: &[u8], _: &mut BytesMut) -> Result<(), CryptoError> {
        Ok(())
    }
    fn tag_len(&self) -> usize {
        16
    }
    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }
    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl crypto::HmacKey for Stub {
    fn sign(&self, _: &[u8], _: &mut [u8]) {}
    fn signature_len(&self) -> usize {
        32
    }
    fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
}

impl crypto::Session for Session {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        Keys {
            header: KeyPair {
                local: Box::new(Stub),
                remote: Box::new(Stub),
            },
            packet: KeyPair {
                local: Box::new(Stub),
                remote: Box::new(Stub),
            },
        }
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn early_crypto(&self) -> Option<(Box<dyn crypto::HeaderKey>, Box<dyn crypto::PacketKey>)> {
        None
    }
    fn early_data_accepted(&self) -> Option<bool> {
        None
    }
    fn is_handshaking(&self) -> bool {
        true
    }
    fn read_handshake(&mut self, _: &[u8]) -> Result<bool, TransportError> {
        Ok(false)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(None)
    }
    fn write_handshake(&mut self, buffer: &mut Vec<u8>) -> Option<Keys> {
        buffer.extend_from_slice(std::mem::take(&mut self.hello));
        None
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn crypto::PacketKey>>> {
        None
    }
    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        false
    }
    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

impl crypto::ClientConfig for Stub {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        _: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        Ok(Box::new(Session { hello: b"hello" }))
    }
}

#[test]
fn quinn_sends_initial_packets_when_our_timer_expires() {
    #[expect(clippy::disallowed_methods, reason = "the origin of virtual time")]
    let start = Instant::now();
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(None); // it would end this after 30 s
    let mut config = ClientConfig::new(Arc::new(Stub));
    config.transport_config(Arc::new(transport));
    let endpoint_config = EndpointConfig::new(Arc::new(Stub));
    let mut endpoint = Endpoint::new(Arc::new(endpoint_config), None, false, Some([7; 32]));
    let remote = SocketAddr::from(([192, 0, 2, 1], 443));
    let (_, mut theirs) = (endpoint.connect(start, config, remote, "peer")).expect("it begins");

    let mut ours = ProbeTimer::client(Estimator::new(Config::RFC9002).expect("legal"));
    let mut now = ms(0);
    for expected in [0, 999, 2_997, 6_993, 14_985, 30_969, 62_937, 126_873] {
        assert_eq!(now, ms(expected));
        let mut packets = 0;
        while packets < 9 && (theirs.poll_transmit(start + now, 1, &mut Vec::new())).is_some() {
            packets += 1;
        }
        assert!((1..=2).contains(&packets), "{packets} packets at {now:?}");
        ours.handle_sent(now, Space::Initial);

        let deadline = theirs.poll_timeout().expect("its timer runs") - start;
        assert_eq!(Some(deadline), ours.poll_timeout());
        theirs.handle_timeout(start + deadline);
        assert!(ours.handle_timeout(deadline).is_some());
        now = deadline;
    }
}
