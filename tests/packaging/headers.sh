#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   headers.sh ROOT
#
# Every public header compiles alone, first and only, as C11 and as C++17. And
# what options.h is for does as every C and C++ there is, without a warning.
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

use() {
    "$@" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$root/include" \
        $cjson "$root/tests/packaging/options.inc" ||
        { echo "the use of options.h: $*" >&2; exit 1; }
}

for standard in c99 c11 c17 c2x; do
    use gcc -x c -std=$standard
    use clang -x c -std=$standard
done
for standard in c++11 c++14 c++17 c++20 c++2b; do
    use g++ -x c++ -std=$standard
    use clang++ -x c++ -std=$standard
done
echo "$count headers, 4 compilers; options in 9 standards"
