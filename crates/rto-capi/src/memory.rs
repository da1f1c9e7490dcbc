//! Memory of the caller's, and whether it holds what it should.
#![allow(
    unsafe_code,
    reason = "C sees opaque memory, and a mark tells what is in it"
)]

use core::ptr;

use crate::rto_status;

/// An opaque struct of the header.
///
/// # Safety
///
/// It is memory and no more: any bytes are a valid value, and its first four are initialised.
pub(crate) unsafe trait Opaque: Sized {
    /// What it holds.
    type Value: Copy;
    /// What its first four bytes are once it does: any number that other memory is unlikely to
    /// begin with.
    const MARK: u32;
}

#[repr(C)]
struct Marked<T> {
    mark: u32,
    value: T,
}

const fn assert_fits<M: Opaque>() {
    assert!(size_of::<Marked<M::Value>>() <= size_of::<M>());
    assert!(align_of::<Marked<M::Value>>() <= align_of::<M>());
}

/// The value in `memory`.
pub(crate) fn get<M: Opaque>(memory: Option<&M>) -> Result<&M::Value, rto_status> {
    const { assert_fits::<M>() }
    let memory = ptr::from_ref(memory.ok_or(rto_status::NullPointer)?);
    // SAFETY: `memory` is large enough and aligned, see `assert_fits`, and begins with a `u32`.
    if unsafe { memory.cast::<u32>().read() } != M::MARK {
        return Err(rto_status::Uninitialised);
    }
    // SAFETY: As above; the mark is set by `set` only, which has set the value, too.
    Ok(unsafe { &(*memory.cast::<Marked<M::Value>>()).value })
}

/// The value in `memory`, to be changed.
pub(crate) fn get_mut<M: Opaque>(memory: Option<&mut M>) -> Result<&mut M::Value, rto_status> {
    let memory = memory.ok_or(rto_status::NullPointer)?;
    get(Some(&*memory))?;
    let memory = ptr::from_mut(memory);
    // SAFETY: `get` has found a value here, and nobody else has this reference.
    Ok(unsafe { &mut (*memory.cast::<Marked<M::Value>>()).value })
}

/// Puts a value into `memory`, or an error's mark, so that what an earlier call left is not used
/// in place of the value that was asked for.
pub(crate) fn set<M: Opaque, E>(memory: &mut M, value: Result<M::Value, E>) -> Result<(), E> {
    const { assert_fits::<M>() }
    let memory = ptr::from_mut(memory);
    match value {
        Ok(value) => {
            let mark = M::MARK;
            // SAFETY: `memory` is large enough and aligned, see `assert_fits`.
            unsafe {
                memory
                    .cast::<Marked<M::Value>>()
                    .write(Marked { mark, value })
            };
            Ok(())
        }
        Err(error) => {
            // SAFETY: The same.
            unsafe { memory.cast::<u32>().write(!M::MARK) };
            Err(error)
        }
    }
}
