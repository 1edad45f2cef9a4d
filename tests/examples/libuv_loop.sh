#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   libuv_loop.sh PROGRAM
#
# A loop of libuv runs the nodes, all in its own thread; on a store without and
# on one with a disk.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for url in memory: "sqlite:$work/loop.db"; do
    "$1" "$url" >"$work/out"
    printf '%s\n' 'greet sleeps' 'greet runs' \
        'all in the thread of the loop' | diff - "$work/out"
done
