//! Where points are in a picture, no finer than can be seen.

/// Of points above each other only the first, the extremes and the last: more cannot be seen.
pub(super) fn thinned(places: impl Iterator<Item = (i64, i64)>) -> Vec<(i64, i64)> {
    let mut kept: Vec<(i64, i64)> = Vec::new();
    let mut column = 0; // where the last column begins
    for (x, y) in places {
        if kept.get(column).is_none_or(|&(first, _)| first != x) {
            column = kept.len();
        }
        kept.push((x, y));
        if let [_, middle @ .., _] = &mut kept[column..]
            && middle.len() > 2
        {
            middle.sort_unstable();
            let (lowest, highest, last) = (middle[0], middle[middle.len() - 1], (x, y));
            kept.truncate(column + 1);
            kept.extend([lowest, highest, last]);
        }
    }
    kept
}

/// A position in half units, the finest that anyone could see.
pub(super) fn in_halves(place: f64) -> i64 {
    (place * 2.0).round() as i64
}

pub(super) fn halves(place: i64) -> f64 {
    place as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_points_keeps_its_ends_and_its_extremes() {
        let points = [
            (1, 5),
            (1, 9),
            (1, 4),
            (1, 6),
            (1, 7),
            (1, 8),
            (2, 3),
            (2, 1),
        ];
        let kept = thinned(points.into_iter());
        assert_eq!(kept, [(1, 5), (1, 4), (1, 9), (1, 8), (2, 3), (2, 1)]);
        let many = thinned((0..100_000).map(|i| (i / 1_000, i * 7_919 % 1_000)));
        assert_eq!(many.len(), 400);
        assert!(many.contains(&(3, 0)) && many.contains(&(3, 999)));
    }
}
