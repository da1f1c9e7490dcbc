//! How one connection is made: by the inner connector, then TLS, then watched for SETTINGS.

#[cfg(feature = "tls")]
use super::Tls;
use super::{BoxError, BoxFuture, SettingsIo};
use crate::reconnector::call_ready;
use crate::{Attempt, Failure, Phase, interleave};
use http::Uri;
use http::uri::{Authority, Scheme};
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use std::boxed::Box;
use std::format;
use std::io;
use std::net::{SocketAddr, SocketAddrV6};
use std::string::{String, ToString};
#[cfg(feature = "tls")]
use std::sync::OnceLock;
use std::sync::{Arc, Mutex};
use std::vec;
use std::vec::Vec;
use tokio::net::{TcpStream, lookup_host};
use tower_service::Service;

/// What carries HTTP/2: hyper's reading and writing, of any kind.
pub trait Io: Read + Write + Send + Unpin {}

impl<T: Read + Write + Send + Unpin> Io for T {}

/// The way to one target.
#[derive(Clone)]
pub(super) struct Transport {
    dial: Dial,
    /// TCP of our own: names are resolved here, and `https` asks for TLS.
    is_tcp: bool,
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

type Dial = Arc<dyn Fn(Uri) -> BoxFuture<Result<Box<dyn Io>, BoxError>> + Send + Sync>;

impl Transport {
    pub(super) fn tcp() -> Self {
        Self {
            dial: Arc::new(|address| Box::pin(tcp(address))),
            is_tcp: true,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Over any connector. It is asked whether it is ready inside the attempt, so that its error
    /// is a failed attempt and no more.
    pub(super) fn over<S>(&mut self, inner: S)
    where
        S: Service<Uri, Response: Io + 'static, Error: Into<BoxError>, Future: Send>
            + Send
            + 'static,
    {
        let inner = Arc::new(Mutex::new(inner));
        self.is_tcp = false;
        self.dial = Arc::new(move |address| {
            let inner = Arc::clone(&inner);
            Box::pin(async move {
                let io = call_ready(&inner, address).await.map_err(Into::into)?;
                Ok(Box::new(io) as Box<dyn Io>)
            })
        });
    }

    #[cfg(feature = "tls")]
    pub(super) fn with_tls(&mut self, tls: Tls) {
        self.tls = Some(tls);
    }

    /// The addresses of a target, each as a URI: those of its name for TCP, or else itself.
    pub(super) async fn resolve(&self, target: &Uri) -> io::Result<Vec<Uri>> {
        if !self.is_tcp {
            return Ok(vec![target.clone()]);
        }
        let host = bare_host(target).ok_or_else(|| invalid(target, "names no host"))?;
        let default = if is_https(target) { 443 } else { 80 };
        let port = target.port_u16().unwrap_or(default);
        let addresses = interleave(lookup_host((host, port)).await?); // (A1)
        (addresses.into_iter())
            .map(|address| with_authority(target, &in_authority(address)))
            .collect()
    }

    /// Makes a connection to one of the addresses of `target`, and hands it over for use before
    /// the server has accepted (D13): the connection itself tells the machine when it has.
    pub(super) async fn connect(
        &self,
        attempt: Attempt<Uri>,
        target: &Uri,
    ) -> Result<SettingsIo<Box<dyn Io>, Uri>, Failure<String>> {
        #[cfg(not(feature = "tls"))]
        if self.is_tcp && is_https(target) {
            let why = format!("{target} needs the feature `tls`, or a connector that does TLS");
            return Err(Failure::Final(why));
        }
        attempt.enter(Phase::Tcp);
        let io = (self.dial)(attempt.address().clone()).await;
        let io = io.map_err(|error| in_words(&*error))?;
        #[cfg(feature = "tls")]
        let io = self.secure(&attempt, target, io).await?;
        attempt.enter(Phase::Settings);
        Ok(SettingsIo::new(io, attempt.guard()))
    }

    #[cfg(feature = "tls")]
    async fn secure(
        &self,
        attempt: &Attempt<Uri>,
        target: &Uri,
        io: Box<dyn Io>,
    ) -> Result<Box<dyn Io>, Failure<String>> {
        static DEFAULT: OnceLock<Tls> = OnceLock::new();
        let tls = match &self.tls {
            Some(tls) => tls,
            None if self.is_tcp && is_https(target) => DEFAULT.get_or_init(Tls::webpki_roots),
            None => return Ok(io),
        };
        attempt.enter(Phase::Tls);
        let io = tls.connect(target, io).await;
        let io = io.map_err(|error| in_words(&error))?;
        Ok(Box::new(io))
    }
}

async fn tcp(address: Uri) -> Result<Box<dyn Io>, BoxError> {
    let authority = address.authority().map_or("", Authority::as_str);
    let stream = match scoped(authority) {
        Some(address) => TcpStream::connect(address).await?,
        None => TcpStream::connect(authority).await?,
    };
    stream.set_nodelay(true)?;
    Ok(Box::new(TokioIo::new(stream)))
}

/// An address as a URI has it. The scope of a link-local one has no place in the host there, so it
/// goes before it, where a user would: `2@[fe80::1]:80`.
fn in_authority(address: SocketAddr) -> String {
    match address {
        SocketAddr::V6(scoped) if scoped.scope_id() != 0 => {
            let unscoped = SocketAddrV6::new(*scoped.ip(), scoped.port(), 0, 0);
            format!("{}@{unscoped}", scoped.scope_id())
        }
        _ => address.to_string(),
    }
}

/// The way back, for an address with a scope.
fn scoped(authority: &str) -> Option<SocketAddr> {
    let (scope, address) = authority.split_once('@')?;
    let mut address: SocketAddrV6 = address.parse().ok()?;
    address.set_scope_id(scope.parse().ok()?);
    Some(address.into())
}

/// The host of a URI, an IPv6 address without its brackets.
pub(super) fn bare_host(uri: &Uri) -> Option<&str> {
    (uri.host()).map(|host| host.trim_start_matches('[').trim_end_matches(']'))
}

fn is_https(uri: &Uri) -> bool {
    uri.scheme() == Some(&Scheme::HTTPS)
}

fn with_authority(target: &Uri, authority: &str) -> io::Result<Uri> {
    let mut parts = target.clone().into_parts();
    let authority: Authority = authority
        .parse()
        .map_err(|_| invalid(target, "has an odd address"))?;
    parts.authority = Some(authority);
    Uri::from_parts(parts).map_err(|_| invalid(target, "is no whole URI"))
}

fn invalid(target: &Uri, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{target} {why}"))
}

/// An error and what is behind it, in one line.
pub(super) fn in_words(error: &(dyn core::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let more = error.to_string();
        if !words.ends_with(&more) {
            words = format!("{words}: {more}");
        }
        next = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn addresses_have_the_port_of_their_scheme_or_their_own() {
        for (target, address) in [
            ("http://127.0.0.1", "http://127.0.0.1:80/"),
            ("https://127.0.0.1/path", "https://127.0.0.1:443/path"),
            ("http://[::1]:7", "http://[::1]:7/"),
        ] {
            let target = target.parse().expect("a URI");
            let found = Transport::tcp().resolve(&target).await;
            let found = found.expect("no name to look up");
            assert_eq!(found, [address], "{target}");
        }
        let nowhere = Transport::tcp().resolve(&Uri::from_static("/path")).await;
        let error = nowhere.expect_err("no host").to_string();
        assert_eq!(error, "/path names no host");
    }

    #[test]
    fn an_address_with_a_scope_has_its_place_in_a_uri() {
        let target = Uri::from_static("http://printer.local:80/path");
        for (address, uri) in [
            ("[fe80::1%2]:80", "http://2@[fe80::1]:80/path"),
            ("[fe80::1]:80", "http://[fe80::1]:80/path"),
            ("192.0.2.1:80", "http://192.0.2.1:80/path"),
        ] {
            let address: SocketAddr = address.parse().expect("an address");
            let found = with_authority(&target, &in_authority(address)).expect("a URI");
            assert_eq!(found, uri);
            let authority = found.authority().expect("of its own").as_str();
            let back = scoped(authority).unwrap_or_else(|| authority.parse().expect("no scope"));
            assert_eq!(back, address);
        }
    }

    /// Without a scope of its own, any will do for the loopback.
    #[tokio::test]
    async fn an_address_with_a_scope_is_dialled() {
        let Ok(listener) = tokio::net::TcpListener::bind("[::1]:0").await else {
            std::println!("skipped: IPv6: no such loopback");
            return;
        };
        let port = listener.local_addr().expect("it is bound").port();
        let address = std::format!("http://1@[::1]:{port}/")
            .parse()
            .expect("a URI");
        let (dialled, accepted) = tokio::join!(tcp(address), listener.accept());
        assert!(dialled.is_ok() && accepted.is_ok());
    }

    #[cfg(not(feature = "tls"))]
    #[tokio::test]
    async fn https_without_the_feature_says_which_is_missing() {
        use crate::tonic::{Connector, Unavailable};
        let mut connector = Connector::new(crate::Config::GRPC).expect("valid");
        let target = Uri::from_static("https://127.0.0.1:1");
        let refused: Result<_, Unavailable> = connector.call(target).await;
        let told = refused.expect_err("no TLS").to_string();
        let expected = "refused for good: https://127.0.0.1:1/ needs the feature `tls`, \
                        or a connector that does TLS";
        assert_eq!(told, expected);
    }
}
