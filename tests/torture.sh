#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The long form of the tests that go by chance, for as long as one likes:
#
#   sh tests/torture.sh --seconds N [--seed S]
#   sh tests/torture.sh --flaky N [CTEST OPTIONS...]
#
# The second runs each test program N times under what makes luck run out, and
# prints its failures of N (stress/flaky.sh). The first does, for N seconds:
#
#   simulation      other seeds than in the suite     3/10 of the time
#   kills, stops    on SQLite, then on PostgreSQL     3/10
#   transfers       kills in transactions of nodes    1/10
#   storm           all faults of a PostgreSQL        1/10
#   fuzzing         all targets                       2/10
#
# and, however long they take: the suite, whose tests draw other numbers than in
# tests/run.sh; giants of each kind beside small cascades, whose p99 may be three
# times as long as alone (some minutes; bench/soak.c, run in an optimised build;
# a machine that does other work makes it fail); the sweeps, over other places
# (with an hour or more, over all); all the planted bugs; and clang-tidy, which
# follows more paths than the suite lets it. The seed, which is printed, makes
# the choices of all but the fuzzing and the bugs; without --seed it is the time. What fails says how to repeat it, and the rest goes on; the
# status is 1 in the end.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tests/lib/stage.sh"
. "$root/tests/lib/postgres.sh"
. "$root/tests/lib/packages.sh"
. "$root/tests/lib/build.sh"

usage() {
    die "usage: sh tests/torture.sh --seconds N [--seed S]
       sh tests/torture.sh --flaky N [CTEST OPTIONS...]"
}

seconds=
flaky=
seed=$(date +%s)
while [ $# -gt 0 ] && [ -z "$flaky" ]; do
    case $1 in
    --flaky) flaky=$(number "${2:-}"); shift ;;
    --seconds) seconds=$(number "${2:-}"); shift ;;
    --seed) seed=$(number "${2:-}"); shift ;;
    *) usage ;;
    esac
    shift
done
[ -n "$flaky" ] || [ "${seconds:-0}" -ge 10 ] ||
    die "give --seconds N, 10 at least"

cleanup() {
    pg_remove
    packages_cleanup
    quietly_cleanup
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# part TITLE COMMAND...: one part; a failure is kept for the end.
part() {
    title=$1
    shift
    stage "$title: $*"
    "$@" || failed="${failed:-}
  $title: $*"
}

# giants: fails where a figure falls short of its target.
giants() {
    folder=$(mktemp -d "$build/giants.XXXXXX")
    quick=--quick
    [ "$seconds" -lt 3600 ] || quick=
    short=0
    build_tree "$root" "$root/build/bench" -DCMAKE_BUILD_TYPE=Release \
        -DCASCADE_TESTS=OFF -DCASCADE_EXAMPLES=OFF -DCASCADE_BENCH=ON
    # Unquoted: one option or none.
    "$root/build/bench/bench/soak" $quick --pg "$CASCADE_TEST_PG" \
        --dir "$folder" >"$folder/figures" || short=1
    cat "$folder/figures"
    ! grep -q ' short$' "$folder/figures" || short=1
    rm -rf "$folder"
    return "$short"
}

stage "Checking packages"
packages_ensure $PACKAGES_BUILD $PACKAGES_TEST $PACKAGES_SERVER
CASCADE_PACKAGES=ready
export CASCADE_PACKAGES

build=$root/build/torture
stage "Building"
build_tree "$root" "$build" -DCASCADE_TESTS=ON -DCASCADE_WERROR=ON
[ -z "$flaky" ] || exec sh "$root/tests/stress/flaky.sh" "$build" "$flaky" "$@"

stage "Starting a throwaway PostgreSQL server"
pg_create
pg_start
CASCADE_SOURCE_DIR=$root
CASCADE_BINARY_DIR=$build
export CASCADE_SOURCE_DIR CASCADE_BINARY_DIR

echo "seed $seed"
part "Simulation" "$build/tests/test_sim" --seconds $((seconds * 3 / 10)) \
    --first "$seed"
for store in sqlite postgres; do
    part "Kills and stops" "$build/tests/test_process_torture" \
        --seconds $((seconds * 3 / 20)) --seed "$seed" --store "$store"
    part "Transfers" "$build/tests/test_process_transfer" \
        --seconds $((seconds / 20 + 1)) --seed "$seed" --store "$store"
done
part "Storm" "$build/tests/test_faults_postgres_storm" \
    --seconds $((seconds / 10)) --seed "$seed"
part "Suite" env CASCADE_TEST_SEED="$seed" ctest --test-dir "$build" \
    --output-on-failure --parallel "$(($(nproc) + 4))"
part "Fuzzing" sh "$root/tests/fuzz/run.sh" \
    $((seconds / 5 / $(ls "$root"/tests/fuzz/fuzz_*.c | wc -l) + 1))
part "Giants" giants
places=
[ "$seconds" -lt 3600 ] || places=full
for sweep in "$build"/tests/test_sweep_* "$build/tests/test_sqlite_power"; do
    part "Sweep" env CASCADE_SWEEP="$places" CASCADE_TEST_SEED="$seed" "$sweep"
done
part "Analysis" sh "$root/tests/analysis/analyse.sh" clang-tidy "$root"
part "Planted bugs" sh "$root/tests/mutants/run.sh" --unmutated

[ -z "${failed:-}" ] || die "seed $seed failed:$failed"
echo "seed $seed passed"
