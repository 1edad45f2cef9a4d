#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   blocks.sh ROOT
#
# Each block of C in README.md and in the guide stands, line for line, in one of
# the programs of docs/programs or examples, which are built and run.
set -eu

cd "$1"
programs=$(find docs/programs examples -name '*.c' 2>/dev/null | sort)
documents=$(find README.md docs -maxdepth 1 -name '*.md' 2>/dev/null | sort)
[ -n "$programs" ] || { echo "no programs in $1" >&2; exit 1; }
[ -n "$documents" ] || { echo "no documents in $1" >&2; exit 1; }

# Names of files without blanks: the lists may be split.
awk '
function wrong(line, text) {
    printf "%s:%d: %s\n", FILENAME, line, text
    bad = 1
}
function is_shown(block) {
    for (program in texts)
        if (index(texts[program], "\n" block))
            return 1
    return 0
}
FNR == 1 && inside { wrong(FNR, "the block of C before is not closed") }
FNR == 1 { inside = 0 }
FILENAME ~ /\.c$/ {
    if (FNR == 1)
        texts[FILENAME] = "\n"
    texts[FILENAME] = texts[FILENAME] $0 "\n"
    next
}
/^```c$/ {
    inside = 1
    begun = FNR
    block = ""
    next
}
/^```$/ && inside {
    inside = 0
    blocks++
    if (block == "" || !is_shown(block))
        wrong(begun, "this block is in no program")
    next
}
inside { block = block $0 "\n" }
END {
    if (inside)
        wrong(begun, "this block is not closed")
    if (!blocks) {
        print "no block of C in any document"
        bad = 1
    }
    exit bad
}
' $programs $documents >&2
