# SPDX-License-Identifier: MIT
#
# The suite in one build after another. To be sourced, after stage.sh; `root` is
# the tree.
#
#   suite_begin FOLDER    for the logs; what was there is deleted
#   suite_run NAME BUILD [CTEST OPTIONS...]
#                         ctest in BUILD, and the ten slowest programs of all
#                         suites so far before its summary
#   suite_run_quietly NAME BUILD [CTEST OPTIONS...]
#                         what failed is shown, nothing else, and it is told
#                         where all is kept
#
# A test that was skipped has failed: whoever calls this has installed all that
# is needed. SUITE_UNDER, when set, is a command that ctest is run under.

SUITE_LINES=120

suite_begin() {
    suite_logs=$1
    rm -rf "$suite_logs"
    mkdir -p "$suite_logs"
}

suite_run() {
    (suite_ctest yes "$@")
}

suite_run_quietly() {
    suite_failed=0
    (suite_ctest no "$@") >"$suite_logs/$1.log" 2>&1 || suite_failed=$?
    [ "$suite_failed" -eq 0 ] || suite_show "$1" "$2" >&2
    return "$suite_failed"
}

# suite_ctest TABLE NAME BUILD [CTEST OPTIONS...]: four at a time more than there
# are cores, for many of them wait more than they compute. Temporary files go to
# a folder in which nothing may be left.
suite_ctest() {
    suite_table=$1
    suite_name=$2
    cd "$3"
    shift 3
    TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/cascade-suite.XXXXXX")
    export TMPDIR
    trap 'rm -rf "$TMPDIR"' EXIT
    chmod 755 "$TMPDIR"
    {
        suite_status=0
        # Unquoted: a command with its options.
        CASCADE_TEST_SKIP=never CASCADE_TEST_SUDO=yes ${SUITE_UNDER:-} \
            ctest --output-on-failure --no-tests=error \
            --parallel "$(($(nproc) + 4))" "$@" 2>&1 || suite_status=$?
        echo "$suite_status" >"$suite_logs/$suite_name.status"
    } | awk -v suite="$suite_name" -v times="$suite_logs/times" \
        -v table="$suite_table" -f "$root/tests/lib/suite.awk"
    suite_status=$(cat "$suite_logs/$suite_name.status")
    [ "$suite_status" -eq 0 ] || return "$suite_status"
    suite_no_skips
    suite_left_nothing
}

# What a program leaves out by cmocka's skip() no status tells. The store of
# examples/store_file has no sub-tables: four tests beside those of whole groups
# ask it for one.
suite_no_skips() {
    suite_skips=$(awk '
        $2 == "Testing:" { test = $3 }
        /^\[  SKIPPED \] [^0-9]/ && !seen[test, $4]++ &&
                ++skips[test] > (test == "store_file" ? 4 : 0) {
            print test ": " $4
        }' Testing/Temporary/LastTest.log)
    [ -z "$suite_skips" ] || die "these were skipped: $suite_skips"
}

suite_left_nothing() {
    [ -z "$(ls -A "$TMPDIR")" ] ||
        die "tests have left these in TMPDIR: $(ls -A "$TMPDIR")"
}

# suite_show NAME BUILD: the end of what each failed test has printed, and what
# was said in the end.
suite_show() {
    if [ "$(cat "$suite_logs/$1.status")" -ne 0 ]; then
        while IFS=: read -r number test; do
            echo "---- $1: $test (test $number) ----"
            suite_said "$test" "$2/Testing/Temporary/LastTest.log" |
                tail -n "$SUITE_LINES"
        done <"$2/Testing/Temporary/LastTestsFailed.log"
    fi
    sed -n '/^[0-9]*% tests passed/,$p' "$suite_logs/$1.log"
    echo "the whole log: $suite_logs/$1.log"
}

# suite_said TEST LOG
suite_said() {
    awk -v test="$1" '
        $2 == "Testing:" { inside = $3 == test }
        /^<end of output>/ { inside = 0 }
        inside' "$2"
}
