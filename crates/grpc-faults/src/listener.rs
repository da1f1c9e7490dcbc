use crate::{Fault, record::Record, serve};
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

/// A server on a TCP port of the loopback.
///
/// [`Fault::Refuse`] is a bound port that does not listen, where the kernel answers each SYN with
/// RST: to note those, it looks at the loopback's packets, which takes Linux and CAP_NET_RAW.
/// Dropped, it is gone with its connections.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    record: Arc<Record>,
    task: Running,
}

/// The task that serves or watches. It ends when this is dropped.
#[derive(Debug)]
struct Running(JoinHandle<()>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// More than any test has connections waiting to be accepted.
const BACKLOG: i32 = 1024;

impl Listener {
    /// Takes a free port, inside a tokio runtime with I/O and time.
    ///
    /// # Errors
    ///
    /// Those of the sockets; of [`Fault::Refuse`], `PermissionDenied` without CAP_NET_RAW and
    /// `Unsupported` elsewhere than on Linux.
    pub fn bind(fault: Fault) -> io::Result<Self> {
        let record = Arc::new(Record::new());
        let socket = bound((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = socket.local_addr()?.as_socket();
        let address = address.ok_or(io::ErrorKind::AddrNotAvailable)?;
        let task = start(socket, address, fault, Arc::clone(&record))?;
        Ok(Self {
            address,
            record,
            task,
        })
    }

    /// Where to dial it.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// When it was dialled, since it was made.
    #[must_use]
    pub fn starts(&self) -> Vec<Duration> {
        self.record.starts()
    }

    /// Breaks every connection, and goes on at the same port with this fault.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind). The server is gone then.
    pub async fn restart(&mut self, fault: Fault) -> io::Result<()> {
        self.task.0.abort();
        let _ = (&mut self.task.0).await; // its sockets are closed now
        let socket = bound(self.address)?;
        self.task = start(socket, self.address, fault, Arc::clone(&self.record))?;
        Ok(())
    }
}

/// A socket with this address, that does not listen yet.
fn bound(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?; // connections of the server before may linger
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

fn start(
    socket: Socket,
    address: SocketAddr,
    fault: Fault,
    record: Arc<Record>,
) -> io::Result<Running> {
    if fault == Fault::Refuse {
        return refuse(socket, address, record).map(Running);
    }
    socket.listen(BACKLOG)?;
    let listener = TcpListener::from_std(socket.into())?;
    Ok(Running(tokio::spawn(accept(listener, fault, record))))
}

async fn accept(listener: TcpListener, fault: Fault, record: Arc<Record>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(Duration::from_millis(10)).await; // out of descriptors, say
            continue;
        };
        record.note();
        while connections.try_join_next().is_some() {} // forget those that have ended
        connections.spawn(async move {
            let _ = stream.set_nodelay(true); // each byte of SETTINGS leaves by itself
            let _ = serve(fault, stream).await;
        });
    }
}

#[cfg(target_os = "linux")]
fn refuse(socket: Socket, address: SocketAddr, record: Arc<Record>) -> io::Result<JoinHandle<()>> {
    let mut syns = crate::syn::Syns::to(address.port())?;
    Ok(tokio::spawn(async move {
        let _keeps_the_port = socket;
        while syns.next().await.is_ok() {
            record.note();
        }
    }))
}

#[cfg(not(target_os = "linux"))]
fn refuse(_: Socket, _: SocketAddr, _: Arc<Record>) -> io::Result<JoinHandle<()>> {
    Err(io::ErrorKind::Unsupported.into())
}
