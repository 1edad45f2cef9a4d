#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   ctest-server.sh start|stop FOLDER
#
# The fixture of all tests that need PostgreSQL: a throwaway server for the
# ctest that calls this, whose conninfo is noted in FOLDER (see needs.sh).
# Nothing of it is left once that ctest has ended, in whatever way.
#
# Where CASCADE_TEST_PG names a server, that is taken and no other started. Where
# PostgreSQL is not installed the tests say so themselves.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/stage.sh"
. "$here/memory.sh"
. "$here/postgres.sh"

[ "$#" -eq 2 ] || die "usage: ctest-server.sh start|stop FOLDER"
noted=$2/server.$PPID

# No test cuts this server's power, so it may leave its flushes out, and its
# files may lie in memory: half of the suite's time. Those that crash a server
# start their own.
start() {
    trap 'pg_remove; quietly_cleanup' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    TMPDIR=$(memory_folder)
    export TMPDIR
    pg_create
    pg_start fsync=off full_page_writes=off
    echo "$CASCADE_TEST_PG" >"$noted.new"
    mv "$noted.new" "$noted"
    watch "$PPID" "$PG_FOLDER" >/dev/null 2>&1 </dev/null &
    trap - EXIT
}

# watch PID FOLDER: until that process is gone, which may come before `stop`
# does; then the server goes too. In a session of its own, so that no signal to
# ctest ends it.
watch() {
    exec setsid sh -c '
        . "$1/stage.sh"
        . "$1/postgres.sh"
        while kill -0 "$2" 2>/dev/null && [ -d "$3" ]; do
            sleep 1
        done
        PG_FOLDER=$3
        pg_remove
        rm -f "$4"
    ' - "$here" "$1" "$2" "$noted"
}

stop() {
    [ -r "$noted" ] || return 0
    PG_FOLDER=$(sed 's/^host=\([^ ]*\) .*/\1/' "$noted")
    rm -f "$noted"
    pg_remove
}

pg_is_installed || exit 0
if [ -n "${CASCADE_TEST_PG:-}" ]; then
    [ "$1" = stop ] || [ "$CASCADE_TEST_PG" = none ] ||
        pg_answers "$CASCADE_TEST_PG" ||
        die "no server answers where CASCADE_TEST_PG says"
    exit 0
fi
case $1 in
start) start ;;
stop) stop ;;
*) die "unknown command '$1'" ;;
esac
