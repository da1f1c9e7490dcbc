//! What has a name in texts.

/// Each value and its name.
pub(crate) type Names<T> = &'static [(&'static str, T)];

pub(crate) fn find<T: Copy>(names: Names<T>, text: &str) -> Option<T> {
    let found = names.iter().find(|(name, _)| *name == text);
    found.map(|&(_, value)| value)
}

pub(crate) fn name_of<T: Copy + PartialEq>(names: Names<T>, value: T) -> &'static str {
    let found = names.iter().find(|(_, known)| *known == value);
    found.map_or("", |&(name, _)| name)
}
