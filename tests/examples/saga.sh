#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   saga.sh PROGRAM
#
# What was booked is cancelled in reverse order; on a store without and on one
# with a disk.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/expected" <<'EOF'
book flight
book hotel
cancel hotel
cancel flight
no car left
{"cancelled":["hotel","flight"]}
EOF
for url in memory: "sqlite:$work/saga.db"; do
    "$1" "$url" >"$work/out"
    diff "$work/expected" "$work/out"
done
