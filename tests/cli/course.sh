#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   course.sh COMMAND PLAYER sqlite|postgres
#
# What changes the course of cascades: pause, resume, retry, rerun, fork; of
# queues: pause, resume, limits; and commands to many.
set -eu
. "$(dirname -- "$0")/lib.sh"

cli_begin
cli_cast
unknown=$(id 77)

t pause "$(id 12)" --wait --reason "stock is counted"
t pause "$(id 12)" --json
t ps --queue unserved
t explain "$(id 12)"
t resume "$(id 12)" --wait --json
t pause "$(id 1)"
t pause "$unknown"
t resume "$unknown" --json
t resume "$(id 1)"
t pause
t resume --user anna
t pause --queue unserved --reason "stock is counted" --request-id p1
t pause --queue unserved
t queues
t queues --json
t explain "$(id 12)"
t resume --queue unserved --json
t resume --queue unserved
t pause --queue 'no name'
cli_end pause.txt

t limit unserved --running 5 --key-running 1 --reason "one press" --by anna
t limit unserved --running 6 --json
t limit unserved --key-running 0
t limit unserved
t queues
t queues --json
t limit unserved --none --running 1
t limit unserved --none
t limit unserved --none
t limit 'no name' --running 1
t limit unserved --running -1
t limit
cli_end limit.txt

t retry "$(id 2)" --wait --reason "the money has come"
t show "$(id 2)"
t retry "$(id 1)"
t retry "$(id 3)" --json
t retry "$unknown"
t retry
cli_end retry.txt

t rerun "$(id 1)" --from 2 --yes --wait
t show "$(id 1)"
t pause "$(id 1)" --wait
t show "$(id 1)"
t rerun "$(id 1)" --from 77 --yes
t rerun "$(id 1)" --from 2
t rerun "$(id 1)" --yes
t rerun "$unknown" --from 0 --yes --json
t rerun --from 0 --yes
cli_end rerun.txt

t fork "$(id 4)" --from 1 --id "$(id 31)" --queue forks --reason "to try it"
t fork "$(id 4)" --from 1 --id "$(id 31)"
t show "$(id 31)"
t fork "$(id 10)" --from 0 --json
t fork "$(id 6)" --from 1 --id "$(id 32)" --output 'spread="other"'
t fork "$(id 6)" --from 1 --id "$(id 33)" --output '#0="other"' --json
t show "$(id 33)" --payloads
t fork "$(id 6)" --from 1 --output 'nobody=1'
t fork "$(id 6)" --from 1 --output '=1'
t fork "$(id 6)" --from 1 --output 'spread={'
t fork "$(id 6)" --from 77
t fork "$unknown" --from 0
t fork "$(id 6)"
t fork "$(id 6)" "$(id 4)" --from 0 --id "$(id 34)"
t fork --from 0 --all --id "$(id 34)" --yes
cli_end fork.txt

t cancel --all --status running --node await
t cancel --all --status running --node await --yes --request-id m1
t cancel --all --status running --node await --yes --request-id m1 --json
t pause --all --queue unserved --yes --json
t resume --all --queue unserved --yes
t terminate --all --user nobody --yes
t retry --all --user anna --yes
t delete --all --user anna --yes --json
t ps --user anna
t delete --all "$(id 1)" --yes
t delete --all --wait --yes
t delete --all --key invoice-7 --yes
cli_end many.txt
