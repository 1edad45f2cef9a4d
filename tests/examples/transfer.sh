#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   transfer.sh PROGRAM sqlite|postgres
#
# Killed while it makes transfers, three times, and started again, it has made
# each once in the end; and it says so when they were not.
set -eu

. "$(dirname -- "$0")/database.sh"
transfers=400
end=$(($(date +%s) + 1000))
work=$(mktemp -d)
running=
cleanup() {
    [ -z "$running" ] || kill -9 "$running" 2>/dev/null || :
    [ "$kind" != postgres ] || database_drop
    rm -rf "$work"
}
program=$1
kind=$2
trap cleanup EXIT

case $kind in
sqlite)
    place=$work/transfer.db
    tables='sqlite_schema WHERE name'
    ;;
postgres)
    tables='pg_class WHERE relname'
    database_create cascade_transfer
    place=$DATABASE
    ;;
esac

# ask QUESTION: sets $answer, which the database gives.
ask() {
    answer=$(case $kind in
        sqlite) sqlite3 -readonly -cmd '.timeout 60000' "$place" "$1" ;;
        postgres) psql -X -q -At -v ON_ERROR_STOP=1 -c "$1" "$place" ;;
        esac) || { echo "no answer: $1" >&2; exit 1; }
}

# is_there: whether the table is.
is_there() {
    [ "$kind" = postgres ] || [ -e "$place" ] || return 1
    ask "SELECT count(*) FROM $tables = 'transfers'"
    [ "$answer" -eq 1 ]
}

# count: sets $made, the transfers that were made.
count() {
    made=0
    is_there || return 0
    ask 'SELECT count(*) FROM transfers'
    made=$answer
}

in_time() {
    [ "$(date +%s)" -lt "$end" ] || { echo "no transfers" >&2; exit 1; }
}

# kill_after COUNT: starts the program, and kills it when so many transfers were
# made. False when it had made all of them by then.
kill_after() {
    "$program" "$place" "$transfers" >"$work/out" &
    running=$!
    until count; [ "$made" -ge "$1" ] || ! kill -0 "$running" 2>/dev/null; do
        in_time
        sleep 0.01
    done
    kill -9 "$running" 2>/dev/null || :
    status=0
    wait "$running" 2>/dev/null || status=$?
    running=
    [ "$status" -eq 0 ] || [ "$status" -eq 137 ] ||
        { echo "the program ended with status $status" >&2; exit 1; }
    count
    [ "$status" -eq 137 ] && [ "$made" -lt "$transfers" ]
}

# Where the program was too quick, or this too slow, it has more to do.
for kill in 1 2 3; do
    count
    until kill_after $((made + 20)); do
        in_time
        transfers=$((transfers + 400))
    done
done

"$program" "$place" "$transfers" >"$work/out"
echo "the accounts hold 10000; $transfers transfers were made; they agree" |
    diff - "$work/out"

# One that is made twice is seen.
twice='INSERT INTO transfers SELECT * FROM transfers LIMIT 1'
case $kind in
sqlite) sqlite3 -cmd 'PRAGMA wal_autocheckpoint = 0' "$place" "$twice" \
    >/dev/null ;;
postgres) psql -X -q -v ON_ERROR_STOP=1 -c "$twice" "$place" ;;
esac
if "$program" "$place" "$transfers" >"$work/out"; then
    echo "a second transfer was not seen" >&2
    exit 1
fi
grep -q 'do not agree' "$work/out"
