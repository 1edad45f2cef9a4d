#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   analyse.sh gcc|clang-tidy|cppcheck ROOT
#
# The library, the command, the examples and the programs of the guide as an
# analyser reads them: it finds nothing.
# What each is asked, and what it is not and why, stands in the tree:
#
#   gcc          -fanalyzer, all of it
#   clang-tidy   .clang-tidy, and those of docs/, examples/ and src/cli/
#   cppcheck     tests/analysis/cppcheck.supp
#
# How far clang-tidy follows the paths through a function costs nearly all of
# its time: TIDY_NODES, when set, bounds it (its own bound is 225000 states).
#
# Asserts are on: they tell the analysers of states that cannot be. What these
# cannot know of the functions that make errors stands in model.h.
set -eu

tool=$1
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cd "$2"
command -v "$tool" >/dev/null ||
    { echo "$tool is not installed" >&2; exit 1; }

generated=$(mktemp -d "${TMPDIR:-/tmp}/cascade-generated.XXXXXX")
flags="-D_GNU_SOURCE -DCASCADE_ASSERTS=1 -DCASCADE_FAULTS=0
    -DCASCADE_HAVE_SQLITE=1 -DCASCADE_HAVE_POSTGRES=1
    -Isrc -Isrc/cli -Iinclude -I$generated"
libraries=$(pkg-config --cflags libcjson libpq sqlite3 uuid)
of_library=$(find src -name '*.c' ! -path src/base/error.c ! -path 'src/cli/*' |
    sort)
of_others=$(find src/base/error.c src/cli docs examples -name '*.c' 2>/dev/null |
    sort)
[ -n "$of_library" ] || { echo "no sources in $2" >&2; exit 1; }

# each SOURCES COMMAND...: one run a source, several at a time, for an analyser
# that has read other sources before sees ghosts. Fails when one does.
each() {
    printf '%s\n' $1 >"$list"
    shift
    xargs -r -P "$(nproc)" -n 1 "$@" <"$list" >&2
}

gcc_reads() {
    sources=$1
    shift
    each "$sources" gcc -std=c11 -O2 -fanalyzer -Werror $flags $libraries \
        -c -o /dev/null "$@"
}

# clang-tidy wants the source before the flags, and counts on standard error
# what it has left out.
tidy_reads() {
    sources=$1
    shift
    each "$sources" sh -c '
        flags=$1
        clang-tidy --quiet --warnings-as-errors="*" "$2" -- $flags 2>/dev/null
        ' - "-std=c11 $flags $libraries $*"
}

list=$(mktemp "${TMPDIR:-/tmp}/cascade-analyse.XXXXXX")
trap 'rm -rf "$list" "$generated"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# The headers that a build writes, and an installation.
if [ -e tests/store/conformance/suite.h ]; then
    mkdir "$generated/cascade"
    cp tests/store/conformance/suite.h "$generated/cascade/conformance.h"
fi
for folder in sql/*/statements; do
    [ -d "$folder" ] || continue
    backend=$(basename "$(dirname "$folder")")
    mkdir -p "$generated/store/$backend"
    cmake -D BACKEND="$backend" -D FOLDER="$folder" \
        -D OUTPUT="$generated/statements_$backend.c" \
        -D HEADER="$generated/store/$backend/statements.h" \
        -P cmake/EmbedStatements.cmake
done

depth="-Xclang -analyzer-config -Xclang max-nodes=${TIDY_NODES:-225000}"
model="-include $here/model.h"
case $tool in
gcc)
    gcc_reads "$of_library" $model
    # It calls lost what is only known by an address in its middle, as texts of
    # that file are.
    gcc_reads "$(printf '%s\n' $of_others |
        grep -vx examples/store_file/table.c)"
    ;;
clang-tidy)
    tidy_reads "$of_library" $model $depth
    tidy_reads "$of_others" $depth
    ;;
cppcheck)
    # With one job it would look across files as well, and take for possible
    # what the calls there rule out.
    jobs=$(nproc)
    [ "$jobs" -gt 1 ] || jobs=2
    cppcheck --quiet --std=c11 --enable=warning,performance,portability,style \
        --suppressions-list="$here/cppcheck.supp" --error-exitcode=1 \
        -j "$jobs" $flags $of_library $of_others include >&2
    ;;
*)
    echo "usage: analyse.sh gcc|clang-tidy|cppcheck ROOT" >&2
    exit 1
    ;;
esac
