//! Where a number is to be.

use std::fmt;

/// From, to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range(pub f64, pub f64);

impl Range {
    pub fn contains(self, number: f64) -> bool {
        (self.0..=self.1).contains(&number)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self(least, f64::INFINITY) => write!(f, "at least {least}"),
            Self(f64::NEG_INFINITY, most) => write!(f, "at most {most}"),
            Self(least, most) => write!(f, "{least} to {most}"),
        }
    }
}

pub const fn least(number: f64) -> Range {
    Range(number, f64::INFINITY)
}

pub const fn most(number: f64) -> Range {
    Range(f64::NEG_INFINITY, number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_says_what_it_asks_for() {
        let said = [least(0.6), most(8.0), Range(30.0, 65.0)].map(|range| range.to_string());
        assert_eq!(said, ["at least 0.6", "at most 8", "30 to 65"]);
    }
}
