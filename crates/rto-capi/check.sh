#!/usr/bin/env bash
# Installs the C library as the README says, into a folder of its own, and runs a C test and a C example
# against what was installed: static and shared, under valgrind. Then the same without std.
# What this machine cannot do prints a `skipped:` line.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/crates/rto-capi
built=${CARGO_TARGET_DIR:-target}
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

code_of() { # LANGUAGE HEADING: the first such block below it in the README
    awk -v fence="\`\`\`$1" -v heading="$2" '
        $0 == heading { here = 1 }
        here && inside && /^```$/ { exit }
        inside { print }
        here && $0 == fence { inside = 1 }' "$here/README.md"
}

# Installed as the README says.
code_of sh "## Install" >"$out/install.sh"
PREFIX=$out/prefix bash -euo pipefail "$out/install.sh"
library=$out/prefix/lib
static=("$library/librto.a")
shared=("-L$library" -lrto "-Wl,-rpath,$library")
code_of c "# rto for C" >"$out/readme.c"
for source in "$here/tests/c/test.c" "$here/examples/udp_retransmit.c" "$out/readme.c"; do
    name=$(basename "$source" .c)
    "${c[@]}" "-I$out/prefix/include" "$source" "${static[@]}" -o "$out/$name-static"
    "${c[@]}" "-I$out/prefix/include" "$source" "${shared[@]}" -o "$out/$name-shared"
    run "$out/$name-static"
    run "$out/$name-shared"
done
readelf -d "$out/readme-shared" | grep -q 'NEEDED.*\[librto\.so\.0\.1\]' || fail "no soname"
if command -v pkg-config >/dev/null; then
    flags=$(PKG_CONFIG_PATH=$library/pkgconfig pkg-config --cflags --libs rto)
    # shellcheck disable=SC2086 # several words
    "${c[@]}" "$here/examples/udp_retransmit.c" $flags -o "$out/example-pkg-config"
    LD_LIBRARY_PATH=$library run "$out/example-pkg-config"
else
    skip "pkg-config: not here"
fi

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

# Without std: the same test, and no code of std or of a panic. A core for hosts names a function for
# unwinding, which one for firmware does not; nothing calls it.
cargo build -q --profile firmware -p rto-capi --no-default-features
echo 'void rust_eh_personality(void); void rust_eh_personality(void) {}' >"$out/host.c"
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
