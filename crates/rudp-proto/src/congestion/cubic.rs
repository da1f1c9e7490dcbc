//! The curve of CUBIC (RFC 9438) in integers: milliseconds, bytes, and 1/1024 of bytes (G5).

use core::time::Duration;

use super::Ack;
use super::math::mul_div;

/// `C` is 0.4 packets per cubed second; a packet takes so many cubed milliseconds.
const CUBED_MS_PER_PACKET: u64 = 2_500_000_000;
/// `alpha`, 3 x (1 - 0.7) / (1 + 0.7) = 9 / 17.
const ALPHA: (u64, u64) = (9, 17);
const FRACTION: u64 = 1024;

/// One climb, from a reduction to the next.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Epoch {
    start: Duration,
    /// Milliseconds from the start until the window is `w_max` again.
    k: u64,
    /// What Reno would have, in 1/1024 of bytes.
    w_est: u64,
    /// The window before the reduction: from there on Reno grows at its own pace.
    prior: u64,
    /// Bytes of a full packet, which the whole climb is measured in.
    packet: u64,
}

#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cubic {
    w_max: u64,
    prior: u64,
    epoch: Option<Epoch>,
    last_ack: Duration,
}

impl Cubic {
    /// The window is `window`, and will be reduced.
    pub(super) fn handle_reduction(&mut self, window: u64) {
        // Fast convergence (4.7): who could not climb back gives room, (1 + 0.7) / 2.
        let climbed = window >= self.w_max;
        self.w_max = if climbed {
            window
        } else {
            mul_div(window, 17, 20)
        };
        self.prior = window;
        self.epoch = None;
    }

    /// The window was not used up to `now`: the curve stands still (5.8).
    pub(super) fn handle_unused(&mut self, now: Duration) {
        let idle = now.saturating_sub(self.last_ack);
        if let Some(epoch) = &mut self.epoch {
            epoch.start = epoch.start.saturating_add(idle);
        }
        self.last_ack = now;
    }

    /// The window after `ack` in congestion avoidance (4.2 to 4.5); a full packet has `packet`
    /// bytes.
    pub(super) fn grow(&mut self, ack: &Ack, window: u64, packet: u64) -> u64 {
        let Ack {
            now, acked, srtt, ..
        } = *ack;
        self.last_ack = now;
        let (w_max, prior) = (self.w_max.max(window), self.prior);
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start: now,
            k: cube_root(mul_div(
                w_max.saturating_sub(window),
                CUBED_MS_PER_PACKET,
                packet,
            )),
            w_est: window.saturating_mul(FRACTION),
            prior,
            packet,
        });
        let packet = epoch.packet;
        self.w_max = w_max;
        let elapsed = now.saturating_sub(epoch.start);
        let (up, down) = if epoch.w_est / FRACTION >= epoch.prior {
            (1, 1)
        } else {
            ALPHA
        };
        let reno = mul_div(acked, packet.saturating_mul(FRACTION), window);
        epoch.w_est = epoch.w_est.saturating_add(mul_div(reno, up, down));
        let w_est = epoch.w_est / FRACTION;
        if curve(elapsed, epoch.k, w_max, packet) < w_est {
            return window.max(w_est);
        }
        let most = window.saturating_add(window / 2);
        let target = curve(elapsed.saturating_add(srtt), epoch.k, w_max, packet);
        let target = target.clamp(window, most);
        let step = mul_div(target.saturating_sub(window), acked, window);
        window.saturating_add(step)
    }
}

/// `W_cubic`, so long after the start of a climb.
fn curve(elapsed: Duration, k: u64, w_max: u64, packet: u64) -> u64 {
    let t = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    let away = t.abs_diff(k);
    let cubed = mul_div(away.saturating_mul(away), away, 1);
    let bytes = mul_div(cubed, packet, CUBED_MS_PER_PACKET);
    if t < k {
        w_max.saturating_sub(bytes)
    } else {
        w_max.saturating_add(bytes)
    }
}

