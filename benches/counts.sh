#!/usr/bin/env bash
# What each operation costs, one line each: `name instructions bytes`, by callgrind. The same for the
# same code, whatever else the machine does, so two commits can be compared.
#
# Counted is the difference of two run lengths, which cancels the start of the process, less the
# same difference for the same loop around nothing, which cancels the loop and its opaque borders.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build -q --release -p benches --bin count
count=${CARGO_TARGET_DIR:-target}/release/count
few=640 many=3200

instructions() { # OPERATION busy|idle TIMES
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$count" "$@" 2>&1 |
        awk '/Collected/ { print $4 }'
}

declare -A cost
while read -r name bytes; do
    busy=$(($(instructions "$name" busy $many) - $(instructions "$name" busy $few)))
    idle=$(($(instructions "$name" idle $many) - $(instructions "$name" idle $few)))
    cost[$name]=$(((busy - idle) / (many - few)))
    echo "$name ${cost[$name]} $bytes"
done < <("$count")

# What is promised about these numbers.
broken=0
promise() { # CONDITION WORDS
    (($1)) || { echo "broken: $2" >&2; broken=1; }
}
sample=${cost[rto.sample]} cycle=${cost[rto.cycle]}
quinn=${cost[peer.quinn.sample]} s2n=${cost[peer.s2n.sample]}
delay=${cost[policy.delay.full]} step=${cost[grpc.step]}
datagram=${cost[rudp.datagram]}
thousand=${cost[rto.rearm.1e3]} million=${cost[rto.rearm.1e6]}
promise "sample <= 60" "a sample and the RTO take at most 60 instructions"
promise "cycle < 120" "a send, an ACK and the deadline take fewer than 120 instructions"
promise "quinn >= 2 * sample && s2n >= 2 * sample" "the peers take twice as many for a sample"
promise "delay <= 60" "a jittered delay takes at most 60 instructions"
promise "step <= 350" "an attempt, its failure and its wait take at most 350 instructions"
promise "datagram <= 12000" "a datagram of a bulk transfer takes at most 12,000 instructions of both sides"
promise "100 * million <= 103 * thousand" "an ACK takes no more among a million timers"
exit $broken
