#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   croner.sh BUILD [COUNT [SEED]]
#
# Compares COUNT random patterns (5,000) with croner, which claims the standard
# in full: the next three matches and the one before, in UTC. Needs node and npm,
# which fetches croner. No part of the suite, which needs no network; what it
# found stands in test_cron.c.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
build=$(CDPATH='' cd -- "$1" && pwd)
count=${2:-5000}
seed=${3:-$(date +%s)}
command -v npm >/dev/null || { echo "npm is not installed" >&2; exit 1; }

work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-croner.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp "$here/croner.mjs" "$work"
cd "$work"
npm install --silent --no-audit --no-fund croner@11.0.1 >/dev/null
echo "seed $seed"
"$build/tests/test_time_croner" "$seed" "$count" >patterns
node croner.mjs <patterns
