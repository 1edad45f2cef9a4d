#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   format.sh ROOT
#
# The sources are what clang-format makes of them.
set -eu

cd "$1"
command -v clang-format >/dev/null ||
    { echo "clang-format is not installed" >&2; exit 1; }

# Names of files without blanks: the list may be split.
log=$(clang-format --style=file --dry-run -Werror \
    $(find include src docs examples tests bench -name '*.[ch]') 2>&1) && exit 0
printf '%s\n' "$log" |
    sed -n 's/^\([^ :]*\):[0-9:]* error: .*/clang-format -i \1/p' | sort -u >&2
exit 1
