//! `count OPERATION busy|idle TIMES` runs an operation, or only the loop around it, for callgrind
//! to count (see `counts.sh`). Without arguments it lists the operations and their bytes of state.

use benches::OPERATIONS;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [name, what, times] = arguments[..] else {
        for operation in OPERATIONS {
            let bytes = operation.bytes.map(|bytes| bytes.to_string());
            println!("{} {}", operation.name, bytes.as_deref().unwrap_or("-"));
        }
        return;
    };
    let operation = OPERATIONS
        .iter()
        .find(|operation| operation.name == name)
        .unwrap_or_else(|| panic!("no operation is called {name:?}"));
    let start = match what {
        "busy" => operation.start,
        "idle" => operation.start_idle,
        _ => panic!("{what:?} is neither \"busy\" nor \"idle\""),
    };
    start()(times.parse().expect("TIMES is a whole number"));
}
