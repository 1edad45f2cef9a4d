#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   floors.sh LIST        a file that names the library's objects, one a line
#   floors.sh --names     the floors, from the ground up
#
# Calls run down the floors of src/, as the symbols of the objects show: no
# object has an undefined symbol that an object of a higher floor defines.
# Includes alone do not show that: a header may declare what many files define.
# Inside a floor no more than 4 files call one another in a circle. time, state
# and change are pure: they call neither threads, clocks, files nor databases.
set -eu

floors="base time state change store query held commit claim node engine client
    manage cli"
[ "$1" != --names ] || { echo $floors; exit 0; }

objects=$(grep -v '/generated/' "$1")
[ -n "$objects" ] || { echo "no objects in $1" >&2; exit 1; }

# FILE: SYMBOL KIND ...; of the path what is behind the folder of the objects.
nm -PA $objects |
    sed 's|^[^:]*cascade_command\.dir/|x.dir/cli/|
        s|^[^:]*\.dir/\(\./\)*||; s|\.o:||' |
    awk -v floors="$floors" '
BEGIN {
    count = split(floors, names)
    for (i = 1; i <= count; i++)
        rank[names[i]] = i
    most = 4
    impure = "^(pthread_|sem_|clock_|csc_clock_(wall|monotonic|left|host|" \
        "process)|csc_zoneinfo_|nanosleep$|time$|gettimeofday$|f?open(at)?(64)?$|read$|" \
        "write$|sqlite3_|PQ)"
}
function floor_of(file) {
    sub(/\/.*/, "", file)
    return file
}
# Whom `file` reaches by calls within its floor.
function walk(file,    line, head, tail, at, to) {
    line[tail++] = file
    while (head < tail) {
        at = line[head++]
        for (to in files)
            if ((at, to) in calls && !((file, to) in reaches)) {
                reaches[file, to] = 1
                line[tail++] = to
            }
    }
}
$3 == "U" {
    wanted[$1, $2] = 1
    if (floor_of($1) ~ /^(time|state|change)$/ && $2 ~ impure) {
        printf "%s: calls %s, and its floor is pure\n", $1, $2
        bad = 1
    }
    next
}
$3 ~ /^[A-Z]$/ { owner[$2] = $1 }
{ files[$1] = 1 }
END {
    for (file in files)
        if (!(floor_of(file) in rank)) {
            printf "%s: on no floor\n", file
            bad = 1
        }
    for (pair in wanted) {
        split(pair, part, SUBSEP)
        if (!(part[2] in owner) || owner[part[2]] == part[1])
            continue
        from = floor_of(part[1])
        to = floor_of(owner[part[2]])
        if (rank[to] > rank[from]) {
            printf "%s: calls %s of %s, a higher floor\n", part[1], part[2],
                owner[part[2]]
            bad = 1
        } else if (from == to) {
            calls[part[1], owner[part[2]]] = 1
        }
    }
    for (file in files)
        walk(file)
    for (file in files) {
        size = 0
        circle = ""
        first = file
        for (to in files)
            if ((file, to) in reaches && (to, file) in reaches) {
                size++
                first = to < first ? to : first
                circle = circle " " to
            }
        if (size > most && first == file) {
            printf "%d files call one another in a circle:%s\n", size, circle
            bad = 1
        }
    }
    exit bad
}' >&2
