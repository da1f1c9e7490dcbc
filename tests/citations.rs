//! Holds code and tests to the rule lists in `spec/`: every rule is cited by code and has a
//! test named for it; every id that code, tests or vectors cite exists.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// A rule list, and where the work on it lies.
struct Document {
    /// File in `spec/`, without `.md`.
    spec: &'static str,
    /// The word in the names of its tests.
    name: &'static str,
    /// Its crates and its folder of tests: here `(D3)` is a decision of this list.
    homes: &'static [&'static str],
}

const DOCUMENTS: [Document; 5] = [
    Document {
        spec: "rfc6298",
        name: "rfc6298",
        homes: &["crates/rto", "tests/rto"],
    },
    Document {
        spec: "grpc-connection-backoff",
        name: "grpc",
        homes: &[
            "crates/grpc-backoff",
            "crates/grpc-backoff-interop",
            "crates/grpc-faults",
            "tests/grpc",
        ],
    },
    Document {
        spec: "backoff",
        name: "backoff",
        homes: &["crates/backoff-policy", "tests/backoff"],
    },
    Document {
        spec: "rudp",
        name: "rudp",
        homes: &["crates/rudp-proto", "crates/rudp", "tests/transport"],
    },
    Document {
        spec: "rto-family",
        name: "family",
        homes: &[],
    },
];

/// A text that cites rules.
struct Source {
    path: String,
    text: String,
}

/// The rules of one list: each id, and whether it must be cited and tested.
type Rules = BTreeMap<String, bool>;

#[test]
fn every_rule_is_cited_and_tested_and_every_citation_exists() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let listed: BTreeSet<_> = DOCUMENTS.iter().map(|document| document.spec).collect();
    for path in files(&root.join("spec"), "md") {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let known = stem.is_some_and(|stem| stem == "README" || listed.contains(stem));
        assert!(known, "{} is not in DOCUMENTS", path.display());
    }
    let rules = DOCUMENTS.map(|document| {
        let path = root.join(format!("spec/{}.md", document.spec));
        let text = fs::read_to_string(&path).unwrap_or_else(|_| panic!("{}", path.display()));
        let rules = parse_rules(&text);
        assert!(!rules.is_empty(), "{} has no rule", path.display());
        rules
    });
    let code = sources(&root, "crates", "rs");
    let mut tests = sources(&root, "tests", "rs");
    tests.retain(|source| source.path != "tests/citations.rs"); // its examples are no citations
    let vectors = sources(&root, "tests/vectors", "json");
    let problems = problems(&rules, &code, &tests, &vectors);
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// The last column of a comparison names tests, vectors and programs that show it.
#[test]
fn what_compare_md_names_exists() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("COMPARE.md")).expect("it exists");
    let mut places = sources(&root, "tests", "rs");
    places.extend(sources(&root, "tests/vectors", "json"));
    places.extend(sources(&root, "benches", "rs"));
    let rows = text.lines().filter_map(|line| line.strip_suffix(" |"));
    let shown_by = rows.filter_map(|row| row.rsplit_once("| ").map(|(_, cell)| cell));
    let names: Vec<_> = shown_by
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        let found = |source: &Source| source.text.contains(name);
        let exists = root.join(name).is_file() || places.iter().any(found);
        assert!(exists, "COMPARE.md names {name}, which is nowhere");
    }
}

/// What does not fit, a line each.
fn problems(
    rules: &[Rules; 5],
    code: &[Source],
    tests: &[Source],
    vectors: &[Source],
) -> Vec<String> {
    let mut problems = Vec::new();
    let mut cited = BTreeSet::new();
    let mut tested = BTreeSet::new();
    for source in code.iter().chain(tests) {
        let in_code = source.path.starts_with("crates");
        for id in citations(&source.text) {
            let Some(document) = document_of(&id, home_of(&source.path), rules) else {
                continue; // of none of our lists
            };
            if !rules[document].contains_key(&id) {
                problems.push(unknown(&source.path, document, &id));
            } else if in_code {
                cited.insert((document, id));
            }
        }
    }
    for source in tests {
        for (name, document, id) in test_names(&source.text) {
            match id {
                Some(id) if rules[document].contains_key(&id) => _ = tested.insert((document, id)),
                _ => problems.push(format!("{}: {name} names no rule", source.path)),
            }
        }
    }
    for source in vectors {
        for (home, id) in vector_rules(&source.text) {
            let document = document_of(&id, Some(home), rules).unwrap_or(home);
            if !rules[document].contains_key(&id) {
                problems.push(unknown(&source.path, document, &id));
            }
        }
    }
    for (document, rules) in rules.iter().enumerate() {
        let spec = DOCUMENTS[document].spec;
        for (id, _) in rules.iter().filter(|(_, required)| **required) {
            let key = (document, id.clone());
            if !cited.contains(&key) {
                problems.push(format!("no code cites {id} of {spec}.md"));
            }
            if !tested.contains(&key) {
                problems.push(format!("no test is named for {id} of {spec}.md"));
            }
        }
    }
    problems
}

