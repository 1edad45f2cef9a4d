#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs the fuzz targets:
#
#   sh tests/fuzz/run.sh SECONDS [TARGET...]
#
# builds them with clang, libFuzzer and the address and undefined-behaviour
# sanitizers in build/fuzz and runs each (json rows snapshot columns texts
# document zone cron spec) for that long, from a copy of its corpus. Prints how
# many inputs each ran. An input that breaks one is kept in build/fuzz/found,
# and it is told how to replay it; then the exit status is 2. Seeds are random;
# FUZZ_ARGS is given to libFuzzer (FUZZ_ARGS="-seed=7").
#
# Make what was found part of the corpus, with a telling name:
#
#   cp build/fuzz/found/rows-crash-... tests/fuzz/corpus/rows/a_telling_name
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
. "$root/tests/lib/stage.sh"
. "$root/tests/lib/postgres.sh"
. "$root/tests/lib/packages.sh"

[ $# -ge 1 ] || die "usage: sh tests/fuzz/run.sh SECONDS [TARGET...]"
seconds=$1
shift
[ $# -gt 0 ] || set -- json rows snapshot columns texts document zone cron spec

build=${FUZZ_BUILD:-$root/build/fuzz}
found=$build/found
work=
trap '[ -z "$work" ] || rm -rf "$work"; packages_cleanup; quietly_cleanup' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

packages_ensure $PACKAGES_BUILD $PACKAGES_TEST
stage "Building the fuzz targets"
quietly cmake -S "$root" -B "$build" -DCMAKE_C_COMPILER=clang \
    -DCASCADE_TESTS=ON -DCASCADE_FUZZ=ON -DCASCADE_WERROR=ON \
    -DCASCADE_SANITIZE=address,undefined -DCASCADE_EXAMPLES=OFF ||
    die "the fuzz targets could not be configured"
quietly cmake --build "$build" --parallel 2 --target fuzz_targets ||
    die "the fuzz targets could not be built"

# fuzz TARGET: false when it broke.
fuzz() {
    mkdir -p "$found" "$work/$1"
    cp "$root/tests/fuzz/corpus/$1/"* "$work/$1/"
    # Unquoted: a list of options.
    if (cd "$work" && "$build/tests/fuzz_$1" -max_total_time="$seconds" \
        -timeout=60 -rss_limit_mb=1024 -max_len=4096 -print_final_stats=1 \
        -dict="$root/tests/fuzz/words.dict" \
        -artifact_prefix="$found/$1-" ${FUZZ_ARGS:-} "$1") \
        >"$work/$1.log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$1.log")
        echo "$1: $runs inputs in $seconds s"
        [ "${runs:-0}" -gt 0 ]
        return
    fi
    grep '^INFO: Seed' "$work/$1.log" || :
    tail -n 60 "$work/$1.log"
    echo "$1: broken; replay it with"
    sed -n "s|.*Test unit written to |    $build/tests/fuzz_$1 |p" \
        "$work/$1.log"
    return 1
}

work=$(mktemp -d)
broken=0
for target in "$@"; do
    stage "Fuzzing $target"
    fuzz "$target" || broken=2
done
exit "$broken"
