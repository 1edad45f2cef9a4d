#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   paste.sh ROOT BACKEND
#
# Every statement in sql/BACKEND/statements can be pasted into the shell of the
# database: psql, on the server that CASCADE_TEST_PG names, prepares it; sqlite3
# explains it.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cd "$1/sql/$2"
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-paste.XXXXXX")

run_psql() {
    . "$here/../examples/database.sh"
    trap 'database_drop; rm -rf "$work"' EXIT
    database_create cascade_paste
    cat ./*.sql | PGOPTIONS='-c client_min_messages=error' \
        psql -X -q -1 -v ON_ERROR_STOP=1 "$DATABASE" >"$work/log"
    awk -v shell=psql -f "$here/paste.awk" statements/*.sql |
        PGOPTIONS='-c client_min_messages=error' \
        psql -X -q -v ON_ERROR_STOP=1 "$DATABASE"
}

run_sqlite3() {
    trap 'rm -rf "$work"' EXIT
    cat ./*.sql | sqlite3 -bail "$work/db"
    awk -v shell=sqlite3 -f "$here/paste.awk" statements/*.sql |
        sqlite3 -bail "$work/db"
}

case $2 in
postgres) run_psql ;;
sqlite) run_sqlite3 ;;
esac >"$work/pasted" || { tail -n 1 "$work/pasted"; exit 1; }
sed -n 's/^pasted: //p' "$work/pasted" >"$work/reached"
sed -n 's/^-- name: //p' statements/*.sql | diff - "$work/reached" ||
    { echo "some were not reached" >&2; exit 1; }
[ -s "$work/reached" ]
