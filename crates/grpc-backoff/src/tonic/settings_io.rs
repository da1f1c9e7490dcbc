use crate::{ConnectionGuard, Disconnect, FirstFrame, SettingsProbe, Verdict};
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use std::boxed::Box;
use std::io::{self, IoSlice};
use tokio::time::{Sleep, sleep_until};

/// A connection that tells its machine what becomes of it: whether the server's SETTINGS came
/// first (S11), came too late (S5), or how it ended.
///
/// It may be used at once: nothing waits for SETTINGS (D13), and nothing is read ahead of the one
/// who reads. Reading fails, and the attempt with it, where the first frame is another, or none
/// arrives by the connect deadline. After SETTINGS it only passes bytes on; when it is dropped,
/// the connection is lost.
pub struct SettingsIo<T, A: Clone + Eq = ()> {
    io: T,
    /// Until it is known how the server begins.
    awaited: Option<Awaited>,
    /// Until the connection is known to be gone.
    guard: Option<ConnectionGuard<A>>,
}

struct Awaited {
    probe: SettingsProbe,
    deadline: Pin<Box<Sleep>>,
}

/// How many bytes are read at once before SETTINGS: that frame with all six settings is 45 bytes.
const CHUNK: usize = 64;

impl<T, A: Clone + Eq> SettingsIo<T, A> {
    /// Watches over `io`, a connection on which nothing has been read yet, for the attempt that
    /// `guard` belongs to.
    pub fn new(io: T, guard: ConnectionGuard<A>) -> Self {
        let awaited = Awaited {
            probe: SettingsProbe::new(),
            deadline: Box::pin(sleep_until(guard.deadline())),
        };
        Self {
            io,
            awaited: Some(awaited),
            guard: Some(guard),
        }
    }

    /// The connection is gone, for this reason.
    fn fail(&mut self, error: io::Error) -> io::Error {
        self.awaited = None;
        if let Some(guard) = self.guard.take() {
            guard.disconnected(Disconnect::from(&error), &error);
        }
        error
    }

    /// Passes on what came of an operation; an error is the end of the connection.
    fn look<R>(&mut self, polled: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        polled.map_err(|error| self.fail(error))
    }
}

impl<T: Read + Unpin, A: Clone + Eq> SettingsIo<T, A> {
    /// Reads what tells how the server begins, and passes it on.
    fn poll_first_frame(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut bytes = [0; CHUNK];
        let (bytes, _) = bytes.split_at_mut(CHUNK.min(buf.remaining()));
        let mut read = ReadBuf::new(bytes);
        match Pin::new(&mut self.io).poll_read(cx, read.unfilled()) {
            Poll::Pending => {
                ready!(self.poll_deadline(cx));
                (self.awaited, self.guard) = (None, None); // which says so
                return Poll::Ready(Err(too_late()));
            }
            Poll::Ready(Err(error)) => return Poll::Ready(Err(self.fail(error))),
            Poll::Ready(Ok(())) if read.filled().is_empty() && buf.remaining() > 0 => {
                self.fail(closed());
                return Poll::Ready(Ok(()));
            }
            Poll::Ready(Ok(())) => {}
        }
        if let Err(error) = self.handle_received(read.filled()) {
            return Poll::Ready(Err(self.fail(error)));
        }
        buf.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let awaited = self.awaited.as_mut();
        awaited.map_or(Poll::Pending, |awaited| awaited.deadline.as_mut().poll(cx))
    }

    fn handle_received(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (Some(awaited), Some(guard)) = (&mut self.awaited, &self.guard) else {
            return Ok(());
        };
        match awaited.probe.handle_received(bytes) {
            FirstFrame::Unknown => Ok(()),
            FirstFrame::Other(why) => Err(io::Error::new(io::ErrorKind::InvalidData, why)),
            FirstFrame::Settings => {
                self.awaited = None;
                match guard.accepted() {
                    Verdict::Accepted => Ok(()),
                    Verdict::Stale => Err(not_wanted()),
                }
            }
        }
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "closed before SETTINGS (S11)")
}

fn too_late() -> io::Error {
    let why = "no SETTINGS by the connect deadline (S5)";
    io::Error::new(io::ErrorKind::TimedOut, why)
}

fn not_wanted() -> io::Error {
    let why = "SETTINGS came when the connection was not wanted any more (D6)";
    io::Error::new(io::ErrorKind::ConnectionAborted, why)
}

impl<T: Read + Unpin, A: Clone + Eq> Read for SettingsIo<T, A> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.awaited.is_some() {
            return this.poll_first_frame(cx, &mut buf);
        }
        let polled = Pin::new(&mut this.io).poll_read(cx, buf);
        this.look(polled)
    }
}

impl<T: Write + Unpin, A: Clone + Eq> Write for SettingsIo<T, A> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.io).poll_write(cx, buf);
        this.look(polled)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.io).poll_write_vectored(cx, bufs);
        this.look(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.io).poll_flush(cx);
        this.look(polled)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }
}

impl<T, A: Clone + Eq> fmt::Debug for SettingsIo<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettingsIo")
            .field("settings_awaited", &self.awaited.is_some())
            .finish_non_exhaustive()
    }
}