/// Rounded down; bit by bit.
fn cube_root(value: u64) -> u64 {
    let mut root = 0_u64;
    for bit in (0..22).rev() {
        let candidate = root | 1 << bit;
        let cubed = candidate.checked_pow(3);
        if cubed.is_some_and(|cubed| cubed <= value) {
            root = candidate;
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::PACKET;
    use alloc::vec::Vec;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn ack(now: Duration, acked: u64, srtt: Duration) -> Ack {
        Ack {
            now,
            acked,
            srtt,
            ..Ack::default()
        }
    }

    #[test]
    fn the_root_is_the_floor_everywhere() {
        for root in (0..2_642_245_u64).step_by(997).chain([1, 2, 2_642_244]) {
            let cube = root.pow(3);
            assert_eq!(cube_root(cube), root);
            assert_eq!(cube_root(cube.saturating_sub(1)), root.saturating_sub(1));
        }
        assert_eq!(cube_root(u64::MAX), 2_642_245);
    }

    #[test]
    fn the_curve_is_the_formula_of_the_document() {
        // W_cubic(t) = 0.4 x (t - K)^3 + W_max, K = cbrt((W_max - cwnd) / 0.4), in packets.
        let (w_max, cwnd) = (1_000.0_f64, 700.0_f64);
        let k = ((w_max - cwnd) / 0.4).cbrt();
        let k_ms = cube_root(mul_div(300 * PACKET, CUBED_MS_PER_PACKET, PACKET));
        assert!((k_ms as f64 / 1_000.0 - k).abs() < 0.001, "{k_ms}");
        for t in (0..20_000_u32).step_by(500) {
            let exact = 0.4 * (f64::from(t) / 1_000.0 - k).powi(3) + w_max;
            let ours = curve(ms(t.into()), k_ms, 1_000 * PACKET, PACKET) as f64 / PACKET as f64;
            assert!((ours - exact).abs() < 0.1, "at {t} ms: {ours}, not {exact}");
        }
    }

    #[test]
    fn a_climb_reaches_the_old_window_after_k_and_goes_on() {
        let mut cubic = Cubic::default();
        let full = 1_000 * PACKET;
        cubic.handle_reduction(full);
        let (mut window, mut now) = (full * 7 / 10, Duration::ZERO);
        let rtt = ms(100);
        let mut at = Vec::new();
        for _ in 0..150 {
            for _ in 0..10 {
                window = cubic.grow(&ack(now, window / 10, rtt), window, PACKET);
                now += rtt / 10;
            }
            at.push(window / PACKET);
        }
        assert!((990..=1_002).contains(&at[91]), "K is 9.1 s: {}", at[91]);
        assert!(at[20] > 850 && at[149] > 1_050, "{at:?}");
        assert!(at.is_sorted());
    }

    #[test]
    fn a_small_window_grows_as_reno_and_an_unused_one_not() {
        let mut cubic = Cubic::default();
        cubic.handle_reduction(20 * PACKET);
        let (mut window, mut now) = (14 * PACKET, ms(0));
        for _ in 0..17 {
            for _ in 0..10 {
                window = cubic.grow(&ack(now, window / 10, ms(10)), window, PACKET);
                now += ms(1);
            }
        }
        let grown = window / PACKET; // 9/17 packets a round up to 20, then one
        assert!((24..=26).contains(&grown), "{grown}");
        let mut rested = cubic;
        rested.handle_unused(now + ms(60_000));
        let later = rested.grow(&ack(now + ms(60_000), 0, ms(10)), window, PACKET);
        assert_eq!(
            later,
            cubic.grow(&ack(now, 0, ms(10)), window, PACKET),
            "a minute of rest is not growth"
        );
    }

    #[test]
    fn who_could_not_climb_back_gives_room() {
        let mut cubic = Cubic::default();
        cubic.handle_reduction(100 * PACKET);
        cubic.handle_reduction(80 * PACKET);
        assert_eq!(cubic.w_max, 68 * PACKET);
    }
}
