#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   exceptions.sh ROOT LIBRARY_FOLDER
#
# Exceptions that leave the functions of a C++ program are failed attempts, with
# both compilers. A program without exceptions builds as one in C does.
set -eu

root=$1
libdir=$2
cjson=$(pkg-config --cflags --libs libcjson)
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-exceptions.XXXXXX")
trap 'rm -rf "$work"' EXIT

for compiler in g++ clang++; do
    "$compiler" -std=c++11 -Wall -Wextra -pedantic -Werror -o "$work/program" \
        -I"$root/include" "$root/tests/packaging/exceptions.cpp" \
        -L"$libdir" -lcascade $cjson
    LD_LIBRARY_PATH=$libdir timeout 100 "$work/program" || {
        echo "the program built with $compiler failed" >&2
        exit 1
    }
    printf '#include <cascade/cascade.h>\nint main() { return %s; }\n' \
        'cascade_engine_register(nullptr, "", nullptr, nullptr, nullptr) == 0' |
        "$compiler" -std=c++11 -fno-exceptions -Werror -x c++ \
            -o "$work/without" -I"$root/include" - -L"$libdir" -lcascade $cjson
    LD_LIBRARY_PATH=$libdir timeout 100 "$work/without" || {
        echo "the program without exceptions failed: $compiler" >&2
        exit 1
    }
done
