//! The queue: a table whose every row is a webhook and its job.

use crate::{Anything, clock};
use backoff_policy::{GiveUp, Job, JobState, http::idempotency_of};
use http::{HeaderMap, HeaderValue, Method};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::path::Path;
use std::time::Duration;

/// `job` is the text of the job, empty once it is delivered; `due_at` is there while it waits, and
/// the longest wait that is left by now is `delay`. Both in ns.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS webhooks (
    id INTEGER PRIMARY KEY, body TEXT NOT NULL, key TEXT,
    job TEXT NOT NULL, due_at INTEGER, delay INTEGER
)";

pub(crate) struct Queue(Connection);

#[derive(Debug)]
pub(crate) struct Webhook {
    pub(crate) id: i64,
    pub(crate) body: String,
    /// The receiver knows by it what it has had before.
    pub(crate) key: Option<String>,
    pub(crate) job: Job,
}

impl Webhook {
    pub(crate) fn headers(&self) -> Anything<HeaderMap> {
        headers(self.id, self.key.as_deref())
    }
}

fn headers(id: i64, key: Option<&str>) -> Anything<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert("x-webhook", HeaderValue::from(id));
    if let Some(key) = key {
        headers.insert("idempotency-key", key.parse()?);
    }
    Ok(headers)
}

/// What came of a webhook.
pub(crate) struct Ended {
    pub(crate) id: i64,
    pub(crate) state: State,
}

pub(crate) enum State {
    Delivered,
    Dead(GiveUp),
    /// Waits or runs.
    Open,
}

impl Queue {
    pub(crate) fn open(path: &Path) -> Anything<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.execute(TABLE, ())?;
        Ok(Self(connection))
    }

    /// Adds a webhook that is due now.
    pub(crate) fn add(&self, id: i64, body: &str, key: Option<&str>) -> Anything<()> {
        let idempotency = idempotency_of(&Method::POST, &headers(id, key)?);
        let job = Job::new(clock::since_epoch()).with_idempotency(idempotency);
        let sql = "INSERT INTO webhooks (id, body, key, job) VALUES (?, ?, ?, '')";
        self.0.execute(sql, params![id, body, key])?;
        self.store(id, &job)
    }

    /// Keeps where a job stands, durably: SQLite commits each statement.
    pub(crate) fn store(&self, id: i64, job: &Job) -> Anything<()> {
        let (due_at, delay) = match job.state() {
            JobState::Waiting { due_at, delay } => (Some(ns(due_at)), Some(ns(delay))),
            JobState::Running | JobState::Dead(_) => (None, None),
        };
        let sql = "UPDATE webhooks SET job = ?, due_at = ?, delay = ? WHERE id = ?";
        self.0
            .execute(sql, params![job.to_string(), due_at, delay, id])?;
        Ok(())
    }

    pub(crate) fn delivered(&self, id: i64) -> Anything<()> {
        self.0.execute(
            "UPDATE webhooks SET job = '', due_at = NULL WHERE id = ?",
            [id],
        )?;
        Ok(())
    }

    /// Those that were running when the last worker ended.
    pub(crate) fn interrupted(&self) -> Anything<Vec<Webhook>> {
        self.webhooks("job LIKE 'running %'", params![])
    }

    /// Those whose time has come, the longest due first.
    pub(crate) fn due(&self, now: Duration, most: usize) -> Anything<Vec<Webhook>> {
        let most = i64::try_from(most)?;
        self.webhooks(
            "due_at <= ? ORDER BY due_at LIMIT ?",
            params![ns(now), most],
        )
    }

    /// Those whose wait got longer since the clock was set back.
    pub(crate) fn set_back(&self, now: Duration) -> Anything<Vec<Webhook>> {
        self.webhooks("due_at > ? + delay", params![ns(now)])
    }

    /// When the next one is due.
    pub(crate) fn next_due(&self) -> Anything<Option<Duration>> {
        let sql = "SELECT due_at FROM webhooks WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1";
        let next: Option<i64> = self.0.query_row(sql, (), |row| row.get(0)).optional()?;
        Ok(next.map(|ns| Duration::from_nanos(ns.unsigned_abs())))
    }

    pub(crate) fn all(&self) -> Anything<Vec<Ended>> {
        let mut statement = self.0.prepare("SELECT id, job FROM webhooks ORDER BY id")?;
        let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
        rows.map(|row| {
            let (id, job) = row?;
            let state = match &job[..] {
                "" => State::Delivered,
                job => match job.parse::<Job>()?.state() {
                    JobState::Dead(end) => State::Dead(end),
                    JobState::Waiting { .. } | JobState::Running => State::Open,
                },
            };
            Ok(Ended { id, state })
        })
        .collect()
    }

    fn webhooks(&self, which: &str, values: impl rusqlite::Params) -> Anything<Vec<Webhook>> {
        let sql = format!("SELECT id, body, key, job FROM webhooks WHERE {which}");
        let mut statement = self.0.prepare(&sql)?;
        let read = |row: &Row<'_>| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get::<_, String>(3)?,
            ))
        };
        let rows = statement.query_map(values, read)?;
        rows.map(|row| {
            let (id, body, key, job) = row?;
            let job = job.parse()?;
            Ok(Webhook { id, body, key, job })
        })
        .collect()
    }
}

/// As SQLite counts; enough until 2262.
fn ns(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
