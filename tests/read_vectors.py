"""Reads conformance vectors of RFC 6298 and runs those of the estimator against a plain
estimator in exact fractions: python3 tests/read_vectors.py [FILE], rto.json if not named."""

import json
import math
import sys
from fractions import Fraction
from pathlib import Path

DEFAULT = {"initial_rto_ns": 10**9, "min_rto_ns": 10**9, "max_rto_ns": 60 * 10**9, "granularity_ns": 0,
           "alpha": [1, 8], "beta": [1, 4], "k": 4, "max_sample_ns": 3600 * 10**9, "clear_after": None}
ESTIMATOR_EVENTS = {"sample", "back_off", "clear"}
FILE = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "vectors/rto.json"


def results(settings, steps):
    """Yields SRTT, RTTVAR and RTO after each step."""
    c = DEFAULT | settings
    cap = c["max_rto_ns"] or math.inf
    alpha, beta = Fraction(*c["alpha"]), Fraction(*c["beta"])
    srtt = rttvar = None
    rto, backoffs = c["initial_rto_ns"], 0
    for step in steps:
        if step["event"] == "sample":
            rtt = Fraction(min(step["rtt_ns"], c["max_sample_ns"]))
            if srtt is None:
                srtt, rttvar = rtt, rtt / 2
            else:
                rttvar += (abs(srtt - rtt) - rttvar) * beta  # before SRTT
                srtt += (rtt - srtt) * alpha
            raw = srtt + max(c["granularity_ns"], c["k"] * rttvar)
            rto, backoffs = min(max(math.ceil(raw), c["min_rto_ns"]), cap), 0
        for _ in range(step.get("times", 1) if step["event"] == "back_off" else 0):
            rto, backoffs = min(2 * rto, cap), backoffs + 1
            if backoffs == c["clear_after"]:
                srtt = rttvar = None
        if step["event"] == "clear":
            srtt = rttvar = None
        yield {"srtt_ns": srtt, "rttvar_ns": rttvar, "rto_ns": rto}


def fits(name, value, expected, tolerance):
    if value is None or expected is None:
        return value is expected
    if name == "rto_ns":
        return expected <= value <= expected + tolerance
    return abs(math.floor(value + Fraction(1, 2)) - expected) <= tolerance


def passes(vector):
    pairs = zip(results(vector["config"], vector["steps"]), vector["steps"])
    return all(fits(name, got[name], step["expect"][name], vector["tolerance_ns"])
               for got, step in pairs for name in got.keys() & step["expect"].keys())


vectors = [v for v in json.load(open(FILE))["vectors"]
           if all(step["event"] in ESTIMATOR_EVENTS for step in v["steps"])]
failed = [v["id"] for v in vectors if not passes(v)]
print(f"{len(vectors) - len(failed)} passed, {len(failed)} failed", *failed)
sys.exit(bool(failed))
