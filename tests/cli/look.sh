#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   look.sh COMMAND PLAYER sqlite|postgres
#
# ps, show, explain, engines, queues, stats: for people, for programs, for what
# is not there, and for what makes no sense.
set -eu
. "$(dirname -- "$0")/lib.sh"

cli_begin
cli_cast
unknown=$(id 77)

t ps
t ps --status error
t ps --user anna --limit 1
t ps --node pack --status running --json
t ps --queue unserved
t ps --older 1h
t ps --after "$(id 11)"
t ps --after nothing
t ps --limit 0
t ps --sort
t ps "$unknown"
cli_end ps.txt

for number in 1 2 3 4 5 6 7 8 9 10 11; do
    t show "$(id "$number")"
done
t show "$(id 1)" --payloads
t show "$(id 1)" --payloads --ui --at 3
t show "$(id 1)" --at 0
t show "$(id 1)" --at -1
t show "$(id 1)" --json
t show "$(id 2)" --json
t show "$(id 1)" --json --payloads
t show --user anna --key invoice-7
t show --key invoice-7
t show "$unknown"
t show "$unknown" --json
t show
t show nothing
t show "$(id 1)" --key invoice-7
t show "$(id 1)" --user anna
t show "$(id 1)" --at x
cli_end show.txt

for number in 1 2 3 4 5 6 7 8 9 11 12; do
    t explain "$(id "$number")"
done
t explain "$(id 9)" --json
t explain "$unknown"
t explain
cli_end explain.txt

t queues
t queues --json
t stats
t stats --json
t stats more
t engines
cli_end store.txt

t version
t version --json
t help nothing
t nothing
t
t postgresql://somebody:secret@host/db
t ps --store=postgresql://somebody:secret@127.0.0.1:1/db --limit postgresql://a:secret@host
cli_end usage.txt

# A server that is not there is told of without the password; its words are not
# ours.
status=0
"$command" ps --store postgresql://somebody:secret@127.0.0.1:1/db \
    >"$work/out" 2>&1 || status=$?
[ "$status" -eq 6 ] && [ -s "$work/out" ] && ! grep -q secret "$work/out" ||
    { echo "no server: exit code $status" >&2; cat "$work/out" >&2; exit 1; }

# keeps_secret ARGUMENT...: it fails, and says so without what must not be said.
keeps_secret() {
    status=0
    CASCADE_STORE=$address "$command" "$@" >"$work/out" 2>&1 || status=$?
    [ "$status" -ne 0 ] && [ -s "$work/out" ] && ! grep -q secret "$work/out" ||
        { echo "cascade $*" >&2; cat "$work/out" >&2; exit 1; }
}

# Nor is an address with a mistake in it repeated, wherever it is given.
for address in 'postgresql://u:secret@[::1/db' 'postgresql:/u:secret@h/db' \
    'host=h pasword=secret' "host=h password='secret" \
    'sqlite:postgresql://u:secret@h/db' 'u:secret@h'; do
    keeps_secret ps
    keeps_secret ps --store "$address"
    keeps_secret ps --sotre="$address"
    keeps_secret ps --limit "$address"
    keeps_secret ps "$address"
    keeps_secret show "$address"
    keeps_secret "$address"
done
