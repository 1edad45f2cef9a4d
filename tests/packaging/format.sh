#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   format.sh ROOT
#
# The sources are what clang-format makes of them.
set -eu

cd "$1"
clang-format --version >/dev/null
status=0
for file in $(find include src examples tests -name '*.[ch]' | sort); do
    clang-format --style=file --dry-run -Werror "$file" 2>/dev/null || {
        echo "clang-format -i $file would change it" >&2
        status=1
    }
done
exit "$status"
