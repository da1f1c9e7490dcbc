#[cfg(feature = "tls")]
use super::Tls;
use super::transport::Transport;
use super::{BoxError, BoxFuture, Channel, Connector, Io, SettingsIo};
use crate::{
    Attempt, AttemptBudget, AttemptReport, Config, ConfigError, Failure, Mode, Reconnector,
};
use core::fmt;
use core::time::Duration;
use http::Uri;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::boxed::Box;
use std::string::{String, ToString};
use std::sync::{Arc, OnceLock};
#[cfg(feature = "metrics")]
use std::vec::Vec;
use tower_service::Service;

/// What a [`Connector`] or a [`Channel`] is made of.
///
/// ```
/// # use {core::time::Duration, grpc_backoff::{Config, Wait, tonic::Builder}};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), grpc_backoff::ConfigError> {
/// let channel = Builder::new(Config::GRPC)
///     .named("inventory")
///     .with_http2(|http2| {
///         http2.keep_alive_interval(Duration::from_secs(30));
///     })
///     .channel("http://inventory.example:50051".parse().expect("a URI"))?;
/// # drop(channel); Ok(()) }
/// ```
pub struct Builder {
    config: Config,
    transport: Transport,
    pub(super) mode: Mode,
    pub(super) http2: http2::Builder<TokioExecutor>,
    name: Option<String>,
    #[cfg(feature = "metrics")]
    labels: Vec<(&'static str, String)>,
    draws: Option<Box<dyn FnMut() -> u64 + Send>>,
    observer: Option<Observer>,
    budget: Option<AttemptBudget>,
    slack: Duration,
}

type Observer = Box<dyn Fn(&AttemptReport) + Send + Sync>;
/// A watched connection that carries no HTTP/2 yet.
pub(super) type Connection = SettingsIo<Box<dyn Io>, Uri>;
pub(super) type Dialler<C> = Reconnector<Uri, Dial<C>, BoxFuture<Result<C, Failure<String>>>>;
type Dial<C> = Box<dyn FnMut(Attempt<Uri>) -> BoxFuture<Result<C, Failure<String>>> + Send>;

impl Builder {
    /// TCP, with TLS where the URI says `https`, and calls that fail fast.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2.timer(TokioTimer::new());
        Self {
            config,
            transport: Transport::tcp(),
            mode: Mode::KeepConnected,
            http2,
            name: None,
            #[cfg(feature = "metrics")]
            labels: Vec::new(),
            draws: None,
            observer: None,
            budget: None,
            slack: Duration::ZERO,
        }
    }

    /// Makes connections by another connector than TCP, as tonic takes them: to a Unix socket,
    /// through a proxy. It is given the target's URI. TLS is its own matter, unless
    /// [`with_tls`](Self::with_tls) asks for it on top.
    #[must_use]
    pub fn over<S>(mut self, inner: S) -> Self
    where
        S: Service<Uri, Response: Io + 'static, Error: Into<BoxError>, Future: Send>
            + Send
            + 'static,
    {
        self.transport.over(inner);
        self
    }

    /// Speaks TLS in this way, whatever the scheme of the URI. Default: over TCP, for `https`,
    /// [`Tls::webpki_roots`].
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, tls: Tls) -> Self {
        self.transport.with_tls(tls);
        self
    }

    /// Lets a [`Channel`] connect when there are calls, and not before. Default: it keeps
    /// connected.
    #[must_use]
    pub const fn on_demand(mut self) -> Self {
        self.mode = Mode::OnDemand;
        self
    }

    /// Tunes the HTTP/2 of a [`Channel`]: keepalive, windows, limits. Default: hyper's settings.
    /// A [`Connector`] leaves HTTP/2 to tonic's `Endpoint`.
    #[must_use]
    pub fn with_http2(mut self, tune: impl FnOnce(&mut http2::Builder<TokioExecutor>)) -> Self {
        tune(&mut self.http2);
        self
    }

    /// The name of the target in traces and metrics. Default for a [`Channel`]: its URI.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Adds labels to its metrics, as [`Reconnector::with_labels`].
    #[cfg(feature = "metrics")]
    #[must_use]
    pub fn with_labels(mut self, labels: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        self.labels.extend(labels);
        self
    }

    /// Takes its draws from a function, as [`Reconnector::with_draws`].
    #[must_use]
    pub fn with_draws(mut self, draws: impl FnMut() -> u64 + Send + 'static) -> Self {
        self.draws = Some(Box::new(draws));
        self
    }

    /// Calls `observer` at the end of every attempt, as [`Reconnector::on_attempt`].
    #[must_use]
    pub fn on_attempt(mut self, observer: impl Fn(&AttemptReport) + Send + Sync + 'static) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }

    /// Shares a budget of attempts with others, as [`Reconnector::with_budget`] (D17).
    #[must_use]
    pub fn with_budget(mut self, budget: AttemptBudget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Lets waits end a little later, together, as [`Reconnector::with_slack`] (D19).
    #[must_use]
    pub fn with_slack(mut self, slack: Duration) -> Self {
        self.slack = slack;
        self
    }

    /// Makes a connector for tonic's `Endpoint`.
    ///
    /// # Errors
    ///
    /// A config that makes no sense is refused, see [`ConfigError`] (D3).
    pub fn build(self) -> Result<Connector, ConfigError> {
        Connector::build(self)
    }

    /// Makes a channel to this target, and begins to connect.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime: the channel has a task.
    pub fn channel(self, target: Uri) -> Result<Channel, ConfigError> {
        Channel::build(self, target)
    }

    /// A reconnector to the target, once that is known; `finish` makes a watched connection usable.
    pub(super) fn dialler<C: 'static>(
        self,
        target: Arc<OnceLock<Uri>>,
        finish: impl Fn(Connection) -> BoxFuture<Result<C, Failure<String>>> + Send + Sync + 'static,
    ) -> Result<Dialler<C>, ConfigError> {
        let name = self.name.or_else(|| target.get().map(ToString::to_string));
        let (transport, finish) = (self.transport, Arc::new(finish));
        let resolve = {
            let (transport, target) = (transport.clone(), Arc::clone(&target));
            move || {
                let (transport, target) = (transport.clone(), target.get().cloned());
                async move { transport.resolve(&target.unwrap_or_default()).await }
            }
        };
        let dial: Dial<C> = Box::new(move |attempt| {
            let (transport, finish) = (transport.clone(), Arc::clone(&finish));
            let target = target.get().unwrap_or_else(|| attempt.address()).clone();
            Box::pin(async move {
                let connection = transport.connect(attempt, &target).await?;
                finish(connection).await
            })
        });
        let dialler = Reconnector::with_resolver(self.config, resolve, dial)?;
        let mut dialler = dialler.with_slack(self.slack);
        if let Some(name) = name {
            dialler = dialler.named(name);
        }
        #[cfg(feature = "metrics")]
        let mut dialler = dialler.with_labels(self.labels);
        if let Some(draws) = self.draws {
            dialler = dialler.with_draws(draws);
        }
        if let Some(observer) = self.observer {
            dialler = dialler.on_attempt(observer);
        }
        if let Some(budget) = self.budget {
            dialler = dialler.with_budget(budget);
        }
        Ok(dialler)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("config", &self.config)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
