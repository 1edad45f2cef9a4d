#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   install.sh CMAKE BUILD COMPILER [command]
#
# Installs the library into a temporary folder and builds the program in
# consumer/ against it with find_package and with pkg-config, shared and static;
# all four run. The installation is moved first: nothing in it may remember
# where it was made. With "command" the `cascade` command is there too, with its
# manual page and its completion for bash, and finds its library by itself.
set -eu

cmake=$1
build=$2
compiler=$3
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/cascade-install.XXXXXX")
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/first" >"$work/log"
mv "$work/first" "$work/prefix"
if grep -rIl -e "$work/first" -e "$build" "$work/prefix"; then
    echo "these installed files name the place they were made in" >&2
    exit 1
fi

"$cmake" -S "$here/consumer" -B "$work/build" \
    -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_C_COMPILER="$compiler" \
    >"$work/log" || { cat "$work/log" >&2; exit 1; }
"$cmake" --build "$work/build" >"$work/log" || { cat "$work/log" >&2; exit 1; }

pc=$(find "$work/prefix" -name cascade.pc)
export PKG_CONFIG_PATH="${pc%/*}"
libdir=$(pkg-config --variable=libdir cascade)
archive=$(pkg-config --static --libs cascade | sed 's/-lcascade/-l:libcascade.a/')
"$compiler" -o "$work/pc-shared" "$here/consumer/main.c" \
    $(pkg-config --cflags --libs cascade)
"$compiler" -o "$work/pc-static" "$here/consumer/main.c" \
    $(pkg-config --cflags cascade) $archive

version=$(pkg-config --modversion cascade)
for program in build/shared build/static pc-shared pc-static; do
    printed=$(LD_LIBRARY_PATH="$libdir" "$work/$program")
    [ "$printed" = "$version" ] ||
        { echo "$program printed '$printed', not $version" >&2; exit 1; }
done

# With no library in reach the static programs run and the shared ones do not:
# each is linked as its name says.
for program in build/static pc-static; do
    "$work/$program" >/dev/null
done
! "$work/pc-shared" >/dev/null 2>&1 ||
    { echo "pc-shared is not linked with the shared library" >&2; exit 1; }

[ "${4:-}" = command ] || exit 0
printed=$("$work/prefix/bin/cascade" version)
[ "$printed" = "cascade $version" ] ||
    { echo "cascade printed '$printed', not cascade $version" >&2; exit 1; }
for file in man/man1/cascade.1 bash-completion/completions/cascade; do
    [ -s "$work/prefix/share/$file" ] ||
        { echo "share/$file is not installed" >&2; exit 1; }
done
