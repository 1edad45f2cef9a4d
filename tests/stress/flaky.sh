#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   flaky.sh BUILD ROUNDS [CTEST OPTIONS...]
#
# Which tests fail though nothing is wrong? Runs all of them that often, under
# what makes luck run out, another kind each round:
#
#   beside      four busy loops, and twice as many programs at a time as there
#               are in the suite
#   slow-disk   each flush takes up to 50 ms longer, of the programs and of the
#               servers that they start; a lock or a wake-up may come 10 ms
#               later (slow_calls.c)
#   one-core    all of it on one core
#
# Prints each program's failures, those that failed first; the status is 1 when
# one did. What those have printed is in BUILD/flaky, a file a round.
set -eu

KINDS="beside slow-disk one-core"

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../lib/stage.sh"

export CASCADE_TEST_SKIP=never
build=$(CDPATH='' cd -- "$1" && pwd)
rounds=$2
shift 2
logs=$build/flaky
slow=$build/tests/libtest_slow_calls.so
loops=

cleanup() {
    # Unquoted: a list of processes.
    [ -z "$loops" ] || kill $loops 2>/dev/null || :
    loops=
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

busy() {
    for number in 1 2 3 4; do
        (while :; do :; done) &
        loops="$loops $!"
    done
}

# kind_of ROUND
kind_of() {
    # Unquoted: a list of names.
    echo $KINDS | cut -d' ' -f$((($1 - 1) % 3 + 1))
}

# run COMMAND...: ctest by that command, many programs at a time.
run() {
    (cd "$build" && "$@")
}

# round NUMBER KIND [CTEST OPTIONS...]: its status says nothing: tests fail.
round() {
    log=$logs/$1-$2.log
    kind=$2
    some=$(($(nproc) + 4))
    shift 2
    case $kind in
    beside)
        busy
        run ctest --output-on-failure --parallel $((some * 2)) "$@" || :
        cleanup
        ;;
    slow-disk)
        run env LD_PRELOAD="$slow" CASCADE_SLOW_SYNC_MS=50 \
            CASCADE_SLOW_ORDER_US=10000 \
            ctest --output-on-failure --parallel "$some" "$@" || :
        ;;
    one-core)
        run taskset -c 0 \
            ctest --output-on-failure --parallel "$some" "$@" || :
        ;;
    esac >"$log" 2>&1 </dev/null
    ran=$(results "$log" | wc -l)
    echo "round $kind: $(results "$log" | grep -vc '^passed') of $ran failed"
    [ "$ran" -gt 0 ] || die "no test ran: see $log"
}

# results LOG: "passed|failed NAME" of each program.
results() {
    sed -n 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) \(.*\) sec.*$/\1 \2/p' \
        "$1" | awk '{ print (/ Passed / ? "passed" : "failed"), $1 }'
}

rm -rf "$logs"
mkdir -p "$logs"
for number in $(seq "$rounds"); do
    stage "Round $number of $rounds"
    round "$number" "$(kind_of "$number")" "$@"
done

stage "Failures of each program"
for log in "$logs"/*.log; do
    results "$log"
done | awk '
    { runs[$2]++ }
    $1 == "failed" { failures[$2]++; any = 1 }
    END {
        for (name in runs)
            printf "%6d of %d  %s\n", failures[name], runs[name], name \
                | "sort -k1,1nr -k4"
        close("sort -k1,1nr -k4")
        exit any
    }'
