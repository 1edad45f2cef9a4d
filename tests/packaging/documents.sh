#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   documents.sh ROOT
#
# What the documents name is there: files and folders of the tree in backquotes,
# and the targets of links. NAME stands for any. What README.md and the guide
# call cascade_... or CASCADE_... is in the headers, the tables, the command, or
# the build.
set -eu

LC_ALL=C
export LC_ALL
cd "$1"
status=0
for document in *.md docs/*.md; do
    [ -e "$document" ] || continue
    names=$(grep -oE '`[A-Za-z0-9_./-]+`' "$document" | tr -d '`' |
        grep -E '^(src|tests|sql|include|examples|bench|cmake|docs)/|\.md$' || :)
    targets=$(grep -oE '\]\([A-Za-z0-9_./-]+\)' "$document" | tr -d ']()' |
        sed "s|^|$(dirname "$document")/|" || :)
    for name in $names $targets; do
        case $name in *NAME*) continue ;; esac
        [ -e "$name" ] || { echo "$document: no $name" >&2; status=1; }
    done
done

# words FILE...: what they call ours, a line each.
words() {
    grep -rhoE '(cascade|CASCADE)_[A-Za-z0-9_]*[A-Za-z0-9]' "$@" | sort -u
}

known=$(mktemp "${TMPDIR:-/tmp}/cascade-words.XXXXXX")
trap 'rm -f "$known"' EXIT
words CMakeLists.txt include sql src/cli tests/lib tests/support examples \
    >"$known" 2>/dev/null || :
for document in README.md docs/*.md; do
    [ -e "$document" ] || continue
    unknown=$(words "$document" | comm -23 - "$known" || :)
    for word in $unknown; do
        echo "$document: no $word" >&2
        status=1
    done
done
exit $status
