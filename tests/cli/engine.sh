#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   engine.sh COMMAND PLAYER sqlite|postgres
#
# Beside an engine that runs: what it has, what it does meanwhile, and that a
# command is carried out by it.
set -eu
. "$(dirname -- "$0")/lib.sh"

cli_begin
run migrate >/dev/null
cli_serve

# The host is that of the machine.
named() {
    sed -E -i \
        -e 's/("host":")[^"]*/\1HOST/' \
        -e 's/^([0-9a-f-]{36})  [^ ]+ +[0-9]+  /\1  HOST  PID  /' \
        -e 's/^ENGINE +HOST +PID  /ENGINE  HOST  PID  /' \
        "$work/noted"
}

t engines
t engines --json
named
t start order --id "$(id 1)" --wait
t start await --id "$(id 2)"
t signal "$(id 2)" go --payload '"now"'
t start await --id "$(id 2)" --wait
t start fragile --id "$(id 3)" --wait --json
t ps --user ben
t explain "$(id 99)"
t cancel "$(id 99)" --wait --reason "enough"
t start busy --id "$(id 99)" --wait
t show "$(id 99)"
t retry "$(id 3)" --wait
t start fragile --id "$(id 3)" --wait
t show "$(id 3)"
cli_end engine.txt

# What has ended is told from its start, and then it is over.
t tail "$(id 1)" --from-start
t tail "$(id 1)" --from-start --json --payloads
t tail "$(id 77)"
t tail nothing
cli_end tail.txt

# followed COMMAND TEXT: until it has told TEXT; then SIGINT ends it.
followed() {
    : >"$work/told"
    # A shell lets what it starts behind itself ignore SIGINT.
    env --default-signal=INT "$command" "$@" ${schema:+--schema "$schema"} \
        >"$work/told" 2>&1 &
    following=$!
}

until_told() {
    until grep -q "$1" "$work/told"; do
        kill -0 "$following"
        sleep 0.02
    done
}

followed tail "$(id 4)" 2>/dev/null || :
status=0
wait "$following" || status=$?
[ "$status" -eq 3 ] || { cat "$work/told" >&2; exit 1; }

run start await --id "$(id 4)" >/dev/null
followed tail "$(id 4)" --from-start --json
until_told cascade.await:go
run signal "$(id 4)" go >/dev/null
status=0
wait "$following" || status=$?
[ "$status" -eq 0 ] && grep -q '"kind":"cascade".*COMPLETED' "$work/told" ||
    { echo "tail of one ended with $status" >&2; cat "$work/told" >&2; exit 1; }

# Of all it tells what comes after it has begun to look, which nobody sees.
followed tail
until grep -q 'pack.*COMPLETED' "$work/told"; do
    kill -0 "$following"
    run start order --wait >/dev/null
    sleep 0.2
done
kill -INT "$following"
status=0
wait "$following" || status=$?
[ "$status" -eq 130 ] ||
    { echo "tail of all ended with $status" >&2; cat "$work/told" >&2; exit 1; }
cli_rest
