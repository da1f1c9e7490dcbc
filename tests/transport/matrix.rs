//! How fast the transport is over the table of links, held to what it was.

use conformance::matrix::{measure, rows};

#[test]
fn no_row_falls_below_its_floor() {
    for row in rows() {
        let measured = measure(&row, 3);
        println!("{}: {measured:?}", row.name);
        let (name, floor) = (row.name, row.floor);
        assert!(
            measured.goodput >= floor,
            "{name}: below {floor} kbit/s: {measured:?}"
        );
    }
}

#[test]
fn a_seed_gives_the_same_numbers_again() {
    let rows = rows();
    let lossy = rows.last().expect("there are rows");
    assert_eq!(measure(lossy, 1), measure(lossy, 1));
}
