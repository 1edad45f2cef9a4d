#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   care.sh COMMAND PLAYER sqlite|postgres
#
# migrate, export and import, verify, adopt, purge.
set -eu
. "$(dirname -- "$0")/lib.sh"

cli_begin
t migrate --check --json
t ps
# Looking at what is empty leaves it so.
if [ "$backend" = sqlite ]; then
    : >"${CASCADE_STORE#sqlite:}"
    t migrate --check
    t ps
    [ ! -s "${CASCADE_STORE#sqlite:}" ]
fi
t migrate
t migrate --json
t migrate --check
t migrate now
t verify
# Noted apart: without its file SQLite has nothing to look into.
cli_end "migrate-$backend.txt"

cli_cast
unknown=$(id 77)

t verify
t verify --json
t verify "$(id 1)"
t verify "$unknown"
t verify nothing
t adopt
t adopt --json
t adopt "$(id 3)"
t adopt nothing
cli_end verify.txt

run export "$(id 1)" "$(id 3)" >"$work/documents"
run export "$(id 4)" >"$work/document"
[ "$(wc -l <"$work/documents")" -eq 2 ]

t export "$unknown"
t export
t export nothing
t import "$work/documents"
t import "$work/documents" --new-ids --json
printf '{"no":"document"}' >"$work/broken"
t import "$work/broken"
printf '{"no":' >"$work/broken"
t import "$work/broken"
: >"$work/broken"
t import "$work/broken"
t import "$work/nothing"

# Into another store, and out again: the same documents.
cli_begin
run migrate >/dev/null
t import "$work/documents" --queue moved
t import - --json
# One that is refused keeps nobody out.
run delete "$(id 3)" --yes >/dev/null
{ printf '{"no":"document"}\n[]\n'; cat "$work/documents"; } >"$work/broken"
t import "$work/broken" --queue moved
t show "$(id 1)"
t show "$(id 3)"
t ps
t verify
cli_end documents.txt
run import "$work/document" >/dev/null
run export "$(id 4)" | cmp - "$work/document"
# Blanks between and in documents, as other programs print them.
run delete "$(id 4)" --yes >/dev/null
sed 's/,"/ ,\n  "/g' "$work/document" >"$work/printed"
run import <"$work/printed" >/dev/null
run export "$(id 4)" | cmp - "$work/document"

cli_begin
cli_cast
t purge
t purge --completed 0
t purge --completed 1d --failed 1d --yes
t purge --completed 0 --yes
t purge --failed 0 --yes --json
t purge --failed soon --yes
t stats
cli_end purge.txt
