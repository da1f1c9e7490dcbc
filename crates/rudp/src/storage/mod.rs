//! Files on disk, at both ends: the receiver's folder with its part files,
//! and the sender's source. Everything here blocks.

mod folder;
mod name;
mod part;
mod source;

use std::{fmt::Display, io};

pub(crate) use folder::Existing;
pub use folder::{Folder, FolderError};
pub use name::{FileName, NameError};
pub(crate) use part::{Part, name_is_taken};
pub(crate) use source::Source;

use crate::protocol::{Refusal, RefusalCode};

/// Says what an error of the receiver's file system means for the sender.
fn refusal(doing: impl Display, error: &io::Error) -> Refusal {
    use io::ErrorKind::{
        FileTooLarge, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
    };
    let code = match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => RefusalCode::DiskFull,
        PermissionDenied | ReadOnlyFilesystem => RefusalCode::NotAllowed,
        _ => RefusalCode::Storage,
    };
    Refusal::new(code, format!("{doing}: {error}"))
}
