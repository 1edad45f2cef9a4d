#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   layering.sh ROOT
#
# Includes run down the floors of src/ (ARCHITECTURE.md): a file includes from
# its own floor and from those below. A backend is a house of its own: nobody
# includes what is in its folder but the backend, and the functions of SQLite
# for SQL, which stand on its lent connections.
#
# The examples, the programs of the guide and the `cascade` command use the public
# headers alone. SQL stands in sql/; and in the first two, whose tables are their
# own. Locks are taken and given back in base/lock, which knows who has them.
set -eu

floors=$(sh "$(dirname "$0")/floors.sh" --names)
cd "$1"
sources=$(find include src docs examples -name '*.[ch]' | sort)
[ -n "$sources" ] || { echo "no sources in $1" >&2; exit 1; }

# Names of files without blanks: the list may be split.
awk -v floors="$floors" '
BEGIN {
    count = split(floors, names)
    for (i = 1; i <= count; i++)
        rank[names[i]] = i
    sql = "\"(\\\\n| )*(SELECT|INSERT|UPDATE|DELETE FROM|CREATE|ALTER|DROP|" \
        "PRAGMA|WITH|FROM|WHERE|AND|LIMIT|ORDER BY|UNION ALL|BEGIN|" \
        "SAVEPOINT|RELEASE|ROLLBACK TO|SET|LOCK TABLE|RESET|DISCARD|LISTEN|" \
        "UNLISTEN)[ ;]"
}
# The folder that the path begins with, behind src/ or a quote.
function floor_of(path) {
    sub(/^(src\/|")/, "", path)
    sub(/\/.*/, "", path)
    return path
}
function is_backend(path) {
    return path ~ /store\/(memory|sqlite|postgres)\//
}
function backend_of(path) {
    sub(/^.*store\//, "", path)
    sub(/\/.*/, "", path)
    return path
}
function allowed(file, header) {
    if (header ~ /^["<]cascade\/[a-z_]+\.h[">]$/)
        return 1
    if (file ~ /^include\/cascade\/exception\.h$/ &&
        header ~ /^<(cstdio|exception|cxxabi\.h)>$/)
        return 1
    if (file ~ /^include\//)
        return header ~ /^<(cjson\/cJSON|std[a-z]+)\.h>$/
    if (header ~ /^<libpq-fe\.h>$/)
        return file ~ /^(src\/store\/postgres|examples|docs)\//
    if (header ~ /^<sqlite3\.h>$/)
        return file ~ /^(src\/store\/sqlite|examples|docs)\// ||
            file ~ /^src\/client\/sqlite_functions\.c$/
    if (header ~ /^</)
        return 1
    if (file ~ /^(docs|examples|src\/cli)\//)
        return !(floor_of(header) in rank)
    if (is_backend(header))
        return backend_of(file) == backend_of(header) ||
            (header ~ /sqlite/ && file ~ /^src\/client\/sqlite_functions\.c$/)
    return floor_of(header) in rank && floor_of(file) in rank &&
        rank[floor_of(header)] <= rank[floor_of(file)]
}
/^[ \t]*#[ \t]*include/ {
    header = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", header)
    sub(/[ \t].*/, "", header)
    if (!allowed(FILENAME, header)) {
        printf "%s:%d: may not include %s\n", FILENAME, FNR, header
        bad = 1
    }
}
$0 ~ sql {
    if (FILENAME !~ /^(docs|examples)\//) {
        printf "%s:%d: SQL outside sql/, docs/ and examples/\n", FILENAME, FNR
        bad = 1
    }
}
/pthread_(mutex|rwlock|spin)_[a-z]+[ \t]*\(/ {
    if (FILENAME ~ /^src\// && FILENAME !~ /^src\/base\/lock\.[ch]$/) {
        printf "%s:%d: a lock that base/lock does not know\n", FILENAME, FNR
        bad = 1
    }
}
END { exit bad }
' $sources >&2
