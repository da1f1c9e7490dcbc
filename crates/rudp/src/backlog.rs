//! Connections of clients that wait for the application to accept them.

use std::{
    collections::VecDeque,
    fmt,
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use crate::Connection;

/// Must not be used with the state locked: connections that are dropped here lock it.
pub(crate) struct Backlog {
    waiting: Mutex<Option<VecDeque<Connection>>>, // `None`: there will be no more
    most: usize,
    arrived: Notify,
}

impl fmt::Debug for Backlog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self.lock().as_ref().map(VecDeque::len);
        f.debug_struct("Backlog")
            .field("waiting", &waiting)
            .finish_non_exhaustive()
    }
}

impl Backlog {
    /// `most` is what may be open at once.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            waiting: Mutex::new(Some(VecDeque::new())),
            most,
            arrived: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<VecDeque<Connection>>> {
        // Nothing between two statements here leaves it half done.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// If there will be no more, the connection is dropped, and closed with it.
    pub(crate) fn push(&self, connection: Connection) {
        if let Some(waiting) = &mut *self.lock() {
            waiting.push_back(connection);
            if waiting.len() > self.most {
                // Fewer were open when the new one came: one is over, and nobody can read of it (K9).
                let is_over = |it: &Connection| !it.inner().is_open();
                let oldest = waiting.iter().position(is_over);
                waiting.remove(oldest.unwrap_or_default());
            }
        }
        self.arrived.notify_waiters();
    }

    /// Waits for the next one.
    pub(crate) async fn next(&self) -> Option<Connection> {
        loop {
            let mut arrived = pin!(self.arrived.notified());
            arrived.as_mut().enable(); // before looking, so that none is missed
            match self.lock().as_mut().map(VecDeque::pop_front) {
                Some(None) => {}
                Some(next) => return next,
                None => return None,
            }
            arrived.await;
        }
    }

    /// There will be no more, and those that wait are dropped.
    pub(crate) fn close(&self) {
        self.lock().take();
        self.arrived.notify_waiters();
    }
}
