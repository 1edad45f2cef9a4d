#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   skipped.sh BUILD
#
# For ctest to call at its end: why tests were skipped, a line for each reason.
set -eu

# The log has its name only after that.
log=$1/Testing/Temporary/LastTest.log
[ ! -r "$log.tmp" ] || log=$log.tmp
[ -r "$log" ] || exit 0
sed -n 's/^skipped: //p' "$log" | sort | uniq -c |
    while read -r count reason; do
        echo "$count skipped: $reason"
    done
