//! The whole demo on real sockets and in real time, with the smallest file: about 40 s, most of
//! which is waiting that the rules prescribe.

use std::{
    fs,
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use rudp::{
    Sending,
    demo::{self, DemoError, Line, Network, Options, Record, SCRIPT},
};
use tokio::{sync::oneshot, time::timeout};

/// Titles of figures, classes of marks, and how often each is there at least.
const SERIES: [(&str, usize); 21] = [
    ("<svg ", 7),
    ("class=\"plain\"", 1),
    ("class=\"repeats\"", 1),
    ("class=\"rtt\"", 4),
    ("class=\"srtt\"", 2),
    ("class=\"rto\"", 2),
    ("class=\"fast\"", 1),
    ("class=\"expired\"", 1 + 3 + 3),
    ("class=\"running\"", 3),
    ("class=\"sample\"", 1),
    ("class=\"refused\"", 4 + 4),
    ("class=\"connected\"", 2 + 1),
    ("class=\"allowed\"", 4),
    ("class=\"disk\"", 1),
    ("class=\"window\"", 2),
    ("class=\"flight\"", 2),
    ("class=\"pacing\"", 2),
    ("class=\"delivery\"", 2),
    ("class=\"undone\"", 1),
    ("class=\"probe\"", 1),
    ("path probes", 1),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_tells_its_whole_story() {
    let heard = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&heard);
    let options = Options {
        made_length: Network::SMALLEST_FILE,
        seed: 7,
        observe: Some(Arc::new(move |event| {
            let connected = matches!(event.what, Sending::Connected { .. });
            counter.fetch_add(connected.into(), Relaxed);
        })),
        ..Options::default()
    };
    let mut lines = Vec::new();
    let played = demo::perform(options, |line| lines.push(line), pending()).await;
    let record = played.expect("no stall, and everything arrives");

    // What depends on the machine's speed is not held against it here.
    for finding in demo::findings(&record) {
        assert!(finding.holds || !finding.hard, "{}", finding.text);
    }
    let (sent, received) = record.hashes.expect("compared");
    assert_eq!(sent, received);
    let report = record.report.as_ref().expect("delivered");
    assert_eq!((report.connections, heard.load(Relaxed)), (2, 2));
    assert_eq!(
        record.attempts.iter().filter(|it| !it.connected()).count(),
        4
    );
    let resumed = record.resumed.expect("a second connection");
    assert!(resumed.offset > 0 && resumed.offset == resumed.on_disk);
    let dark = record.dark.as_ref().expect("it was dark");
    let in_the_dark = record.expiries.iter().filter(|it| dark.contains(&it.at));
    assert!(in_the_dark.count() >= 3, "the RTO doubles");

    assert!(record.acts[2].late > 0, "overtaken");
    assert!(record.late.iter().any(|late| late.undone), "held");
    let probes = record.path_probes.iter();
    assert!(
        probes.filter(|at| dark.contains(at)).count() >= 8,
        "a probe each quarter of a second"
    );

    let encore = record.encore.as_ref().expect("small messages");
    let (with, without) = (&encore.with, &encore.without);
    for talk in [with, without] {
        assert_eq!(talk.messages.len(), 250, "all of them arrive");
        assert!(talk.tally.lost > 0, "one packet in ten");
    }
    assert!(with.tally.repaired > 0 && with.tally.repeated > 10_000);
    assert_eq!((without.tally.repaired, without.tally.repeated), (0, 0));
    assert!(with.bytes_sent > without.bytes_sent, "repeats cost bytes");

    let titles = lines
        .iter()
        .filter(|line| matches!(line, Line::Title { .. }));
    assert_eq!(
        titles.count(),
        1 + SCRIPT.len() + 1,
        "a prologue, each scene and the encore"
    );
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    for words in [
        "came late",
        "EXPIRED",
        "a probe asks",
        "undoes",
        "refused",
        "resumes at byte",
        "verified",
        "with repeats",
    ] {
        assert!(text.contains(words), "{words} is missing in:\n{text}");
    }
    check_page(&record);
}

fn check_page(record: &Record) {
    let page = demo::html(record);
    for (mark, at_least) in SERIES {
        let found = page.matches(mark).count();
        assert!(found >= at_least, "{mark}: {found} of {at_least}");
    }
    for unwanted in ["NaN", "\"inf", "-inf", "http", "<script", "url(", "@import"] {
        assert!(!page.contains(unwanted), "{unwanted} in the page");
    }
    assert_balanced(&page);
}

/// Every element is closed where it should be.
fn assert_balanced(page: &str) {
    let mut open = Vec::new();
    for tag in page.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a tag ends");
        let name = tag.split_whitespace().next().expect("a tag has a name");
        if let Some(closed) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed), "before {}", open.join(" > "));
        } else if !tag.ends_with('/') && !["!DOCTYPE", "meta"].contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "left open: {}", open.join(" > "));
}

#[tokio::test]
async fn a_file_that_the_scenes_would_outlast_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("small");
    let bytes = usize::try_from(Network::SMALLEST_FILE - 1).expect("small");
    fs::write(&file, vec![0; bytes]).expect("written");
    let options = Options {
        file: Some(file),
        ..Options::default()
    };
    let refused = demo::perform(options, drop, pending()).await;
    let error = refused.expect_err("too small");
    assert!(matches!(error, DemoError::TooSmall(..)));
    assert!(error.to_string().contains("4194303 bytes"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_demo_ends_at_once() {
    let (stop, stopped) = oneshot::channel();
    let mut stop = Some(stop);
    let tell = |line: Line| {
        // The first byte is on its way: the stage is full.
        if line.to_string().contains("the data starts") {
            _ = stop.take().map(|stop| stop.send(()));
        }
    };
    let options = Options {
        made_length: Network::SMALLEST_FILE,
        ..Options::default()
    };
    let stopped = async { _ = stopped.await };
    let played = timeout(
        Duration::from_secs(20),
        demo::perform(options, tell, stopped),
    );
    let error = played.await.expect("soon").expect_err("interrupted");
    assert!(matches!(error, DemoError::Interrupted));
}
