#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   commands.sh ROOT COMMAND
#
# What README.md and the guide tell people to type is there: each command of
# `cascade`, with its options.
set -eu

cd "$1"
command=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-commands.XXXXXX")
trap 'rm -rf "$work"' EXIT
status=0

# In blocks for a shell, and in backquotes within a line.
awk '
    /^```/ { shell = !block && /^```(sh|console)$/; block = !block; next }
    shell && /^(\$ )?cascade [a-z]/ {
        sub(/^\$ /, "")
        print FILENAME, $0
    }
    !block {
        count = split($0, spans, "`")
        for (i = 2; i <= count; i += 2)
            if (spans[i] ~ /^cascade [a-z]/)
                print FILENAME, spans[i]
    }
' README.md docs/*.md | sort -u >"$work/typed"
[ -s "$work/typed" ] || { echo "the guide shows no command" >&2; exit 1; }

while read -r document cascade name rest; do
    "$command" help "$name" >"$work/page" 2>/dev/null ||
        { echo "$document: no $cascade $name" >&2; status=1; continue; }
    for option in $(printf '%s\n' "$rest" | grep -oE -- '--[a-z-]+' || :); do
        grep -qE -- "^ *$option([ =[]|$)" "$work/page" ||
            { echo "$document: $cascade $name has no $option" >&2; status=1; }
    done
done <"$work/typed"
exit $status
