#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   command.sh COMMAND PLAYER sqlite|postgres
#
# start, signal, complete, cancel, terminate, delete, where no engine is alive
# (the command carries it out itself), and beside one.
set -eu
. "$(dirname -- "$0")/lib.sh"

cli_begin
cli_cast
unknown=$(id 77)
printf '{"big":12345678901234567890}' >"$work/input"
printf '{"no":' >"$work/broken"

t start order --id "$(id 21)" --user anna --queue later --priority 9
t start order --id "$(id 21)"
t start order --id "$(id 22)" --input "@$work/input" --json
t show "$(id 22)" --json --payloads
t start order --id "$(id 23)" --delay 1h --deadline 2h --wait=50ms
t start order --key invoice-7 --user anna
t start order --key invoice-7 --user anna --wait --json
t start order --key invoice-7 --user anna --reuse failed
t start fragile --id "$(id 2)" --wait
t start order --input "@$work/broken"
t start order --input "@$work/nothing"
t start 'no name'
t start
t start order --priority 10
t start order --reuse sometimes
t start order --delay tomorrow
cli_end start.txt

t wait "$(id 1)"
t wait "$(id 1)" --payloads
t wait "$(id 1)" --json
t wait "$(id 1)" --json --payloads --timeout 1s
t wait "$(id 2)"
t wait "$(id 2)" --json
t wait "$(id 4)" --timeout 20ms
t wait --key invoice-7 --user anna --timeout 1s
t wait "$unknown"
t wait "$(id 1)" --timeout soon
t wait
cli_end wait.txt

t signal "$(id 4)" go --payload '{"from":"anna"}' --request-id once
t signal "$(id 4)" go --payload '{"from":"anna"}' --request-id once --json
t signal "$(id 1)" go
t signal "$(id 1)" go --json
t signal --key invoice-7 --user anna go
t signal "$unknown" go
t signal "$(id 4)"
t signal --key invoice-7 --user anna go more
t signal "$(id 4)" go --payload '{'
t signal "$(id 4)" 'no name'
t signal "$(id 4)" go --payload '{"id":9007199254740993}'
cli_end signal.txt

# token N: of the external execution of the n-th.
token() {
    run show "$(id "$1")" --json --tokens |
        sed -E 's/.*"token":"([^"]*)".*/\1/'
}

# Nobody is shown a token who has not asked for it.
secret=$(token 5)
run show "$(id 5)" --tokens | grep -qF "$secret" ||
    { echo "show --tokens has none" >&2; exit 1; }
for line in "show $(id 5) --payloads" "show $(id 5) --json --payloads" \
    "explain $(id 5)" "explain $(id 5) --json" ps "ps --json" \
    "export $(id 5)"; do
    ! run $line | grep -F "$secret" ||
        { echo "cascade $line shows a token" >&2; exit 1; }
done
run export "$(id 5)" --tokens | grep -qF "$secret" ||
    { echo "export --tokens has none" >&2; exit 1; }
printf '\n %s\r\n' "$secret" >"$work/token"

# Read from standard input. It is in no list of processes.
unlisted() {
    status=0
    printf '%s\n' "$2" | run complete "$(id "$1")" "$(id "$1")/$3" - "$4" \
        >"$work/out" 2>&1 || status=$?
    ! grep -F "$2" "$work/out" || { echo "a token is repeated" >&2; exit 1; }
}
unlisted 5 "$secret-" -/boss#0 --wait
[ "$status" -eq 2 ] || { cat "$work/out" >&2; exit 1; }

t complete "$(id 5)" "$(id 5)/-/boss#0" "$unknown" --wait
t complete "$(id 5)" "$(id 5)/-/boss#0" - --output - --wait
t complete "$(id 5)" "$(id 5)/-/boss#0" "@$work/token" --output '"yes"' --wait
t complete "$(id 5)" "$(id 5)/-/boss#0" "$unknown"
t show "$(id 5)" --payloads
unlisted 6 "$(token 6)" 0/boss#0 --error="not with me"
[ "$status" -eq 0 ] && grep -q asked "$work/out" ||
    { cat "$work/out" >&2; exit 1; }
t complete "$(id 1)" "$(id 1)/-/order#0" "$unknown"
t complete "$unknown" x "$unknown"
t complete "$(id 5)" x
t complete "$(id 5)" "$(id 5)/-/boss#0" x --output '{' --json
t complete "$(id 6)" "$(id 6)/0/boss#0" "$unknown" --output 1 --error both
cli_end complete.txt

t cancel "$(id 3)" --reason "no longer wanted" --request-id c1
t cancel "$(id 3)"
t cancel "$(id 9)" "$(id 8)" "$unknown" "$(id 1)" --json
t cancel --user anna --key invoice-7
t cancel
t cancel nothing
t cancel --status running
t cancel "$(id 11)" --all
t terminate "$(id 11)"
t terminate "$(id 11)" --yes --wait --reason "too late"
t terminate "$(id 11)" --yes
t terminate "$unknown" --yes --json
t terminate --yes
t delete "$(id 10)" --json
t delete "$(id 10)" "$(id 11)" --yes --wait
t delete "$(id 10)" --yes
t delete --yes
t ps --status error
cli_end cancel.txt

# From its second run on that is what a key stands for.
t cancel --user anna --key invoice-7
t start pack --key invoice-7 --user anna --reuse ended --json
t show --key invoice-7 --user anna
t cancel --user anna --key invoice-7 --wait
cli_end keys.txt
