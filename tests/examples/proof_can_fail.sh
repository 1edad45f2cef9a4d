#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   proof_can_fail.sh PROGRAM ORDERS
#
# After a run with a kill the proof holds; with the log of effects or the orders
# changed in any way it is about, it names what does not hold.
set -eu

program=$1
orders=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/effects.log

prove() {
    "$program" prove --dir "$work" --orders "$orders" --orders-max "$1" \
        --in-flight-min 5 >"$work/verdicts" 2>"$work/contradictions"
}

# The proof, over what was changed, must fail and say CLAIM does not hold.
expect_failure() {
    if prove "$1" || ! grep -q "\[FAIL\]  $2" "$work/verdicts"; then
        echo "not noticed: $3" >&2
        cat "$work/contradictions" "$work/verdicts" >&2
        exit 1
    fi
    cp "$work/whole.log" "$log"
}

"$program" demo --dir "$work" --orders "$orders" --orders-max 60 \
    --window 40 --workers 8 --in-flight-min 5 --kills 1
cp "$log" "$work/whole.log"
prove 60 || { cat "$work/verdicts" >&2; exit 1; }

request=$(awk '$5 == "notify" { print $11; exit }' "$log")
grep -vF " $request ." "$work/whole.log" >"$log"
expect_failure 60 "nothing was lost" "an effect that never happened"

expect_failure 61 "nothing was lost" "an order that was never started"

sed '1s/order\.reserve#[0-9]*/order.reserve#9/' "$work/whole.log" >"$log"
expect_failure 60 "nothing was lost" "an effect that the tables do not know"

awk 'NR == FNR { if ($1 == "ended") ended[$3]; next }
    $11 in ended { print; exit }' "$work/kill-1" "$work/whole.log" \
    >"$work/before"
[ -s "$work/before" ] || { echo "nothing was recorded" >&2; exit 1; }
cat "$work/before" >>"$log"
expect_failure 60 "nothing recorded before a kill" "an execution run again"

tail -n 1 "$work/whole.log" >>"$log"
expect_failure 60 "an effect happened again only" "an effect done twice"

awk '$5 == "charge" && $6 == "done" && !n { n = 1; $7++ } { print }' \
    "$work/whole.log" >"$log"
expect_failure 60 "goods and money add up" "a wrong amount"

if "$program" demo --dir "$work" --orders "$orders" >"$work/out" 2>&1; then
    echo "a demo ran over the records of another" >&2
    exit 1
fi
