use super::transport::bare_host;
use core::fmt;
use http::Uri;
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use std::io;
use std::string::ToString;
use std::sync::Arc;
use std::vec;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// How to speak TLS with the server, by rustls.
///
/// It offers HTTP/2 alone (ALPN `h2`), and a server that does not agree to it is a failed
/// attempt: gRPC speaks nothing else.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
    server_name: Option<ServerName<'static>>,
}

/// The protocol that TLS is to carry.
const H2: &[u8] = b"h2";

impl Tls {
    /// Trusts the certificate authorities of Mozilla's list, by the crate `webpki-roots`.
    ///
    /// # Panics
    ///
    /// Never: ring has the protocol versions that rustls asks for.
    #[must_use]
    pub fn webpki_roots() -> Self {
        let roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has the protocol versions of rustls")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self::new(config)
    }

    /// Uses a config of your own; what it says of ALPN gives way to `h2`.
    #[must_use]
    pub fn new(mut config: ClientConfig) -> Self {
        config.alpn_protocols = vec![H2.to_vec()];
        Self {
            config: Arc::new(config),
            server_name: None,
        }
    }

    /// The name that the server's certificate must be for. Default: the host of the URI.
    #[must_use]
    pub fn with_server_name(mut self, name: ServerName<'static>) -> Self {
        self.server_name = Some(name);
        self
    }

    pub(super) async fn connect<S>(
        &self,
        uri: &Uri,
        stream: S,
    ) -> io::Result<TokioIo<TlsStream<TokioIo<S>>>>
    where
        S: Read + Write + Unpin,
    {
        let name = match &self.server_name {
            Some(name) => name.clone(),
            None => {
                let host = bare_host(uri).unwrap_or_default().to_string();
                ServerName::try_from(host).map_err(io::Error::other)?
            }
        };
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let stream = connector.connect(name, TokioIo::new(stream)).await?;
        let (_, session) = stream.get_ref();
        if session.alpn_protocol() != Some(H2) {
            return Err(io::Error::other("the server did not agree to h2 (ALPN)"));
        }
        Ok(TokioIo::new(stream))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}
