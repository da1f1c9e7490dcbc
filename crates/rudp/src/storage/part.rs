//! A file that is arriving.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::PathBuf,
};

use blake3::{Hash, Hasher};
use tempfile::TempPath;

use super::{
    folder::{carefully, sync_folder},
    refusal,
};
use crate::protocol::{Refusal, RefusalCode};

/// A file that is arriving: it stays when the connection or the receiver is
/// lost, when the disk is full, and until the file has its final name.
#[derive(Debug)]
pub(crate) struct Part {
    file: File, // the cursor is at `offset`
    path: PathBuf,
    target: PathBuf,
    hasher: Hasher, // of the first `offset` bytes
    offset: u64,
    length: u64,
}

impl Part {
    pub(super) fn open(path: PathBuf, target: PathBuf, length: u64) -> Result<Self, Refusal> {
        let open = || {
            let options = &mut carefully();
            let mut file = options
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)?;
            if !file.metadata()?.is_file() {
                return Err(io::Error::other("not a file"));
            }
            let mut hasher = Hasher::new();
            let offset = io::copy(&mut file, &mut hasher)?;
            Ok((file, hasher, offset))
        };
        let (file, hasher, offset) =
            open().map_err(|error| refusal("cannot open the part file", &error))?;
        let mut part = Self {
            file,
            path,
            target,
            hasher,
            offset,
            length,
        };
        if part.offset > length {
            part.restart()?;
        }
        Ok(part)
    }

    /// The number of bytes on disk.
    #[must_use]
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The BLAKE3 hash of the bytes on disk.
    #[must_use]
    pub(crate) fn hash(&self) -> Hash {
        self.hasher.finalize()
    }

    /// Throws away what is there.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the file system does not allow it.
    pub(crate) fn restart(&mut self) -> Result<(), Refusal> {
        use std::io::{Seek, SeekFrom};
        let file = &mut self.file;
        let emptied = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0)));
        emptied.map_err(|error| refusal("cannot empty the part file", &error))?;
        self.hasher.reset();
        self.offset = 0;
        Ok(())
    }

    /// Appends data. After an error the part is only good for being opened again.
    ///
    /// # Errors
    ///
    /// A [`Refusal`], for a full disk as for any other error of the file system.
    pub(crate) fn write(&mut self, data: &[u8]) -> Result<(), Refusal> {
        self.file.write_all(data).map_err(|error| {
            let kept = self
                .file
                .metadata()
                .map_or(self.offset, |found| found.len());
            let doing = format!("kept {kept} of {} bytes", self.length);
            refusal(doing, &error)
        })?;
        self.hasher.update(data);
        self.offset = self.offset.saturating_add(data.len() as u64);
        Ok(())
    }

    /// Makes what is there survive a power failure.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the disk fails.
    pub(crate) fn sync(&self) -> Result<(), Refusal> {
        self.file
            .sync_all()
            .map_err(|error| refusal("cannot sync the file", &error))
    }

    /// Checks the whole file against the sender's hash and gives it its name:
    /// file synced, renamed, folder synced. Only `force` replaces a file that
    /// is there. The hash is of what went through memory, which a part found
    /// on disk did when it was opened: nothing is read back.
    ///
    /// # Errors
    ///
    /// A [`Refusal`]. If the hashes differ, the part is removed, since no
    /// continuation can mend it.
    pub(crate) fn publish(self, hash: Hash, force: bool) -> Result<(), Refusal> {
        if self.offset != self.length || self.hash() != hash {
            let ours = self.hash();
            self.remove()?;
            let reason = format!("sent with BLAKE3 {hash}, arrived with {ours}; removed");
            return Err(Refusal::new(RefusalCode::HashMismatch, reason));
        }
        self.sync()?;
        if force {
            fs::rename(&self.path, &self.target).map_err(|error| cannot_rename(&error))?;
        } else {
            self.rename_to_free_name()?;
        }
        sync_folder(&self.target).map_err(|error| refusal("cannot sync the folder", &error))
    }

    fn rename_to_free_name(&self) -> Result<(), Refusal> {
        let mut path =
            TempPath::try_from_path(&self.path).map_err(|error| cannot_rename(&error))?;
        path.disable_cleanup(true); // it is no temporary file: a failure must not delete it
        path.persist_noclobber(&self.target)
            .map_err(|failed| match failed.error.kind() {
                io::ErrorKind::AlreadyExists => name_is_taken(),
                _ => cannot_rename(&failed.error),
            })
    }

    fn remove(self) -> Result<(), Refusal> {
        fs::remove_file(&self.path).map_err(|error| refusal("cannot remove the part file", &error))
    }
}

