//! One sender at a time for each name.

use std::{
    collections::{HashMap, hash_map::Entry},
    io,
    sync::{self, Arc, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Mutex, watch},
    time::timeout,
};

use crate::{
    Connection, FileName, SendStream,
    protocol::{Message, Refusal, RefusalCode, write_message},
};

/// How long the holder of a name may take to show that it lives: 3 s, time
/// for a first transmission and one after the initial RTO of 1 s.
const PROOF_OF_LIFE: Duration = Duration::from_secs(3);

/// Who is sending a file of which name.
#[derive(Default)]
pub(super) struct Claims {
    held: sync::Mutex<HashMap<FileName, Holder>>,
}

#[derive(Clone)]
struct Holder {
    connection: Connection,
    send: Arc<Mutex<SendStream>>,
    released: watch::Receiver<()>, // its channel is closed when the claim is dropped
}

/// The right to receive a file of a name, until it is dropped.
pub(super) struct Claim<'a> {
    claims: &'a Claims,
    name: FileName,
    _released: watch::Sender<()>,
}

impl Claims {
    /// Claims a name. A sender that was killed cannot say so, and its
    /// successor must not wait for the idle timeout: so whoever holds the name
    /// has to prove that it lives, or loses it.
    pub(super) async fn claim(
        &self,
        name: &FileName,
        connection: &Connection,
        send: &Arc<Mutex<SendStream>>,
    ) -> Result<Claim<'_>, Refusal> {
        loop {
            let mut holder = match self.try_claim(name, connection, send) {
                Ok(claim) => return Ok(claim),
                Err(holder) => holder,
            };
            if lives(&holder.send).await {
                let reason = "another sender is sending a file of this name";
                return Err(Refusal::new(RefusalCode::InUse, reason));
            }
            holder.connection.abort(0, "replaced by a newer connection");
            // It ends in an error, the closing of the channel.
            _ = holder.released.changed().await;
        }
    }

    fn try_claim(
        &self,
        name: &FileName,
        connection: &Connection,
        send: &Arc<Mutex<SendStream>>,
    ) -> Result<Claim<'_>, Holder> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match held.entry(name.clone()) {
            Entry::Occupied(holder) => Err(holder.get().clone()),
            Entry::Vacant(free) => {
                let (_released, released) = watch::channel(());
                free.insert(Holder {
                    connection: connection.clone(),
                    send: send.clone(),
                    released,
                });
                Ok(Claim {
                    claims: self,
                    name: name.clone(),
                    _released,
                })
            }
        }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut held = self
            .claims
            .held
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        held.remove(&self.name);
    }
}

async fn lives(send: &Mutex<SendStream>) -> bool {
    let ping = async {
        let mut send = send.lock().await;
        write_message(&mut *send, &Message::Ping).await?;
        let acknowledged = send.acknowledged();
        drop(send);
        acknowledged.await.map_err(io::Error::from)
    };
    matches!(timeout(PROOF_OF_LIFE, ping).await, Ok(io::Result::Ok(())))
}
