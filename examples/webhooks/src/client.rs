//! One attempt to deliver a webhook, and what its failure means.

use crate::clock;
use crate::queue::Webhook;
use backoff_policy::http::failure_of;
use backoff_policy::{Class, Failure};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

const TIMEOUT: Duration = Duration::from_millis(250);

pub(crate) async fn deliver(server: SocketAddr, webhook: &Webhook) -> Result<(), Failure> {
    match timeout(TIMEOUT, post(server, webhook)).await {
        Ok(outcome) => outcome,
        Err(_elapsed) => Err(Class::Timeout.into()),
    }
}

async fn post(server: SocketAddr, webhook: &Webhook) -> Result<(), Failure> {
    let stream = TcpStream::connect(server).await;
    let stream = stream.map_err(|error| Class::of_io(error.kind()))?; // refused: never sent
    let connected = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.map_err(|_| Class::Unsent)?;
    tokio::spawn(connection); // which ends with the sender
    let mut request = Request::new(Full::new(Bytes::from(webhook.body.clone())));
    *request.method_mut() = Method::POST;
    *request.headers_mut() = webhook.headers().map_err(|_| Class::Permanent)?;
    let answered = sender.send_request(request).await;
    let response = answered.map_err(|_| Class::Transient)?; // it broke midway
    failure_of(response.status(), response.headers(), clock::now()).map_or(Ok(()), Err)
}
