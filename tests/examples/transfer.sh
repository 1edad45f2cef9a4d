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
sqlite) place=$work/transfer.db ;;
postgres)
    database_create "cascade_transfer_$$"
    place=$DATABASE
    ;;
esac

# sql TEXT: beside the program. Nothing where a table is not there yet.
sql() {
    case $kind in
    sqlite) sqlite3 -readonly -cmd '.timeout 10000' "$place" "$1" ;;
    postgres) psql -X -q -At -c "$1" "$place" ;;
    esac 2>/dev/null || :
}

# await COUNT: until so many transfers were made; the program may be done.
await() {
    tries=0
    while made=$(sql 'SELECT count(*) FROM transfers') &&
        [ "${made:-0}" -lt "$1" ] && kill -0 "$running" 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 3000 ] || { echo "no transfers" >&2; exit 1; }
        sleep 0.01
    done
}

for made_before in 20 120 220; do
    "$program" "$place" "$transfers" &
    running=$!
    await "$made_before"
    kill -9 "$running" 2>/dev/null || :
    wait "$running" 2>/dev/null || :
    running=
done
made=$(sql 'SELECT count(*) FROM transfers')
[ "$made" -lt "$transfers" ] || { echo "it was never killed" >&2; exit 1; }

"$program" "$place" "$transfers" >"$work/out"
echo "the accounts hold 10000; $transfers transfers were made; they agree" |
    diff - "$work/out"

# One that is made twice is seen.
case $kind in
sqlite) sqlite3 -cmd 'PRAGMA wal_autocheckpoint = 0' "$place" \
    'INSERT INTO transfers SELECT * FROM transfers LIMIT 1' >/dev/null ;;
postgres) sql 'INSERT INTO transfers SELECT * FROM transfers LIMIT 1' ;;
esac
if "$program" "$place" "$transfers" >"$work/out"; then
    echo "a second transfer was not seen" >&2
    exit 1
fi
grep -q 'do not agree' "$work/out"
