#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The whole test suite on a fresh Debian: installs what is missing, builds,
# starts a throwaway PostgreSQL server, runs ctest, cleans up.
#
#   sh tests/run.sh            everything
#   sh tests/run.sh --quick    one build (gcc) and the suite; leaves out the
#                              other builds and what is run in them
#
# Each stage is announced, and its minutes are told when it ends; the first that
# fails ends the run with a line that names it. The last stage is the whole
# suite in the plain build, whose summary ctest prints.
#
# The builds lie in build/ of the source tree. CTEST_ARGS, when set, is given
# to the last ctest (CTEST_ARGS="-R json").
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tests/lib/stage.sh"
. "$root/tests/lib/minutes.sh"
. "$root/tests/lib/packages.sh"
. "$root/tests/lib/postgres.sh"
. "$root/tests/lib/build.sh"

quick=no
for argument in "$@"; do
    case $argument in
    --quick) quick=yes ;;
    *) die "usage: sh tests/run.sh [--quick]" ;;
    esac
done

# What valgrind runs: the parts that all else stands on, and little that waits.
# It runs one thread at a time, so races are not for it.
core="base_error base_mem base_map base_uuid base_clock base_json_gate
    base_json_tree base_json_read base_json_plain base_json_hostile engine_state
    engine_build engine_refuse store_handle store_memory_parts store_sqlite_file
    api_arguments api_bad_input"

# What mostly waits, for leases or for processes that it kills, and what does
# the same many times over: the plain build runs these, others reach what they
# reach.
slow='process_torture|process_poison|process_stopped|process_takeover'
slow="$slow|process_each_commit|process_transfer|faults_standby|store_pooler"
many='engine_scale|engine_many_timers|engine_clocks|engine_crowd'
# One thread, whatever they do: there is nothing to race for. Or they play what
# is recorded in every way there is: those that race do less of it, more often
# at the same time.
alone='engine_joined|store_sqlite_connection|store_sqlite_native_faults'
alone="$alone|engine_(courses|fork|hydrate|joins|rerun|retry|saga|version)"
alone="$alone|api_(document|purge|verify)|store_sqlite(_file)?"
# What mostly waits, or does what others do on another connection: once is
# enough.
once='faults_postgres_storm|process_contention|store_sqlite_connection'
# Cuts of power and kills of the process: what is freed or raced for is not for
# them to find.
cuts='sweep_crash|sqlite_power|store_sqlite_crash|process_kills|process_server'

# run_suite BUILD [CTEST OPTIONS...]: four more at a time than there are cores,
# for many of them wait more than they compute.
run_suite() {
    (cd "$1" && shift &&
        ${in_place:-} ctest --output-on-failure --no-tests=error \
            --parallel "$(($(nproc) + 4))" "$@")
}

# run_suite_in_place BUILD [CTEST OPTIONS...]: where the kernel spreads
# addresses wider than the thread sanitizer knows, that does not start; so
# without spreading them, where this may be had.
run_suite_in_place() {
    (! setarch -R true 2>/dev/null || in_place="setarch -R"
        run_suite "$@")
}

# memory_folder: a folder for temporary files that are gone with the machine's
# power: /dev/shm, where it has 4 GB to give and programs in it run; otherwise
# where all temporary files are.
memory_folder() {
    room=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
    probe=$(mktemp /dev/shm/cascade-probe.XXXXXX 2>/dev/null) || probe=
    if [ -n "$probe" ] && [ "${room:-0}" -ge 4000000 ] &&
        printf '#!/bin/sh\n' >"$probe" && chmod 700 "$probe" &&
        "$probe" 2>/dev/null; then
        echo /dev/shm
    else
        echo "${TMPDIR:-/tmp}"
    fi
    [ -z "$probe" ] || rm -f "$probe"
}

# all_builds: the builds beside the plain one.
all_builds() {
    timed_stage "Building (the library alone, no database, no asserts)"
    build_tree "$root" "$root/build/bare" -DCASCADE_WERROR=ON \
        -DCASCADE_SQLITE=OFF -DCASCADE_POSTGRES=OFF \
        -DCASCADE_TESTS=OFF -DCASCADE_EXAMPLES=OFF
    # Without asserts: a branch never taken is not to be counted.
    timed_stage "Building (gcc, address sanitizer, counting what is run)"
    build_tree "$root" "$root/build/asan" -DCMAKE_C_COMPILER=gcc \
        -DCASCADE_WERROR=ON -DCASCADE_SANITIZE=address -DCASCADE_COVERAGE=ON \
        -DCASCADE_ASSERTS=OFF
    timed_stage "Building everything (clang, thread and undefined-behaviour" \
        "sanitizers)"
    build_tree "$root" "$root/build/tsan" -DCMAKE_C_COMPILER=clang \
        -DCASCADE_WERROR=ON -DCASCADE_BENCH=ON \
        -DCASCADE_SANITIZE=thread,undefined
}

