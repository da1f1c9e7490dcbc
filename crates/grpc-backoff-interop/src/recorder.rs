use crate::clock::Clock;
use crate::proto::reconnect_service_server::ReconnectService;
use crate::proto::{Empty, ReconnectInfo, ReconnectParams};
use crate::record::Record;
use grpc_faults::Judge;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tonic::{Request, Response, Status};

/// The control service, and the one record that it keeps of what the retry ports see.
///
/// Every Start has its own parameters. It ends a record that nobody stopped, so a client that
/// died blocks no other; two clients at a time fail, since their connections mix.
#[derive(Clone)]
pub struct Recorder {
    judge: Judge,
    clock: Clock,
    tell: Arc<dyn Fn(fmt::Arguments<'_>) + Send + Sync>,
    running: Arc<Mutex<Option<Running>>>,
}

#[derive(Debug)]
struct Running {
    since: Duration,
    record: Record,
}

impl Recorder {
    /// Makes a recorder that waits for its first Start. A client that names no greatest delay
    /// has the judge's. It tells what happens, a line at a time.
    #[must_use]
    pub fn new(judge: Judge, tell: impl Fn(fmt::Arguments<'_>) + Send + Sync + 'static) -> Self {
        Self {
            judge,
            clock: Clock::start(),
            tell: Arc::new(tell),
            running: Arc::default(),
        }
    }

    /// A retry port has just accepted a connection.
    pub fn handle_accepted(&self) {
        let now = self.clock.now();
        let Some(Running { since, record }) = &mut *self.running() else {
            return self.tell(format_args!("a connection outside of any record"));
        };
        let at = now.saturating_sub(*since).as_secs_f64();
        match record.handle_accepted(now) {
            Some(gap) => self.tell(format_args!("{at:>9.3} s {gap}")),
            None if record.gaps().is_empty() => {
                self.tell(format_args!("{at:>9.3} s first connection"))
            }
            None => {} // the record is full: the verdict counts it
        }
    }

    /// Tells a line about a connection.
    pub(crate) fn tell(&self, line: fmt::Arguments<'_>) {
        (self.tell)(line);
    }

    fn judge_for(&self, max_reconnect_backoff_ms: i32) -> Result<Judge, Status> {
        let max = match u64::try_from(max_reconnect_backoff_ms) {
            Ok(0) => self.judge.max,
            Ok(ms) => Duration::from_millis(ms),
            Err(_) => Duration::ZERO,
        };
        if max < self.judge.initial {
            return Err(Status::invalid_argument(format!(
                "max_reconnect_backoff_ms is {max_reconnect_backoff_ms}: it must be at least the \
                 first delay, {:?} (D3), or 0 for {:?}",
                self.judge.initial, self.judge.max
            )));
        }
        Ok(Judge { max, ..self.judge })
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[tonic::async_trait]
impl ReconnectService for Recorder {
    async fn start(&self, request: Request<ReconnectParams>) -> Result<Response<Empty>, Status> {
        let max = request.into_inner().max_reconnect_backoff_ms;
        let record = Record::new(self.judge_for(max)?);
        let since = self.clock.now();
        if let Some(abandoned) = self.running().replace(Running { since, record }) {
            let gaps = abandoned.record.gaps().len();
            self.tell(format_args!(
                "abandoned: nobody stopped a record of {gaps} gaps"
            ));
        }
        self.tell(format_args!("Start: max_reconnect_backoff_ms {max}"));
        Ok(Response::new(Empty {}))
    }

    async fn stop(&self, _: Request<Empty>) -> Result<Response<ReconnectInfo>, Status> {
        let now = self.clock.now();
        let Some(Running { since, record }) = self.running().take() else {
            return Err(Status::failed_precondition(
                "no record is running: Start one",
            ));
        };
        let gaps = record.gaps();
        let lasted = now.saturating_sub(since).as_secs_f64();
        self.tell(format_args!(
            "Stop after {lasted:.3} s with {} gaps",
            gaps.len()
        ));
        let faults = record.faults(now);
        for fault in &faults {
            self.tell(format_args!("  {fault}"));
        }
        let passed = faults.is_empty();
        self.tell(format_args!("{}", if passed { "passed" } else { "FAILED" }));
        let ms = |time: Duration| i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
        Ok(Response::new(ReconnectInfo {
            passed,
            backoff_ms: gaps.iter().map(|gap| ms(gap.time)).collect(),
        }))
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("judge", &self.judge)
            .field("running", &self.running)
            .finish_non_exhaustive()
    }
}
