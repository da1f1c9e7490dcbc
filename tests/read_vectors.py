"""Runs the estimator vectors of FILE (rto.json if not named) against plain exact fractions."""
import json, math, sys
from fractions import Fraction
from pathlib import Path

FILE = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "vectors/rto.json"
DEFAULT = {"initial_rto_ns": 10**9, "min_rto_ns": 10**9, "max_rto_ns": 60 * 10**9, "granularity_ns": 0, "variance_floor": "term",
           "alpha": [1, 8], "beta": [1, 4], "k": 4, "max_sample_ns": 3600 * 10**9, "clear_after": None}
EVENTS = {"sample", "seed", "sample_after_spurious", "back_off", "undo_back_off", "undo_back_offs", "clear"}

def results(settings, steps):
    """Yields SRTT, RTTVAR, RTO and back-offs after each step."""
    c = DEFAULT | settings
    cap, g, alpha, beta = c["max_rto_ns"] or math.inf, c["granularity_ns"], Fraction(*c["alpha"]), Fraction(*c["beta"])
    srtt, rttvar, base, backoffs = None, None, c["initial_rto_ns"], 0
    for step in steps:
        event, times, parts = step["event"], step.get("times", 1), step.get("expected", 1)
        cut = lambda name: Fraction(min(step[name] + (2 * g if name == "srtt_before_ns" else 0), c["max_sample_ns"]))
        new = None
        if event == "sample" and srtt is not None:
            rtt = cut("rtt_ns")  # RTTVAR from the old SRTT
            new = srtt + (rtt - srtt) * alpha / parts, rttvar + (abs(srtt - rtt) - rttvar) * beta / parts
        elif event == "sample":
            new = cut("rtt_ns"), cut("rtt_ns") / 2
        elif event == "seed":
            new = cut("srtt_ns"), cut("rttvar_ns")
        elif event == "sample_after_spurious":
            new = max(cut("rtt_ns"), cut("srtt_before_ns")), max(cut("rtt_ns") / 2, cut("rttvar_before_ns"))
        if new:
            srtt, rttvar = new
            if c["variance_floor"] == "zero_rttvar":
                rttvar = rttvar or Fraction(g)
            term = max(c["k"] * rttvar, g if c["variance_floor"] == "term" else 0)
            base, backoffs = min(max(math.ceil(srtt + term), c["min_rto_ns"]), cap), 0
        for _ in range(times if event == "back_off" else 0):
            backoffs += 1
            srtt, rttvar = (None, None) if backoffs == c["clear_after"] else (srtt, rttvar)
        backoffs -= min(backoffs, {"undo_back_off": times, "undo_back_offs": backoffs}.get(event, 0))
        srtt, rttvar = (None, None) if event == "clear" else (srtt, rttvar)
        yield {"srtt_ns": srtt, "rttvar_ns": rttvar, "rto_ns": min(base << backoffs, cap), "backoffs": backoffs}

def fits(name, value, expected, tolerance):
    if value is None or expected is None:
        return value is expected
    early = tolerance if name in ("srtt_ns", "rttvar_ns") else 0  # an RTO is never early
    late = 0 if name == "backoffs" else tolerance
    return -early <= math.floor(value + Fraction(1, 2)) - expected <= late

vectors = [v for v in json.load(open(FILE))["vectors"] if {step["event"] for step in v["steps"]} <= EVENTS]
failed = [v["id"] for v in vectors for got, step in zip(results(v["config"], v["steps"]), v["steps"])
          if not all(fits(n, got[n], want, v["tolerance_ns"]) for n, want in step["expect"].items() if n in got)]
print(f"{len(vectors) - len(set(failed))} passed, {len(set(failed))} failed", *sorted(set(failed)))
sys.exit(bool(failed))
