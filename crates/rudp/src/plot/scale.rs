//! How values become positions.

/// A range of values and the positions of its ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    from: f64,
    to: f64,
    /// The positions of `from` and `to`.
    place: (f64, f64),
    logarithmic: bool,
}

impl Scale {
    pub(super) fn linear(from: f64, to: f64, place: (f64, f64)) -> Self {
        let to = to.max(from + 1e-3).max(from * (1.0 + 1e-9)); // an empty range has no middle
        Self {
            from,
            to,
            place,
            logarithmic: false,
        }
    }

    /// From one power of ten to another, around positive values.
    pub(super) fn logarithmic(from: f64, to: f64, place: (f64, f64)) -> Self {
        let from = 10_f64.powf(from.max(1e-6).log10().floor());
        let to = 10_f64.powf(to.max(from * 10.0).log10().ceil());
        Self {
            from,
            to,
            place,
            logarithmic: true,
        }
    }

    /// The position of a value; one outside the scale is put at its end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.from, self.to);
        let share = if self.logarithmic {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        self.place.0 + share * (self.place.1 - self.place.0)
    }

    /// Round values to label, about `wanted` of them on a linear scale.
    pub(super) fn ticks(&self, wanted: f64) -> Vec<f64> {
        if self.logarithmic {
            let decades = (self.to / self.from).log10().round();
            return (0..)
                .map(f64::from)
                .take_while(|&decade| decade <= decades)
                .map(|decade| self.from * 10_f64.powf(decade))
                .collect();
        }
        let rough = (self.to - self.from) / wanted;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0];
        let step = steps.into_iter().find(|step| step * power >= rough);
        let step = step.unwrap_or(10.0) * power;
        let first = (self.from / step).ceil();
        (0..)
            .map(|index| (first + f64::from(index)) * step)
            .take_while(|&tick| tick <= self.to + step * 1e-9)
            .collect()
    }

    /// The positions of both ends.
    pub(super) fn ends(&self) -> (f64, f64) {
        self.place
    }

    /// Moves the position where it begins.
    pub(super) fn shift(&mut self, by: f64) {
        self.place.0 += by;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_puts_values_between_its_ends_and_others_at_them() {
        let scale = Scale::linear(10.0, 20.0, (0.0, 100.0));
        assert_eq!(
            [5.0, 10.0, 15.0, 25.0].map(|v| scale.at(v)),
            [0.0, 0.0, 50.0, 100.0]
        );
        let scale = Scale::logarithmic(0.02, 7.0, (100.0, 0.0));
        assert_eq!((scale.from, scale.to), (0.01, 10.0));
        assert!((scale.at(0.1) - 200.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn an_empty_range_is_no_division_by_zero() {
        for scale in [
            Scale::linear(3.0, 3.0, (0.0, 100.0)),
            Scale::linear(1e19, 1e19, (0.0, 100.0)),
            Scale::logarithmic(0.0, 0.0, (0.0, 100.0)),
        ] {
            assert!(scale.at(3.0).is_finite());
            assert!(scale.ticks(5.0).iter().all(|tick| tick.is_finite()));
        }
    }

    #[test]
    fn ticks_are_round() {
        let ticks = Scale::linear(0.0, 38.0, (0.0, 1.0)).ticks(10.0);
        assert_eq!(ticks, [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0]);
        let ticks = Scale::logarithmic(0.02, 7.0, (0.0, 1.0)).ticks(5.0);
        assert_eq!(ticks.len(), 4, "0.01, 0.1, 1, 10: {ticks:?}");
    }
}
