//! The file a sender reads.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    time::SystemTime,
};

use blake3::{Hash, Hasher};

/// A file to send, and the hash of what was read of it.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,     // the cursor is at `offset`
    hasher: Hasher, // of the first `offset` bytes
    offset: u64,
    length: u64,
    modified: Option<SystemTime>, // where the system keeps it
}

impl Source {
    /// Opens a file at its start. Its length is settled now.
    ///
    /// # Errors
    ///
    /// Those of the file system, and for anything that is no file.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut options = File::options();
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            // Opening a pipe would wait for its writer.
            options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        }
        let file = options.read(true).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
        }
        Ok(Self {
            file,
            hasher: Hasher::new(),
            offset: 0,
            length: metadata.len(),
            modified: metadata.modified().ok(),
        })
    }

    /// The length of the file, in bytes.
    #[must_use]
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The number of bytes read.
    #[must_use]
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Makes sure, when all was read, that it is one state of the file, and not parts of several nor
    /// the beginning alone: some files, as those of `/proc`, hold more than the system says.
    ///
    /// # Errors
    ///
    /// Those of the file system; one that says so if the file was written to
    /// since it was opened, or goes on.
    pub(crate) fn check_unchanged(&self) -> io::Result<()> {
        let goes_on = self.offset == self.length && (&self.file).read(&mut [0])? > 0;
        let now = self.file.metadata()?;
        if (now.len(), now.modified().ok()) == (self.length, self.modified) {
            match goes_on {
                false => Ok(()),
                true => Err(io::Error::other(format!(
                    "the file goes on after the {} bytes that the system says it has",
                    self.length
                ))),
            }
        } else {
            Err(io::Error::other("the file changed while it was being sent"))
        }
    }

    /// The BLAKE3 hash of the bytes read.
    #[must_use]
    pub(crate) fn hash(&self) -> Hash {
        self.hasher.finalize()
    }

    /// Goes to an offset, and hashes all bytes before it.
    ///
    /// # Errors
    ///
    /// Those of the file system; `UnexpectedEof` if the file ends before `offset`.
    pub(crate) fn seek(&mut self, offset: u64) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        self.hasher.reset();
        self.offset = io::copy(&mut (&self.file).take(offset), &mut self.hasher)?;
        if self.offset < offset {
            Err(shorter())
        } else {
            Ok(())
        }
    }

    /// Reads on into `chunk`, as much as fits or is left; 0 bytes at the end.
    ///
    /// # Errors
    ///
    /// Those of the file system; `UnexpectedEof` if the file has become shorter.
    pub(crate) fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        let left = self.length.saturating_sub(self.offset);
        let wanted = usize::try_from(left).map_or(chunk.len(), |left| left.min(chunk.len()));
        let chunk = &mut chunk[..wanted];
        self.file
            .read_exact(chunk)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => shorter(),
                _ => error,
            })?;
        self.hasher.update(chunk);
        self.offset = self.offset.saturating_add(chunk.len() as u64);
        Ok(chunk.len())
    }
}

fn shorter() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "the file became shorter while it was being sent",
    )
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use super::*;

    fn source(content: &[u8]) -> (tempfile::NamedTempFile, Source) {
        let mut file = tempfile::NamedTempFile::new().expect("tempfile");
        file.write_all(content).expect("written");
        let source = Source::open(file.path()).expect("opened");
        (file, source)
    }

    #[test]
    fn it_is_read_and_hashed_from_any_offset() {
        let (_file, mut source) = source(b"abcdef");
        for (offset, rest) in [(4, &b"ef"[..]), (0, b"abcdef"), (6, b"")] {
            source.seek(offset).expect("within the file");
            assert_eq!(source.hash(), blake3::hash(&b"abcdef"[..offset as usize]));
            let mut chunk = [0; 10];
            let count = source.read(&mut chunk).expect("read");
            assert_eq!(
                (&chunk[..count], source.hash()),
                (rest, blake3::hash(b"abcdef"))
            );
            assert_eq!(source.read(&mut chunk).expect("at the end"), 0);
        }
    }

    #[test]
    fn what_is_appended_later_is_not_sent_and_what_is_cut_off_is_an_error() {
        let (file, mut source) = source(b"abc");
        fs::write(file.path(), b"abcd").expect("longer");
        let mut chunk = [0; 10];
        source.check_unchanged().expect_err("longer");
        assert_eq!(source.read(&mut chunk).expect("read"), 3);
        fs::write(file.path(), b"ab").expect("shorter");
        source.seek(1).expect("still there");
        assert_eq!(
            source.read(&mut chunk).expect_err("cut").kind(),
            io::ErrorKind::UnexpectedEof
        );
        assert_eq!(
            source.seek(3).expect_err("cut").kind(),
            io::ErrorKind::UnexpectedEof
        );
    }

    #[test]
    fn a_file_that_is_written_to_has_changed_even_if_it_is_as_long() {
        let (mut file, source) = source(b"abc");
        source.check_unchanged().expect("as it was");
        file.write_all(b"d").expect("longer");
        file.as_file().set_len(3).expect("as long as before");
        // The system's own clock for this may be coarse.
        let modified = file.as_file().set_modified(SystemTime::UNIX_EPOCH);
        modified.expect("set");
        source.check_unchanged().expect_err("changed");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_holds_more_than_the_system_says_is_not_sent_in_part() {
        let mut source = Source::open(Path::new("/proc/version")).expect("opened");
        assert_eq!(source.read(&mut [0; 10]).expect("read"), 0);
        let error = source.check_unchanged().expect_err("there is more");
        assert!(error.to_string().contains("after the 0 bytes"), "{error}");
    }

    #[test]
    fn a_folder_and_a_pipe_are_no_files() {
        let dir = tempfile::tempdir().expect("tempdir");
        assert!(Source::open(dir.path()).is_err());
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo").success());
        assert!(Source::open(&pipe).is_err(), "and at once");
    }
}
