#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   documents.sh ROOT
#
# What the documents name is there: files and folders of the tree in backquotes,
# and the targets of links. NAME stands for any.
set -eu

cd "$1"
status=0
for document in *.md; do
    names=$(grep -oE '`[A-Za-z0-9_./-]+`|\]\([A-Za-z0-9_./-]+\)' "$document" |
        tr -d '`]()' | sort -u |
        grep -E '^(src|tests|sql|include|examples|bench|cmake)/|\.md$' || :)
    for name in $names; do
        case $name in *NAME*) continue ;; esac
        [ -e "$name" ] || { echo "$document: no $name" >&2; status=1; }
    done
done
exit $status
