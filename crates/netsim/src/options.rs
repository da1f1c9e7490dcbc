//! A link's settings as the flags of a program (feature `cli`).

use std::{format, ops::Range, str::FromStr, string::String, time::Duration, vec::Vec};

use clap::{Arg, ValueHint};

use crate::{GilbertElliott, LinkConfig, Policer, Probability, units};

/// The units, for `--help`.
pub const UNITS: &str =
    "Every setting of the link holds for each direction: --delay 40ms makes a round trip of 80 ms.
Times end in ns, us, ms, s or min; rates in bit, kbit, mbit or gbit (per second); sizes in B, kB, \
MB, KiB or MiB; shares in %.
Rates, sizes and the MTU count IP packets, headers included.";

/// Gives a flag the value that follows even if it begins with `-`, so that `--delay -5ms` is refused
/// by what a time is, not as an unknown flag. A path may be missing before the next flag, so it needs
/// `--flag=-path`. For `#[command(mut_args(..))]` of everything that has flags.
#[must_use]
pub fn takes_hyphens(arg: Arg) -> Arg {
    let value = !arg.is_positional() && arg.get_action().takes_values();
    match value && arg.get_value_hint() != ValueHint::AnyPath {
        true => arg.allow_hyphen_values(true),
        false => arg,
    }
}

/// What a link does, as flags; flatten it into a program's own. The defaults are those of
/// [`LinkConfig::PERFECT`].
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "The link", mut_args(takes_hyphens))]
pub struct LinkOptions {
    /// Share of packets lost, such as 5%
    #[arg(long, value_name = "SHARE", default_value = "0%")]
    pub loss: Probability,
    /// Packets lost in bursts: their mean length and the share of packets lost, such as 4@1%
    #[arg(long, value_name = "N@SHARE", value_parser = burst)]
    pub burst: Option<GilbertElliott>,
    /// How long every packet takes, such as 40ms
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = units::time)]
    pub delay: Duration,
    /// How much the delay varies either way, without reordering
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = units::time)]
    pub jitter: Duration,
    /// Let packets overtake each other by the jitter
    #[arg(long)]
    pub disorder: bool,
    /// Share of packets held back, so that later ones overtake
    #[arg(long, value_name = "SHARE", default_value = "0%")]
    pub reorder: Probability,
    /// For how long those are held back
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = units::time)]
    pub reorder_delay: Duration,
    /// Share of packets that arrive twice
    #[arg(long, value_name = "SHARE", default_value = "0%")]
    pub duplicate: Probability,
    /// Share of packets with a bit flipped
    #[arg(long, value_name = "SHARE", default_value = "0%")]
    pub corrupt: Probability,
    /// When everything is lost, counted from the start; may be given several times
    #[arg(long, value_name = "FROM..TO", value_parser = units::times)]
    pub blackout: Vec<Range<Duration>>,
    /// Rate of the bottleneck, such as 100mbit [default: unlimited]
    #[arg(long, value_name = "RATE", value_parser = units::rate)]
    pub rate: Option<u64>,
    /// How much may wait for the bottleneck, such as 250kB
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = units::size)]
    pub queue: usize,
    /// Mark a packet (ECN) if more than this waits once it has entered, such as 60kB
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub mark_above: Option<usize>,
    /// Clear the ECN field of every packet
    #[arg(long)]
    pub bleach_ecn: bool,
    /// The longest packet, such as 1280B; longer ones are dropped [default: unlimited]
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub mtu: Option<usize>,
    /// Drop what exceeds a rate, after a burst of that size, such as 100mbit@25kB
    #[arg(long, value_name = "RATE@SIZE", value_parser = policer)]
    pub policer: Option<Policer>,
}

impl LinkOptions {
    /// The settings, which may still make no sense together: [`Link::new`](crate::Link::new) checks.
    #[must_use]
    pub fn config(&self) -> LinkConfig {
        LinkConfig {
            delay: self.delay,
            jitter: self.jitter,
            keep_order: !self.disorder,
            loss: self.loss,
            burst: self.burst,
            reorder: self.reorder,
            reorder_delay: self.reorder_delay,
            duplicate: self.duplicate,
            corrupt: self.corrupt,
            rate: self.rate,
            queue: self.queue,
            mark_above: self.mark_above,
            bleach_ecn: self.bleach_ecn,
            mtu: self.mtu,
            overhead: 0, // what is handed in is for the program to say
            policer: self.policer,
            blackouts: self.blackout.clone(),
        }
    }
}

/// Reads `4@1%`.
fn burst(text: &str) -> Result<GilbertElliott, String> {
    let (length, share) = pair(text, "4@1%")?;
    let length = units::count(1..=u32::MAX.into())(length).map_err(|error| format!("{error}"))?;
    let share = Probability::from_str(share).map_err(|error| format!("{error}"))?;
    GilbertElliott::from_means(length, share).map_err(|error| format!("{error}"))
}

