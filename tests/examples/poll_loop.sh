#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   poll_loop.sh PROGRAM
#
# The loop of the program itself runs the nodes, and is free meanwhile; on a
# store without and on one with a disk.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for url in memory: "sqlite:$work/loop.db"; do
    "$1" "$url" >"$work/out"
    printf '3\n2\n1\n0\nlanded; the loop was free meanwhile\n' |
        diff - "$work/out"
done
