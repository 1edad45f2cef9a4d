#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   memcheck.sh FOLDER NAME...
#
# The test programs FOLDER/test_NAME under valgrind: none reads memory that is
# not its own or was never set, and none has lost any at its end. What a child
# does that a test forks counts as well: the child ends with the status below,
# and its test sees that.
set -eu

folder=$1
shift
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-memcheck.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
command -v valgrind >/dev/null ||
    { echo "valgrind is not installed" >&2; exit 1; }

# A program that does not pass leaves its log, also one that was never run.
[ "$#" -gt 0 ] || { echo "no programs" >&2; exit 1; }
for name in "$@"; do
    : >"$work/$name"
done
printf '%s\n' "$@" | xargs -P "$(nproc)" -I NAME sh -c '
    timeout 600 valgrind --quiet --error-exitcode=99 --num-callers=24 \
        --leak-check=full --errors-for-leak-kinds=definite,indirect,possible \
        --suppressions="$1" "$2" >"$3" 2>&1 && rm "$3"' \
    - "$here/memcheck.supp" "$folder/test_NAME" "$work/NAME" || :

status=0
for log in "$work"/*; do
    [ -e "$log" ] || continue
    echo "valgrind: test_${log##*/} failed:" >&2
    grep -v -e '^\[ RUN ' -e '^\[ *OK \]' "$log" >&2 || :
    status=1
done
exit "$status"
