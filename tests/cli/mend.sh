#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   mend.sh COMMAND PLAYER sqlite
#
# What is wrong in the tables is found and put right: a cascade whose run is
# gone, as after a restore of the three tables alone, and one whose status
# another program has written.
set -eu
. "$(dirname -- "$0")/lib.sh"

cli_begin
cli_cast

# change SQL: by another program.
change() {
    sqlite3 "${CASCADE_STORE#sqlite:}" "PRAGMA wal_autocheckpoint = 0; $1" \
        >/dev/null
}

change "DELETE FROM cascade_runs WHERE cascade_id = '$(id 12)';"
change "UPDATE cascades SET status = 'RUNNING' WHERE id = '$(id 1)';"
t verify
t verify --json
t verify "$(id 2)"
t ps --status running --limit 2
t explain "$(id 12)"
t show "$(id 12)"
t adopt --dry-run
t adopt --dry-run --json
t adopt
t adopt --json
t verify
t explain "$(id 12)"
change "DELETE FROM cascade_runs WHERE cascade_id = '$(id 12)';"
change "UPDATE node_executions SET input_context = '{'
    WHERE cascade_id = '$(id 12)';"
t adopt

# One that is sealed: what does not fit is left until somebody trusts it.
cli_begin
printf 'first:%s\n' 000102030405060708090a0b0c0d0e0f >"$work/keys"
run migrate --secrets "$work/keys"
t start order --id "$(id 1)" --secrets "$work/keys"
t start order --id "$(id 2)" --secrets "$work/keys"
change "DELETE FROM cascade_runs;"
change "UPDATE node_executions SET location = 'x'
    WHERE cascade_id = '$(id 2)';"
t adopt --dry-run --secrets "$work/keys"
t adopt --secrets "$work/keys"
t adopt --trust --secrets "$work/keys"
t adopt --trust --yes --secrets "$work/keys"
t verify --secrets "$work/keys"
cli_end mend.txt
