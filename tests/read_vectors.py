"""Runs the estimator vectors of FILE (rto.json if not named) against plain exact fractions."""
import json, math, sys
from fractions import Fraction
from pathlib import Path

FILE = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "vectors/rto.json"
DEFAULT = {"initial_rto_ns": 10**9, "min_rto_ns": 10**9, "max_rto_ns": 60 * 10**9, "granularity_ns": 0,
           "alpha": [1, 8], "beta": [1, 4], "k": 4, "max_sample_ns": 3600 * 10**9, "clear_after": None}

def results(settings, steps):
    """Yields SRTT, RTTVAR and RTO after each step."""
    c = DEFAULT | settings
    cap, alpha, beta = c["max_rto_ns"] or math.inf, Fraction(*c["alpha"]), Fraction(*c["beta"])
    srtt, rttvar, rto, backoffs = None, None, c["initial_rto_ns"], 0
    for step in steps:
        if step["event"] == "sample":
            rtt, first = Fraction(min(step["rtt_ns"], c["max_sample_ns"])), srtt is None
            rttvar = rtt / 2 if first else rttvar + (abs(srtt - rtt) - rttvar) * beta  # before SRTT
            srtt = rtt if first else srtt + (rtt - srtt) * alpha
            raw = srtt + max(c["granularity_ns"], c["k"] * rttvar)
            rto, backoffs = min(max(math.ceil(raw), c["min_rto_ns"]), cap), 0
        for _ in range(step.get("times", 1) if step["event"] == "back_off" else 0):
            rto, backoffs = min(2 * rto, cap), backoffs + 1
            srtt, rttvar = (None, None) if backoffs == c["clear_after"] else (srtt, rttvar)
        srtt, rttvar = (None, None) if step["event"] == "clear" else (srtt, rttvar)
        yield {"srtt_ns": srtt, "rttvar_ns": rttvar, "rto_ns": rto}

def fits(name, value, expected, tolerance):
    if value is None or expected is None:
        return value is expected
    early = 0 if name == "rto_ns" else tolerance  # an RTO is never early
    return -early <= math.floor(value + Fraction(1, 2)) - expected <= tolerance

vectors = [v for v in json.load(open(FILE))["vectors"]
           if {step["event"] for step in v["steps"]} <= {"sample", "back_off", "clear"}]
failed = [v["id"] for v in vectors for got, step in zip(results(v["config"], v["steps"]), v["steps"])
          if not all(fits(n, got[n], want, v["tolerance_ns"]) for n, want in step["expect"].items() if n in got)]
print(f"{len(vectors) - len(set(failed))} passed, {len(set(failed))} failed", *sorted(set(failed)))
sys.exit(bool(failed))
