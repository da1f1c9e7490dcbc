#!/usr/bin/env bash
# Instructions per operation, one line each, by callgrind: `name instructions`.
# The same for the same code, whatever else the machine does, so two commits can be compared.
# The difference of two run lengths cancels the start of the process.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build -q --release -p benches --bin count
count=${CARGO_TARGET_DIR:-target}/release/count
few=1000 many=5000

instructions() { # OPERATION TIMES
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$count" "$1" "$2" 2>&1 |
        awk '/Collected/ { print $4 }'
}

for operation in $("$count"); do
    more=$(instructions "$operation" $many)
    less=$(instructions "$operation" $few)
    echo "$operation $(((more - less) / (many - few)))"
done
