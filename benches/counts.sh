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

# What an ACK costs must not depend on how many timers there are: within 3 %.
if ((100 * cost[rto.rearm.1e6] > 103 * cost[rto.rearm.1e3])); then
    echo "rto.rearm: a million timers cost more instructions per ACK than a thousand" >&2
    exit 1
fi
