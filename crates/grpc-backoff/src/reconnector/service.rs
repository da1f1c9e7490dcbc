use super::Reconnector;
use super::attempt::Attempt;
use super::report::Failure;
use crate::{Config, ConfigError};
use core::future::poll_fn;
use core::pin::Pin;
use std::boxed::Box;
use std::sync::{Arc, Mutex, PoisonError};
use tower_service::Service;

/// A [`Reconnector`] whose connect function is a service, made by
/// [`of_service`](Reconnector::of_service).
pub type OfService<C, E> = Reconnector<(), Dial<C, E>, Connecting<C, E>>;

type Dial<C, E> = Box<dyn FnMut(Attempt) -> Connecting<C, E> + Send>;
type Connecting<C, E> = Pin<Box<dyn Future<Output = Result<C, Failure<E>>> + Send>>;

impl<C: 'static, E: 'static> OfService<C, E> {
    /// As [`new`](Reconnector::new), with a service as the connect function: for instance one that
    /// takes a `Uri`. For each attempt it is waited for until it is ready, and then called with
    /// this target; the connect deadline covers both.
    ///
    /// # Errors
    ///
    /// As [`new`](Reconnector::new).
    pub fn of_service<S, T>(config: Config, target: T, service: S) -> Result<Self, ConfigError>
    where
        S: Service<T, Response = C, Error = E, Future: Send> + Send + 'static,
        T: Clone + Send + 'static,
    {
        let service = Arc::new(Mutex::new(service));
        let dial = move |_| -> Connecting<C, E> {
            let (service, target) = (Arc::clone(&service), target.clone());
            Box::pin(async move { Ok(call_ready(&service, target).await?) })
        };
        Self::new(config, Box::new(dial))
    }
}

/// Waits until the service is ready, and calls it under the same lock: readiness is for one call.
pub(crate) async fn call_ready<S, T>(
    service: &Mutex<S>,
    request: T,
) -> Result<S::Response, S::Error>
where
    S: Service<T>,
    T: Clone,
{
    let ready = poll_fn(move |cx| {
        let mut service = service.lock().unwrap_or_else(PoisonError::into_inner);
        let ready = service.poll_ready(cx);
        ready.map_ok(|()| service.call(request.clone()))
    });
    let calling = ready.await?;
    calling.await
}
