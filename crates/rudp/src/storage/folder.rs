//! The folder of a receiver.

use std::{
    fmt,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use blake3::{Hash, Hasher};

use super::{FileName, Part, name::KEY_NAME, refusal};
use crate::protocol::{Refusal, RefusalCode};

/// The folder into which a receiver puts files. One receiver at a time.
///
/// Besides finished files it holds part files, `.NAME.LENGTH.rudp-part`, and
/// the receiver's key, `.rudp-key`.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    reset_key: [u8; 32],
    _locked: File, // the key file; the lock goes with the last handle, even if the process is killed
}

/// What a folder holds under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// Nothing.
    Nothing,
    /// A file of this length in bytes.
    File(u64),
    /// A folder, a symbolic link or something stranger.
    Other,
}

/// Why a folder cannot be used; carries its path.
#[derive(Debug)]
pub enum FolderError {
    /// The file system says no.
    Io(PathBuf, io::Error),
    /// The file that should hold the 32-byte key has another length.
    KeyLength(PathBuf, u64),
    /// Another receiver uses the folder.
    InUse(PathBuf),
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::KeyLength(path, length) => write!(
                f,
                "{}: a key has 32 bytes, this file has {length}; delete it to get a new key",
                path.display()
            ),
            Self::InUse(path) => {
                write!(f, "{}: another receiver uses this folder", path.display())
            }
        }
    }
}

impl std::error::Error for FolderError {}

impl Folder {
    /// Opens a folder, and makes what is missing: the folder, but not those
    /// above it, and its key (mode 0600).
    ///
    /// # Errors
    ///
    /// [`FolderError`]: no folder above it, not writable, in use, a damaged key.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, FolderError> {
        let path = path.into();
        let key_path = path.join(KEY_NAME);
        let failed = |error| FolderError::Io(key_path.clone(), error);
        let mut file = match carefully().read(true).open(&key_path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create_dir(&path)
                    .and_then(|()| create_key(&path, &key_path))
                    .map_err(|error| FolderError::Io(path.clone(), error))?;
                carefully().read(true).open(&key_path).map_err(failed)?
            }
            other => other.map_err(failed)?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(FolderError::InUse(path)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let length = file.metadata().map_err(failed)?.len();
        let mut reset_key = [0; 32];
        if length != 32 {
            return Err(FolderError::KeyLength(key_path, length));
        }
        file.read_exact(&mut reset_key).map_err(failed)?;
        Ok(Self {
            path,
            reset_key,
            _locked: file,
        })
    }

    /// The key for stateless resets. The same at every start, so that a
    /// restarted receiver can answer for the connections of its former life.
    #[must_use]
    pub(crate) fn reset_key(&self) -> [u8; 32] {
        self.reset_key
    }

    /// Says what is there under a name, without following a link.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the file system does not say.
    pub(crate) fn existing(&self, name: &FileName) -> Result<Existing, Refusal> {
        match fs::symlink_metadata(self.target(name)) {
            Ok(found) if found.is_file() => Ok(Existing::File(found.len())),
            Ok(_) => Ok(Existing::Other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Existing::Nothing),
            Err(error) => Err(refusal("cannot look for the file", &error)),
        }
    }

    /// Hashes the whole file of a name.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if it cannot be read.
    pub(crate) fn hash(&self, name: &FileName) -> Result<Hash, Refusal> {
        let hash = || {
            let file = carefully().read(true).open(self.target(name))?;
            Ok(Hasher::new().update_reader(file)?.finalize())
        };
        hash().map_err(|error: io::Error| refusal("cannot read the file of this name", &error))
    }

    /// Opens the part file for a file of this name and length, or creates it,
    /// and hashes what it holds.
    ///
    /// # Errors
    ///
    /// A [`Refusal`]: what is left to come is known not to fit on the disk,
    /// the part is a link or not a file, or another error of the file system.
    pub(crate) fn part(&self, name: &FileName, length: u64) -> Result<Part, Refusal> {
        let path = self.path.join(name.part(length));
        // First the space: a part that cannot grow is not worth an empty file.
        let arrived = fs::symlink_metadata(&path).map_or(0, |found| found.len());
        let missing = length.saturating_sub(arrived);
        match free_space(&self.path) {
            Some(free) if free < missing => Err(Refusal::new(
                RefusalCode::DiskFull,
                format!("disk full: {missing} bytes to come, {free} bytes free"),
            )),
            _ => Part::open(path, self.target(name), length),
        }
    }

