#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The main demo on a fresh Debian: installs what is missing, builds, runs.
#
#   sh examples/run.sh              on a SQLite file
#   sh examples/run.sh --postgres   on a throwaway PostgreSQL server
#
# The build lies in build/examples of the source tree; everything the demo
# writes lies in a temporary folder and is removed at the end.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tests/lib/stage.sh"
. "$root/tests/lib/packages.sh"
. "$root/tests/lib/postgres.sh"
. "$root/tests/lib/build.sh"

store=sqlite
for argument in "$@"; do
    case $argument in
    --postgres) store=postgres ;;
    *) die "usage: sh examples/run.sh [--postgres]" ;;
    esac
done

work=
cleanup() {
    pg_remove
    quietly_cleanup
    [ -z "$work" ] || rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

stage "Checking packages"
packages_ensure $PACKAGES_BUILD
[ "$store" != postgres ] || packages_ensure_postgresql

stage "Building"
build_tree "$root" "$root/build/examples" -DCASCADE_TESTS=OFF

work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-demo.XXXXXX")
if [ "$store" = postgres ]; then
    stage "Starting a throwaway PostgreSQL server"
    pg_create
    pg_start
    url=$CASCADE_TEST_PG
else
    url=sqlite:$work/orders.db
fi

# From here on: the demo itself, on $url, with its own files in $work.
stage "Running the demo on $store"
echo "$url"
