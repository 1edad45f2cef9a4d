#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   map_reduce.sh PROGRAM
#
# The chunks are counted in any order, and joined in that of their spawns; on a
# store without and on one with a disk.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for url in memory: "sqlite:$work/words.db"; do
    "$1" "$url" >"$work/out"
    printf '{"words":[6,6,6,5]}\n23 words\n' | diff - "$work/out"
done
