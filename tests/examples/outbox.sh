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
end=$(($(date +%s) + 1000))
QUIET='1 second'   # engines that look at once do so in far less
RARELY_MS=600000   # what is delivered, it was told of
running=
cleanup() {
    [ -z "$running" ] || kill -9 "$running" 2>/dev/null || :
    [ "$kind" != postgres ] || database_drop
    rm -rf "$work"
}
trap cleanup EXIT

# until_lines COUNT PATTERN: until the program has printed so many.
until_lines() {
    while [ "$(grep -c "$2" "$work/out")" -lt "$1" ]; do
        [ "$(date +%s)" -lt "$end" ] ||
            { cat "$work/out"; echo "nothing is delivered" >&2; exit 1; }
        sleep 0.01
    done
}

# until_listening: until it listens, and nobody but this has asked anything for
# a while: what is ordered from then on it has to be told.
until_listening() {
    while [ "$(psql -X -q -At -c "SELECT
            count(*) FILTER (WHERE query LIKE 'LISTEN%') > 0 AND
            bool_and(state = 'idle' AND
                query_start < now() - interval '$QUIET')
        FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND
            backend_type = 'client backend'" "$DATABASE")" != t ]; do
        [ "$(date +%s)" -lt "$end" ] ||
            { echo "it does not listen" >&2; exit 1; }
        sleep 0.01
    done
}

# order: the statements that it reads.
order() {
    PGOPTIONS="-c client_min_messages=warning" \
        psql -X -q -v ON_ERROR_STOP=1 "$DATABASE" >/dev/null
}

printf 'deliver a chair\ndeliver a lamp\ndeliver a table\n' >"$work/expected"

if [ "$kind" = sqlite ]; then
    "$program" "$work/outbox.db" >"$work/out"
    sort "$work/out" | diff "$work/expected" -
    exit
fi

database_create cascade_outbox
: >"$work/out"
"$program" "$DATABASE" "$RARELY_MS" >"$work/out" &
running=$!
until_lines 1 ready
until_listening
sed '/^SELECT cascade_wake/q' "$3" | order # the first order
until_lines 1 deliver
until_listening
sed '1,/^SELECT cascade_wake/d' "$3" | order
until_lines 3 deliver
kill -TERM "$running"
wait "$running" || { echo "the program ended badly" >&2; exit 1; }
running=
sed -n 's/^\(deliver a [a-z]*\) .*/\1/p' "$work/out" | sort |
    diff "$work/expected" -
[ "$(psql -X -q -At -c 'SELECT count(*) FROM orders' "$DATABASE")" -eq 3 ]
