#!/bin/sh
# SPDX-License-Identifier: MIT
#
# All benchmarks on a fresh Debian: installs what is missing, builds, starts a
# throwaway PostgreSQL server, runs every program, cleans up.
#
#   sh bench/run.sh                 everything, about half an hour
#   sh bench/run.sh --quick         in four to five minutes
#   sh bench/run.sh --full          with ten million finished cascades
#   sh bench/run.sh [...] NAME...   these programs only
#
# One line a figure: name, value, unit, target, "ok" or "short"; "suspect" where
# the machine was too slow for the ratio to count. A figure that falls short is
# no error. Before them stand versions and settings; behind each program, how
# often the server has flushed its WAL meanwhile. The build lies in build/bench
# of the source tree; databases lie in a temporary folder on the disk of TMPDIR
# (/tmp) and are removed at the end.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tests/lib/stage.sh"
. "$root/tests/lib/postgres.sh"
. "$root/tests/lib/packages.sh"
. "$root/tests/lib/build.sh"

programs="ceiling throughput requests submissions latency waits limits hydration scale idle
    footprint manage native giants integrity beside soak times"
size=
chosen=
for argument in "$@"; do
    case $argument in
    --quick | --full) size=$argument ;;
    -*) die "usage: sh bench/run.sh [--quick | --full] [NAME...]" ;;
    *) case " $programs " in
        *" $argument "*) chosen="$chosen $argument" ;;
        *) die "no benchmark '$argument'; there are: $programs" ;;
        esac ;;
    esac
done

work=
running=
cleanup() {
    [ -z "$running" ] || kill "$running" 2>/dev/null || :
    pg_remove
    packages_cleanup
    quietly_cleanup
    [ -z "$work" ] || rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

sql() {
    pg_run psql -X -q -At -h "$PG_FOLDER" -U cascade -d cascade -c "$1"
}

# What the figures are worth: versions, settings, and that a commit is durable.
show_settings() {
    echo "# $(date -u +%Y-%m-%d) $(git -C "$root" rev-parse --short HEAD \
        2>/dev/null || echo 'no repository'), $(uname -sr), $(nproc) cores," \
        "load $(cut -d' ' -f1 /proc/loadavg)"
    echo "# $(sql 'SHOW server_version' | sed 's/^/PostgreSQL /')," \
        "SQLite $(pkg-config --modversion sqlite3)," \
        "$(gcc --version | head -n 1)"
    for setting in fsync synchronous_commit full_page_writes wal_sync_method \
        wal_level shared_buffers max_wal_size checkpoint_timeout; do
        printf '# PostgreSQL %s = %s\n' "$setting" "$(sql "SHOW $setting")"
    done
    echo "# SQLite journal_mode = WAL, synchronous = FULL, as the store sets" \
        "them: proven by the fsyncs below"
    for folder in "$work" "$PG_FOLDER"; do
        show_disk "$folder"
    done
}

# Where files are kept in memory a flush costs nothing.
show_disk() {
    case $(stat -f -c %T "$1") in
    tmpfs | ramfs) die "$1 is in memory: set TMPDIR to a folder on a disk" ;;
    *) echo "# $1 is on $(stat -f -c %T "$1")" ;;
    esac
}

# A backend tells of its last flushes as it ends.
count_flushes() {
    flushes_tries=0
    while
        others=$(sql "SELECT count(*) - 1 FROM pg_stat_activity
            WHERE backend_type = 'client backend'") || die "no answer"
        [ "$others" -gt 0 ]
    do
        flushes_tries=$((flushes_tries + 1))
        [ "$flushes_tries" -lt 600 ] ||
            die "$others connections to the server are still open"
        sleep 0.1
    done
    sql "SELECT wal_sync FROM pg_stat_wal" || die "no answer"
}

# In the background, so that a signal is heard at once. Unquoted: one option or
# none.
run_program() {
    "$root/build/bench/bench/$1" $size --pg "$CASCADE_TEST_PG" --dir "$work" &
    running=$!
    wait "$running" || die "$1 failed"
    running=
}

stage "Checking packages"
packages_ensure $PACKAGES_BUILD postgresql

stage "Building"
build_tree "$root" "$root/build/bench" -DCMAKE_BUILD_TYPE=Release \
    -DCASCADE_TESTS=OFF -DCASCADE_EXAMPLES=OFF -DCASCADE_BENCH=ON

stage "Starting a throwaway PostgreSQL server"
pg_create
pg_start shared_buffers=1GB max_wal_size=8GB checkpoint_timeout=30min \
    shared_preload_libraries=pg_stat_statements
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-bench.XXXXXX")
show_settings

for program in ${chosen:-$programs}; do
    stage "$program"
    before=$(count_flushes)
    run_program "$program"
    after=$(count_flushes)
    echo "# PostgreSQL flushed its WAL $((after - before)) times"
done
