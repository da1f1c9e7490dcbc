#!/usr/bin/env bash
# Installs the C library as the README says, into a folder of its own, and runs a C test and a C example
# against what was installed: static and shared, under valgrind. Then the same without std.
# What this machine cannot do prints a `skipped:` line.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
here=$root/crates/rto-capi
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR=$built
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
strict=(-Wall -Wextra -Werror -pedantic)
c=(gcc -std=c11 "${strict[@]}" -g)

fail() { echo "capi: $1" >&2; exit 1; }
skip() { echo "skipped: capi: $1"; }

memory_checked=()
if command -v valgrind >/dev/null; then
    memory_checked=(valgrind -q --error-exitcode=1 --leak-check=full)
else
    skip "memory checks: no valgrind"
fi

run() { # PROGRAM: prints its last line
    "${memory_checked[@]}" "$1" >"$out/output" || { cat "$out/output"; fail "$1 failed"; }
    echo "capi: ${1##*/}: $(tail -n 1 "$out/output")"
}

code_of() { # LANGUAGE HEADING: every such block of that section of the README
    awk -v fence="\`\`\`$1" -v heading="$2" '
        /^```$/ { inside = 0 }
        inside { print; next }
        /^#/ { here = $0 == heading }
        here && $0 == fence { inside = 1 }' "$here/README.md"
}

# Installed and used as the README says, with another prefix than the system's.
code_of c "# rto for C" >"$out/program.c"
{
    code_of sh "## Install"
    echo 'cd "$out"'
    if command -v pkg-config >/dev/null; then code_of sh "## Use"; fi
} >"$out/readme.sh"
out=$out PREFIX=$out/prefix bash -euo pipefail "$out/readme.sh" >"$out/said"
if command -v pkg-config >/dev/null; then
    promised=$(sed -n 's|.*puts(why); */\* \(.*\) \*/|\1|p' "$out/program.c")
    printf '%s\n' "$promised" "$promised" | diff - "$out/said" || fail "left: what the README promises"
    echo "capi: the README's program: $promised"
else
    skip "the README's use of the library: no pkg-config"
fi

library=$out/prefix/lib
static=("$library/librto.a")
shared=("-L$library" -lrto "-Wl,-rpath,$library")
for source in "$here/tests/c/test.c" "$here/examples/udp_retransmit.c" "$out/program.c"; do
    name=$(basename "$source" .c)
    "${c[@]}" "-I$out/prefix/include" "$source" "${static[@]}" -o "$out/$name-static"
    "${c[@]}" "-I$out/prefix/include" "$source" "${shared[@]}" -o "$out/$name-shared"
    run "$out/$name-static"
    run "$out/$name-shared"
done
readelf -d "$out/program-shared" | grep -q 'NEEDED.*\[librto\.so\.0\.1\]' || fail "no soname"

# The library exports what the header declares, no more and no less.
nm -D --defined-only "$library/librto.so" | awk '{ print $3 }' | sort >"$out/exported"
gcc -E "$out/prefix/include/rto.h" | grep -oE '\brto_[a-z0-9_]+\(' | tr -d '(' | sort >"$out/declared"
diff "$out/declared" "$out/exported" || fail "left: declared, right: exported"

# The header in other languages.
gcc -std=c99 "${strict[@]}" -fsyntax-only "$out/prefix/include/rto.h"
if command -v g++ >/dev/null; then
    cat >"$out/use.cpp" <<'END'
#include <rto.h>
int main() {
    rto_config config = rto_config_games();
    rto_timer timer;
    return rto_timer_init(&timer, &config, nullptr, nullptr) == RTO_STATUS_OK &&
                   rto_timer_acked(&timer, 0, RTO_PROGRESS_ALL, RTO_NONE) == RTO_STATUS_OK
               ? 0
               : 1;
}
END
    g++ -std=c++11 "${strict[@]}" "-I$out/prefix/include" "$out/use.cpp" "${shared[@]}" -o "$out/cpp"
    "$out/cpp" || fail "C++"
else
    skip "C++: no g++"
fi

# Without std: the same test, and no code of std or of a panic. For a host, with the line that the README has.
cargo build -q --profile firmware -p rto-capi --no-default-features
code_of c "## Firmware" >"$out/host.c"
static=("$out/host.c" "$built/firmware/librto_capi.a" -Wl,--gc-sections)
"${c[@]}" "-I$here/include" "$here/tests/c/test.c" "${static[@]}" -o "$out/test-firmware"
run "$out/test-firmware"
if nm -C "$out/test-firmware" | grep ' std::'; then fail "the symbols above are of std"; fi
{
    echo '#include <rto.h>'
    echo 'void (*volatile used[])(void) = {'
    grep -vE 'explain|check|strerror' "$out/declared" | sed 's/.*/(void (*)(void))&,/'
    echo '}; int main(void) { return used[0] == 0; }'
} >"$out/all.c"
gcc -std=c11 "-I$here/include" "$out/all.c" "${static[@]}" -o "$out/all"
if nm -C "$out/all" | grep -E 'panic|begin_unwind'; then fail "the symbols above can panic"; fi
bytes=$(nm -S -t d "$out/all" | awk '$4 ~ /rto|memcpy|memset/ && $3 ~ /[tT]/ { sum += $2 } END { print sum }')
echo "capi: without std and text, a program that uses every other function has $bytes bytes of it"

# For a microcontroller as the README says: with rustup's core for it, or the one that Debian's Rust builds.
code_of sh "## Firmware" >"$out/firmware.sh"
firmware() { # ARGUMENTS OF BASH
    (cd "$out" && RTO=$root bash -euo pipefail "$@" 2>"$out/said") || { cat "$out/said"; fail "Cortex-M0"; }
    echo "capi: Cortex-M0: the README's program is $(arm-none-eabi-size "$out/program.elf" | awk 'END { print $1 }') bytes"
}
if ! command -v arm-none-eabi-gcc >/dev/null; then
    skip "Cortex-M0: no arm-none-eabi-gcc"
elif [ -d "$(rustc --print target-libdir --target thumbv6m-none-eabi)" ]; then
    firmware firmware.sh
elif [ -d /usr/lib/rustlib/src/rust/library/core ]; then
    CARGO_TARGET_DIR=$built/debian firmware -c '
        cargo() { "$RTO/.ci/debian_cargo" "$@" -Zbuild-std=core; }
        . ./firmware.sh'
else
    skip "Cortex-M0: no core for it"
fi