# analyses: the sources as analysers read them.
analyses() {
    for tool in gcc cppcheck clang-tidy; do
        timed_stage "Analysing the sources ($tool)"
        # A third of its bound; tests/torture.sh leaves it all of it.
        quietly env TIDY_NODES=75000 \
            sh "$root/tests/analysis/analyse.sh" "$tool" "$root" ||
            die "$tool found fault with the sources"
    done
}

# all_stages: the same tests seen by other means.
all_stages() {
    timed_stage "Running the suite under the address sanitizer, and measuring" \
        "coverage"
    find "$root/build/asan" -name '*.gcda' -delete
    # The plain build draws more places for the sweeps, and runs on every store
    # what is here on one database or the other.
    (export CASCADE_SWEEP_SHARE=3 CASCADE_TEST_STORES=turns
        quietly run_suite "$root/build/asan" \
            -E "^($slow|$cuts|$many|$once|sim)\$") ||
        die "the suite failed under the address sanitizer (build/asan)"
    quietly "$root/build/asan/tests/test_sim" --seeds 60 ||
        die "the simulation failed under the address sanitizer (build/asan)"
    coverage
    timed_stage "Running the base, the engine, the stores and the API under" \
        "the thread and undefined-behaviour sanitizers"
    (export CASCADE_TEST_STORES=others
        quietly run_suite_in_place "$root/build/tsan" \
            -R '^(base|engine|store|api)_' \
            -E "^($slow|$many|$alone|store_(sqlite_crash|postgres_.*))\$") ||
        die "the suite failed under the thread sanitizer (build/tsan)"
    timed_stage "Running the core under valgrind"
    # Unquoted: a list of names.
    quietly sh "$root/tests/analysis/memcheck.sh" "$root/build/tests/tests" \
        $core || die "valgrind found fault with the core"
}

# coverage: by what ended by itself in the suite just run. Counts of an earlier
# run would be added, so they were deleted before it.
coverage() {
    quietly sh "$root/tests/analysis/coverage.sh" "$root" \
        "$root/build/asan" ||
        die "coverage is below tests/analysis/coverage.minimum"
    tail -n 4 "$root/build/asan/coverage.txt"
}

# chances: what goes by chance, but by the same one each time: a run that fails
# for what nobody changed helps nobody. Others are taken by tests/torture.sh.
chances() {
    timed_stage "Fuzzing"
    quietly env FUZZ_ARGS=-seed=1 sh "$root/tests/fuzz/run.sh" 6 ||
        die "fuzzing found an input that breaks the library"
    timed_stage "Planting two bugs"
    quietly sh "$root/tests/mutants/run.sh" --count 2 ||
        die "the simulation did not find a planted bug"
}

cleanup() {
    pg_remove
    packages_cleanup
    quietly_cleanup
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

timed_stage "Checking packages"
packages_ensure $PACKAGES_BUILD $PACKAGES_TEST
packages_ensure_postgresql
packages_ensure_pgbouncer

timed_stage "Building (gcc)"
build_tree "$root" "$root/build/tests" -DCMAKE_C_COMPILER=gcc \
    -DCASCADE_WERROR=ON
if [ "$quick" = no ]; then
    analyses
    all_builds
fi

timed_stage "Starting a throwaway PostgreSQL server"
# No test cuts this server's power, so it may leave its flushes out, and its
# files too: half of the suite's time. Those that crash a server start their
# own.
disk=${TMPDIR:-/tmp}
TMPDIR=$(memory_folder)
export TMPDIR
pg_create
pg_start fsync=off full_page_writes=off
if [ "$quick" = no ]; then
    all_stages
    chances
fi

timed_table
stage "Running the suite"
TMPDIR=$disk
# Unquoted: a list of options.
run_suite "$root/build/tests" ${CTEST_ARGS:-}
