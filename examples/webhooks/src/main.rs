//! Delivers webhooks from a queue on disk to a server that fails, and is killed in between, twice.
//!
//! `cargo run -p webhooks`
//!
//! Every webhook ends delivered or as a dead letter, whatever is killed when; what has no idempotency key
//! is never done twice. The waits are those of `Policy::WEBHOOKS`, 500 times as short.

mod alarm;
mod client;
mod clock;
mod queue;
mod server;
mod worker;

use queue::Queue;
use server::Server;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use tokio::process::{Child, Command};

const WEBHOOKS: i64 = 64;
/// After so many requests in all, the worker of the moment is killed.
const KILLS: [u64; 2] = [25, 60];

type Anything<T> = Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Anything<ExitCode> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => supervise().await,
        [work, queue, address] if work == "work" => {
            worker::run(&Queue::open(Path::new(queue))?, address.parse()?).await?;
            Ok(ExitCode::SUCCESS)
        }
        _ => Err("usage: webhooks".into()),
    }
}

/// The parent: has the server, starts workers, kills them, and looks at what came of it.
async fn supervise() -> Anything<ExitCode> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("queue.db");
    let queue = Queue::open(&path)?;
    for id in 1..=WEBHOOKS {
        // A third of the receivers knows no idempotency keys.
        let key = (id % 3 != 0).then(|| format!("key-{id}"));
        queue.add(id, &format!("event {id}"), key.as_deref())?;
    }
    let server = Server::start().await?;
    for requests in KILLS {
        let mut worker = start_worker(&path, &server)?;
        tokio::select! {
            () = server.has_had(requests) => {
                worker.kill().await?; // SIGKILL: no destructor, no goodbye
                println!("-- killed the worker after {requests} requests");
            }
            status = worker.wait() => return Err(format!("it ended too early: {}", status?).into()),
        }
    }
    let status = start_worker(&path, &server)?.wait().await?;
    if !status.success() {
        return Err(format!("the worker failed: {status}").into());
    }
    judge(&queue, &server)
}

fn start_worker(queue: &Path, server: &Server) -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .arg("work")
        .arg(queue)
        .arg(server.address().to_string())
        .kill_on_drop(true)
        .spawn()
}

/// Compares what the queue says with what the server did.
fn judge(queue: &Queue, server: &Server) -> Anything<ExitCode> {
    let (mut delivered, mut dead, mut lost, mut twice) = (0, 0, 0, 0);
    for webhook in queue.all()? {
        let done = server.times_done(webhook.id);
        match &webhook.state {
            queue::State::Delivered => {
                delivered += 1;
                lost += u32::from(done == 0);
            }
            queue::State::Dead(end) => {
                dead += 1;
                println!("dead letter {}, done {done}x: {end}", webhook.id);
            }
            queue::State::Open => lost += 1, // nobody would ever look at it again
        }
        twice += u32::from(done > 1);
    }
    println!(
        "{WEBHOOKS} webhooks, {} requests, {} kills, {} repeats known by their key",
        server.requests(),
        KILLS.len(),
        server.repeats()
    );
    println!("{delivered} delivered, {dead} dead letters, {lost} lost, {twice} done twice");
    let all = delivered + dead == u32::try_from(WEBHOOKS)?;
    Ok(ExitCode::from(u8::from(!all || lost + twice > 0)))
}