/// The refusal of a file whose name is taken.
pub(crate) fn name_is_taken() -> Refusal {
    let reason = "another file of this name is there; --force replaces it";
    Refusal::new(RefusalCode::Exists, reason)
}

fn cannot_rename(error: &io::Error) -> Refusal {
    refusal("cannot rename the part file", error)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    fn open(dir: &TempDir, length: u64) -> Result<Part, Refusal> {
        Part::open(dir.path().join(".a.part"), dir.path().join("a"), length)
    }

    fn dir() -> TempDir {
        tempfile::tempdir().expect("tempdir")
    }

    fn entries(dir: &TempDir) -> Vec<String> {
        let entries = fs::read_dir(dir.path()).expect("readable");
        entries
            .map(|entry| {
                entry
                    .expect("entry")
                    .file_name()
                    .into_string()
                    .expect("UTF-8")
            })
            .collect()
    }

    #[test]
    fn a_part_goes_on_where_it_was_left() {
        let dir = dir();
        open(&dir, 6).expect("new").write(b"abc").expect("written");
        let mut part = open(&dir, 6).expect("again");
        assert_eq!((part.offset(), part.hash()), (3, blake3::hash(b"abc")));
        part.write(b"def").expect("written");
        part.publish(blake3::hash(b"abcdef"), false)
            .expect("published");
        assert_eq!(fs::read(dir.path().join("a")).expect("there"), b"abcdef");
        assert_eq!(entries(&dir), ["a"]);
    }

    #[test]
    fn a_part_that_restarts_or_is_too_long_begins_at_zero() {
        let dir = dir();
        let mut part = open(&dir, 3).expect("new");
        part.write(b"xyz").expect("written");
        part.restart().expect("emptied");
        part.write(b"ab").expect("written");
        assert_eq!(part.hash(), blake3::hash(b"ab"));
        assert_eq!(fs::read(dir.path().join(".a.part")).expect("there"), b"ab");
        let part = open(&dir, 1).expect("too long");
        assert_eq!((part.offset(), part.hash()), (0, blake3::hash(b"")));
    }

    #[test]
    fn wrong_content_gets_no_name_and_leaves_no_part() {
        let dir = dir();
        let mut part = open(&dir, 3).expect("new");
        part.write(b"abc").expect("written");
        let refusal = part
            .publish(blake3::hash(b"abd"), true)
            .expect_err("another hash");
        assert_eq!(refusal.code, Some(RefusalCode::HashMismatch));
        assert_eq!(entries(&dir), [""; 0]);
    }

    #[test]
    fn only_force_replaces_a_file_and_the_part_is_kept_otherwise() {
        let dir = dir();
        fs::write(dir.path().join("a"), b"old").expect("written");
        let hash = blake3::hash(b"new");
        let mut part = open(&dir, 3).expect("new");
        part.write(b"new").expect("written");
        assert_eq!(
            part.publish(hash, false).expect_err("taken").code,
            Some(RefusalCode::Exists)
        );
        assert_eq!(fs::read(dir.path().join("a")).expect("there"), b"old");
        open(&dir, 3)
            .expect("kept")
            .publish(hash, true)
            .expect("forced");
        assert_eq!(fs::read(dir.path().join("a")).expect("there"), b"new");
        assert_eq!(entries(&dir), ["a"]);
    }

    #[test]
    fn a_link_a_folder_or_a_pipe_in_place_of_the_part_is_refused() {
        let dir = dir();
        let path = dir.path().join(".a.part");
        fs::write(dir.path().join("victim"), b"precious").expect("written");
        symlink("victim", &path).expect("linked");
        assert!(open(&dir, 3).is_err());
        assert_eq!(
            fs::read(dir.path().join("victim")).expect("there"),
            b"precious"
        );
        fs::remove_file(&path).expect("removed");
        fs::create_dir(&path).expect("created");
        assert!(open(&dir, 3).is_err());
        fs::remove_dir(&path).expect("removed");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .expect("a pipe");
        assert!(open(&dir, 3).is_err());
    }
}