    fn target(&self, name: &FileName) -> PathBuf {
        self.path.join(name.as_str())
    }
}

/// Options that never follow a symbolic link in the last component.
pub(super) fn carefully() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Not blocking either: the name may have become a pipe.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    options
}

/// Makes what happened to a folder's entries last.
pub(super) fn sync_folder(file: &Path) -> io::Result<()> {
    match file.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// Makes a folder unless it is there.
fn create_dir(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Puts a random key in place, whole or not at all. If two receivers do this
/// at once, the first key stays.
fn create_key(folder: &Path, path: &Path) -> io::Result<()> {
    // A new temporary file has mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&rand::random::<[u8; 32]>())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        _ => sync_folder(path),
    }
}

/// The bytes an ordinary user may still write, if the system says.
fn free_space(folder: &Path) -> Option<u64> {
    #[cfg(unix)]
    return rustix::fs::statvfs(folder)
        .ok()
        .map(|found| found.f_bavail.saturating_mul(found.f_frsize));
    #[cfg(not(unix))]
    return None;
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn name(name: &str) -> FileName {
        FileName::new(name).expect("plain")
    }

    #[test]
    fn the_key_is_made_once_private_and_kept() {
        let dir = tempfile::tempdir().expect("tempdir");
        let first = Folder::open(dir.path()).expect("first").reset_key();
        let second = Folder::open(dir.path()).expect("second").reset_key();
        assert_eq!(first, second);
        assert_ne!(first, [0; 32]);
        let mode = fs::metadata(dir.path().join(KEY_NAME))
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(
            fs::read_dir(dir.path()).expect("readable").count(),
            1,
            "no temporary file left"
        );
    }

    #[test]
    fn a_second_receiver_in_the_same_folder_is_told() {
        let dir = tempfile::tempdir().expect("tempdir");
        let first = Folder::open(dir.path()).expect("first");
        assert!(matches!(
            Folder::open(dir.path()),
            Err(FolderError::InUse(_))
        ));
        drop(first);
        assert!(Folder::open(dir.path()).is_ok());
    }

    #[test]
    fn a_missing_folder_is_made_but_not_those_above_it() {
        let dir = tempfile::tempdir().expect("tempdir");
        let inbox = dir.path().join("inbox");
        Folder::open(&inbox).expect("made");
        assert!(inbox.join(KEY_NAME).is_file());
        let mistyped = dir.path().join("none/inbox");
        assert!(matches!(Folder::open(mistyped), Err(FolderError::Io(..))));
    }

    #[test]
    fn a_damaged_key_and_a_linked_key_are_errors() {
        let dir = tempfile::tempdir().expect("tempdir");
        let key = dir.path().join(KEY_NAME);
        fs::write(&key, [1; 31]).expect("written");
        assert!(matches!(
            Folder::open(dir.path()),
            Err(FolderError::KeyLength(_, 31))
        ));
        fs::remove_file(&key).expect("removed");
        fs::write(dir.path().join("elsewhere"), [1; 32]).expect("written");
        symlink("elsewhere", &key).expect("linked");
        assert!(matches!(Folder::open(dir.path()), Err(FolderError::Io(..))));
    }

    #[test]
    fn what_exists_is_told_apart_without_following_links() {
        let dir = tempfile::tempdir().expect("tempdir");
        let folder = Folder::open(dir.path()).expect("opened");
        fs::write(dir.path().join("file"), b"123").expect("written");
        fs::create_dir(dir.path().join("folder")).expect("created");
        symlink("file", dir.path().join("link")).expect("linked");
        for (entry, expected) in [
            ("none", Existing::Nothing),
            ("file", Existing::File(3)),
            ("folder", Existing::Other),
            ("link", Existing::Other),
        ] {
            assert_eq!(folder.existing(&name(entry)), Ok(expected), "{entry}");
        }
        assert_eq!(folder.hash(&name("file")), Ok(blake3::hash(b"123")));
        assert!(folder.hash(&name("link")).is_err());
    }

    #[test]
    fn a_file_larger_than_the_disk_is_refused_at_once() {
        let dir = tempfile::tempdir().expect("tempdir");
        let folder = Folder::open(dir.path()).expect("opened");
        let refusal = folder
            .part(&name("huge"), u64::MAX)
            .expect_err("no disk is that large");
        assert_eq!(refusal.code, Some(RefusalCode::DiskFull));
        let entries = fs::read_dir(dir.path()).expect("readable");
        assert_eq!(entries.count(), 1, "only the key");
    }
}
