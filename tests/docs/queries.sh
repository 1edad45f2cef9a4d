#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   queries.sh ROOT RECURRING sqlite|postgres
#
# The queries of docs/sql.md run on what a program of the guide has left, and the
# last one finds its three runs.
set -eu

. "$1/tests/examples/database.sh"
kind=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-queries.XXXXXX")
cleanup() {
    [ "$kind" != postgres ] || database_drop
    rm -rf "$work"
}
trap cleanup EXIT
cd "$work"

# ask FILE: the rows of a query, a line each.
ask() {
    if [ "$kind" = postgres ]; then
        psql -X -q -At -v ON_ERROR_STOP=1 -f "$1" "$DATABASE"
    else
        sqlite3 -bail guide.db <"$1"
    fi
}

awk '
    /^```sql$/ { inside = 1; count++; next }
    /^```$/ { inside = 0 }
    inside { print >("query" count ".sql") }
' "$1/docs/sql.md"
[ -s query1.sql ] || { echo "docs/sql.md holds no query" >&2; exit 1; }

store=sqlite:guide.db
if [ "$kind" = postgres ]; then
    database_create cascade_queries
    store=$DATABASE
fi
timeout 300 "$2" "$store"
count=0
while [ -e "query$((count + 1)).sql" ]; do
    count=$((count + 1))
    ask "query$count.sql" >"rows$count" ||
        { cat "query$count.sql" >&2; exit 1; }
done
[ "$(wc -l <"rows$count")" -eq 3 ] || { cat "rows$count" >&2; exit 1; }
