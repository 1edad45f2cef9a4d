#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   outbox.sh PROGRAM sqlite
#   outbox.sh PROGRAM postgres OUTBOX.SQL
#
# What is ordered is delivered, once; what is rolled back is not.
set -eu

. "$(dirname -- "$0")/database.sh"
program=$1
kind=$2
work=$(mktemp -d)
WAIT_S=30
running=
cleanup() {
    [ -z "$running" ] || kill -9 "$running" 2>/dev/null || :
    [ "$kind" != postgres ] || database_drop
    rm -rf "$work"
}
trap cleanup EXIT

# until_lines COUNT PATTERN: until the program has printed so many.
until_lines() {
    end=$(($(date +%s) + WAIT_S))
    while [ "$(grep -c "$2" "$work/out")" -lt "$1" ]; do
        [ "$(date +%s)" -lt "$end" ] ||
            { cat "$work/out"; echo "nothing is delivered" >&2; exit 1; }
        sleep 0.01
    done
}

# until_listening: until it listens, and has looked once since: what is ordered
# from then on it has to be told.
until_listening() {
    end=$(($(date +%s) + WAIT_S))
    while [ "$(psql -X -q -At -c "SELECT count(*)
        FROM pg_stat_activity AS l
        JOIN pg_stat_activity AS o USING (datname, application_name)
        WHERE datname = current_database() AND l.query LIKE 'LISTEN%' AND
            o.state = 'idle' AND o.query_start > l.query_start" \
        "$DATABASE")" -eq 0 ]; do
        [ "$(date +%s)" -lt "$end" ] ||
            { echo "it does not listen" >&2; exit 1; }
        sleep 0.01
    done
}

printf 'deliver a chair\ndeliver a lamp\ndeliver a table\n' >"$work/expected"

if [ "$kind" = sqlite ]; then
    "$program" "$work/outbox.db" >"$work/out"
    sort "$work/out" | diff "$work/expected" -
    exit
fi

database_create "cascade_outbox_$$"
"$program" "$DATABASE" >"$work/out" &
running=$!
until_lines 1 ready
until_listening
psql -X -q -f "$3" "$DATABASE" >/dev/null
until_lines 3 deliver
kill -TERM "$running"
wait "$running" || { echo "the program ended badly" >&2; exit 1; }
running=
sed -n 's/^\(deliver a [a-z]*\) .*/\1/p' "$work/out" | sort |
    diff "$work/expected" -
[ "$(psql -X -q -At -c 'SELECT count(*) FROM orders' "$DATABASE")" -eq 3 ]
