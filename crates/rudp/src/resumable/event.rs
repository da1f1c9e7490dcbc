//! What a session tells its program.

use std::fmt;

use rudp_proto::CloseReason;

use crate::{Attempt, Observer};

/// Something that happened to a session, for the observer in
/// [`ResumableOptions`](super::ResumableOptions) or [`ListenerOptions`](super::ListenerOptions).
///
/// ```
/// # use {rudp::{ResumableOptions, ResumeEvent, Resuming}, std::sync::Arc};
/// let options = ResumableOptions {
///     observe: Some(Arc::new(|event: ResumeEvent| match event.what {
///         Resuming::Attempt(attempt) => println!("attempt {}: {}", attempt.number, attempt.outcome),
///         Resuming::Carried { replayed, .. } => println!("connected; {replayed} bytes again"),
///         Resuming::Unanswered => println!("no answer for some time"),
///         Resuming::Answered => println!("an answer"),
///         Resuming::CutOff(reason) => println!("offline: {reason}"),
///     })),
///     ..ResumableOptions::default()
/// };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeEvent {
    /// Which one: its [`number`](super::Resumable::number).
    pub session: u64,
    /// What.
    pub what: Resuming,
}

/// What can happen to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resuming {
    /// An attempt to connect ended; only a client dials. Before the next one, `backoff` passes from
    /// the start of this one.
    Attempt(Attempt),
    /// A connection carries the session: the first one, or it goes on.
    Carried {
        /// How many have carried it, this one included.
        connections: u64,
        /// So many bytes were on their way from here when the connection before was lost, and are
        /// sent again.
        replayed: u64,
    },
    /// The connection lives, but R1 of its [`Config::limits`](crate::Config::limits) is reached, of
    /// which the default has none: the first sign that the peer is out of reach.
    Unanswered,
    /// Something was acknowledged after all.
    Answered,
    /// The connection was lost, for this reason; what is written from now on waits for another.
    CutOff(CloseReason),
}

/// Tells whoever wants to hear of a session.
#[derive(Clone, Default)]
pub(super) struct Teller {
    pub(super) session: u64,
    pub(super) observe: Option<Observer<ResumeEvent>>,
}

impl Teller {
    pub(super) fn tell(&self, what: Resuming) {
        if let Some(observe) = &self.observe {
            let session = self.session;
            observe(ResumeEvent { session, what });
        }
    }
}

impl fmt::Debug for Teller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Teller")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}
