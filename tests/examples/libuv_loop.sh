#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   libuv_loop.sh [PROGRAM]
#
# A loop of libuv runs the nodes, all in its own thread; on a store without and
# on one with a disk. Without PROGRAM the example was not built, which fails.
set -eu

if [ "$#" -eq 0 ]; then
    echo "the example libuv_loop was left out: install libuv1-dev" >&2
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for url in memory: "sqlite:$work/loop.db"; do
    "$1" "$url" >"$work/out"
    printf '%s\n' 'greet sleeps' 'greet runs' \
        'all in the thread of the loop' | diff - "$work/out"
done
