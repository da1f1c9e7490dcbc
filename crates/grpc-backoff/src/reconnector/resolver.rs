//! Where a reconnector looks for addresses.

use super::Reconnector;
use super::attempt::Attempt;
use super::catch::{Panic, catch, discard};
use super::connect::Stop;
use super::report::Failure;
use crate::{AttemptId, Config, ConfigError, PickFirst};
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::boxed::Box;
use std::string::ToString;
use std::sync::Arc;
use std::vec::Vec;

/// A function that looks for addresses.
pub(super) struct Resolver<A> {
    resolve: Box<dyn FnMut() -> Resolving<A> + Send>,
    /// The resolution in flight.
    pub(super) running: Option<Running<A>>,
}

pub(super) struct Running<A> {
    pub(super) id: AttemptId,
    future: Resolving<A>,
}

type Resolving<A> = Pin<Box<dyn Future<Output = Result<Vec<A>, Arc<str>>> + Send>>;

impl<A, F, Fut, C, E> Reconnector<A, F, Fut>
where
    A: Clone + Eq + fmt::Debug,
    F: FnMut(Attempt<A>) -> Fut,
    Fut: Future<Output = Result<C, Failure<E>>>,
    E: fmt::Display,
{
    /// As [`with_addresses`](Self::with_addresses), with addresses that are looked for at the
    /// first [`connect`](Self::connect), and again after each pass over them that failed.
    ///
    /// # Errors
    ///
    /// As [`new`](Reconnector::new).
    pub fn with_resolver<R, Res, Addresses, Error>(
        config: Config,
        mut resolve: R,
        dial: F,
    ) -> Result<Self, ConfigError>
    where
        R: FnMut() -> Res + Send + 'static,
        Res: Future<Output = Result<Addresses, Error>> + Send + 'static,
        Addresses: IntoIterator<Item = A>,
        Error: fmt::Display,
    {
        let machine = PickFirst::new(config, [])?.with_resolver();
        let mut reconnector = Self::drive(machine, dial);
        reconnector.resolver = Some(Box::new(Resolver {
            resolve: Box::new(move || {
                let resolving = resolve();
                Box::pin(async move {
                    match resolving.await {
                        Ok(addresses) => Ok(addresses.into_iter().collect()),
                        Err(error) => Err(error.to_string().into()),
                    }
                })
            }),
            running: None,
        }));
        Ok(reconnector)
    }

    pub(super) fn resolve(&mut self, id: AttemptId) -> Result<(), Stop<E>> {
        let Some(resolver) = &mut self.resolver else {
            return Ok(());
        };
        match catch(&mut resolver.resolve) {
            Ok(future) => resolver.running = Some(Running { id, future }),
            Err(panic) => return Err(self.resolver_panicked(id, panic)),
        }
        Ok(())
    }

    pub(super) fn poll_resolving(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Stop<E>>> {
        let Some(Resolver { running, .. }) = self.resolver.as_deref_mut() else {
            return Poll::Pending;
        };
        let Some(Running { id, future }) = running else {
            return Poll::Pending;
        };
        let id = *id;
        let polled = match catch(|| future.as_mut().poll(cx)) {
            Ok(polled) => Ok(ready!(polled)),
            Err(panic) => Err(panic),
        };
        discard(running.take());
        Poll::Ready(match polled {
            Ok(resolved) => {
                (self.handle.core).with(|inner, now| inner.resolved(now, id, resolved));
                Ok(())
            }
            Err(panic) => Err(self.resolver_panicked(id, panic)),
        })
    }

    fn resolver_panicked(&mut self, id: AttemptId, panic: Panic) -> Stop<E> {
        let why = Err("the resolver panicked".into());
        (self.handle.core).with(|inner, now| inner.resolved(now, id, why));
        self.owes_yield = true;
        Stop::Panicked(panic)
    }
}
