//! TLS inside the connector, in virtual time.

use super::{TARGET, call, over, settled};
use conformance::draws::middle;
use conformance::time::{ms, s};
use grpc_backoff::tonic::{Builder, Channel, Tls};
use grpc_backoff::{AttemptReport, Config, Phase, Wait};
use grpc_faults::{Fault, Memory, serve};
use http::Uri;
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::io;
use std::sync::{Arc, Mutex};
use tokio::io::{DuplexStream, duplex};
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tower::service_fn;

/// A certificate for these names, signed by itself, and its key.
pub(super) fn certificate(names: &[&str]) -> rcgen::CertifiedKey<rcgen::KeyPair> {
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    rcgen::generate_simple_self_signed(names).expect("names")
}

/// Trusts this certificate alone.
pub(super) fn trusting(certificate: &CertificateDer<'static>) -> Tls {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).expect("a certificate");
    let config =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has them")
            .with_root_certificates(roots)
            .with_no_client_auth();
    Tls::new(config)
}

/// A server in memory behind TLS that offers these protocols.
fn server(names: &[&str], alpn: &[&[u8]]) -> (CertificateDer<'static>, TlsAcceptor) {
    let own = certificate(names);
    let certificate = own.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    let mut config =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has them")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .expect("a certificate and its key");
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    (certificate, TlsAcceptor::from(Arc::new(config)))
}

/// A channel to a healthy server behind this acceptor.
fn channel(acceptor: &TlsAcceptor, tls: Tls) -> (Channel, Reports) {
    channel_to(TARGET, acceptor, tls)
}

fn channel_to(target: &str, acceptor: &TlsAcceptor, tls: Tls) -> (Channel, Reports) {
    let acceptor = acceptor.clone();
    let inner = service_fn(move |_: Uri| {
        let (client, server): (DuplexStream, _) = duplex(64 * 1024);
        let accepting = acceptor.accept(server);
        tokio::spawn(async move { serve(Fault::Healthy, accepting.await?).await });
        async move { Ok::<_, io::Error>(TokioIo::new(client)) }
    });
    let reports = Reports::default();
    let observed = Arc::clone(&reports);
    let channel = Builder::new(Config::GRPC)
        .over(inner)
        .with_tls(tls)
        .with_draws(middle)
        .on_attempt(move |report| observed.lock().expect("sound").push(report.clone()))
        .channel(target.parse().expect("a URI"));
    (channel.expect("valid"), reports)
}

type Reports = Arc<Mutex<Vec<AttemptReport>>>;

#[tokio::test(start_paused = true)]
async fn settings_are_seen_behind_tls() {
    let (certificate, acceptor) = server(&["server.test"], &[b"h2"]);
    let (channel, reports) = channel(&acceptor, trusting(&certificate));
    sleep(ms(10)).await;
    assert_eq!(channel.status().to_string(), "READY");
    let times = reports.lock().expect("sound")[0].times;
    let phases: Vec<_> = times.iter().map(|(phase, _)| phase).collect();
    assert_eq!(phases, [Phase::Tcp, Phase::Tls, Phase::Settings]);
    call(&mut channel.calls(Wait::FailFast))
        .await
        .expect("it answers");
}

#[tokio::test(start_paused = true)]
async fn a_certificate_for_another_name_is_a_failed_attempt_unless_that_is_the_name_asked_for() {
    let (certificate, acceptor) = server(&["other.test"], &[b"h2"]);
    let (refused, _) = channel(&acceptor, trusting(&certificate));
    sleep(ms(10)).await;
    let told = refused.status().to_string();
    let begin = "TRANSIENT_FAILURE after 1 failure; last: TLS: invalid peer certificate";
    assert!(told.starts_with(begin), "{told}");

    let name = "other.test".try_into().expect("a name");
    let (taken, _) = channel(&acceptor, trusting(&certificate).with_server_name(name));
    sleep(ms(10)).await;
    assert_eq!(taken.status().to_string(), "READY");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_agree_to_h2_is_a_failed_attempt() {
    for (alpn, reason) in [
        (&[][..], "the server did not agree to h2 (ALPN)"),
        (&[&b"http/1.1"[..]][..], "NoApplicationProtocol"),
    ] {
        let (certificate, acceptor) = server(&["server.test"], alpn);
        let (channel, _) = channel(&acceptor, trusting(&certificate));
        sleep(ms(10)).await;
        let told = channel.status().to_string();
        assert!(told.contains(reason), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tls_server_that_stalls_or_alerts_fails_in_that_phase() {
    let (certificate, _) = server(&["server.test"], &[b"h2"]);
    for (fault, after, told) in [
        (
            Fault::TlsStall,
            s(21),
            "CONNECTING after 1 failure; last: no TLS handshake within 20 s",
        ),
        (
            Fault::TlsFailure,
            ms(500),
            "TRANSIENT_FAILURE after 1 failure; last: TLS: received fatal alert: HandshakeFailure; \
             next attempt in 0.5 s",
        ),
    ] {
        let server = Memory::new(fault);
        let builder = over(&server).with_tls(trusting(&certificate));
        let channel = builder
            .channel(TARGET.parse().expect("a URI"))
            .expect("valid");
        sleep(after).await;
        assert_eq!(channel.status().to_string(), told);
        drop(channel);
        settled().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_certificate_may_be_for_an_ipv6_address() {
    let (certificate, acceptor) = server(&["::1"], &[b"h2"]);
    let (channel, _) = channel_to("https://[::1]:443", &acceptor, trusting(&certificate));
    sleep(ms(10)).await;
    assert_eq!(channel.status().to_string(), "READY");
}
