//! `count OPERATION TIMES`: runs one operation, for callgrind to count (see `counts.sh`).
//! Without arguments it lists the operations.

use benches::OPERATIONS;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(name), Some(times)) = (arguments.next(), arguments.next()) else {
        OPERATIONS.iter().for_each(|(name, _)| println!("{name}"));
        return;
    };
    let (_, run) = OPERATIONS
        .iter()
        .find(|(known, _)| *known == name)
        .unwrap_or_else(|| panic!("no operation is called {name:?}"));
    run(times.parse().expect("TIMES is a whole number"));
}