/// Reads `100mbit@25kB`.
fn policer(text: &str) -> Result<Policer, String> {
    let (rate, burst) = pair(text, "100mbit@25kB")?;
    Ok(Policer {
        rate: units::rate(rate).map_err(|error| format!("{error}"))?,
        burst: units::size(burst).map_err(|error| format!("{error}"))?,
    })
}

fn pair<'a>(text: &'a str, example: &str) -> Result<(&'a str, &'a str), String> {
    text.split_once('@')
        .ok_or_else(|| format!("`{text}` is not two values, such as {example}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        link: LinkOptions,
    }

    fn parse(flags: &str) -> Result<LinkConfig, clap::Error> {
        let words = std::iter::once("program").chain(flags.split_whitespace());
        Program::try_parse_from(words).map(|program| program.link.config())
    }

    #[test]
    fn without_flags_the_link_is_perfect() {
        assert_eq!(parse("").expect("nothing is needed"), LinkConfig::PERFECT);
    }

    #[test]
    fn every_flag_is_a_setting() {
        let ms = Duration::from_millis;
        let share = |text: &str| text.parse::<Probability>().expect("a share");
        let flags = "--loss 1% --burst 4@2% --delay 25ms --jitter 10ms --disorder --reorder 3% \
            --reorder-delay 5ms --duplicate 4% --corrupt 5% --blackout 1s..2s --blackout 4s..8s \
            --rate 100mbit --queue 625kB --mark-above 60kB --bleach-ecn --mtu 1280B --policer 50mbit@25kB";
        let expected = LinkConfig {
            delay: ms(25),
            jitter: ms(10),
            keep_order: false,
            loss: share("1%"),
            burst: Some(GilbertElliott::from_means(4, share("2%")).expect("a channel")),
            reorder: share("3%"),
            reorder_delay: ms(5),
            duplicate: share("4%"),
            corrupt: share("5%"),
            rate: Some(100_000_000),
            queue: 625_000,
            mark_above: Some(60_000),
            bleach_ecn: true,
            mtu: Some(1_280),
            overhead: 0,
            policer: Some(Policer {
                rate: 50_000_000,
                burst: 25_000,
            }),
            blackouts: [ms(1_000)..ms(2_000), ms(4_000)..ms(8_000)].into(),
        };
        assert_eq!(parse(flags).expect("flags"), expected);
    }

    #[test]
    fn an_error_names_the_value_and_the_rule() {
        let time = "is not a plain number with a unit, such as 40ms or 1.5s";
        let rate = "is not a plain number with a unit, such as 100mbit or 64kbit";
        let size = "is not a plain number with a unit, such as 250kB or 64KiB";
        let share = "is not a plain number from 0% to 100%";
        let cases = [
            ("--loss", "-1%", "-1%", share),
            ("--loss", "200%", "200%", "is above 100%"),
            ("--reorder", "-1%", "-1%", share),
            ("--duplicate", "-1%", "-1%", share),
            ("--corrupt", "-1%", "-1%", share),
            (
                "--burst",
                "-4@1%",
                "-4",
                "is not a whole number from 1 to 4294967295",
            ),
            ("--burst", "4@-1%", "-1%", share),
            (
                "--burst",
                "0@1%",
                "0",
                "is not a whole number from 1 to 4294967295",
            ),
            ("--burst", "4", "4", "is not two values, such as 4@1%"),
            ("--delay", "-5ms", "-5ms", time),
            ("--jitter", "-5ms", "-5ms", time),
            ("--reorder-delay", "-5ms", "-5ms", time),
            ("--blackout", "-5s..10s", "-5s", time),
            (
                "--blackout",
                "-5s",
                "-5s",
                "is not a range of times, such as 10s..25s",
            ),
            ("--rate", "-1mbit", "-1mbit", rate),
            ("--queue", "-1B", "-1B", size),
            ("--mark-above", "-1B", "-1B", size),
            ("--mtu", "-1B", "-1B", size),
            ("--policer", "-1mbit@25kB", "-1mbit", rate),
            (
                "--policer",
                "100mbit",
                "100mbit",
                "is not two values, such as 100mbit@25kB",
            ),
            ("--delay", "--json", "--json", time),
        ];
        for (flag, value, named, rule) in cases {
            let error = parse(&format!("{flag} {value}")).expect_err(flag);
            let said = format!("'{flag} <");
            let broken = format!("`{named}` {rule}");
            let error = format!("{error}");
            assert!(
                error.contains(&said) && error.contains(&broken),
                "{flag} {value}: {error}"
            );
        }
        let command = Program::command();
        let with_values = command
            .get_opts()
            .filter(|flag| flag.get_action().takes_values());
        for flag in with_values.filter_map(|flag| flag.get_long()) {
            let tested = cases.iter().any(|(case, ..)| *case == format!("--{flag}"));
            assert!(tested, "--{flag} has no case");
        }
    }
}
