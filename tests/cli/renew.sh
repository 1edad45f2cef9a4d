#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   renew.sh BUILD
#
# After a change of the `cascade` command that is meant: writes the golden files
# of its tests anew, and the pages that are made from its table, with what is
# built in BUILD. Read the difference before it is committed.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
command=$1/src/cli/cascade
pages=$here/../../src/cli/pages

"$command" help --man >"$pages/cascade.1"
"$command" help --bash >"$pages/cascade.bash"
for script in $(grep -l cli_end "$here"/*.sh | grep -v -e lib.sh -e renew.sh); do
    RENEW=1 sh "$script" "$command" "$1/tests/test_cli_player" sqlite
done
# What differs on PostgreSQL, where CASCADE_TEST_PG names a server.
[ -z "${CASCADE_TEST_PG:-}" ] ||
    RENEW=1 sh "$here/care.sh" "$command" "$1/tests/test_cli_player" postgres
