//! The vector files: where they lie, and how a test reads one.

use std::{fs, path::PathBuf, time::Duration};

use serde::{Deserialize, Deserializer, de::DeserializeOwned};

/// Each vector file, and the rule list in `spec/` that its rules are from.
const DOCUMENTS: [(&str, &str); 8] = [
    ("backoff.json", "backoff"),
    ("budgets.json", "backoff"),
    ("family.json", "rto-family"),
    ("grpc.json", "grpc-connection-backoff"),
    ("intervals.json", "grpc-connection-backoff"),
    ("kernel.json", "rfc6298"),
    ("presets.json", "backoff"),
    ("rto.json", "rfc6298"),
];

/// What a file says before its vectors, as far as a reader depends on it.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Header {
    schema: String,
    document: String,
    unit: String,
}

#[derive(Deserialize)]
struct File<V> {
    #[serde(flatten)]
    header: Header,
    vectors: Vec<V>,
}

/// An event and its consequences.
#[derive(Debug, Deserialize)]
pub struct Step<Event, Expect> {
    /// What happens.
    #[serde(flatten)]
    pub event: Event,
    /// What holds after it.
    pub expect: Expect,
}

/// The folder of the vector files.
#[must_use]
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

/// The vectors of a file, in the form that its document gives them.
///
/// # Panics
///
/// Where the file is missing, is of another schema, document or unit, or holds a vector of
/// another form.
#[must_use]
pub fn load<V: DeserializeOwned>(name: &str) -> Vec<V> {
    let text =
        fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    parse(name, &text)
}

fn parse<V: DeserializeOwned>(name: &str, text: &str) -> Vec<V> {
    let known = DOCUMENTS.into_iter().find(|&(file, _)| file == name);
    let (_, document) = known.unwrap_or_else(|| panic!("{name} is not in DOCUMENTS"));
    let file: File<V> =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let expected = Header {
        schema: "conformance/1".to_owned(),
        document: document.to_owned(),
        unit: "ns".to_owned(),
    };
    assert_eq!(file.header, expected, "{name}");
    file.vectors
}

/// A field that is a span or an instant.
pub(crate) fn nanos<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_nanos)
}

/// The same, if it is there.
pub(crate) fn maybe_nanos<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    nanos(deserializer).map(Some)
}

/// Tells `null` from an absent field, which takes the default.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        r#"{"schema": "conformance/1", "document": "backoff", "unit": "ns", "vectors": [7]}"#;

    #[test]
    fn a_file_of_another_header_or_form_is_refused() {
        assert_eq!(parse::<u8>("backoff.json", GOOD), [7]);
        for (name, from, to) in [
            ("backoff.json", "conformance/1", "conformance/2"),
            ("backoff.json", "backoff", "rfc6298"),
            ("backoff.json", r#""ns""#, r#""us""#),
            ("backoff.json", "[7]", "[true]"),
            ("grpc.json", "", ""),
            ("unheard-of.json", "", ""),
        ] {
            let text = GOOD.replacen(from, to, 1);
            let read = std::panic::catch_unwind(|| parse::<u8>(name, &text));
            assert!(read.is_err(), "{name}: {text}");
        }
    }
}
