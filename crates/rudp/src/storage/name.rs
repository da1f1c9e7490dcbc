//! Which names a receiver accepts.

use std::{fmt, path::PathBuf};

/// The longest name, in bytes: 223. A part file's name is 32 bytes longer at
/// most, and file systems allow 255.
const MAX_NAME: usize = 223;

pub(super) const PART_SUFFIX: &str = ".rudp-part";
pub(super) const KEY_NAME: &str = ".rudp-key";

/// A name that can only mean a file directly in the receiver's folder, and
/// none of the receiver's own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileName(String);

/// Why a name is refused; carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameError {
    /// The name is empty.
    Empty,
    /// The name is longer than 223 bytes; carries its length in bytes.
    TooLong(usize),
    /// The name is a path: `/`, `\`, `.` or `..`.
    Path(String),
    /// The name holds NUL or another control character.
    Control(String),
    /// The receiver keeps its own files under such names.
    Reserved(String),
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the file name is empty"),
            Self::TooLong(length) => {
                write!(
                    f,
                    "the file name has {length} bytes; at most {MAX_NAME} are allowed"
                )
            }
            Self::Path(name) => write!(f, "not a plain file name: {name:?}"),
            Self::Control(name) => write!(f, "control character in the file name: {name:?}"),
            Self::Reserved(name) => {
                write!(f, "{name:?} is a name the receiver keeps for itself")
            }
        }
    }
}

impl std::error::Error for NameError {}

impl FileName {
    /// Checks a name that came from anywhere.
    ///
    /// # Errors
    ///
    /// A [`NameError`] that says what is wrong with it.
    pub fn new(name: &str) -> Result<Self, NameError> {
        // Some file systems ignore case.
        let lower = name.to_ascii_lowercase();
        if name.is_empty() {
            Err(NameError::Empty)
        } else if name.len() > MAX_NAME {
            Err(NameError::TooLong(name.len()))
        } else if name.contains(['/', '\\']) || name == "." || name == ".." {
            Err(NameError::Path(name.to_owned()))
        } else if name.chars().any(char::is_control) {
            Err(NameError::Control(name.to_owned()))
        } else if lower == KEY_NAME || (name.starts_with('.') && lower.ends_with(PART_SUFFIX)) {
            Err(NameError::Reserved(name.to_owned()))
        } else {
            Ok(Self(name.to_owned()))
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the file that holds what has arrived so far: the length
    /// is part of it, so that no other record of the transfer is needed.
    pub(super) fn part(&self, length: u64) -> PathBuf {
        format!(".{}.{length}{PART_SUFFIX}", self.0).into()
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_pass() {
        for name in [
            "a",
            "...",
            ".profile",
            "größe 1.tar.gz",
            "x.rudp-part",
            &"n".repeat(MAX_NAME),
        ] {
            assert_eq!(FileName::new(name).expect(name).as_str(), name);
        }
    }

    #[test]
    fn path_tricks_and_own_names_are_refused() {
        let own = |name: &str| NameError::Reserved(name.to_owned());
        let path = |name: &str| NameError::Path(name.to_owned());
        let control = |name: &str| NameError::Control(name.to_owned());
        for (name, error) in [
            ("", NameError::Empty),
            (".", path(".")),
            ("..", path("..")),
            ("../a", path("../a")),
            ("/etc/passwd", path("/etc/passwd")),
            ("a/b", path("a/b")),
            ("..\\a", path("..\\a")),
            ("a\0b", control("a\0b")),
            ("a\nb", control("a\nb")),
            ("a\u{9b}b", control("a\u{9b}b")),
            (".rudp-key", own(".rudp-key")),
            (".RUDP-Key", own(".RUDP-Key")),
            (".a.5.rudp-part", own(".a.5.rudp-part")),
            (".a.5.Rudp-Part", own(".a.5.Rudp-Part")),
            (&"n".repeat(MAX_NAME + 1), NameError::TooLong(MAX_NAME + 1)),
        ] {
            assert_eq!(FileName::new(name), Err(error), "{name:?}");
        }
    }

    #[test]
    fn a_part_name_tells_files_apart_and_always_fits() {
        let name = |name: &str| FileName::new(name).expect("plain");
        assert_ne!(name("a").part(1), name("a").part(11));
        assert_ne!(name("a.1").part(1), name("a").part(1));
        let longest = name(&"n".repeat(MAX_NAME)).part(u64::MAX);
        assert_eq!(longest.as_os_str().len(), 255);
    }
}
