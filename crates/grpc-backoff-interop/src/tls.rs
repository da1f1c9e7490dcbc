//! The TLS of the retry port: a certificate of its own, that the client is told to trust.

use anyhow::{Context, ensure};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// Names that the certificate is good for.
pub const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// A certificate made for this run only.
#[expect(missing_debug_implementations, reason = "it holds a key")]
pub struct Identity {
    /// What takes connections by it.
    pub acceptor: TlsAcceptor,
    /// What clients must trust.
    pub ca_pem: String,
}

impl Identity {
    /// Makes a key and a self-signed certificate for [`NAMES`], for HTTP/2 by ALPN.
    ///
    /// # Errors
    ///
    /// Where the system gives no randomness.
    pub fn generate() -> anyhow::Result<Self> {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(NAMES.map(str::to_owned)).context("no certificate")?;
        let key =
            PrivateKeyDer::try_from(signing_key.serialize_der()).map_err(anyhow::Error::msg)?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            ca_pem: cert.pem(),
        })
    }
}

/// Trusts these certificates and no others.
///
/// # Errors
///
/// Where the text holds no certificate, or one that is not to be trusted.
pub fn trusting(ca_pem: &[u8]) -> anyhow::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca_pem) {
        roots.add(certificate?)?;
    }
    ensure!(!roots.is_empty(), "there is no certificate in it");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}
