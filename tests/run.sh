#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The whole test suite on a fresh Debian: installs what is missing, builds,
# runs ctest, cleans up.
#
#   sh tests/run.sh            everything
#   sh tests/run.sh --quick    one build (gcc), and in it the tests but those
#                              that take longest
#
# Each stage is announced, and its minutes are told when it ends; the first that
# fails ends the run with a line that names it, and one that names its log. The
# last stage is the suite in the plain build, whose summary ctest prints.
#
# The builds lie in build/ of the source tree, the logs in build/logs.
# CTEST_ARGS, when set, is given to the last ctest (CTEST_ARGS="-R json").
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tests/lib/stage.sh"
. "$root/tests/lib/minutes.sh"
. "$root/tests/lib/memory.sh"
. "$root/tests/lib/postgres.sh"
. "$root/tests/lib/packages.sh"
. "$root/tests/lib/build.sh"
. "$root/tests/lib/suite.sh"

quick=no
for argument in "$@"; do
    case $argument in
    --quick) quick=yes ;;
    *) die "usage: sh tests/run.sh [--quick]" ;;
    esac
done

# What valgrind runs: the parts that all else stands on, and little that waits.
# It runs one thread at a time, so races are not for it.
core="base_error base_fiber base_mem base_map base_uuid base_clock base_json_gate
    base_json_tree base_json_read base_json_plain base_json_hostile engine_state
    engine_build engine_refuse store_handle store_memory_parts store_sqlite_file
    api_arguments api_bad_input"

# What mostly waits, for leases or for processes that it kills: the plain build
# runs these, as it does those with the label `plain`; others reach what they
# reach.
slow='process_torture|process_poison|process_stopped|process_takeover'
slow="$slow|process_each_commit|process_transfer|faults_standby|store_pooler"
# One thread, whatever they do: there is nothing to race for. Or they play what
# is recorded in every way there is: those that race do less of it, more often
# at the same time. Or what races in it does so in another one (store_postgres).
alone='engine_joined|store_sqlite_connection|store_sqlite_native_faults'
alone="$alone|engine_(courses|fork|hydrate|joins|rerun|retry|saga|version)"
alone="$alone|api_(document|purge|verify)|store_(sqlite(_file)?|hostile)"
# What mostly waits, or does what others do on another connection: once is
# enough.
once='faults_postgres_storm|process_contention|store_sqlite_connection'
# Cuts of power and kills of the process: what is freed or raced for is not for
# them to find.
cuts='sweep_crash|sqlite_power|store_sqlite_crash|process_kills|process_server'

# Where the kernel spreads addresses wider than the thread sanitizer knows, that
# does not start; so without spreading them, where this may be had.
without_spread() {
    ! setarch -R true 2>/dev/null || echo setarch -R
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
        -DCASCADE_TESTS=ON -DCASCADE_WERROR=ON -DCASCADE_SANITIZE=address \
        -DCASCADE_COVERAGE=ON -DCASCADE_ASSERTS=OFF
    timed_stage "Building everything (clang, thread and undefined-behaviour" \
        "sanitizers)"
    build_tree "$root" "$root/build/tsan" -DCMAKE_C_COMPILER=clang \
        -DCASCADE_TESTS=ON -DCASCADE_WERROR=ON -DCASCADE_BENCH=ON \
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
    # The plain build draws more places for the sweeps, and runs what is here on
    # one database or the other on the other one.
    (export CASCADE_SWEEP_SHARE=3 CASCADE_TEST_STORES=turns
        suite_run_quietly asan "$root/build/asan" \
            -LE '^plain$' -E "^($slow|$cuts|$once|sim)\$") ||
        die "the suite failed under the address sanitizer (build/asan)"
    quietly "$root/build/asan/tests/test_sim" --seeds 60 ||
        die "the simulation failed under the address sanitizer (build/asan)"
    coverage
    timed_stage "Running the base, the engine, the stores and the API under" \
        "the thread and undefined-behaviour sanitizers"
    (export CASCADE_TEST_STORES=turns
        export SUITE_UNDER="$(without_spread)"
        suite_run_quietly tsan "$root/build/tsan" \
            -R '^(base|engine|store|api)_' -LE '^plain$' \
            -E "^($slow|$alone|store_(sqlite_crash|postgres_.*))\$") ||
        die "the suite failed under the thread sanitizer (build/tsan)"
    timed_stage "Running the core under valgrind"
    pg_create
    pg_start fsync=off full_page_writes=off
    # Unquoted: a list of names.
    quietly sh "$root/tests/analysis/memcheck.sh" "$root/build/tests/tests" \
        $core || die "valgrind found fault with the core"
    # The suites after it start their own.
    pg_remove
}

# coverage: by what ended by itself in the suite just run. Counts of an earlier
# run would be added, so they were deleted before it.
coverage() {
    quietly sh "$root/tests/analysis/coverage.sh" "$root" \
        "$root/build/asan" ||
        die "coverage is below tests/analysis/coverage.minimum"
    tail -n 4 "$root/build/asan/coverage.txt"
}

# chances: what goes by chance, but, as in the suites before it, by the same one
# each time: a run that fails for what nobody changed helps nobody. Others are
# taken by tests/torture.sh, and by ctest.
chances() {
    timed_stage "Fuzzing"
    fuzz_status=0
    quietly env FUZZ_ARGS=-seed=1 sh "$root/tests/fuzz/run.sh" 6 ||
        fuzz_status=$?
    case $fuzz_status in
    0) ;;
    2) die "fuzzing found an input that breaks the library" ;;
    *) die "fuzzing could not be done" ;;
    esac
    timed_stage "Planting two bugs"
    mutants_status=0
    quietly sh "$root/tests/mutants/run.sh" --count 2 || mutants_status=$?
    case $mutants_status in
    0) ;;
    2) die "the simulation did not find a planted bug" ;;
    *) die "bugs could not be planted" ;;
    esac
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

CASCADE_LOGS=$root/build/logs
export CASCADE_LOGS
# What tests draw by chance is the same in each run; see chances().
CASCADE_TEST_SEED=${CASCADE_TEST_SEED:-1}
export CASCADE_TEST_SEED
suite_begin "$CASCADE_LOGS"

timed_stage "Checking packages"
packages_ensure $PACKAGES_BUILD $PACKAGES_TEST $PACKAGES_SERVER
CASCADE_PACKAGES=ready
export CASCADE_PACKAGES

timed_stage "Building (gcc)"
build_tree "$root" "$root/build/tests" -DCMAKE_C_COMPILER=gcc \
    -DCASCADE_TESTS=ON -DCASCADE_WERROR=ON
some=
# Each test on memory and on one of the databases.
if [ "$quick" = yes ]; then
    some="-LE long"
    CASCADE_TEST_STORES=turns
else
    analyses
    all_builds
    # Their temporary files may be gone with the machine's power.
    disk=${TMPDIR:-/tmp}
    TMPDIR=$(memory_folder)
    export TMPDIR
    all_stages
    chances
    TMPDIR=$disk
    CASCADE_TEST_STORES=others
fi
export CASCADE_TEST_STORES

timed_table
stage "Running the suite"
# Unquoted: lists of options.
suite_run plain "$root/build/tests" $some ${CTEST_ARGS:-}
