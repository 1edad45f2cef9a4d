#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   readme.sh ROOT LIBRARY_FOLDER COMPILER
#
# The first complete program in README.md is what it says: it compiles without
# a warning, runs to its end, and runs a second time on what the first left.
set -eu

root=$1
libdir=$2
compiler=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-readme.XXXXXX")
trap 'rm -rf "$work"' EXIT

# The first block of C with a main in it.
awk '
    /^```c$/ { inside = 1; text = ""; next }
    /^```$/ && inside {
        if (text ~ /main\(/) {
            printf "%s", text
            exit
        }
        inside = 0
    }
    inside { text = text $0 "\n" }
' "$root/README.md" >"$work/main.c"
[ -s "$work/main.c" ] || { echo "README.md holds no program" >&2; exit 1; }

"$compiler" -std=c11 -Wall -Wextra -pedantic -Werror -o "$work/main" \
    -I"$root/include" $(pkg-config --cflags libcjson) "$work/main.c" \
    -L"$libdir" -lcascade $(pkg-config --libs libcjson)
for run in first second; do
    (cd "$work" && LD_LIBRARY_PATH=$libdir timeout 60 ./main) || {
        echo "the program failed at its $run run" >&2
        exit 1
    }
done
