#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   readme.sh ROOT LIBRARY_FOLDER COMPILER [COMMAND]
#
# The first complete program in README.md is what it says: it compiles without
# a warning, runs to its end, and runs a second time on what the first left. With
# COMMAND, the `cascade` command, the session with it that docs/command.md shows
# goes on from there, and prints what stands there.
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
    (cd "$work" && LD_LIBRARY_PATH=$libdir timeout 100 ./main) || {
        echo "the program failed at its $run run" >&2
        exit 1
    }
done

[ -n "${4:-}" ] || exit 0
. "$root/tests/cli/normal.sh"

# The block of a console: "$ COMMAND", and what that prints.
sed -n '/^```console$/,/^```$/{/^```/!p}' "$root/docs/command.md" >"$work/session"
[ -s "$work/session" ] || { echo "docs/command.md holds no session" >&2; exit 1; }
mkdir "$work/bin"
ln -s "$4" "$work/bin/cascade"
sed -n 's/^\$ //p' "$work/session" >"$work/typed"
(
    cd "$work"
    PATH=$work/bin:$PATH
    while read -r line; do
        printf '$ %s\n' "$line"
        eval "$line" </dev/null 2>&1
    done <"$work/typed"
) >"$work/printed"
normalised <"$work/session" >"$work/expected"
normalised <"$work/printed" | diff -u "$work/expected" -
