#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   plain.sh CMAKE ROOT
#
# The README's command, where only the packages are that it lists: builds the
# library as its users want it, without tests, asserts or symbols of a debugger,
# and the command, which runs.
set -eu

cmake=$1
root=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-plain.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# What the tests and one of the examples need besides is not there.
mkdir "$work/pc"
for folder in $(pkg-config --variable=pc_path pkg-config | tr : ' '); do
    for file in "$folder"/*.pc; do
        case ${file##*/} in
        cmocka.pc | libuv*.pc) ;;
        *) [ ! -e "$file" ] || ln -sf "$file" "$work/pc/" ;;
        esac
    done
done
export PKG_CONFIG_LIBDIR="$work/pc"
! pkg-config --exists cmocka ||
    { echo "cmocka is in reach: this tells nothing" >&2; exit 1; }

"$cmake" -S "$root" -B "$work/build" >"$work/log" 2>&1 &&
    "$cmake" --build "$work/build" -j "$(nproc)" >"$work/log" 2>&1 ||
    { tail -n 40 "$work/log" >&2; exit 1; }

for setting in CMAKE_BUILD_TYPE:STRING=Release CASCADE_TESTS:BOOL=OFF \
    CASCADE_ASSERTS:BOOL=OFF; do
    grep -qx "$setting" "$work/build/CMakeCache.txt" ||
        { echo "a plain build has not $setting" >&2; exit 1; }
done
"$work/build/src/cli/cascade" version
