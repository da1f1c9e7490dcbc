//! What it costs to wait: many reconnectors in one tokio process, to servers that refuse at once.
//!
//! `cargo run --release -p benches --example waiting -- [--count N] [--seconds N]` prints the share
//! of a core that they use, and the bytes that each has beyond a task that only sleeps. It fails
//! where that is 1 % of a core or more, or 600 bytes or more, for 100,000 of them.
//!
//! Every wait is the longest, as in an outage that lasts: 120 s, jittered, begun at different times.

use std::process::{Command, ExitCode};
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use grpc_backoff::{Attempt, Config, Failure, Reconnector, Snapshot};
use tokio::time::sleep;

/// What lets them share wakes (D19): beside waits of 120 s it is nothing.
const SLACK: Duration = Duration::from_millis(100);

/// The gates.
const CORE_PERCENT: f64 = 1.0;
const BYTES: u64 = 600;

/// Ticks of the kernel's process times, per second: the same on every Linux.
const TICKS: f64 = 100.0;

/// What one process has measured of itself.
struct Measured {
    resident: u64,
    ticks: u64,
}

fn main() -> Result<ExitCode> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let number = |name: &str, default: u64| {
        let at = arguments.iter().position(|argument| argument == name);
        at.map_or(Ok(default), |at| {
            let value = arguments.get(at + 1).context("a number is missing")?;
            value.parse().with_context(|| format!("{name} {value}"))
        })
    };
    let (count, seconds) = (number("--count", 100_000)?, number("--seconds", 60)?);
    ensure!(
        count > 0 && seconds > 0,
        "--count and --seconds are at least 1"
    );
    if let Some(child) = arguments
        .iter()
        .find(|argument| argument.starts_with("--child-"))
    {
        let wait: fn(u64) = if child == "--child-sleeps" {
            spawn_sleeps
        } else {
            spawn_reconnectors
        };
        let measured = measure(wait, count, seconds)?;
        println!("{} {}", measured.resident, measured.ticks);
        return Ok(ExitCode::SUCCESS);
    }

    let of = |child: &str| in_a_process_of_its_own(child, count, seconds);
    let (sleeps, reconnectors) = (of("--child-sleeps")?, of("--child-reconnectors")?);
    let bytes = reconnectors.resident.saturating_sub(sleeps.resident) / count;
    #[expect(clippy::cast_precision_loss, reason = "small numbers, for people")]
    let percent = |ticks: u64| 100.0 * ticks as f64 / TICKS / seconds as f64;
    println!("{count} reconnectors that wait, over {seconds} s:");
    println!(
        "  {:.2} % of a core (gate: {CORE_PERCENT} %)",
        percent(reconnectors.ticks)
    );
    println!("  {bytes} bytes each beyond a task that sleeps (gate: {BYTES})");
    println!(
        "  the same number of tasks that sleep: {:.2} % of a core, {} bytes each",
        percent(sleeps.ticks),
        sleeps.resident / count
    );
    let holds = percent(reconnectors.ticks) < CORE_PERCENT && bytes < BYTES;
    Ok(if holds {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn in_a_process_of_its_own(child: &str, count: u64, seconds: u64) -> Result<Measured> {
    let mut command = Command::new(env::current_exe()?);
    command.args([
        child,
        "--count",
        &count.to_string(),
        "--seconds",
        &seconds.to_string(),
    ]);
    let output = command.output()?;
    let text = String::from_utf8(output.stdout)?;
    let (resident, ticks) = text
        .trim()
        .split_once(' ')
        .context("the child says nothing")?;
    Ok(Measured {
        resident: resident.parse()?,
        ticks: ticks.parse()?,
    })
}

fn measure(spawn: fn(u64), count: u64, seconds: u64) -> Result<Measured> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    runtime.block_on(async {
        let before = resident()?;
        spawn(count);
        sleep(Duration::from_secs(35)).await; // all have begun to wait, each slice for the second time
        let (resident, from) = (resident()?.saturating_sub(before), process_ticks()?);
        sleep(Duration::from_secs(seconds)).await;
        Ok(Measured {
            resident,
            ticks: process_ticks()? - from,
        })
    })
}

/// Waits as long and ends as late, with nothing else.
fn spawn_sleeps(count: u64) {
    for n in 0..count {
        tokio::spawn(async move {
            sleep(wait(n, count)).await;
            loop {
                sleep(Config::GRPC.max_backoff).await;
            }
        });
    }
}

fn spawn_reconnectors(count: u64) {
    for n in 0..count {
        let snapshot = Snapshot {
            attempts: 20,
            failures: 20,
            backoff: Some(Config::GRPC.max_backoff),
            wait: wait(n, count),
        };
        let dial = |_: Attempt| async { Err::<(), _>(Failure::Retry("refused")) };
        let reconnector = Reconnector::restore(Config::GRPC, [((), snapshot)], dial);
        let reconnector = reconnector.expect("the document's values are valid");
        let mut reconnector = reconnector.with_slack(SLACK);
        tokio::spawn(async move { reconnector.connect().await });
    }
}

/// Begun at different times: what is left of 120 s is spread evenly.
fn wait(n: u64, count: u64) -> Duration {
    Config::GRPC.max_backoff.mul_f64(n as f64 / count as f64)
}

/// The resident memory of this process, in bytes.
fn resident() -> Result<u64> {
    const PAGE: u64 = 4_096;
    let statm = fs::read_to_string("/proc/self/statm").context("needs Linux")?;
    let pages = statm
        .split(' ')
        .nth(1)
        .context("statm has a second field")?;
    Ok(pages.parse::<u64>()? * PAGE)
}

/// The processor time of this process, user and system.
fn process_ticks() -> Result<u64> {
    let stat = fs::read_to_string("/proc/self/stat").context("needs Linux")?;
    let (_, fields) = stat.rsplit_once(") ").context("stat names the program")?;
    let fields: Vec<_> = fields.split(' ').collect();
    Ok(fields[11].parse::<u64>()? + fields[12].parse::<u64>()?)
}
