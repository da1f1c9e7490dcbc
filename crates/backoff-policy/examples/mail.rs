//! Mail through three providers, each with a timeout of 30 s, in order. Who waits for an answer gets one
//! round over them and no retry; what is queued is retried. In virtual time: 10 minutes take moments.
//!
//! `cargo run -p backoff-policy --features tokio --example mail`

use backoff_policy::{Class, Counters, Event, Policy, RetryError, retry};
use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until, timeout};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Somebody who sends mail, and what is wrong with it until when, in seconds.
struct Provider {
    name: &'static str,
    trouble: Trouble,
    until: u64,
}

#[derive(Clone, Copy)]
enum Trouble {
    /// Takes the request and never answers.
    Hangs,
    /// 503.
    Unwell,
    /// Nobody listens there.
    Refuses,
}

const PROVIDERS: [Provider; 3] = [
    Provider {
        name: "north",
        trouble: Trouble::Hangs,
        until: 240,
    },
    Provider {
        name: "east",
        trouble: Trouble::Unwell,
        until: 600,
    },
    Provider {
        name: "south",
        trouble: Trouble::Refuses,
        until: 200,
    },
];

/// Why a round over the providers failed: what each of them said.
#[derive(Debug)]
struct Undelivered {
    class: Class,
    said: String,
}

impl fmt::Display for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said)
    }
}

impl std::error::Error for Undelivered {}

struct World {
    start: Instant,
}

impl World {
    fn say(&self, mail: &str, what: impl fmt::Display) {
        let now = self.start.elapsed().as_secs_f64();
        println!("{now:8.3} s  {mail:<14} {what}");
    }

    /// What this provider answers to this mail.
    async fn ask(&self, provider: &Provider, mail: &str) -> Result<(), (Class, &'static str)> {
        sleep(Duration::from_millis(80)).await;
        if mail == "to nobody" {
            return Err((Class::Permanent, "550: no such mailbox"));
        }
        if self.start.elapsed() >= Duration::from_secs(provider.until) {
            return Ok(());
        }
        match provider.trouble {
            Trouble::Hangs => std::future::pending().await,
            Trouble::Unwell => Err((Class::Transient, "503")),
            Trouble::Refuses => Err((Class::Unsent, "refused")),
        }
    }

    /// One round over the providers, without a wait: the first that takes it has it. Every copy has the
    /// same Message-ID, so that one that was sent after all is shown once.
    async fn send(&self, mail: &'static str) -> Result<&'static str, Undelivered> {
        let mut said = Vec::new();
        for provider in &PROVIDERS {
            let answer = timeout(TIMEOUT, self.ask(provider, mail)).await;
            let (class, why) = match answer {
                Ok(Ok(())) => {
                    self.say(mail, format_args!("sent by {}", provider.name));
                    return Ok(provider.name);
                }
                Ok(Err(refusal)) => refusal,
                Err(_elapsed) => (Class::Timeout, "no answer in 30 s"),
            };
            self.say(mail, format_args!("{}: {why}", provider.name));
            said.push(format!("{}: {why}", provider.name));
            if class == Class::Permanent {
                let said = said.join(", ");
                return Err(Undelivered { class, said }); // the others would say the same
            }
        }
        let (class, said) = (Class::Transient, said.join(", "));
        Err(Undelivered { class, said })
    }

    /// Somebody waits: the mail is sent, or was not and they know.
    async fn interactive(&self, at: u64, mail: &'static str) -> bool {
        sleep_until(self.start + Duration::from_secs(at)).await;
        self.say(mail, "to be sent while somebody waits");
        let sent = self.send(mail).await;
        if let Err(why) = &sent {
            self.say(mail, format_args!("FAILED, and says so: {why}"));
        }
        sent.is_ok()
    }

    /// Nobody waits: rounds, with waits between them.
    async fn queued(
        &self,
        mail: &'static str,
        policy: Policy,
        counters: &Counters,
    ) -> Result<&'static str, RetryError<Undelivered>> {
        self.say(mail, "queued");
        let sent = retry(policy, || self.send(mail))
            .classify(|why| why.class)
            .counters(counters)
            .observe(|event| {
                if let Event::Retrying { wait, .. } = event {
                    let delay = wait.delay.as_secs_f64();
                    self.say(
                        mail,
                        format_args!("waits {delay:.3} s, then round {}", wait.attempt),
                    );
                }
            })
            .seed(mail.len() as u64) // the same page each time; never in earnest (B4)
            .await;
        if let Err(end) = &sent {
            self.say(mail, format_args!("DEAD: {end}"));
        }
        sent
    }
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    #[expect(
        clippy::disallowed_methods,
        reason = "the start of this program's clock"
    )]
    let start = Instant::now();
    let world = World { start };
    let counters = Counters::default();
    // Rounds take long: no wait below half of its ceiling would be worth a round.
    let patient: Policy = "base=20s,cap=5m,jitter=equal,attempts=6"
        .parse()
        .expect("a policy");
    let hasty = Policy {
        attempts: NonZeroU32::new(2),
        ..patient
    };
    let (code, receipt, news, digest, nobody) = tokio::join!(
        world.interactive(0, "sign-in code"),
        world.interactive(210, "receipt"),
        world.queued("newsletter", patient, &counters),
        world.queued("daily digest", hasty, &counters),
        world.queued("to nobody", patient, &counters),
    );
    let interactive = [code, receipt].into_iter().filter(|&sent| sent).count();
    let queued = [news, digest, nobody];
    let dead = queued.iter().filter(|sent| sent.is_err()).count();
    println!("rounds of queued mail: {counters}");
    println!(
        "interactive: {interactive} of 2 sent, none waited for a retry; queued: {} of 3 sent, {dead} dead",
        queued.len() - dead
    );
}
