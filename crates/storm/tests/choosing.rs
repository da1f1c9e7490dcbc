//! What `CHOOSING.md` shows is what the program says and draws today.

use std::{fs, path::PathBuf, process::Command};

const GUIDE: &str = include_str!("../CHOOSING.md");

/// Runs `storm` with the arguments of a command line.
fn run(command: &str) -> String {
    let arguments = command.split(' ').skip(1);
    let output = Command::new(env!("CARGO_BIN_EXE_storm"))
        .args(arguments)
        .output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{command}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn every_table_is_what_its_command_prints() {
    let blocks = GUIDE.split("```text\n$ ").skip(1);
    let blocks: Vec<_> = blocks.filter_map(|block| block.split_once("```")).collect();
    assert!(blocks.len() >= 6, "{}", blocks.len());
    for (block, _) in blocks {
        let (command, expected) = block.split_once('\n').expect("a command and its output");
        assert_eq!(run(command), expected, "{command}");
    }
}

/// But for the optimistic writers: their network draws by logarithms, whose last digit is the
/// platform's.
#[test]
fn every_picture_is_what_its_command_draws() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let commands = GUIDE
        .split('`')
        .filter(|text| text.starts_with("storm ") && text.contains("--svg"));
    let mut pictures = 0;
    for command in commands {
        let (start, path) = command.rsplit_once(' ').expect("a path");
        let picture =
            fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        let name = path.rsplit_once('/').expect("a folder").1;
        assert!(
            GUIDE.contains(&format!("](pictures/{name})")),
            "{name} is shown"
        );
        pictures += 1;
        if start.starts_with("storm occ") {
            continue;
        }
        let drawn = std::env::temp_dir().join(format!("storm-{}-{name}", std::process::id()));
        run(&format!("{start} {}", drawn.display()));
        assert!(
            fs::read_to_string(&drawn).expect("drawn") == picture,
            "run again: {command}"
        );
        fs::remove_file(drawn).expect("removed");
    }
    let files = fs::read_dir(root.join("crates/storm/pictures"))
        .expect("pictures")
        .count();
    assert_eq!(pictures, files, "each is shown with its command");
}
