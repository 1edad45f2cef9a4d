#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The main demo on a fresh Debian: installs what is missing, builds, runs.
#
#   sh examples/run.sh                on a SQLite file
#   sh examples/run.sh --postgres     on a throwaway PostgreSQL server
#   sh examples/run.sh --kills 10     kill the worker ten times (default: 5)
#   sh examples/run.sh --seed 7       another choice of moments and failures
#   sh examples/run.sh --keep         leave database, log and records behind
#
# The build lies in build/examples of the source tree; everything the demo
# writes lies in a temporary folder and is removed at the end. Ends with 0 only
# when the proof holds.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tests/lib/stage.sh"
. "$root/tests/lib/postgres.sh"
. "$root/tests/lib/packages.sh"
. "$root/tests/lib/build.sh"

usage="usage: sh examples/run.sh [--postgres] [--kills N] [--seed N] [--keep]"
store=SQLite
kills=5
seed=1
keep=no
while [ "$#" -gt 0 ]; do
    case $1 in
    --postgres) store=PostgreSQL ;;
    --keep) keep=yes ;;
    --kills | --seed)
        case ${2:-} in
        '' | *[!0-9]*) die "$usage" ;;
        esac
        [ "$1" = --kills ] && kills=$2 || seed=$2
        shift
        ;;
    *) die "$usage" ;;
    esac
    shift
done

work=
cleanup() {
    pg_remove
    packages_cleanup
    quietly_cleanup
    [ -z "$work" ] || [ "$keep" = yes ] || rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

stage "Checking packages"
server=
[ "$store" != PostgreSQL ] || server=postgresql
packages_ensure $PACKAGES_BUILD $server

stage "Building"
build_tree "$root" "$root/build/examples" -DCASCADE_TESTS=OFF

work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-demo.XXXXXX")
if [ "$store" = PostgreSQL ]; then
    stage "Starting a throwaway PostgreSQL server"
    pg_create
    pg_start
    url=$CASCADE_TEST_PG
else
    url=sqlite:$work/orders.db
fi

stage "Running the order demo on $store"
status=0
"$root/build/examples/examples/orders" demo --dir "$work" --store "$url" \
    --orders "$root/examples/orders/orders.json" \
    --kills "$kills" --seed "$seed" || status=$?

if [ "$keep" = yes ]; then
    if [ "$store" = PostgreSQL ]; then
        stage "Kept: $work (log and records), server at $PG_FOLDER"
        echo "    psql \"$CASCADE_TEST_PG\""
        # Forgotten here, so that it is not removed.
        PG_FOLDER=
    else
        stage "Kept: $work (orders.db, effects.log, kill records)"
    fi
fi
exit "$status"
