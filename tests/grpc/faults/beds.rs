//! The test beds: a server that fails, when our client dials it, and how clients are judged.

use conformance::grpc::{FAILING, HANGING};
use conformance::time::{ms, s};
use grpc_faults::{Fault, GoAway, Judge};
use std::time::Duration;

pub(crate) struct Bed {
    pub(crate) fault: Fault,
    pub(crate) tls: bool,
    /// A PING after so long without a word from the server, and a loss after as much again.
    pub(crate) keepalive: Duration,
    /// The first starts of a client that draws in the middle.
    pub(crate) starts: Vec<Duration>,
    /// The verdict on any client that lasts longer than one attempt.
    pub(crate) judge: Judge,
}

/// How long a bed lasts: until all of the starts above are over, and half-way between two seconds.
pub(crate) const LASTS: Duration = ms(400_500);

fn bed(fault: Fault, starts: Vec<Duration>, judge: Judge) -> Bed {
    Bed {
        fault,
        tls: false,
        keepalive: s(3600),
        starts,
        judge,
    }
}

/// The attempt fails as soon as it has begun.
fn failing(fault: Fault) -> Bed {
    bed(fault, FAILING[..12].to_vec(), Judge::STRICT)
}

/// The attempt fails at its connect deadline, `attempts` times; the next one succeeds.
fn hanging(fault: Fault, attempts: usize) -> Bed {
    let judge = Judge {
        attempt: s(20),
        ..Judge::STRICT
    };
    bed(fault, HANGING[..attempts].to_vec(), judge)
}

/// The server accepts, and the connection ends after `up`: a new run begins, but no earlier than
/// a first delay after the start of the last (D9).
fn flapping(fault: Fault, up: Duration) -> Bed {
    let starts = (0..).map(s).take_while(|&at| at < LASTS);
    let judge = Judge {
        max: s(1),
        attempt: up,
        ..Judge::STRICT
    };
    bed(fault, starts.collect(), judge)
}

/// Every fault, each as plain clients meet it, and the TLS ones over TLS.
pub(crate) fn all() -> Vec<Bed> {
    let tls = |bed| Bed { tls: true, ..bed };
    let all = HANGING.len();
    vec![
        failing(Fault::Refuse),
        failing(Fault::AcceptThenClose),
        failing(Fault::TlsFailure),
        tls(failing(Fault::TlsFailure)),
        failing(Fault::Http1),
        tls(failing(Fault::Http1)),
        failing(Fault::WrongFirstFrame),
        hanging(Fault::BlackHole, all),
        tls(hanging(Fault::TlsStall, all)),
        // The first deadline above 25 s, and above 27 s, is in time for SETTINGS.
        hanging(Fault::SettingsLate(s(25)), 8),
        hanging(Fault::SettingsByteByByte(s(3)), 9),
        flapping(Fault::SettingsThenClose(ms(0)), ms(0)),
        flapping(Fault::SettingsThenClose(ms(50)), ms(50)),
        flapping(Fault::GoAway(GoAway::MaxAge, ms(50)), ms(50)),
        flapping(Fault::GoAway(GoAway::TooManyPings, ms(50)), ms(50)),
        Bed {
            keepalive: ms(100),
            ..flapping(Fault::HalfOpen, ms(200))
        },
    ]
}
