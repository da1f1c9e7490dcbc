//! Policies as text, for flags and files (B18).

use crate::{
    DeadlineFrom, FirstDelay, HintRule, Jitter, Policy, Ratio, Repeats, Schedule, ScheduleError,
};
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

mod error;
pub use error::ParsePolicyError;

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
            Some(name) => Self::preset(name)
                .ok_or_else(|| ParsePolicyError::new("the name of a preset", name))?,
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

/// What is one of a few, by its name in texts.
pub(crate) type Names<T> = &'static [(&'static str, T)];

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

pub(crate) fn find<T: Copy>(names: Names<T>, text: &str) -> Option<T> {
    let found = names.iter().find(|(name, _)| *name == text);
    found.map(|&(_, value)| value)
}

fn named<T: Copy>(names: Names<T>, text: &str, expected: &'static str) -> Parsed<T> {
    find(names, text).ok_or_else(|| ParsePolicyError::new(expected, text))
}

pub(crate) fn name_of<T: Copy + PartialEq>(names: Names<T>, value: T) -> &'static str {
    let found = names.iter().find(|(_, known)| *known == value);
    found.map_or("", |&(name, _)| name)
}

type Parsed<T> = Result<T, ParsePolicyError>;

fn unless<T>(none: &str, text: &str, read: impl FnOnce(&str) -> Parsed<T>) -> Parsed<Option<T>> {
    if text == none {
        return Ok(None);
    }
    read(text).map(Some)
}

fn number<N: FromStr>(text: &str, expected: &'static str) -> Parsed<N> {
    let digits = text.starts_with(|first: char| first.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    number.ok_or_else(|| ParsePolicyError::new(expected, text))
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
        _ => return Err(ParsePolicyError::new("a kind of jitter", text)),
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
        _ => return Err(ParsePolicyError::new("a rule for hints", text)),
    };
    parse_duration(span).map(of)
}

/// `8/5`, `1.6` or `2`, exactly.
fn ratio(text: &str) -> Parsed<Ratio> {
    let error = ParsePolicyError::new("a ratio such as 8/5 or 1.6", text);
    if let Some((num, den)) = text.split_once('/') {
        let expected = "a ratio such as 8/5";
        return Ok(Ratio::new(number(num, expected)?, number(den, expected)?));
    }
    let (number, scale) = decimal(text).ok_or(error)?;
    let (num, den) = (u32::try_from(number), u32::try_from(scale));
    let (Ok(num), Ok(den)) = (num, den) else {
        return Err(error);
    };
    Ok(Ratio::new(num, den))
}

/// A number in decimal, as a whole number of what `scale` of make one.
fn decimal(text: &str) -> Option<(u128, u128)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let places = u32::try_from(fraction.len()).ok()?;
    let scale = 10u128.checked_pow(places)?;
    let fraction: u128 = if places == 0 {
        0
    } else {
        fraction.parse().ok()?
    };
    let number = whole.parse::<u128>().ok()?.checked_mul(scale)?;
    Some((number.checked_add(fraction)?, scale))
}

/// Reads a span as `{:?}` writes it, and with minutes and hours: `250ms`, `1.5s`, `2m`, `1h`,
/// exactly.
///
/// # Errors
///
/// What is no number with a unit, has parts of a nanosecond, or is longer than [`Duration::MAX`]
/// is refused.
///
/// ```
/// # use {backoff_policy::parse_duration, core::time::Duration};
/// assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1_500)));
/// assert_eq!(
///     parse_duration("5").unwrap_err().to_string(),
///     r#""5" where a policy has a span such as 250ms, 1.5s, 2m or 1h (B18)"#
/// );
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, ParsePolicyError> {
    const UNITS: [(&str, u128); 7] = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    let error = ParsePolicyError::new("a span such as 250ms, 1.5s, 2m or 1h", text);
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = unit_at
        .and_then(|at| text.split_at_checked(at))
        .ok_or(error)?;
    let nanos = UNITS.iter().find(|(name, _)| *name == unit).ok_or(error)?.1;
    let (number, scale) = decimal(number).ok_or(error)?;
    let product = number.checked_mul(nanos).ok_or(error)?;
    let exact = product.checked_rem(scale) == Some(0);
    let nanos = product.checked_div(scale).filter(|_| exact).ok_or(error)?;
    (nanos <= Duration::MAX.as_nanos())
        .then(|| Duration::from_nanos_u128(nanos))
        .ok_or(error)
}

/// Writes every field that differs from what reading starts from; reading it gives the same
/// policy.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schedule = &self.schedule;
        let (base, cap, multiplier) = (schedule.base(), schedule.cap(), schedule.multiplier());
        let start = match Self::preset(self.name) {
            Some(preset) if preset == *self => return f.write_str(self.name),
            Some(preset) => {
                write!(f, "{},", self.name)?;
                preset
            }
            None => Self::new(*schedule),
        };
        write!(
            f,
            "base={base:?},multiplier={multiplier},cap={cap:?},jitter="
        )?;
        match schedule.jitter() {
            Jitter::Proportional(ratio) => write!(f, "proportional:{ratio}")?,
            Jitter::Additive(ratio) => write!(f, "additive:{ratio}")?,
            Jitter::ProportionalClipped(ratio) => write!(f, "proportional-clipped:{ratio}")?,
            plain => f.write_str(name_of(JITTERS, plain))?,
        }
        self.write_limits(f, &start)
    }
}

impl Policy {
    fn write_limits(&self, f: &mut fmt::Formatter<'_>, start: &Self) -> fmt::Result {
        if self.first_delay != start.first_delay {
            write!(f, ",first={}", name_of(FIRST, self.first_delay))?;
        }
        if self.throttle_factor != start.throttle_factor {
            write!(f, ",throttle-factor={}", self.throttle_factor)?;
        }
        if self.attempts != start.attempts {
            match self.attempts {
                Some(attempts) => write!(f, ",attempts={attempts}")?,
                None => f.write_str(",attempts=unlimited")?,
            }
        }
        if self.deadline != start.deadline {
            write_span(f, "deadline", self.deadline)?;
        }
        if self.deadline_from != start.deadline_from {
            write!(f, ",from={}", name_of(FROM, self.deadline_from))?;
        }
        if self.hint != start.hint {
            match self.hint {
                HintRule::Within(most) => write!(f, ",hint=within:{most:?}")?,
                HintRule::Capped(most) => write!(f, ",hint=capped:{most:?}")?,
                plain => write!(f, ",hint={}", name_of(HINTS, plain))?,
            }
        }
        if self.hint_jitter_percent != start.hint_jitter_percent {
            write!(f, ",hint-jitter={}", self.hint_jitter_percent)?;
        }
        if self.healthy_time != start.healthy_time {
            write_span(f, "healthy", self.healthy_time)?;
        }
        if self.repeats != start.repeats {
            write!(f, ",repeats={}", name_of(REPEATS, self.repeats))?;
        }
        Ok(())
    }
}

fn write_span(f: &mut fmt::Formatter<'_>, key: &str, span: Option<Duration>) -> fmt::Result {
    match span {
        Some(span) => write!(f, ",{key}={span:?}"),
        None => write!(f, ",{key}=none"),
    }
}
