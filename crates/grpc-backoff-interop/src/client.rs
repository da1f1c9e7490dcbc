//! The client's side: Start, dial for a while, Stop, and what came of it.

use crate::Gap;
use crate::proto::reconnect_service_client::ReconnectServiceClient;
use crate::proto::{Empty, ReconnectInfo, ReconnectParams};
use anyhow::{Context, ensure};
use grpc_faults::Judge;
use std::fmt;
use std::time::Duration;
use tonic::body::Body;
use tonic::codegen::{Bytes, StdError};

/// Has the server watch while `dial` runs, and gives what it saw.
///
/// # Errors
///
/// Where the control port does not answer, and the error of `dial`, after a Stop all the same.
pub async fn observed<T>(
    control: T,
    max_backoff: Duration,
    dial: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<ReconnectInfo>
where
    T: tonic::client::GrpcService<Body>,
    T::Error: Into<StdError>,
    T::ResponseBody: http_body::Body<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
{
    let mut control = ReconnectServiceClient::new(control);
    let ms = i32::try_from(max_backoff.as_millis()).context("max_reconnect_backoff_ms")?;
    let params = ReconnectParams {
        max_reconnect_backoff_ms: ms,
    };
    control.start(params).await.context("Start")?;
    let dialled = dial.await;
    let seen = control.stop(Empty {}).await.context("Stop")?;
    dialled?;
    Ok(seen.into_inner())
}

/// What the client makes of the server's answer; as text, a line for each gap.
#[derive(Clone, Debug)]
pub struct Verdict {
    gaps: Vec<Gap>,
    passed: bool,
}

impl Verdict {
    /// Judges again what the server saw.
    #[must_use]
    pub fn of(seen: &ReconnectInfo, judge: Judge) -> Self {
        let times = seen.backoff_ms.iter();
        let times = times.map(|&ms| Duration::from_millis(u64::try_from(ms).unwrap_or(0)));
        let gaps = times.zip(judge.windows());
        Self {
            gaps: gaps.map(|(time, window)| Gap::new(time, window)).collect(),
            passed: seen.passed,
        }
    }

    /// Says whether the client passed: an official server's word alone is not enough, for it
    /// also passes a client that never came.
    ///
    /// # Errors
    ///
    /// Why it did not.
    pub fn check(&self) -> anyhow::Result<()> {
        let (gaps, passed) = (self.gaps.len(), self.passed);
        let outside = self.gaps.iter().filter(|gap| !gap.is_allowed()).count();
        ensure!(
            outside == 0,
            "{outside} of {gaps} gaps are outside their windows"
        );
        ensure!(gaps > 0, "the server saw no gap: that proves nothing");
        ensure!(passed, "the server says that the client did not pass");
        Ok(())
    }
}

/// A client that conforms makes 13 gaps or so; of one that hammers, the first ones tell enough.
const SHOWN: usize = 30;

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, gap) in (1..=SHOWN).zip(&self.gaps) {
            writeln!(f, "gap {n:>3} {gap}")?;
        }
        match self.gaps.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => writeln!(f, "... and {more} more"),
        }
    }
}
