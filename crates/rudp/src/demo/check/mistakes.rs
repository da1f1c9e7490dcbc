//! What was taken for lost and only came late.

use super::{Finding, soft};
use crate::{
    demo::{
        Act, Record,
        scenes::{Opening, Weather},
    },
    words::{bytes, span, thousands},
};

/// An expiry for nothing leaves one packet, until the first late answer.
pub(super) fn undone(record: &Record) -> Finding {
    let known = || record.congestion.iter();
    let seen = || {
        let late = record.late.iter().find(|late| late.undone)?;
        let expiry = record.expiries.iter().rfind(|it| it.at < late.at)?;
        let (_, before) = known().rfind(|(at, _)| *at < expiry.at)?;
        let (_, reduced) = known().find(|(at, _)| *at >= expiry.at)?;
        let (_, after) = known().find(|(at, _)| *at > late.at)?;
        let windows = [before, reduced, after].map(|it| it.window);
        Some((windows, late.at - expiry.at))
    };
    let seen = seen();
    soft(
        // What the model does at the time may change the rest.
        seen.is_some_and(|([before, reduced, after], _)| {
            reduced < before / 2 && before / 2 < after
        }),
        match seen {
            Some(([before, reduced, after], later)) => format!(
                "an expiry for nothing is undone: the window was {}, then {}, and {} from the late answer on, {} later",
                bytes(before),
                bytes(reduced),
                bytes(after),
                span(later)
            ),
            None => "no reduction was undone".to_owned(),
        },
    )
}

/// What was overtaken counts as lost for a moment only, and costs no expiry.
pub(super) fn late(record: &Record) -> Finding {
    let disorder = |act: &&Act| matches!(act.scene.opening, Opening::Weather(Weather::Disorder));
    let act = record.acts.iter().find(disorder);
    let (packets, expiries) = act.map_or((0, 0), |act| (act.late, act.expiries));
    soft(
        packets > 0 && expiries == 0,
        format!(
            "packets that others overtake are seen as late and cost no expiry: {} late",
            thousands(packets)
        ),
    )
}
