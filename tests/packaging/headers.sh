#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   headers.sh ROOT
#
# Every public header compiles alone, first and only, as C11 and as C++17.
set -eu

root=$1
cjson=$(pkg-config --cflags libcjson)

compile() {
    printf '#include <cascade/%s>\n' "$header" |
        "$@" -Wall -Wextra -pedantic -Werror -fsyntax-only \
            -I"$root/include" $cjson - ||
        { echo "cascade/$header does not compile alone: $*" >&2; exit 1; }
}

count=0
for path in "$root"/include/cascade/*.h; do
    header=${path##*/}
    compile gcc -x c -std=c11
    compile clang -x c -std=c11
    compile g++ -x c++ -std=c++17
    compile clang++ -x c++ -std=c++17
    count=$((count + 1))
done
echo "$count headers, 4 compilers"
