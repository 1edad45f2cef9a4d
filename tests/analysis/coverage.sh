#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   coverage.sh ROOT BUILD
#
# What the tests that ran in BUILD, configured with -DCASCADE_COVERAGE=ON, have
# reached of the library: a line for each file, one for each part, and an error
# where a part is below what coverage.minimum says. Which lines and branches
# were not reached is written to BUILD/coverage-lines.txt and -branches.txt.
set -eu

root=$(CDPATH='' cd -- "$1" && pwd)
build=$(CDPATH='' cd -- "$2" && pwd)
config=$root/tests/analysis/gcovr.cfg
command -v gcovr >/dev/null ||
    { echo "gcovr is not installed" >&2; exit 1; }

# The sources are read once.
(cd "$build" && gcovr --config "$config" --object-directory . \
    --exclude-directories '.*CMakeFiles/test_.*' -j "$(nproc)" \
    --json coverage.json . >coverage.log 2>&1) ||
    { tail -n 20 "$build/coverage.log" >&2; exit 1; }

report() {
    (cd "$build" && gcovr --config "$config" --add-tracefile coverage.json "$@")
}

report --txt --output coverage-lines.txt
report --txt --branches --output coverage-branches.txt
report --csv --output coverage.csv

# Percent are cut, not rounded: 99.96 is not 100.
awk -F, '
function percent(part, of) {
    return of == 0 ? 100 : int(1000 * part / of) / 10
}
function add(part) {
    lines[part] += $2; lines_hit[part] += $3
    branches[part] += $5; branches_hit[part] += $6
}
function low(part) {
    if (percent(lines_hit[part], lines[part]) < wanted_lines[part])
        return 1
    return percent(branches_hit[part], branches[part]) < wanted_branches[part]
}
function show(name, lines, lines_hit, branches, branches_hit) {
    printf "%-36s %5d of %5d lines %5.1f %%  %5d of %5d branches %5.1f %%\n",
        name, lines_hit, lines, percent(lines_hit, lines),
        branches_hit, branches, percent(branches_hit, branches)
}
FILENAME ~ /minimum$/ {
    if ($0 ~ /^[a-z]/) {
        split($0, word, " +")
        order[++count] = word[1]
        wanted_lines[word[1]] = word[2]
        wanted_branches[word[1]] = word[3]
    }
    next
}
$1 ~ /src\// {
    sub(/.*src\//, "src/", $1)
    split($1, folder, "/")
    add("all")
    add(folder[2])
    show($1, $2, $3, $5, $6)
}
END {
    if (!count) {
        print "coverage.minimum names nothing"
        exit 1
    }
    for (i = 1; i <= count; i++) {
        part = order[i]
        show(part, lines[part], lines_hit[part], branches[part],
            branches_hit[part])
        if (!lines[part] || low(part)) {
            printf "below: %s is to have %s %% of lines, %s %% of branches\n",
                part, wanted_lines[part], wanted_branches[part]
            bad = 1
        }
    }
    exit bad
}' "$root/tests/analysis/coverage.minimum" "$build/coverage.csv" \
    >"$build/coverage.txt" || status=1
cat "$build/coverage.txt"
exit "${status:-0}"
