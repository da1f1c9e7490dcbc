//! The settings of `rto::linux` as those of a network namespace.

use rto::linux::{Config, Estimator};

use super::{network::Sysctl, tcp_info::jiffy};

/// A kernel as it comes, with the tick of this one and a SYN that backs off from the first, as all
/// kernels can; or why there is no such setting.
pub(super) fn here() -> Result<Config, String> {
    let config = Config {
        jiffy: jiffy(),
        syn_linear_timeouts: 0,
        ..Config::LINUX
    };
    let checked = Estimator::new(config).map_err(|error| error.to_string());
    checked.map(|_| config)
}

/// A kernel with these settings whose only retransmissions are those of its RTO, and whose
/// `tcpi_min_rtt` is the last sample.
pub(super) fn sysctls(config: &Config, timestamps: bool) -> Vec<Sysctl> {
    let usual = Config::LINUX;
    let fixed = [
        ("tcp_congestion_control", "reno"),
        ("tcp_early_retrans", "0"), // no tail loss probes
        ("tcp_frto", "0"),
        ("tcp_recovery", "0"), // no RACK
        ("tcp_sack", "0"),
        ("tcp_thin_linear_timeouts", "0"),
        ("tcp_min_rtt_wlen", "0"),
    ];
    let chosen = [
        ("tcp_timestamps", u128::from(timestamps), false),
        (
            "tcp_rto_min_us",
            config.rto_min.as_micros(),
            config.rto_min == usual.rto_min,
        ),
        (
            "tcp_rto_max_ms",
            config.rto_max.as_millis(),
            config.rto_max == usual.rto_max,
        ),
        (
            "tcp_syn_linear_timeouts",
            config.syn_linear_timeouts.into(),
            config.syn_linear_timeouts == 0,
        ),
    ];
    let fixed = fixed.map(|(name, value)| Sysctl {
        name,
        value: value.to_owned(),
        implied: false,
    });
    let chosen = chosen.map(|(name, value, implied)| Sysctl {
        name,
        value: value.to_string(),
        implied,
    });
    fixed.into_iter().chain(chosen).collect()
}
