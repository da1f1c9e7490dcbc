//! What the sides tell of themselves in the handshake: their parameters, and a server's cookie.

use alloc::vec::Vec;
use core::time::Duration;

use bytes::BufMut;

use super::field::{put_varint, take_array, take_u64, take_varint};
use super::{BASE_DATAGRAM, DecodeError, MAX_VARINT, TOKEN_LEN, Versions};

/// The smallest idle timeout: half of it is the least time between two PINGs, at
/// the other side too (K2).
pub(crate) const MIN_IDLE_TIMEOUT: Duration = Duration::from_secs(1);

/// What a stateless reset proves itself with (K5).
pub type ResetToken = [u8; TOKEN_LEN];

/// What each side tells the other about itself: a client in its Hello, a server
/// in its SETTINGS (H6).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Bytes of all streams together that the sender of these parameters takes before any
    /// MAX_DATA; at most [`MAX_VARINT`] (F1).
    pub receive_window: u64,
    /// The same of each stream that is no message, before any MAX_STREAM_DATA (F1).
    pub stream_window: u64,
    /// How many streams the peer may have open at once; at least 1 (S3).
    pub streams: u64,
    /// How many messages may be under way or unread at once; at least 1 (S3).
    pub messages: u64,
    /// Its idle timeout, whole milliseconds on the wire; at least
    /// 1 s (K2).
    pub idle_timeout: Duration,
    /// The token that a stateless reset for its connection id carries (K5).
    pub reset_token: ResetToken,
    /// The longest datagram it takes, in bytes; at least [`BASE_DATAGRAM`] (U3).
    pub max_datagram: u64,
    /// The versions it speaks (N4).
    pub versions: Versions,
}

/// A server's proof to itself that a client receives at its address (H5).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Cookie {
    /// When it was issued, in milliseconds of the server's clock.
    pub issued_ms: u64,
    /// Keyed BLAKE3 over address, client id and `issued_ms`.
    pub mac: [u8; 16],
}

pub(super) fn put_params(out: &mut Vec<u8>, params: &Params) {
    put_varint(out, params.receive_window);
    put_varint(out, params.stream_window);
    put_varint(out, params.streams);
    put_varint(out, params.messages);
    put_varint(
        out,
        u64::try_from(params.idle_timeout.as_millis()).unwrap_or(MAX_VARINT),
    );
    out.put_slice(&params.reset_token);
    put_varint(out, params.max_datagram);
    params.versions.encode(out);
}

pub(super) fn take_params(body: &mut &[u8]) -> Result<Params, DecodeError> {
    let params = Params {
        receive_window: take_varint(body)?,
        stream_window: take_varint(body)?,
        streams: take_varint(body)?,
        messages: take_varint(body)?,
        idle_timeout: Duration::from_millis(take_varint(body)?),
        reset_token: take_array(body)?,
        max_datagram: take_varint(body)?,
        versions: Versions::decode(body)?,
    };
    if params.max_datagram < BASE_DATAGRAM as u64 {
        return Err(DecodeError::Field(
            "a largest datagram below 1,200 bytes (U3)",
        ));
    }
    if params.idle_timeout < MIN_IDLE_TIMEOUT {
        return Err(DecodeError::Field("an idle timeout below one second (K2)"));
    }
    if params.streams == 0 || params.messages == 0 {
        return Err(DecodeError::Field("no stream or no message at all (S3)"));
    }
    Ok(params)
}

pub(super) fn put_cookie(out: &mut Vec<u8>, cookie: &Cookie) {
    out.put_u64(cookie.issued_ms);
    out.put_slice(&cookie.mac);
}

pub(super) fn take_cookie(body: &mut &[u8]) -> Result<Cookie, DecodeError> {
    Ok(Cookie {
        issued_ms: take_u64(body)?,
        mac: take_array(body)?,
    })
}
