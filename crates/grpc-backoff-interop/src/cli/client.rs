use super::{Times, say, takes_negatives};
use anyhow::Context;
use clap::ValueEnum;
use grpc_backoff::tonic::{Builder, Tls};
use grpc_backoff_interop::client::{Verdict, observed};
use grpc_backoff_interop::{dial, tls};
use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use std::path::PathBuf;
use std::time::Duration;
use tonic::transport::Endpoint;

#[derive(Debug, clap::Args)]
#[command(mut_args(takes_negatives))]
pub(crate) struct Args {
    /// The server's name or address
    #[arg(long = "server_host", value_name = "HOST", default_value = "127.0.0.1")]
    server_host: String,
    /// Where its control service is
    #[arg(long = "server_control_port", value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    server_control_port: u16,
    /// The port to dial in vain
    #[arg(long = "server_retry_port", value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    server_retry_port: u16,
    /// The greatest delay, in ms
    #[arg(
        long = "max_reconnect_backoff_ms",
        value_name = "MS",
        default_value_t = 120_000
    )]
    max_reconnect_backoff_ms: u32,
    /// Dial for so long: 540 s are about 13 connections
    #[arg(long, default_value = "540", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,
    /// Dial by TLS
    #[arg(long = "use_tls", requires = "ca_file")]
    use_tls: bool,
    /// The certificate to trust, as the server has written it
    #[arg(long = "ca_file", value_name = "FILE", requires = "use_tls")]
    ca_file: Option<PathBuf>,
    /// How to dial
    #[arg(
        long = "dial_by",
        conflicts_with = "use_tls",
        value_name = "HOW",
        default_value = "grpc-backoff"
    )]
    dial_by: DialBy,
    #[command(flatten)]
    times: Times,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DialBy {
    /// By tonic with this project's connector
    GrpcBackoff,
    /// By tonic alone, at most a thousand calls: must fail
    PlainTonic,
    /// At a constant interval, the first delay: must fail
    Constant,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let scale = self.times.scale();
        let max = scale.of(Duration::from_millis(self.max_reconnect_backoff_ms.into()));
        let max = Duration::from_millis(u64::try_from(max.as_millis())?); // as it is told
        let config = scale.config(max);
        config.schedule().context("--max_reconnect_backoff_ms")?;
        let lasts = scale.of(Duration::from_secs(self.seconds.into()));
        let scheme = if self.use_tls { "https" } else { "http" };
        let retry = self.uri(scheme, self.server_retry_port)?;
        let mut builder = Builder::new(config);
        if let Some(tls) = self.tls()? {
            builder = builder.with_tls(tls);
        }
        let control = Endpoint::from(self.uri("http", self.server_control_port)?);
        let control = control.connect().await.context("the control port")?;

        let how = self.dial_by.to_possible_value();
        let how = how.as_ref().map_or("", |value| value.get_name());
        say(format_args!("dialling {retry} for {lasts:?} by {how}"));
        let dial = async {
            match self.dial_by {
                DialBy::GrpcBackoff => {
                    let connector = builder.build()?.wait_for_ready();
                    dial::by_calls(connector.lazy(Endpoint::from(retry)), lasts).await
                }
                DialBy::PlainTonic => {
                    dial::by_calls(Endpoint::from(retry).connect_lazy(), lasts).await
                }
                DialBy::Constant => {
                    let (every, connector) = (config.initial_backoff, HttpConnector::new());
                    dial::at_an_interval(every, retry, connector, lasts).await;
                    Ok(())
                }
            }
        };
        let seen = observed(control, max, dial).await?;
        let judge = grpc_faults::Judge {
            max,
            ..self.times.judge()
        };
        let verdict = Verdict::of(&seen, judge);
        say(format_args!("{verdict}"));
        verdict.check()?;
        say(format_args!("passed"));
        Ok(())
    }

    fn uri(&self, scheme: &str, port: u16) -> anyhow::Result<Uri> {
        let host = &self.server_host;
        let uri = format!("{scheme}://{host}:{port}");
        uri.parse()
            .with_context(|| format!("{host} is no host (--server_host)"))
    }

    /// Trusts the server's certificate, where the client dials by TLS.
    fn tls(&self) -> anyhow::Result<Option<Tls>> {
        let Some(file) = &self.ca_file else {
            return Ok(None);
        };
        let why = || format!("{} (--ca_file)", file.display());
        let pem = std::fs::read(file).with_context(why)?;
        let trusting = tls::trusting(&pem).with_context(why)?;
        Ok(Some(Tls::new(trusting)))
    }
}
