//! Text for C, in a buffer of the caller's.
#![allow(unsafe_code, reason = "a buffer is a pointer and a size")]

use core::{
    ffi::c_char,
    fmt::{self, Write},
    mem::MaybeUninit,
    slice,
};

use crate::{rto_status, status::Refusal};

/// A buffer of this size has room for every text.
pub const RTO_TEXT_SIZE: usize = 256;

/// Writes as much of `text` as there is room for, always with a NUL at the end. A null `buffer`
/// and a `size` of 0 take nothing.
///
/// # Safety
///
/// `buffer` is null or points to `size` bytes that may be written.
pub(crate) unsafe fn write(buffer: *mut c_char, size: usize, text: impl fmt::Display) {
    if buffer.is_null() || size == 0 {
        return;
    }
    // No more than that is ever written, so a `size` that is too large by mistake does no harm.
    let size = size.min(RTO_TEXT_SIZE);
    // SAFETY: The caller says so; bytes need no alignment.
    let room = unsafe { slice::from_raw_parts_mut(buffer.cast::<MaybeUninit<u8>>(), size) };
    let mut text_so_far = Room { room, len: 0 };
    // An error tells that the room is used up, which is no failure.
    let _ = write!(text_so_far, "{text}");
    text_so_far.end();
}

/// The status of checked settings; its reason, or that of no refusal, goes to `message`.
///
/// # Safety
///
/// As for [`write`].
pub(crate) unsafe fn tell(
    message: *mut c_char,
    size: usize,
    checked: Result<(), Refusal>,
) -> rto_status {
    match checked {
        // SAFETY: The caller vouches for the buffer.
        Ok(()) => unsafe { write(message, size, rto_status::Ok) },
        // SAFETY: The same.
        Err(refusal) => unsafe { write(message, size, refusal) },
    }
    checked.map_err(|refusal| refusal.status()).into()
}

/// Where text goes, and how much of it is there.
struct Room<'a> {
    /// At least one byte, for the NUL.
    room: &'a mut [MaybeUninit<u8>],
    len: usize,
}

impl Room<'_> {
    fn end(self) {
        if let Some(last) = self.room.get_mut(self.len) {
            last.write(0);
        }
    }
}

impl fmt::Write for Room<'_> {
    /// Whole characters only: half of one would spoil the text for whoever decodes it.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let left = (self.room.len().saturating_sub(1)).saturating_sub(self.len);
        let fits = text.floor_char_boundary(left);
        let places = self.room.iter_mut().skip(self.len);
        for (place, byte) in places.zip(text.bytes().take(fits)) {
            place.write(byte);
        }
        self.len = self.len.saturating_add(fits);
        if fits < text.len() {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}
