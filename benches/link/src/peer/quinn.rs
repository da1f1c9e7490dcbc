//! quinn, with buffers as large as the others'.

use std::{fs, net::SocketAddr, path::Path, sync::Arc};

use quinn::{
    ClientConfig, Connection, Endpoint, EndpointConfig, RecvStream, SendStream, ServerConfig,
    TokioRuntime, TransportConfig, VarInt,
    congestion::{BbrConfig, CubicConfig},
};
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::mpsc,
};

use super::{ANY, BUFFER, Listening, Stream, udp, work::MESSAGE};

/// The name in the certificate.
const NAME: &str = "localhost";
const CERTIFICATE: &str = "certificate.der";
const KEY: &str = "key.der";

/// Its congestion control.
#[derive(Clone, Copy)]
pub(super) enum Control {
    Cubic,
    Bbr,
}

/// Makes a certificate that server and client find in `keys`.
pub fn write_keys(keys: &Path) -> anyhow::Result<()> {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    fs::write(keys.join(CERTIFICATE), made.cert.der())?;
    fs::write(keys.join(KEY), made.signing_key.serialize_der())?;
    Ok(())
}

fn transport(control: Control) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    match control {
        Control::Cubic => {
            transport.congestion_controller_factory(Arc::new(CubicConfig::default()));
        }
        Control::Bbr => {
            transport.congestion_controller_factory(Arc::new(BbrConfig::default()));
        }
    }
    let buffer = u32::try_from(BUFFER).unwrap_or(u32::MAX);
    transport
        .stream_receive_window(VarInt::from_u32(buffer))
        .receive_window(VarInt::from_u32(buffer))
        .send_window(buffer.into());
    Arc::new(transport)
}

fn certificate(keys: &Path) -> anyhow::Result<CertificateDer<'static>> {
    Ok(fs::read(keys.join(CERTIFICATE))?.into())
}

fn endpoint(address: SocketAddr, server: Option<ServerConfig>) -> anyhow::Result<Endpoint> {
    let (config, runtime) = (EndpointConfig::default(), Arc::new(TokioRuntime));
    Ok(Endpoint::new(config, server, udp(address)?, runtime)?)
}

fn stream((writer, reader): (SendStream, RecvStream), keep: (Endpoint, Connection)) -> Stream {
    Stream::new(reader, writer, keep)
}

/// Each message has a stream of its own.
fn of_messages(connection: Connection, keep: Endpoint) -> Stream {
    let (stream, mut written, mut read) = Stream::of_messages(keep);
    let sender = connection.clone();
    tokio::spawn(async move {
        let mut message = [0; MESSAGE];
        while let length @ 1.. = written.read(&mut message).await? {
            let mut stream = sender.open_uni().await?;
            stream.write_all(&message[..length]).await?;
            stream.finish()?;
        }
        Ok::<_, anyhow::Error>(())
    });
    let (messages, mut arrived) = mpsc::channel(64);
    tokio::spawn(async move {
        while let Ok(mut stream) = connection.accept_uni().await {
            let messages = messages.clone();
            tokio::spawn(async move {
                let message = stream.read_to_end(MESSAGE).await?;
                _ = messages.send(message).await;
                Ok::<_, anyhow::Error>(())
            });
        }
    });
    tokio::spawn(async move {
        while let Some(message) = arrived.recv().await {
            read.write_all(&message).await?;
        }
        Ok::<_, anyhow::Error>(())
    });
    stream
}

pub(super) async fn dial(
    address: SocketAddr,
    keys: &Path,
    control: Control,
) -> anyhow::Result<Stream> {
    let (endpoint, connection) = connect(address, keys, control).await?;
    let opened = connection.open_bi().await?;
    Ok(stream(opened, (endpoint, connection)))
}

pub(super) async fn dial_for_messages(address: SocketAddr, keys: &Path) -> anyhow::Result<Stream> {
    let (endpoint, connection) = connect(address, keys, Control::Cubic).await?;
    Ok(of_messages(connection, endpoint))
}

async fn connect(
    address: SocketAddr,
    keys: &Path,
    control: Control,
) -> anyhow::Result<(Endpoint, Connection)> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate(keys)?)?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport(control));
    let mut endpoint = endpoint(ANY, None)?;
    endpoint.set_default_client_config(config);
    let connection = endpoint.connect(address, NAME)?.await?;
    Ok((endpoint, connection))
}

pub(super) fn listen(
    address: SocketAddr,
    keys: &Path,
    control: Control,
    streams: mpsc::Sender<Stream>,
) -> anyhow::Result<Listening> {
    listen_with(address, keys, control, move |endpoint, connection| {
        accept(endpoint, connection, streams.clone())
    })
}

pub(super) fn listen_for_messages(
    address: SocketAddr,
    keys: &Path,
    streams: mpsc::Sender<Stream>,
) -> anyhow::Result<Listening> {
    listen_with(
        address,
        keys,
        Control::Cubic,
        move |endpoint, connection| {
            let streams = streams.clone();
            async move { _ = streams.send(of_messages(connection, endpoint)).await }
        },
    )
}

fn listen_with<F: Future<Output = ()> + Send + 'static>(
    address: SocketAddr,
    keys: &Path,
    control: Control,
    serve: impl Fn(Endpoint, Connection) -> F + Send + Sync + 'static,
) -> anyhow::Result<Listening> {
    let key = PrivatePkcs8KeyDer::from(fs::read(keys.join(KEY))?);
    let chain = vec![certificate(keys)?];
    let mut config = ServerConfig::with_single_cert(chain, PrivateKeyDer::Pkcs8(key))?;
    config.transport_config(transport(control));
    let endpoint = endpoint(address, Some(config))?;
    let listening = Listening::at(endpoint.local_addr()?);
    tokio::spawn(async move {
        let serve = Arc::new(serve);
        while let Some(incoming) = endpoint.accept().await {
            let (endpoint, serve) = (endpoint.clone(), serve.clone());
            tokio::spawn(async move {
                if let Ok(connection) = incoming.await {
                    serve(endpoint, connection).await;
                }
            });
        }
    });
    Ok(listening)
}

/// Passes on the streams of a connection, until it ends.
async fn accept(endpoint: Endpoint, connection: Connection, streams: mpsc::Sender<Stream>) {
    while let Ok(accepted) = connection.accept_bi().await {
        let stream = stream(accepted, (endpoint.clone(), connection.clone()));
        if streams.send(stream).await.is_err() {
            break;
        }
    }
}
