#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   demo.sh PROGRAM ORDERS sqlite|postgres
#
# A short run of the order demo with three kills, the third of them while the
# worker reads back what was in flight. PostgreSQL is the server that
# CASCADE_TEST_PG names.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case $3 in
sqlite) url=sqlite:$work/orders.db ;;
postgres) url=${CASCADE_TEST_PG:?names no server} ;;
esac
"$1" demo --dir "$work" --orders "$2" --store "$url" \
    --name "orders-${work##*.}" --orders-max 120 --window 60 --workers 8 \
    --kills 3