fn unknown(path: &str, document: usize, id: &str) -> String {
    let spec = DOCUMENTS[document].spec;
    format!("{path} cites {id}, which {spec}.md does not have")
}

/// The ids in the first column of a Markdown file's tables. A row with a cell `info` asks
/// for nothing.
fn parse_rules(text: &str) -> Rules {
    let rows = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix('|'));
    rows.filter_map(|row| {
        let mut cells = row.split('|').map(str::trim);
        let id = cells.next().filter(|id| is_id(id))?;
        Some((id.to_owned(), cells.all(|cell| cell != "info")))
    })
    .collect()
}

/// Whether a text has the form of an id: `5.3-1`, `5-N1`, `S7`.
fn is_id(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((section, count)) = text.split_once('-') {
        section.split('.').all(digits) && digits(count.strip_prefix('N').unwrap_or(count))
    } else {
        text.starts_with(|first: char| first.is_ascii_uppercase())
            && text.get(1..).is_some_and(digits)
    }
}

/// Every id cited in a text, in parentheses or as a string by itself: `(5.3-1)`,
/// `(S8, S9)`, `(D7)`, `(H1 to H7)`, `"2.4-1"`.
fn citations(text: &str) -> Vec<String> {
    let joined: Vec<_> = (text.lines())
        .map(|line| line.trim().trim_start_matches(['/', '!']).trim())
        .collect();
    let joined = joined.join(" ");
    let parenthesised = joined
        .split('(')
        .skip(1)
        .filter_map(|rest| rest.split_once(')'));
    let quoted = joined.split('"').filter(|text| is_id(text));
    (parenthesised.filter_map(|(group, _)| ids(group)).flatten())
        .chain(quoted.map(str::to_owned))
        .collect()
}

/// The ids of a group, if it consists of nothing else.
fn ids(group: &str) -> Option<Vec<String>> {
    let mut ids = Vec::new();
    for item in group.split(", ").flat_map(|item| item.split(" and ")) {
        match item.split_once(" to ") {
            Some((first, last)) => ids.extend(range(first, last)?),
            None if is_id(item) => ids.push(item.to_owned()),
            None => return None,
        }
    }
    Some(ids)
}

fn range(first: &str, last: &str) -> Option<Vec<String>> {
    let (letter, from) = first.split_at_checked(1).filter(|_| is_id(first))?;
    let (from, to): (u32, u32) = (from.parse().ok()?, last.strip_prefix(letter)?.parse().ok()?);
    Some(
        (from..=to)
            .map(|number| format!("{letter}{number}"))
            .collect(),
    )
}

/// The list whose work lies at this path.
fn home_of(path: &str) -> Option<usize> {
    let at = |home: &&str| Path::new(path).starts_with(home);
    (DOCUMENTS.iter()).position(|document| document.homes.iter().any(at))
}

/// The list that an id belongs to: by its letter, first of all where it is cited.
fn document_of(id: &str, home: Option<usize>, rules: &[Rules; 5]) -> Option<usize> {
    let kind = |id: &str| {
        (
            id.contains('-'),
            id.chars().next().filter(char::is_ascii_uppercase),
        )
    };
    if id.starts_with('D') {
        return home;
    }
    let has_kind = |document: &usize| rules[*document].keys().any(|rule| kind(rule) == kind(id));
    home.filter(|document| rules[*document].contains_key(id))
        .or_else(|| (0..DOCUMENTS.len()).find(has_kind))
}

/// The test functions named for a rule: name, list, and the id if it can be read.
fn test_names(text: &str) -> Vec<(String, usize, Option<String>)> {
    let names = text.split("fn rule_").skip(1);
    names
        .map(|rest| {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let name = &rest[..end.unwrap_or(rest.len())];
            let (document, rest) = name.split_once('_').unwrap_or((name, ""));
            let position = DOCUMENTS.iter().position(|known| known.name == document);
            let id = position.and_then(|_| id_in_name(rest));
            (format!("rule_{name}"), position.unwrap_or(0), id)
        })
        .collect()
}

/// `2p2_1_first_sample` is 2.2-1, `5_n1_...` is 5-N1, `s7_...` is S7; a sentence follows.
fn id_in_name(rest: &str) -> Option<String> {
    let mut words = rest.split('_');
    let first = words.next()?.to_ascii_uppercase();
    let id = if first.starts_with(|c: char| c.is_ascii_digit()) {
        format!(
            "{}-{}",
            first.replace('P', "."),
            words.next()?.to_ascii_uppercase()
        )
    } else {
        first
    };
    words.next()?;
    is_id(&id).then_some(id)
}

/// The ids that a vector file cites, with the list of the file.
fn vector_rules(text: &str) -> Vec<(usize, String)> {
    let file: serde_json::Value = serde_json::from_str(text).expect("vector files are JSON");
    let Some(document) = DOCUMENTS
        .iter()
        .position(|known| file["document"] == known.spec)
    else {
        return Vec::new(); // the schema itself
    };
    let vectors = file["vectors"].as_array().into_iter().flatten();
    vectors
        .flat_map(|vector| vector["rules"].as_array().into_iter().flatten())
        .map(|rule| (document, rule.as_str().unwrap_or("").to_owned()))
        .collect()
}

