//! The TCP server of these tests: what it notes, and that it can restart.

use conformance::skip;
use conformance::time::{ms, s};
use grpc_faults::{Fault, Listener};
use std::io::{self, ErrorKind};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// What the server says until it closes.
async fn heard(server: &Listener) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server.address()).await?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await?;
    Ok(bytes)
}

#[tokio::test]
async fn every_connection_is_noted_and_a_restart_keeps_port_and_record() {
    let up = Fault::SettingsThenClose(ms(1));
    let mut server = Listener::bind(up).expect("a free port");
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    assert_eq!(heard(&server).await.expect("it listens")[..9], settings);
    let restarted = server.restart(Fault::AcceptThenClose).await;
    restarted.expect("its own port");
    assert!(heard(&server).await.expect("it listens").is_empty());
    assert_eq!(server.starts().len(), 2);
    assert!(server.starts().is_sorted());
}

#[tokio::test]
async fn a_refused_connection_is_noted_once() {
    let mut server = match Listener::bind(Fault::Refuse) {
        Err(error) => return skip("a_refused_connection_is_noted_once", &error.to_string()),
        Ok(server) => server,
    };
    for _ in 0..3 {
        let error = heard(&server).await.expect_err("nobody listens");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    }
    let noted = async {
        while server.starts().len() < 3 {
            sleep(ms(1)).await;
        }
    };
    timeout(s(30), noted).await.expect("each is seen");
    let restarted = server.restart(Fault::AcceptThenClose).await;
    restarted.expect("its own port");
    assert!(heard(&server).await.expect("it listens").is_empty());
    assert_eq!(server.starts().len(), 4);
}
