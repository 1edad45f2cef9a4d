#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   approval.sh PROGRAM
#
# One order is approved after its reminder, the other is not in time; on a store
# without and on one with a disk.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for url in memory: "sqlite:$work/approval.db"; do
    "$1" "$url" >"$work/out"
    diff - "$work/out" <<'END'
{"ship":["today"],"remind":["please"]}
{"refund":["late"],"remind":["please"]}
END
done