fn sources(root: &Path, folder: &str, extension: &str) -> Vec<Source> {
    let read = |path: PathBuf| Source {
        text: fs::read_to_string(&path).expect("sources can be read"),
        path: path
            .strip_prefix(root)
            .expect("below the root")
            .display()
            .to_string(),
    };
    files(&root.join(folder), extension)
        .into_iter()
        .map(read)
        .collect()
}

/// Every file below a folder with this extension.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder exists") {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod parser {
    use super::*;

    fn source(path: &str, text: &str) -> Vec<Source> {
        let (path, text) = (path.to_owned(), text.to_owned());
        vec![Source { path, text }]
    }

    /// The problems of a small project with one rule list of RFC 6298 and one of rudp.
    fn found(spec: &str, code: &str, tests: &str) -> Vec<String> {
        let rules = [
            parse_rules(spec),
            Rules::new(),
            Rules::new(),
            parse_rules("| W1 | info | x |"),
            Rules::new(),
        ];
        problems(
            &rules,
            &source("crates/rto/src/a.rs", code),
            &source("tests/rto/b.rs", tests),
            &[],
        )
    }

    const SPEC: &str = "| id | level | rule |\n|---|---|---|\n| 5.3-1 | REC | restart |\n\
                        | 4-1 | info | anything |\n| D7 | decision | from now |";
    const CODE: &str = "// restart (5.3-1), from now\n/// (D7,\n/// 4-1)";
    const TESTS: &str = "fn rule_rfc6298_5p3_1_restarts() {}\nfn rule_rfc6298_d7_from_now() {}";

    #[test]
    fn a_project_in_order_has_no_problem() {
        assert_eq!(found(SPEC, CODE, TESTS), [""; 0]);
    }

    #[test]
    fn a_rule_without_citation_or_test_is_found() {
        let code = CODE.replace("(5.3-1)", "5.3-1");
        assert_eq!(
            found(SPEC, &code, TESTS),
            ["no code cites 5.3-1 of rfc6298.md"]
        );
        let tests = TESTS.replace("5p3_1", "d7");
        assert_eq!(
            found(SPEC, CODE, &tests),
            ["no test is named for 5.3-1 of rfc6298.md"]
        );
        // A citation in a test is no citation in code.
        let tests = format!("{TESTS} // (5.3-1)");
        assert_eq!(found(SPEC, &code, &tests).len(), 1);
    }

    #[test]
    fn an_unknown_id_is_found_in_code_tests_names_and_vectors() {
        for (code, tests) in [
            ("(5.3-2)", ""),
            ("", "/// (5.3-2)"),
            ("(D8)", ""),
            ("\"5.3-2\"", ""),
            ("(W2)", ""),
            ("(5.3-1, 5.3-2)", ""),
            ("", "fn rule_rfc6298_5p3_2_is_new() {}"),
            ("", "fn rule_rfc6298_restarts() {}"),
            ("", "fn rule_rfc6298_5p3_1() {}"), // no sentence
            ("", "fn rule_rfc9999_5p3_1_is_of_no_list() {}"),
        ] {
            let problems = found(SPEC, &(CODE.to_owned() + code), &(TESTS.to_owned() + tests));
            assert_eq!(problems.len(), 1, "{code}{tests}: {problems:?}");
        }
        let mut rules = [(); 5].map(|()| Rules::new());
        rules[0] = parse_rules(SPEC);
        let vectors = source(
            "v.json",
            r#"{"document": "rfc6298", "vectors": [{"rules": ["5.3-1", "5.3-9"]}]}"#,
        );
        let problems = problems(
            &rules,
            &source("crates/rto/a.rs", CODE),
            &source("tests/rto/b.rs", TESTS),
            &vectors,
        );
        assert_eq!(
            problems,
            ["v.json cites 5.3-9, which rfc6298.md does not have"]
        );
    }

    #[test]
    fn groups_ranges_and_other_parentheses_are_told_apart() {
        let cited = citations(
            "f(S8, S9) (H1 to H3) (1 + 2) (see S7) (RFC 9002) (A and B) (W1 and W2) \"2.4-1\" (0, 1]",
        );
        assert_eq!(cited, ["S8", "S9", "H1", "H2", "H3", "W1", "W2", "2.4-1"]);
    }

    #[test]
    fn decisions_belong_to_the_list_of_their_folder() {
        let rules = [(); 5].map(|()| parse_rules("| D1 | decision | x |"));
        for (path, document) in [
            ("crates/rto/src/a.rs", 0),
            ("tests/grpc/a.rs", 1),
            ("crates/rudp/src/a.rs", 3),
        ] {
            assert_eq!(document_of("D1", home_of(path), &rules), Some(document));
        }
        assert_eq!(home_of("crates/netsim/src/a.rs"), None);
    }
}
