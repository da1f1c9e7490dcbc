//! The compact timer on hardware ticks, as firmware has them: `cargo run -p hosts --bin ticks`.
//!
//! A free-running counter of 32 bits and one alarm that raises an interrupt, as in embassy's
//! time driver; the loop sleeps until either the alarm or the radio wakes it. The counter wraps
//! half-way, which nobody notices. `examples/cortex-m` is the same on a real instruction set. The
//! numbers in the comments are those of the run loop in the documentation of `rto`.

use rto::{
    Config,
    compact::{Estimator, Params, Progress, RetransmitTimer, Sample},
};

/// In flash, one for all connections; an illegal setting would not compile.
static PARAMS: Params = match Params::new(Config::GAMES) {
    Ok(params) => params,
    Err(_) => panic!("the presets are legal"),
};

const MESSAGES: u32 = 30;

/// The board: a counter of µs, an alarm, and a radio whose peer is 20 ms away and does not hear
/// every fourth transmission.
struct Board {
    counter: u32,
    alarm: Option<u32>,
    arriving: Option<(u32, u32)>,
    transmissions: u32,
}

enum Interrupt {
    Alarm,
    Radio { acked: u32 },
}

impl Board {
    fn transmit(&mut self, message: u32) {
        self.transmissions += 1;
        if !self.transmissions.is_multiple_of(4) {
            self.arriving = Some((self.counter.wrapping_add(20_000), message));
        }
    }

    /// Stops the core until the next interrupt.
    fn wait_for_interrupt(&mut self) -> Interrupt {
        let ahead = |at: u32| at.wrapping_sub(self.counter);
        let alarm = self.alarm.expect("nothing else would ever wake the core");
        match self.arriving {
            Some((at, acked)) if ahead(at) <= ahead(alarm) => {
                self.arriving = None;
                self.counter = at;
                Interrupt::Radio { acked }
            }
            _ => {
                self.counter = alarm;
                Interrupt::Alarm
            }
        }
    }
}

fn main() {
    let mut board = Board {
        counter: u32::MAX - 2_000_000, // two seconds before it wraps
        alarm: None,
        arriving: None,
        transmissions: 0,
    };
    let mut timer = RetransmitTimer::new(Estimator::new(&PARAMS));
    let mut wraps = 0;
    for message in 0..MESSAGES {
        let mut sent_at = Some(board.counter); // none once it was repeated: Karn's algorithm
        board.transmit(message);
        timer.handle_sent(board.counter); // 1
        while let Some(deadline) = timer.poll_timeout() {
            board.alarm = Some(deadline); // 2
            let before = board.counter;
            match board.wait_for_interrupt() {
                Interrupt::Radio { acked } => {
                    assert_eq!(acked, message);
                    let now = board.counter;
                    let sample = sent_at.map(|sent_at| Sample::of_transmission(sent_at, now));
                    timer.handle_acked(&PARAMS, now, Progress::All, sample); // 3
                }
                Interrupt::Alarm => {
                    if timer.handle_timeout(&PARAMS, board.counter).is_some() {
                        sent_at = None;
                        board.transmit(message); // 4
                    }
                }
            }
            wraps += u32::from(board.counter < before);
        }
    }
    let retransmissions = board.transmissions - MESSAGES;
    println!("{MESSAGES} messages acknowledged, {retransmissions} retransmissions");
    println!(
        "RTO {} us, {} bytes of state, counter wrapped {wraps} time(s)",
        timer.estimator().rto_us(),
        size_of_val(&timer),
    );
}
