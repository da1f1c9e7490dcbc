use super::{Times, say, takes_negatives};
use anyhow::Context;
use grpc_backoff_interop::{Recorder, server, tls::Identity};
use std::future::pending;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

#[derive(Debug, clap::Args)]
#[command(mut_args(takes_negatives))]
pub(crate) struct Args {
    /// Listen on this address
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// The plaintext gRPC port for Start and Stop; 0 is any free one
    #[arg(long = "control_port", value_name = "PORT", default_value_t = 0)]
    control_port: u16,
    /// The port that closes each connection at once; 0 is any free one
    #[arg(long = "retry_port", value_name = "PORT", default_value_t = 0)]
    retry_port: u16,
    /// A port that closes each connection after a TLS handshake; 0 is any free one
    #[arg(long = "tls_retry_port", value_name = "PORT", requires = "ca_file")]
    tls_retry_port: Option<u16>,
    /// Write here the certificate that clients of the TLS port must trust
    #[arg(long = "ca_file", value_name = "FILE", requires = "tls_retry_port")]
    ca_file: Option<PathBuf>,
    #[command(flatten)]
    times: Times,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        self.check_ports()?;
        let control = self.bind("control_port", self.control_port).await?;
        let retry = self.bind("retry_port", self.retry_port).await?;
        say(format_args!("control port {}", control.local_addr()?));
        say(format_args!("retry port {}", retry.local_addr()?));
        let tls = match self.tls_retry_port {
            Some(port) => Some(self.bind_tls(port).await?),
            None => None,
        };
        let recorder = Recorder::new(self.times.judge(), say);
        let encrypted = async {
            let Some((port, acceptor)) = tls else {
                return pending().await;
            };
            server::retry(port, recorder.clone(), Some(acceptor)).await
        };
        tokio::select! {
            ended = server::control(control, recorder.clone()) => ended,
            ended = server::retry(retry, recorder.clone(), None) => ended,
            ended = encrypted => ended,
        }
    }

    fn check_ports(&self) -> anyhow::Result<()> {
        let ports = [
            Some(("control_port", self.control_port)),
            Some(("retry_port", self.retry_port)),
            self.tls_retry_port.map(|port| ("tls_retry_port", port)),
        ];
        let ports: Vec<_> = ports
            .into_iter()
            .flatten()
            .filter(|&(_, port)| port != 0)
            .collect();
        for (n, &(flag, port)) in ports.iter().enumerate() {
            let other = ports[..n].iter().find(|&&(_, other)| other == port);
            if let Some((other, _)) = other {
                anyhow::bail!("--{flag} and --{other} are both {port}");
            }
        }
        Ok(())
    }

    /// Opens the TLS port, and leaves its certificate for the clients.
    async fn bind_tls(&self, port: u16) -> anyhow::Result<(TcpListener, TlsAcceptor)> {
        let port = self.bind("tls_retry_port", port).await?;
        let identity = Identity::generate()?;
        let file = self.ca_file.as_deref().context("--ca_file is missing")?;
        std::fs::write(file, identity.ca_pem)
            .with_context(|| format!("cannot write {} (--ca_file)", file.display()))?;
        say(format_args!(
            "TLS retry port {}, trusted by {}",
            port.local_addr()?,
            file.display()
        ));
        Ok((port, identity.acceptor))
    }

    async fn bind(&self, flag: &str, port: u16) -> anyhow::Result<TcpListener> {
        let address = SocketAddr::new(self.host, port);
        let bound = TcpListener::bind(address).await;
        bound.with_context(|| format!("cannot listen on {address} (--{flag})"))
    }
}
