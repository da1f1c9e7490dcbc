//! Policies as text, for flags and files (B18).

use crate::names::{Names, find};
use crate::{
    DeadlineFrom, FirstDelay, HintRule, Jitter, Policy, Ratio, Repeats, Schedule, ScheduleError,
};
use core::str::FromStr;
use core::time::Duration;

mod error;
mod number;
mod write;
pub use error::ParsePolicyError;
pub use number::parse_duration;
use number::{number, ratio};

type Parsed<T> = Result<T, ParsePolicyError>;

/// Reads the name of a preset, fields, or both: `grpc-call`, `base=1s,cap=1m,jitter=full`,
/// `webhooks,attempts=8`. Without a name it starts from base 1 s, multiplier 2, cap 60 s and full
/// jitter, without limits. Each field is there once at most.
///
/// | field | values |
/// |---|---|
/// | `base`, `cap` | a span: `250ms`, `1.5s`, `2m`, `1h` |
/// | `multiplier` | a ratio of 1 or more: `2`, `1.6`, `8/5` |
/// | `jitter` | `none`, `full`, `equal`, `decorrelated`, `between-ceilings`, `proportional:1/5`, `additive:0.1`, `proportional-clipped:1/2` |
/// | `first` | `jittered`, `exact`, `immediate` |
/// | `throttle-factor` | a whole number of 1 or more |
/// | `attempts` | a whole number of 1 or more, or `unlimited` |
/// | `deadline` | a span, or `none` |
/// | `from` | `first-failure`, `start` |
/// | `hint` | `exact`, `at-least`, `within:5s`, `capped:1m`, `ignore` |
/// | `hint-jitter` | percent of a hint: `0` to `255` |
/// | `healthy` | a span, or `none` |
/// | `repeats` | `idempotent`, `everything` |
impl FromStr for Policy {
    type Err = ParsePolicyError;

    fn from_str(text: &str) -> Result<Self, ParsePolicyError> {
        let mut fields = text.split(',').peekable();
        let named = fields.next_if(|field| !field.contains('='));
        let mut policy = match named {
            Some(name) => Self::preset(name).ok_or_else(|| {
                ParsePolicyError::new("a preset such as calls, or fields such as base=1s", name)
            })?,
            None => default()?,
        };
        let (mut base, mut cap) = (policy.schedule.base(), policy.schedule.cap());
        let (mut multiplier, mut jitter) = (policy.schedule.multiplier(), policy.schedule.jitter());
        for field in fields {
            let Some((key, value)) = field.split_once('=') else {
                return Err(ParsePolicyError::new("a field such as base=1s", field));
            };
            let is_it = |field: &&str| field.split_once('=').is_some_and(|(other, _)| other == key);
            if text.split(',').filter(is_it).count() > 1 {
                return Err(ParsePolicyError::new("each field once", field));
            }
            match key {
                "base" => base = parse_duration(value)?,
                "cap" => cap = parse_duration(value)?,
                "multiplier" => multiplier = ratio(value)?,
                "jitter" => jitter = read_jitter(value)?,
                _ => policy.set(key, value)?,
            }
        }
        policy.schedule = Schedule::new(base, multiplier, cap, jitter)?;
        Ok(policy)
    }
}

fn default() -> Result<Policy, ScheduleError> {
    let (base, cap) = (Duration::from_secs(1), Duration::from_secs(60));
    Ok(Policy::new(Schedule::new(
        base,
        Ratio::new(2, 1),
        cap,
        Jitter::Full,
    )?))
}

impl Policy {
    fn set(&mut self, key: &str, value: &str) -> Result<(), ParsePolicyError> {
        match key {
            "first" => self.first_delay = named(FIRST, value, "jittered, exact or immediate")?,
            "throttle-factor" => self.throttle_factor = number(value, "a whole number above 0")?,
            "attempts" => {
                let expected = "attempts of 1 or more, or unlimited";
                self.attempts = unless("unlimited", value, |value| number(value, expected))?;
            }
            "deadline" => self.deadline = unless("none", value, parse_duration)?,
            "from" => self.deadline_from = named(FROM, value, "first-failure or start")?,
            "hint" => self.hint = read_hint(value)?,
            "hint-jitter" => self.hint_jitter_percent = number(value, "percent, 0 to 255")?,
            "healthy" => self.healthy_time = unless("none", value, parse_duration)?,
            "repeats" => self.repeats = named(REPEATS, value, "idempotent or everything")?,
            _ => return Err(ParsePolicyError::new("the name of a field", key)),
        }
        Ok(())
    }
}

const FIRST: Names<FirstDelay> = &[
    ("jittered", FirstDelay::Jittered),
    ("exact", FirstDelay::Exact),
    ("immediate", FirstDelay::Immediate),
];
const FROM: Names<DeadlineFrom> = &[
    ("first-failure", DeadlineFrom::FirstFailure),
    ("start", DeadlineFrom::Start),
];
const REPEATS: Names<Repeats> = &[
    ("idempotent", Repeats::Idempotent),
    ("everything", Repeats::Everything),
];
const JITTERS: Names<Jitter> = &[
    ("none", Jitter::None),
    ("full", Jitter::Full),
    ("equal", Jitter::Equal),
    ("decorrelated", Jitter::Decorrelated),
    ("between-ceilings", Jitter::BetweenCeilings),
];
const HINTS: Names<HintRule> = &[
    ("exact", HintRule::Exact),
    ("at-least", HintRule::AtLeast),
    ("ignore", HintRule::Ignore),
];

fn named<T: Copy>(names: Names<T>, text: &str, expected: &'static str) -> Parsed<T> {
    find(names, text).ok_or_else(|| ParsePolicyError::new(expected, text))
}

fn unless<T>(none: &str, text: &str, read: impl FnOnce(&str) -> Parsed<T>) -> Parsed<Option<T>> {
    if text == none {
        return Ok(None);
    }
    read(text).map(Some)
}

fn read_jitter(text: &str) -> Parsed<Jitter> {
    if let Some(jitter) = find(JITTERS, text) {
        return Ok(jitter);
    }
    let (kind, share) = text.split_once(':').unwrap_or((text, ""));
    let of: fn(Ratio) -> Jitter = match kind {
        "proportional" => Jitter::Proportional,
        "additive" => Jitter::Additive,
        "proportional-clipped" => Jitter::ProportionalClipped,
        _ => {
            return Err(ParsePolicyError::new(
                "a jitter such as full or proportional:1/5",
                text,
            ));
        }
    };
    ratio(share).map(of)
}

fn read_hint(text: &str) -> Parsed<HintRule> {
    if let Some(hint) = find(HINTS, text) {
        return Ok(hint);
    }
    let (rule, span) = text.split_once(':').unwrap_or((text, ""));
    let of: fn(Duration) -> HintRule = match rule {
        "within" => HintRule::Within,
        "capped" => HintRule::Capped,
        _ => {
            return Err(ParsePolicyError::new(
                "a rule for hints such as at-least or within:5s",
                text,
            ));
        }
    };
    parse_duration(span).map(of)
}
